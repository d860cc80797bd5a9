"""Runs end: near λ_max, at rounding level, and with solvers that do not know how far they are."""

import itertools

import numpy as np
import pytest

import datasets
import solvers
from solvers.problems.certificates import optimality
from solvers.runs.run import OPTIMALITY_SHARE
from tests.solvers.helpers import binary, multiclass

SQUARED = ("multiclass-squared-hinge", "l1-l2")


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def problem_at(digits, loss, penalty, ratio):
    return solvers.make_problem(digits, loss=loss, penalty=penalty, lam_ratio=ratio)


@pytest.mark.parametrize("params", [{}, {"preset": "paper"}, {"shrinking": False}])
def test_random_rows_that_miss_what_is_violated_at_first_do_not_keep_a_run_going(digits, params):
    """One row of 64 is violated at 0.99 λ_max, and the first pass with seed 1 does not draw it."""
    problem = problem_at(digits, *SQUARED, 0.99)
    trace = solvers.solve(problem, solvers.make_solver("bcd-cst", seed=1, **params), tol=1e-6, max_iter=500)
    assert trace.objective[1] == trace.objective[0]
    assert trace.result["status"] == "converged"
    assert trace.result["violation"] <= 1e-6 * problem.violation_at_zero()


@pytest.mark.parametrize(
    ("id", "loss", "penalty"),
    [
        (id, loss, penalty)
        for loss, penalty in [SQUARED, ("multiclass-logistic", "l1"), ("multiclass-squared-hinge", "l1-linf")]
        for id in solvers.compatible(loss, penalty)
    ],
)
def test_at_lambda_max_every_solver_says_at_once_that_zero_is_optimal(digits, id, loss, penalty):
    problem = problem_at(digits, loss, penalty, 1.0)
    params = {"eta0": 0.1} if "eta0" in {p.name for p in solvers.parameters(solvers.SOLVERS[id])} else {}
    trace = solvers.solve(problem, solvers.make_solver(id, **params), tol=1e-6, max_iter=5)
    assert trace.result["status"] == "converged"
    assert trace.result["nnz"] == 0


@pytest.mark.parametrize("id", ["bcd-ls", "bcd-cst", "crf-bcd", "prox-gd", "owl-qn", "fista-ls", "sparsa"])
def test_a_hair_below_lambda_max_a_solver_by_itself_ends_where_rounding_begins(digits, id):
    """The violation at w = 0 is 1e-13 of the gradient there: 1e-9 of that is no number of this machine."""
    problem = problem_at(digits, "multiclass-logistic", "l1", 1.0 - 1e-13)
    found = list(itertools.islice(solvers.make_solver(id).iterate(problem), 300))
    assert len(found) < 300
    assert problem.at(found[-1].w).violation() <= problem.noise


@pytest.mark.parametrize(("loss", "penalty"), [SQUARED, ("multiclass-logistic", "l1")])
def test_prox_gd_stays_at_the_optimum_it_has_reached(monkeypatch, loss, penalty):
    """By values of f alone steps could grow without end once they are lost in its rounding, and would carry
    the weights away from the optimum again, to violations of 1e-7."""
    problem = solvers.make_problem(multiclass(), loss=loss, penalty=penalty, lam_ratio=0.05)
    monkeypatch.setattr(type(problem), "noise", 0.0)  # goes on where only rounding is left
    trace = solvers.solve(problem, solvers.make_solver("prox-gd"), tol=0.0, max_iter=1000)
    violation = trace.violation / problem.violation_at_zero()
    reached = int(np.argmax(violation <= 1e-9))
    assert 0 < reached < 100
    assert violation[reached:].max() <= 2e-9
    assert violation[-100:].max() <= 1e-14


@pytest.mark.parametrize("id", ["sgd-l1", "fobos"])
def test_solvers_that_know_no_violation_end_at_a_tolerance_too(id):
    """Not at a small one: the violation hangs on signs of weights that are nearly zero, and theirs change."""
    problem = solvers.make_problem(binary(n=300), lam_ratio=0.5)
    solver, far = solvers.make_solver(id, eta0=0.05), np.full(problem.size, 3.0)
    trace = solvers.solve(problem, solver, tol=2.0, max_iter=20_000, w0=far)
    assert trace.result["status"] == "converged"
    known = np.isfinite(trace.violation)
    assert known[0]
    assert known[-1]
    assert trace.violation[0] > 2.0 * problem.violation_at_zero()
    measured = problem.at(trace.w).violation()
    assert trace.violation[-1] == pytest.approx(measured, rel=1e-12)
    assert measured <= 2.0 * problem.violation_at_zero()


def test_measuring_violations_costs_a_few_percent_and_nothing_on_the_clock(digits, clock, monkeypatch):
    """Each costs as much as a pass of the solver."""
    problem, measured = problem_at(digits, "multiclass-logistic", "l1", 0.01), optimality.measured
    monkeypatch.setattr(optimality, "measured", lambda *a: (clock.work(1.0), measured(*a))[1])

    class Working(type(solvers.make_solver("sgd-l1"))):
        def iterate(self, problem, w0=None):
            for it in super().iterate(problem, w0):
                clock.work(1.0)
                yield it

    trace = solvers.solve(problem, Working(eta0=0.1), tol=0.0, max_iter=99)
    count = np.isfinite(trace.violation).sum()
    assert trace.cpu_seconds == pytest.approx(np.arange(1, 101))
    assert 1.0 * count <= OPTIMALITY_SHARE * trace.cpu_seconds[-1] + 2.0
    assert 2 <= count < len(trace)
    # each pass is one over the rows and back: what the observer computes is not among them
    np.testing.assert_allclose(np.diff(trace.passes), 1.0, rtol=1e-9)
