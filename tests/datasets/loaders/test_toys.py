import numpy as np
import pytest

from solverscope import datasets
from solverscope.datasets.errors import DataError
from solverscope.datasets.loaders.toys import parse_pieces, parse_start


def test_a_toy_is_a_function_of_two_variables_with_a_start():
    data = datasets.load("toy-hull")
    assert (data.kind, data.loss, data.penalty, data.test) == ("function", "toy", "none", None)
    np.testing.assert_array_equal(data.X, np.eye(2))
    assert data.start == (3.0, 9.0)
    assert data.examples() == []
    assert [option.name for option in datasets.describe("toy-hull").options] == ["start"]


@pytest.mark.parametrize(
    ("text", "coefficients"),
    [
        ("2x+3y", (0, 0, 2, 3, 0, 0, 0)),
        ("-100", (0, -100, 0, 0, 0, 0, 0)),
        (" - x + 0.5 * y - 1e2 ", (0, -100, -1, 0.5, 0, 0, 0)),
        ("x^2+xy+y^2-2x+x", (0, 0, -1, 0, 2, 1, 2)),
        (".5y^2", (0, 0, 0, 0, 0, 0, 1)),
    ],
)
def test_a_piece_is_read_as_it_is_written(text, coefficients):
    (piece,) = parse_pieces(text)
    assert piece == coefficients


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2x+z", "write terms in x, y"),
        ("2x y^3", "write terms in x, y"),
        ("__import__('os')", "write terms in x, y"),
        ("1e300x", "write terms in x, y"),
        ("+", "write terms in x, y"),
        ("-x^2", "not convex"),
        ("x^2+3xy+y^2", "not convex"),
        (";;", "give 1 to 50 pieces"),
        (";".join(["x"] * 51), "give 1 to 50 pieces"),
    ],
)
def test_other_pieces_are_refused_in_a_sentence(text, said):
    with pytest.raises(DataError, match=said):
        parse_pieces(text)


@pytest.mark.parametrize("text", ["1", "1,2,3", "a,b", "nan,1", "inf,1", "1e12,0"])
def test_other_starts_are_refused_in_a_sentence(text):
    with pytest.raises(DataError, match="it takes two numbers, such as 1,"):
        parse_start(text)


def test_the_start_and_the_pieces_are_part_of_what_a_run_is_known_by():
    one, two = datasets.load("toy", pieces="x; -x"), datasets.load("toy", pieces="x; -2x")
    assert one.digest != two.digest
