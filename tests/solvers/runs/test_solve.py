import traceback
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Iterate, Solver
from tests.solvers.helpers import binary, multiclass


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(binary(), penalty="l1", lam=0.05)


@dataclass(frozen=True)
class Stumbling(Solver):
    """Raises, or ends as it is told, after its start."""

    id = "stumbling"
    name = "Stumbling"
    summary = "for tests"
    needs = solvers.Trait.SMOOTH

    then: object = None

    def iterate(self, problem, w0=None):
        yield Iterate.at(problem.at(w0), 0, violation=1.0)
        if isinstance(self.then, BaseException):
            raise self.then
        return self.then


def test_an_id_with_hyper_parameters_is_as_good_as_a_solver(problem):
    made = solvers.solve(problem, solvers.make_solver("prox-qn", memory=5), max_iter=5)
    named = solvers.solve(problem, "prox-qn", memory="5", max_iter=5)
    np.testing.assert_array_equal(named.objective, made.objective)
    assert named.info.params == made.info.params
    assert named.info.label == made.info.label == "prox-qn memory=5"


@pytest.mark.parametrize(
    ("solver", "how", "label"),
    [
        ("lbfgs", {}, "lbfgs"),
        ("lbfgs", {"label": "mine", "memory": 3}, "mine"),
        ("lbfgs", {"preset": "paper", "memory": 3}, "lbfgs preset=paper memory=3"),
        (solvers.make_solver("lbfgs", preset="paper"), {}, "lbfgs preset=paper"),
        (solvers.make_solver("bfgs", scaled=False), {"tol": 0.5}, "bfgs scaled=false"),
    ],
)
def test_a_run_is_labelled_by_what_differs_from_the_defaults(solver, how, label):
    problem = solvers.make_problem(binary(), penalty="l2", lam=0.1)
    assert solvers.solve(problem, solver, max_iter=1, **how).info.label == label


def test_it_refuses_what_the_command_line_refuses_in_the_same_words(command):
    kinked = solvers.make_problem(multiclass(), loss="multiclass-hinge", penalty="l2", lam=0.1)
    told = command(
        "run", "digits", "--loss", "multiclass-hinge", "--penalty", "l2", "--solver", "prox-qn"
    ).err
    with pytest.raises(ValueError, match="solver prox-qn needs a smooth loss, unlike") as refused:
        solvers.solve(kinked, "prox-qn")
    assert str(refused.value) in told


def test_what_is_no_solver_is_refused_in_a_sentence(problem):
    for wrong, said in (
        ("prox", r"there is no solver 'prox' \(did you mean prox-qn\?\): choose one of prox-qn"),
        (solvers.SOLVERS["owl-qn"], "the class OWLQN is no solver: give an id"),
        (5, "5 is no solver"),
    ):
        with pytest.raises(ValueError, match=said):
            solvers.solve(problem, wrong)
    with pytest.raises(ValueError, match="memory is given with a solver that is already made"):
        solvers.solve(problem, solvers.make_solver("owl-qn"), memory=5)
    with pytest.raises(ValueError, match="on_error='ignore' is not possible"):
        solvers.solve(problem, "owl-qn", on_error="ignore")


def test_a_solver_that_is_not_registered_is_checked_as_well(problem):
    kinked = solvers.make_problem(binary(), loss="binary-hinge", penalty="l2", lam=0.1)
    assert solvers.solve(problem, Stumbling()).status == "stalled"
    with pytest.raises(ValueError, match="solver stumbling needs a smooth loss, unlike binary-hinge with"):
        solvers.solve(kinked, Stumbling())


def test_a_tolerance_that_nothing_can_be_compared_with_is_refused():
    kinked = solvers.make_problem(binary(), loss="binary-hinge", penalty="l1", lam=0.1)
    with pytest.raises(ValueError, match=r"a tol of 0\.001 needs a smooth loss"):
        solvers.solve(kinked, "sgd-l1", tol=1e-3)


def test_a_failure_is_raised_with_the_line_of_the_solver(problem):
    with pytest.raises(ZeroDivisionError) as failed:
        solvers.solve(problem, Stumbling(ZeroDivisionError("no more steps")))
    assert failed.value.__notes__ == [
        'stumbling failed after iteration 0: with on_error="keep" its trace is returned'
    ]
    lines = [frame.line for frame in traceback.extract_tb(failed.value.__traceback__)]
    assert lines[-1] == "raise self.then"


def test_a_failure_without_an_error_of_its_own_is_raised_with_the_trace(problem):
    for then in (solvers.Ending("failed", "no descent"), SystemExit(3)):
        with pytest.raises(solvers.SolverFailed, match="solver stumbling failed: ") as failed:
            solvers.solve(problem, Stumbling(then))
        assert failed.value.trace.status == "failed"
        assert len(failed.value.trace) == 1


def test_a_failure_that_is_kept_is_the_trace_s_exception(problem):
    error = ZeroDivisionError("no more steps")
    trace = solvers.solve(problem, Stumbling(error), on_error="keep")
    assert (trace.status, trace.exception) == ("failed", error)
    assert solvers.solve(problem, Stumbling(), on_error="keep").exception is None
