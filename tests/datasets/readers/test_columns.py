import zipfile

import numpy as np
import pytest

from solverscope import datasets
from solverscope.datasets import DataError
from solverscope.datasets.readers import columns, files

TEXT = "-DOCSTART- X O\r\n\r\nJohn NNP B-PER\r\nlives\tVBZ  O\r\n\r\n\r\nÉire NN B-LOC\r\n"
CONLL_U = """# newdoc id = n01
# sent_id = 1
# text = Don't go to New York
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
4\tto\tto\tADP\tIN\t_\t5\tcase\t_\t_
5\tNew York\tNew York\tPROPN\tNNP\t_\t3\tobl\t_\t_
5.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t_\t_

# sent_id = 2
# text = #1
1\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_
2\t1\t1\tNUM\tCD\t_\t1\tnummod\t_\t_
"""


def fields(found):
    return [[column.values[code] for code in column.codes] for column in found.columns]


def test_lines_between_documents_are_no_tokens_but_where_a_set_has_them(written):
    found = columns.read(written(TEXT))
    assert fields(found) == [["John", "lives", "Éire"], ["NNP", "VBZ", "NN"], ["B-PER", "O", "B-LOC"]]
    assert found.offsets.tolist() == [0, 2, 3]
    kept = columns.read(written(TEXT), documents=True)
    assert fields(kept)[0] == ["-DOCSTART-", "John", "lives", "Éire"]
    assert kept.offsets.tolist() == [0, 1, 3, 4]
    within = columns.read(written("a X\nb Y\n-DOCSTART- O\nc X\n"))
    assert fields(within) == [["a", "b", "c"], ["X", "Y", "X"]]
    assert within.offsets.tolist() == [0, 2, 3]


def test_between_tabs_a_field_may_have_blanks(written):
    found = columns.read(written("New York\tNNP\tB-LOC\nis\tVBZ\tO \n\t\nNew\u00a0Delhi \tNNP\tB-LOC\n"))
    assert fields(found)[0] == ["New York", "is", "New\u00a0Delhi"]
    assert fields(found)[2] == ["B-LOC", "O", "B-LOC"]
    assert found.offsets.tolist() == [0, 2, 3]


def test_conll_u_gives_forms_and_parts_of_speech(written):
    found = columns.read(written(CONLL_U))
    assert fields(found) == [
        ["Do", "n't", "go", "to", "New York", "#", "1"],
        ["AUX", "PART", "VERB", "ADP", "PROPN", "SYM", "NUM"],
    ]
    assert found.offsets.tolist() == [0, 5, 7]


def test_comments_before_a_sentence_are_left_out_and_a_number_sign_is_a_word(written):
    found = columns.read(written("# id = 7\n# # B-NP\n5 CD I-NP\n# # O\n\n# text = a b\n# source\na DT O\n"))
    assert fields(found)[0] == ["#", "5", "#", "a"]
    with pytest.raises(DataError, match="line 2 has 2 fields but most tokens have 3"):
        columns.read(written("a DT O\n# O\nb DT O\n"))


@pytest.mark.parametrize("text", ["a DT O\nb NN B\n\nc DT O\n", "a\tDT\tO\nb\tNN\tB\n\nc\tDT\tO\n"])
def test_lines_may_end_as_on_any_system(written, text):
    plain = columns.read(written(text))
    for end in ("\r\n", "\r"):
        found = columns.read(written(text.replace("\n", end)))
        assert fields(found) == fields(plain)
        assert found.offsets.tolist() == plain.offsets.tolist()


def test_one_short_sentence_needs_no_empty_line_and_a_long_file_does(written):
    assert columns.read(written("w T\n" * 1000)).offsets.tolist() == [0, 1000]
    with pytest.raises(DataError, match="has 1,001 lines and no empty one between them"):
        columns.read(written("\n" + "w T\n" * 1001 + "\n"))


def test_blocks_are_put_together(written, monkeypatch):
    text = "".join(f"w{i} t{i % 3}\n" + "\n" * (i % 4 == 0) for i in range(200))
    whole = columns.read(written(text))
    monkeypatch.setattr(files, "READ_CHUNK_BYTES", 32)
    parts = columns.read(written(text))
    assert fields(whole) == fields(parts)
    np.testing.assert_array_equal(whole.offsets, parts.offsets)
    assert len(whole.offsets) - 1 == 51


