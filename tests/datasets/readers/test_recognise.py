"""A file's format is what its first lines look like; what is beyond the limits is said with the line."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pytest

from solverscope.datasets import DataError
from solverscope.datasets.limits import Limits
from solverscope.datasets.readers import columns
from solverscope.datasets.readers.recognise import check, format_of

SMALL = Limits(size=2_000, unpacked=10_000, lines=50, index=5_000_000, labels=20, values=400)


WORDS = "He PRP B-NP\nsaid VBD O\n\nIt PRP B-NP\nis VBZ O\n"
CONLL_U = (
    "# sent_id = 1\n# text = Don't go\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t_\t_\n2\tnot\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\n"
    "3\tgo\tgo\tVERB\tVB\t_\t0\troot\t3:root\tSpaceAfter=No\n\n"
)
ADULT = (
    "39, State-gov, 77516, Bachelors, 13, <=50K\n50, Self-emp-not-inc, 83311, Bachelors, 13, <=50K\n"
    "38, ?, 215646, HS-grad, 9, >50K\n\n"
)
CRFSUITE = "B-NP\tw[0]=He\tw[1]=is\t__BOS__\nB-VP\tw[-1]=He\tw[0]=is\tpos[0]=VBZ\n\nO\tw[0]=.\t__BOS__\n"
ARFF = "% a comment\n@RELATION iris\n\n@ATTRIBUTE a REAL\n@ATTRIBUTE class {x,y}\n@DATA\n5.1,x\n4.9,y\n"
VW = "1 1.0 |MetricFeatures:3.28 height:1.5 length:2.0 |Says black with white stripes\n-1 'tag|f a b:2\n"
VW_WITHOUT_NAMES = "0 | price:.23 sqft:.25 2006\n1 2 'second_house | price:.18 1976\n0 1 0.5 'third| a:.5\n"
CONTEXTUAL = "shared | s_1\n0:1:0.5 | a_1 b_1\n | a_2\n\nshared | s_2\n | a_1\n1:0:0.5 | b_2\n"


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("1 1:0.5 3:2\n-1 2:1\n", "svmlight"),
        ("# a comment\n\n+1,3 qid:7 12:1 # x\n", "svmlight"),
        ("1\n2 3:4\n", "svmlight"),
        ("1, 3 2:0.5\n 7:1 9:2\n\n2\n", "svmlight"),
        ("He PRP B-NP\nsaid VBD O\n\n", "columns"),
        ("2001 CD O\n", "columns"),
        ("10:30 CD O\nis VBZ O\n\nAt IN O\n10:30 CD O\n", "columns"),
        ("1 O\n2 O\n\n3 B\n4 O\n", "columns"),
        ("1\t0\n2\t1\n\n2\t1\n", "columns"),
        ("@paulwalk\tO\nIt\tO\n\n@data\tO\nis\tB-X\n", "columns"),
        ("@relation O\nis O\n\nso B\n", "columns"),
        ("| SYM O\na DT O\nb NN O\n\n", "columns"),
        ("Haus\tN|Neut|Sg\tO\nist\tV|3|Sg\tO\n\nda\tADV|_|_\tO\n", "columns"),
        ("-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n", "columns"),
        (CONLL_U, "columns"),
        (ADULT, "csv"),
        (ADULT.replace(", ", ","), "csv"),
        (ADULT.replace(", ", ";"), "csv"),
        ("a\tb\tlabel\n1\t2\tx\n3\t4\ty\n", "csv"),
        ("1,2,3\n", "csv"),
        ("2,2019-03-01 00:03:29,1,.68\n1,2019-03-01 00:08:32,2,1.2\n", "csv"),
        ('"x, y",b\n"1,5",0\n"2,5",1\n', "csv"),
        ("150,4,setosa,versicolor,virginica\n" + "5.1,3.5,1.4,0.2,0\n" * 20, "csv"),
    ],
)
def test_the_first_lines_tell_the_format(written, content, format):
    assert format_of(written(content, "mine.txt")) == format


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0.5 1.5 2.5\n", "is a table between blanks: put commas or tabs between its fields"),
        ("x 0.49 0.29 cp\ny 0.07 0.40 im\n", "is a table between blanks"),
        ("@relation iris\n", "is an ARFF file: save it as CSV"),
        (ARFF, "is an ARFF file: save it as CSV"),
        (VW, "has namespaces after |, as Vowpal Wabbit's files have"),
        (VW_WITHOUT_NAMES, "has namespaces after |"),
        (CONTEXTUAL, "has namespaces after |"),
        ('{"a": 1, "y": 2}\n{"a": 3, "y": 4}\n', "is JSON: save it as CSV"),
        ("<!DOCTYPE html>\n<p>Not found, sorry\n", "is a page of HTML or XML"),
        ("\n\n", "is empty: give rows of label index:value ..., a CSV or NPZ table, or tagged sentences"),
        ("", "is empty"),
        ("The quick brown fox\njumps over\nit\n", "is in no format that is known here"),
        ("%PDF\0\n", "there is a NUL byte"),
        (b"\x93NUMPY\1\0v\0{'descr'", "is a single array: save samples X and labels y by numpy.savez"),
        (b"PK\3\4xl/worksheets", "is a zip of another name"),
        ("a,b\n1,2\n".encode("utf-16"), "is in UTF-16: save it as UTF-8"),
    ],
)
def test_another_format_is_refused_in_a_sentence(written, content, sentence):
    with pytest.raises(DataError, match=r"^mine.txt[^\n]+\.$") as refused:
        format_of(written(content, "mine.txt"))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (CRFSUITE, "has a label and then named features on a line, as CRFsuite's own format has"),
        ("B-NP\tw=He\nB-VP\tw=is\n\nO\tw=.\n", "has a label and then named features on a line"),
        ("1 height:1.5 weight:2\n-1 height:1.2\n", "has a label and then named features on a line"),
        ("word TAG\n" * 1001, "has 1,001 lines and no empty one between them"),
        (CONLL_U.replace("\t_\t_\n", "\t_\n").replace("SpaceAfter=No", "") * 2, "counts the tokens in its"),
        (VW, "has namespaces after |"),
        (ADULT, "has fields that end in commas: name it csv:PATH"),
        (ARFF, "is an ARFF file"),
    ],
)
def test_a_file_named_as_tagged_sentences_that_has_none_is_refused(written, content, sentence):
    with pytest.raises(DataError, match=r"^mine.txt[^\n]+\.$") as refused:
        columns.read(written(content, "mine.txt"))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("words.tsv", "good\tfine\nbad\tpoor\n", "csv"),
        ("words.conll", "5\t1\n6\t1\n", "columns"),
        ("words.txt", "good\tfine\nbad\tpoor\n", "columns"),
        ("numbers.txt", "5.1\t3.5\tx\n4.9\t3.0\ty\n", "csv"),
        ("long.txt", "good\tfine\nbad\tpoor\n" * 500, "csv"),
    ],
)
def test_name_numbers_and_length_tell_a_table_between_tabs_from_tagged_words(written, name, content, format):
    assert format_of(written(content, name)) == format


def test_arrays_are_told_by_the_name_or_by_what_is_in_the_archive(written, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=np.arange(2))
    assert format_of(tmp_path / "a.npz") == "npz"
    assert format_of(written((tmp_path / "a.npz").read_bytes(), "b")) == "npz"
    assert format_of(written(b"not a zip", "c.npz")) == "npz"


def arrays(**some) -> bytes:
    """An NPZ file; its members have no time, so that names of tests are the same in each process."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in some.items():
            member = io.BytesIO()
            np.save(member, np.asarray(array))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


