"""Endings in words: what is known of f, not only what a solver did."""

import pytest

from solverscope import solvers
from solverscope.app.settings import wording
from tests.solvers.helpers import binary


@pytest.mark.parametrize(
    ("status", "gap", "word"),
    [
        ("stalled", 1e-13, "at rounding"),
        ("stalled", 1e-3, "stalled"),
        ("stalled", None, "stalled"),
        ("converged", 1e-13, "converged"),
        ("max-iter", 1e-13, "iteration limit"),
        ("disputed", None, "disputed"),
    ],
)
def test_a_run_that_stalls_where_f_is_proved_to_be_the_minimum_is_at_rounding(status, gap, word):
    assert wording.of_ending(status, {"objective": 0.5, "dual_gap": gap}) == word


def test_a_run_that_goes_as_far_as_rounding_is_no_failure():
    problem = solvers.make_problem(binary(n=200), penalty="l2", lam=0.1)
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-30, max_iter=1000)
    assert trace.result["dual_gap"] <= 1e-11 * trace.result["objective"]
    assert wording.of_ending(trace.status, trace.result) in ("at rounding", "converged")
