"""Changes of λ on their way to a run."""

import pytest

from solverscope import datasets, solvers
from solverscope.solvers import Stopping
from solverscope.solvers.runs.lam_changes import LamChanges, checked_lam
from solverscope.solvers.traces.trace import Trace
from tests.solvers.helpers import chains


def test_the_newest_request_empties_the_queue():
    changes = LamChanges()
    assert not changes
    for lam in (1.0, 2.0, 3.0):
        changes.request(lam, lambda problem: Stopping())
    assert changes
    assert changes.take_newest()[0] == 3.0
    assert not changes


@pytest.mark.parametrize(
    ("solver", "lam", "kept", "said"),
    [
        ("prox-qn", 0.0, None, "lam"),
        ("prox-qn", 1.0, Stopping(gap=1e-3, f_star=1.0), "f* of one λ"),
        ("wapiti", 1.0, None, "starts from zero alone"),
    ],
)
def test_a_lam_that_cannot_be_reached_is_refused(solver, lam, kept, said):
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        checked_lam(problem, solvers.SOLVERS[solver](), Trace({"label": "run"}), lam, kept)


def test_a_penalty_without_lam_has_none_to_change():
    problem = solvers.make_problem(datasets.load("toy-abs"))
    with pytest.raises(ValueError, match="no λ to change"):
        checked_lam(problem, solvers.make_solver("bfgs"), Trace({"label": "run"}), 1.0, None)
