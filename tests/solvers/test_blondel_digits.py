"""Blondel et al. 2013 on the digits: all solvers have one optimum, proved by code that is none of theirs."""

import functools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from solverscope import datasets, solvers
from tests.solvers.helpers import dense_of
from tests.solvers.oracles import Oracle

pytestmark = pytest.mark.slow

LOSS, PENALTY = "multiclass-squared-hinge", "l1-l2"
SOLVERS = ("bcd-ls", "bcd-cst", "fista-ls", "fista-cst", "sparsa")
#: λ, and how close to the optimum solvers come in a few seconds.
GAPS = {0.1: 1e-6, 0.01: 1e-5}


@functools.cache
def digits():
    return datasets.load("digits")


@functools.cache
def problem_at(lam):
    problem = solvers.make_problem(digits(), loss=LOSS, penalty=PENALTY, lam=lam)
    return problem, Oracle(digits(), LOSS, PENALTY, lam, average=True)


@functools.cache
def optimum(lam):
    """Weights as near the optimum as rounding leaves them."""
    return solvers.solve(problem_at(lam)[0], solvers.make_solver("sparsa"), tol=1e-10, max_seconds=60).w


@pytest.mark.parametrize("lam", GAPS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_reach_the_same_optimum(solver, lam):
    problem, oracle = problem_at(lam)
    f_star = oracle.objective(optimum(lam))
    solver = solvers.make_solver(solver)
    trace = solvers.solve(problem, solver, gap=GAPS[lam], f_star=f_star, max_seconds=60)
    assert abs(oracle.objective(trace.w) - f_star) <= 1.0001 * GAPS[lam] * f_star


def test_fobos_comes_within_one_percent():
    problem, oracle = problem_at(0.1)
    f_star = oracle.objective(optimum(0.1))
    trace = solvers.solve(problem, solvers.make_solver("fobos"), gap=1e-2, f_star=f_star, max_seconds=60)
    assert 0.0 <= oracle.objective(trace.w) - f_star <= 1.0001e-2 * f_star


@pytest.mark.parametrize("lam", GAPS)
def test_the_duality_gap_certifies_the_optimum(lam):
    problem, oracle = problem_at(lam)
    point = problem.at(optimum(lam))
    assert point.objective == pytest.approx(oracle.objective(point.w), rel=1e-13)
    assert solvers.duality_gap(problem, point) <= 1e-7 * point.objective


@pytest.mark.parametrize("lam", GAPS)
def test_proposition_1_holds_for_all_rows(lam):
    """‖G_j‖ <= λ where W_j = 0, G_j = -λW_j/‖W_j‖ elsewhere, each up to 1e-6 λ."""
    _, oracle = problem_at(lam)
    w = optimum(lam)
    assert 0 < np.count_nonzero(np.any(w.reshape(64, 10), axis=1)) < 64
    assert oracle.violation(w) <= 1e-6 * lam
    assert oracle.violation(1.001 * w) > 1e-4 * lam


@pytest.mark.parametrize("lam", [0.1, 0.001])
def test_block_coordinate_descent_ends_at_a_certified_optimum(lam):
    """Within 1e-6 of the least value there is by duality, and by the optimality conditions."""
    problem, oracle = problem_at(lam)
    tol = 1e-6 * lam / problem.violation_at_zero()
    trace = solvers.solve(problem, solvers.make_solver("bcd-ls"), tol=tol, max_seconds=60)
    assert solvers.duality_gap(problem, problem.at(trace.w)) <= 1e-6 * oracle.objective(trace.w)
    assert oracle.violation(trace.w) <= 1e-6 * lam


def equation_2(Z, y):
    """(1/n) Σ_i Σ_{r ≠ y_i} max(1 - (z_iy - z_ir), 0)²."""
    A = np.maximum(1.0 - (Z[np.arange(y.size), y][:, None] - Z), 0.0)
    A[np.arange(y.size), y] = 0.0
    return (A**2).sum() / y.size


def equation_11(Z, y):
    """(1/n) Σ_r Σ_i max(1 - Y_ir z_ir, 0)², Y_ir = 1 where y_i = r and -1 elsewhere."""
    Y = np.where(y[:, None] == np.arange(Z.shape[1]), 1.0, -1.0)
    return (np.maximum(1.0 - Y * Z, 0.0) ** 2).sum() / y.size


def equation_12(Z, y):
    """(1/n) Σ_i log(1 + Σ_{r ≠ y_i} exp(z_ir - z_iy)): the term r = y_i is the 1."""
    return logsumexp(Z - Z[np.arange(y.size), y][:, None], axis=1).sum() / y.size


@pytest.mark.parametrize(
    ("loss", "equation"),
    [
        ("multiclass-squared-hinge", equation_2),
        ("multitask-squared-hinge", equation_11),
        ("multiclass-logistic", equation_12),
    ],
)
def test_objectives_and_gradients_are_those_printed(loss, equation):
    X, y, lam = dense_of(digits().train.X), digits().train.y, 0.03
    problem = solvers.make_problem(digits(), loss=loss, penalty=PENALTY, lam=lam)
    W = 0.2 * np.random.default_rng(0).normal(size=(64, 10))
    point = problem.at(W.ravel())
    rows = np.linalg.norm(W, axis=1).sum()
    assert point.objective == pytest.approx(equation(X @ W, y) + lam * rows, rel=1e-12)
    j = 20
    others = X @ W - np.outer(X[:, j], W[j])
    g = approx_fprime(W[j], lambda row: equation(others + np.outer(X[:, j], row), y), 1e-7)
    np.testing.assert_allclose(point.gradient().reshape(64, 10)[j], g, atol=1e-5)
