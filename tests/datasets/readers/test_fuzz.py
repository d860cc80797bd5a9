"""Whatever is in a file, a reader gives its content or one clear sentence."""

import gzip
import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.datasets import DataError
from solverscope.datasets.loaders import ocr
from solverscope.datasets.readers import arff, columns, delimited, files, hierarchy, idx, npz, svmlight, table
from solverscope.datasets.readers.recognise import format_of

OCR_LINE = b"1\to\t2\t1\t1\t0\t" + b"0\t1\t" * 64 + b"\n"


def saved(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


CSR = {
    "data": np.ones(3),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
    "shape": np.array([2, 3]),
}
READERS = {
    "svmlight": (svmlight.read, b"+1 1:0.5 3:2e-3 # comment\r\n-1,2 2:1\n\n1 qid:3 1:1\n"),
    "table": (table.read, b"1,2.5,-3e4\r\n4,5,6\n\n7,8,9"),
    "csv": (delimited.read, b'name,"size",label\r\n"a, b",2.5,x\r\nc,-3e4,y\n\nd,1,x'),
    "csv-semicolons": (delimited.read, b"1;2;a\n3;4;b\n"),
    "format": (format_of, b"a,b\n1,2\n3,4\n"),
    "table-text": (lambda path: table.read(path, text_column=0), b"A,2.5,-3e4\r\nB,5,6\n"),
    "arff": (
        arff.read,
        b"@relation r\n@attribute a numeric\n@attribute c hierarchical 1,1/2\n@data\n1,1@1/2\n",
    ),
    "columns": (columns.read, b"John NNP B-PER\nlives VBZ O\n\nhere RB O\n"),
    "hierarchy": (hierarchy.read, b"1 2 3\n1 2 4\n5 6\n"),
    "idx": (idx.read, b"\0\0\x08\x02" + struct.pack(">2i", 2, 3) + bytes(6)),
    "npz": (npz.read_csr, saved(**CSR)),
    "npz-samples": (npz.read_samples, saved(X=np.eye(3), y=np.arange(3))),
    "npz-sparse": (npz.read_samples, saved(**CSR, y=np.arange(2))),
    "ocr": (
        lambda path: ocr.parse(path, files.read_bytes(path)),
        OCR_LINE + OCR_LINE.replace(b"\t2\t1", b"\t-1\t1"),
    ),
}
PIECES = [
    b"\0",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\t",
    b" ",
    b"#",
    b"%",
    b"\n",
    b":",
    b",",
    b"@",
    b"nan",
    b"1e999",
    b"-",
    b"{",
]
PIECES += [b"1000000000000:1", b"\xff\xfe", b"99999999999999999999", b"0" * 40, b"x" * 3000]


@st.composite
def damaged(draw, whole):
    """The file, cut, with bytes changed and pieces put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        action = draw(st.sampled_from(["cut", "change", "insert", "repeat", "drop"]))
        if action == "cut":
            del data[place:]
        elif action == "change" and place < len(data):
            data[place] = draw(st.integers(0, 255))
        elif action == "insert":
            data[place:place] = draw(st.sampled_from(PIECES))
        elif action == "repeat":
            data[place:place] = data[max(place - 20, 0) : place] * draw(st.integers(1, 50))
        elif action == "drop":
            del data[place : place + draw(st.integers(1, 10))]
    return bytes(data)


def read_or_refuse(read, path, data):
    """Whether a DataError, if there is one, names the file in one sentence; other errors come through."""
    path.write_bytes(data)
    try:
        read(path)
    except DataError as error:
        message = str(error)
        return path.name in message and "\n" not in message and len(message) < 400 and message.endswith(".")
    return True


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("format", READERS)
def test_an_undamaged_file_is_read(scratch, format):
    read, whole = READERS[format]
    path = scratch / "given-42"
    path.write_bytes(whole)
    assert read(path) is not None


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_damaged_file_gets_one_clear_sentence(scratch, format, data):
    read, whole = READERS[format]
    assert read_or_refuse(read, scratch / "given-42", data.draw(damaged(whole)))


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.binary(max_size=400))
def test_any_bytes_get_one_clear_sentence(scratch, format, data):
    assert read_or_refuse(READERS[format][0], scratch / "given-42", data)


@pytest.mark.parametrize("format", [format for format in READERS if not format.startswith("npz")])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_damaged_compressed_file_gets_one_clear_sentence(scratch, format, data):
    read, whole = READERS[format]
    assert read_or_refuse(read, scratch / "given-42.gz", data.draw(damaged(gzip.compress(whole))))


@pytest.mark.parametrize("format", READERS)
def test_a_file_cut_anywhere_gets_one_clear_sentence(scratch, format):
    read, whole = READERS[format]
    for end in range(len(whole)):
        assert read_or_refuse(read, scratch / "given-42", whole[:end])


@pytest.mark.slow
@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize(
    "filler", [b"1" * 1_000_000, b"1," * 500_000, b"1 " * 500_000, b"\n" * 1_000_000, b"\0" * 1_000_000]
)
def test_a_line_of_a_million_characters_and_a_million_lines(scratch, format, filler):
    read, whole = READERS[format]
    tracemalloc.start()
    assert read_or_refuse(read, scratch / "given-42", whole + filler)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150_000_000
