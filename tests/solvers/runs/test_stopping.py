import math

import pytest

from solverscope.solvers.runs.stopping import Stopping, relative_gap


def met(record, tol):
    """As of a smooth loss whose violation is 10 at w = 0."""
    return "optimal" if record["violation"] <= 10.0 * tol else None


def record(**fields):
    return {"iteration": 3, "objective": 1.0, "violation": 0.5, "cpu_seconds": 2.0, **fields}


@pytest.mark.parametrize(
    ("limits", "fields", "status"),
    [
        ({"tol": 1e-2}, {"violation": 0.1}, "converged"),
        ({"tol": 1e-2}, {"violation": 0.101}, None),
        ({"tol": 1e-2}, {"violation": math.nan}, None),
        ({"gap": 1e-2, "f_star": 100.0}, {"objective": 101.0}, "converged"),
        ({"gap": 1e-2, "f_star": 100.0}, {"objective": 101.01}, None),
        ({"gap": 1e-2, "f_star": -100.0}, {"objective": -99.0}, "converged"),
        ({"gap": 1e-2, "f_star": 0.0}, {"objective": 0.01}, "converged"),
        ({"max_iter": 3}, {}, "max-iter"),
        ({"max_iter": 4}, {}, None),
        ({"max_seconds": 2.0}, {}, "max-seconds"),
        ({"max_seconds": 2.1}, {}, None),
        ({}, {"objective": math.nan}, "failed"),
        ({}, {"objective": math.inf}, "failed"),
        ({"tol": 1.0, "max_iter": 0}, {"violation": 1.0}, "converged"),
    ],
)
def test_each_limit_ends_a_run_where_it_says(limits, fields, status):
    ending = Stopping(**limits).ending(record(**fields), met)
    assert (ending and ending.status) == status
    if ending:
        assert ending.message


def test_the_gap_is_relative_unless_the_optimum_is_zero():
    assert relative_gap(3.0, 2.0) == 0.5
    assert relative_gap(-1.0, -2.0) == 0.5
    assert relative_gap(1e-3, 1e-13) == pytest.approx(1e-3)


def test_an_optimum_that_an_iterate_is_below_ends_nothing():
    def ending(objective, gap=1e-3, **limits):
        record = {"objective": objective, "violation": math.nan, "iteration": 7, "cpu_seconds": 0.0}
        return Stopping(gap=gap, f_star=2.0, **limits).ending(record, met)

    assert ending(2.001).status == "converged"
    assert ending(2.0 - 1e-10).status == "converged"  # f* is not known more exactly
    assert ending(1.99) is None
    assert "f is below f* = 2" in ending(1.99, max_iter=7).message
    assert "below" not in ending(2.5, max_iter=7).message


def test_without_limits_the_usual_ones_hold():
    assert Stopping().or_usual() == Stopping(tol=1e-6, max_seconds=600.0)
    assert Stopping(gap=0.1, f_star=1.0).or_usual() == Stopping(gap=0.1, f_star=1.0, max_seconds=600.0)
    for given in (
        {"max_iter": 5},
        {"tol": 0.1},
        {"max_seconds": 1.0},
        {"tol": 0.1, "gap": 0.1, "f_star": 1.0},
    ):
        assert Stopping(**given).or_usual() == Stopping(**given)


@pytest.mark.parametrize("name", ["tol", "gap", "max_iter", "max_seconds"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_limits_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}: {name} must be a number from 0"):
        Stopping(**{name: value, "f_star": 1.0})


def test_a_gap_needs_an_optimum():
    with pytest.raises(ValueError, match="give f_star as well"):
        Stopping(gap=1e-3)
