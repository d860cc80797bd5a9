import numpy as np
import pytest

from solverscope.datasets import DataError
from solverscope.datasets.readers import files, table


def test_numbers_are_read_as_numpy_reads_them(written):
    X = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-9, 12, 3)
    path = written("")
    np.savetxt(path, X, delimiter=",", fmt="%.17g")
    values, texts = table.read(path)
    np.testing.assert_array_equal(values, np.loadtxt(path, delimiter=","))
    assert texts == []


def test_a_text_column_first_or_last(written):
    values, texts = table.read(written("T,1,2\r\n% a comment\r\nU , 3 ,4 \r\n"), text_column=0)
    assert (values.tolist(), texts) == ([[1, 2], [3, 4]], ["T", "U"])
    values, texts = table.read(written("3,4,d\n1,2,a@b,c\n5,6,"), text_column=-1)
    assert (values.tolist(), texts) == ([[3, 4], [1, 2], [5, 6]], ["d", "a@b,c", ""])


def test_blocks_are_put_together(written, monkeypatch):
    monkeypatch.setattr(files, "READ_CHUNK_BYTES", 16)
    values, texts = table.read(written("".join(f"a{i},{i},{2 * i}\n" for i in range(40))), text_column=0)
    np.testing.assert_array_equal(values, [[i, 2 * i] for i in range(40)])
    assert texts == [f"a{i}" for i in range(40)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1", "too few fields"),
        ("1,2,3", "too many fields"),
        ("1,", "too few fields"),
        ("1,x", "not a number"),
        ("1 2,3", "not a number"),
        ("1,?", "not a number"),
        ("1,nan", "NaN or infinite"),
    ],
)
def test_a_bad_line_is_refused_with_file_line_and_reason(written, line, reason):
    with pytest.raises(DataError, match=r"file\.txt, line 3: ") as error:
        table.read(written(f"1,2\n\n{line}\n"))
    assert reason in str(error.value)


def test_numbers_too_large_and_empty_files_are_refused(written):
    with pytest.raises(DataError, match="too large"):
        table.read(written("1,1e999\n"))
    for text in ("", "\n\n", "% nothing\n"):
        with pytest.raises(DataError, match="holds no rows"):
            table.read(written(text))


def test_a_column_of_words_for_truth_is_no_column_of_numbers(written):
    for word in ("True", "FALSE", "0x1"):
        with pytest.raises(DataError, match=r"line 1: a field is not a number"):
            table.read(written(f"1,{word}\n2,{word}\n"))