CSR = {"data": np.ones(2), "indices": [0, 6_000_000], "indptr": [0, 1, 2], "shape": [2, 6_000_001]}


def packed(content: str | bytes) -> bytes:
    """Compressed, without the time: processes of pytest-xdist compare the names of tests."""
    return gzip.compress(content if isinstance(content, bytes) else content.encode(), mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.svm", b"1 1:1\n" * 400, "has more than 2,000 bytes"),
        ("a.svm.gz", packed("1 1:1 2:1 3:1\n" * 900), "holds more than 10,000 bytes when decompressed"),
        ("a.svm", b"1 1:1\n" * 60, "has more than 50 lines"),
        ("a.svm", b"1 1:1\n1 2:1 5000001:1\n", "line 2: feature 5,000,001 is beyond 5,000,000"),
        ("a.svm", b"".join(b"%d 1:1\n" % k for k in range(30)), "has more than 20 different labels"),
        ("a.svm", b"1,2 1:1\n" + b",".join(map(b"%d".__mod__, range(30))) + b" 1:1\n", "20 different labels"),
        ("a.csv", b"1,2\n" * 60, "has more than 50 lines"),
        ("a.csv", b"".join(b"%d,%d\n" % (k % 2, k) for k in range(30)), "has more than 20 different labels"),
        (
            "a.csv",
            b"label,x\n" + b"".join(b"c%d,1\n" % k for k in range(30)),
            "more than 20 different labels",
        ),
        ("a.csv", (b"1," * 40 + b"1\n") * 10, "has more than 400 values"),
        ("a.csv.gz", packed("1,2\n" * 3000), "holds more than 10,000 bytes when decompressed"),
        ("a.npz", arrays(X=np.zeros((2, 9000)), y=[0, 1]), "holds more than 10,000 bytes when decompressed"),
        ("a.npz", arrays(X=np.zeros((2, 300), bool), y=[0, 1]), "has more than 400 values"),
        ("a.npz", arrays(X=np.zeros((60, 2)), y=np.zeros(60)), "has more than 50 samples"),
        ("a.npz", arrays(X=np.zeros((30, 2)), y=np.arange(30)), "has more than 20 different labels"),
        ("a.npz", arrays(X=np.zeros((9, 2)), y=np.zeros((9, 30))), "has more than 20 different labels"),
        ("a.npz", arrays(**CSR, y=[0, 1]), "has more than 5,000,000 features"),
        ("a.txt", b"".join(b"word tag%d\n" % k for k in range(30)), "has more than 20 different labels"),
        ("a.svm.gz", packed("1 1:1\n")[:-9], "is damaged or cut short"),
        ("a.svm.gz", packed(packed("1 1:1\n" * 40)), "there is a NUL byte; give a text file"),
    ],
)
def test_each_limit_is_said_in_a_sentence(written, name, content, sentence):
    with pytest.raises(DataError, match=sentence):
        check(written(content, name), SMALL)


def test_what_is_within_the_limits_passes_and_tells_how_far_it_is(written):
    path, shares = written("1 1:1 5000000:1\n" * 50, "a.svm"), []
    check(path, SMALL, lambda text, share: shares.append((text, share)))
    assert shares == [("reading a.svm", 1.0)]
