import pytest

from solverscope.datasets import DataError
from solverscope.datasets.readers import arff

HEAD = "@relation r\r\n\r\n@ATTRIBUTE one NUMERIC\r\n@attribute 'two words' {0,1}\r\n"
LABELS = "@attribute class hierarchical 1,1/2,3\r\n@DATA\r\n"


def test_numbers_names_labels_and_nodes(written):
    found = arff.read(written(f"% a comment\r\n{HEAD}{LABELS}0.5,1,1/2@3\r\n\r\n7,0,1\r\n"))
    assert found.values.tolist() == [[0.5, 1], [7, 0]]
    assert found.names == ("one", "two words")
    assert found.labels == ["1/2@3", "1"]
    assert found.nodes == ("1", "1/2", "3")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no line @data"),
        (HEAD, "no line @data"),
        (HEAD + "@data\r\n1,1,1\r\n", "no hierarchical attribute"),
        ("@attribute a string\r\n" + LABELS + "x,1\r\n", "line 1: attribute a is of type string"),
        ("@attribute a\r\n" + LABELS + "x,1\r\n", "line 1: an attribute needs a name and a type"),
        ("@attribute class hierarchical 1\n@attribute b numeric\n@data\n", "line 2: attribute b comes after"),
        (HEAD + LABELS, "holds no rows"),
        (HEAD + LABELS + "1,?,1\r\n", "line 7: a field is not a number"),
        (HEAD + LABELS + "1,1,1\r\n1,1\r\n", "line 8: there are too few fields"),
        (HEAD + LABELS + "{0 1, 1 1}\r\n", "line 7: a field is not a number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_reason(written, text, words):
    with pytest.raises(DataError, match=words):
        arff.read(written(text))
