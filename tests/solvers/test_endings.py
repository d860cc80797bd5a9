"""Runs end: near λ_max, at rounding level, and with solvers that do not know how far they are."""

import functools
import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.problems.certificates import optimality
from solverscope.solvers.runs.observer import OPTIMALITY_SHARE
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


def offset(shift, labels="binary", n=60):
    """Features with a large offset, on labels that are not balanced: at w = 0 the violation is about as large
    as the offset, and what the labels depend on is 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    z = X @ rng.normal(size=6) + 1.5 * rng.normal(size=n)
    cuts = [0.25] if labels == "binary" else [0.2, 0.7]
    y = np.digitize(z, np.quantile(z, cuts))
    return X + shift, 2 * y - 1 if labels == "binary" else y


OFFSET = [
    *(("logistic", penalty, "binary", 1e-3) for penalty in ("l2", "l1", "none")),
    *(("multiclass-squared-hinge", penalty, "multiclass", 1e-3) for penalty in ("l2", "l1-l2")),
]


SHIFT = 1e6


@functools.cache
def of_offset(loss, penalty, labels, lam):
    """The problem, and f at weights of sum about zero in each output, which are those of the features without
    their offset: all but the best."""
    lams = {"lam": lam} if solvers.PENALTIES[penalty].takes_lam else {}
    problem = solvers.make_problem(*offset(SHIFT, labels), loss=loss, penalty=penalty, **lams)
    (X, y), basis = offset(0.0, labels), np.linalg.svd(np.ones((1, 6)))[2][1:].T
    with_ones = np.column_stack([X @ basis, np.ones(len(X))])
    plain = solvers.make_problem(with_ones, y, loss=loss, penalty="l2", lam=1e-3)
    V = plain.unpack(solvers.solve(plain, solvers.make_solver("lbfgs"), tol=1e-9).w)[0]
    W = basis @ V[:-1] + V[-1] / (6.0 * SHIFT)
    return problem, problem.at(W.ravel()).objective


@pytest.mark.parametrize(
    ("id", "case"),
    [
        (id, case)
        for case in OFFSET
        for id in (
            "prox-qn",
            "newton-cd",
            "ssn",
            "owl-qn",
            "bcd-ls",
            "fista-ls",
            "prox-gd",
            "lbfgs",
            "sgd-l1",
        )
        if id in solvers.compatible(case[0], case[1])
    ],
)
def test_a_huge_violation_at_zero_makes_no_run_converge_far_from_the_minimum(id, case):
    problem, low = of_offset(*case)
    trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-6, max_iter=60)
    too_high = trace.result["objective"] > 1.02 * low
    assert not (trace.status == "converged" and too_high), trace.message