def test_a_member_of_a_zip_file(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", TEXT)
        archive.writestr("b", "x y")
    assert fields(columns.read(path, member="b")) == [["x"], ["y"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("word\n", "line 1: a token needs a word and a tag"),
        ("\nw t\nw\n", "line 3: a token needs a word and a tag"),
        ("w p t\nw t\n", "line 2 has 2 fields but most tokens have 3"),
        ("w t\nw p t\n", "line 2 has 3 fields but most tokens have 2"),
        ("New York\tB\nwas\tX\tO\nbig\tO\n", "line 2 has 3 fields but most tokens have 2"),
        ("a\tDT\tO\nb\t\tO\n", "line 2: field 2 is empty; write a mark such as _ for it"),
        ("a\tDT\tO\nb\tNN\t\n", "line 2 has 2 fields but most tokens have 3"),
        ("w t\n" + "w " * 5000, "line 2 has 5,000 fields; a token has at most 1,000"),
        (b"w t\n\xff t\n", "line 2: this is not UTF-8"),
        (b"w t\n\0 t\n", "line 2: there is a NUL byte"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(written, text, words):
    with pytest.raises(DataError, match=words):
        columns.read(written(text))


def own_id(path):
    return f"columns:{path}"


class TestOwnFiles:
    def test_sentences_become_sequences_with_binary_features(self, written):
        train = written("the DT O\ndog NN B-X\n\na DT O\ncat NN B-Y\n")
        test = written("the DT O\nbird NN B-Z\n", "test.conll")
        data = datasets.load(f"columns:{train}", test=str(test), features="mathur")
        assert (data.kind, data.loss, data.n_samples) == ("sequences", "chain-crf", 2)
        assert data.label_names == ("B-X", "B-Y", "O")
        assert data.test.y.tolist() == [2, -1]
        names = list(data.feature_names)
        on = [{names[j] for j in data.X[i].indices} for i in range(4)]
        assert on[0] == {"word=the", "word[-1]=(edge)", "field 2=DT"}
        assert on[3] == {"word=cat", "word[-1]=a", "field 2=NN"}
        assert {names[j] for j in data.test.X[1].indices} == {"word[-1]=the", "field 2=NN"}
        assert data.examples(1)[0].text == "the dog"

    def test_rich_features_know_affixes_shape_and_neighbours(self, written):
        data = datasets.load(own_id(written("Mary-9 NN B-X\n. , O\n")))
        names = list(data.feature_names)
        on = {names[j] for j in data.X[0].indices}
        assert on >= {
            "word=Mary-9",
            "lower=mary-9",
            "shape=Xxx-0",
            "prefix 3=mar",
            "suffix 2=-9",
            "field 2=NN",
        }
        assert on >= {"lower[+1]=.", "field 2[+1]=,", "lower[-1]=(edge)"}
        assert data.X.has_sorted_indices
        assert set(data.X.data) == {1.0}

    def test_texts_stay_with_their_sentences_when_both_parts_are_pooled(self, written):
        train, test = (
            written("".join(f"{part}{i} T{i % 2}\n\n" for i in range(6)), f"{part}.conll") for part in "ab"
        )
        data = datasets.load(f"columns:{train}", test=str(test), split="random", features="mathur", seed=2)
        assert (data.n_samples, data.test.n_samples) == (10, 2)
        texts = [example.text for example in data.examples(10)]
        assert len({*texts}) == 10
        for text, example in zip(texts, data.examples(10), strict=True):
            assert example.label == f"T{int(text[1]) % 2}"

    def test_rare_features_can_be_left_out(self, written):
        path = written("a O\na O\nb B-X\n")
        data = datasets.load(f"columns:{path}", features="mathur", min_count=2)
        assert list(data.feature_names) == ["word=a", "word[-1]=a"]

    def test_files_with_other_numbers_of_fields_are_refused(self, written):
        test = written("a O\n", "test.conll")
        with pytest.raises(DataError, match="another number of fields"):
            datasets.load(own_id(written("a DT O\nb NN P\n")), test=str(test))
