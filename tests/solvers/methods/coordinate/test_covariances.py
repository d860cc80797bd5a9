"""Covariance updates: the matrix of the model, the minimum found with it, and when it is held."""

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.design import Design
from solverscope.solvers.methods.coordinate import covariances
from solverscope.solvers.methods.coordinate.covariances import Covariances, covariance_sweeps
from solverscope.solvers.methods.coordinate.newton_cd import CONSTANT
from tests.solvers.helpers import matrix, problem_of


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary"])
@pytest.mark.parametrize("curved", [False, True])
def test_products_of_columns_are_those_of_the_whole_matrix(storage, curved, monkeypatch):
    monkeypatch.setattr(covariances, "COVARIANCE_PRODUCTS_PER_CALL", 200)
    monkeypatch.setattr(covariances, "COVARIANCE_ROWS_PER_CALL", (7, 50))
    X = matrix(90, 20, storage, seed=4)
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    h = np.random.default_rng(0).random(90) if curved else CONSTANT
    Q = 0.5 * dense.T @ dense if not curved else (dense.T * h) @ dense
    held = Covariances(Design(X, 1), 0.5)
    for features in ([3, 5, 8], [1, 3, 8, 19], [0, 1, 2, 12, 13, 14], [3, 5]):
        found = held.of(np.array(features), h)
        np.testing.assert_allclose(found, Q[np.ix_(features, features)], atol=1e-12)
        assert found.flags.c_contiguous
    assert held.cost(np.array([5, 3]), h) == 0.0 or curved
    assert held.cost(np.array([5, 18]), h) > 0.0
    assert held.held.size <= 2 * 6


@pytest.mark.parametrize("rank", [40, 12])
def test_the_minimum_has_no_violation_also_where_columns_depend_on_each_other(rank):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(rank, 30))
    A[:, 29] = 0.0  # only the penalty depends on this weight
    w = rng.normal(size=30) * (rng.random(30) < 0.8)
    w[29] = 1.0
    Q, g = A.T @ A, A.T @ rng.normal(size=rank)
    l1 = np.full(30, 0.3)
    l1[0] = 0.0
    v, c = w.copy(), g.copy()
    sweeps, over = covariance_sweeps(Q, v, c, np.diag(Q).copy(), l1, True, 1e-10, 10_000, 10**9)
    assert over
    assert sweeps < 200
    gradient = g + Q @ (v - w)
    np.testing.assert_allclose(c, gradient, atol=1e-9)
    zero = v == 0.0
    assert 0 < np.count_nonzero(zero) < 30
    assert (np.abs(gradient[zero]) <= l1[zero] + 1e-9).all()
    np.testing.assert_allclose(gradient[~zero], -np.sign(v[~zero]) * l1[~zero], atol=1e-9)
    part, d = w.copy(), g.copy()
    over = False
    while not over:  # a call after a few operations goes on where the last one ended
        _, over = covariance_sweeps(Q, part, d, np.diag(Q).copy(), l1, True, 1e-10, 10_000, 1)
    np.testing.assert_allclose(0.5 * part @ Q @ part, 0.5 * v @ Q @ v, atol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l2"])
def test_held_matrices_lead_to_the_same_optimum_with_fewer_passes(loss, penalty):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 40)) + 4.0 * rng.normal(size=(150, 1))
    y = np.sign(X[:, :5].sum(axis=1) + rng.normal(size=150))
    problem = solvers.make_problem(X, y, loss=loss, penalty=penalty, lam=0.01, intercept=True)
    held, swept = (
        solvers.solve(problem, solvers.make_solver("newton-cd", covariance_updates=on), tol=1e-10)
        for on in (True, False)
    )
    np.testing.assert_allclose(held.w, swept.w, atol=1e-7)
    assert held.passes[-1] < 0.8 * swept.passes[-1]


@pytest.mark.parametrize("solver", [{"preset": "paper"}, {"covariance_updates": False}, {"inner": 0.0}])
def test_the_paper_does_without(solver, monkeypatch):
    monkeypatch.setattr(Covariances, "of", lambda *args: pytest.fail("no matrix is held"))
    problem = problem_of("binary", n=30, d=8)
    assert solvers.solve(problem, solvers.make_solver("newton-cd", **solver), tol=1e-9).status == "converged"


def test_rows_of_weights_do_without(monkeypatch):
    monkeypatch.setattr(Covariances, "of", lambda *args: pytest.fail("no matrix is held"))
    problem = problem_of("multiclass", n=30, d=8)
    assert solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-9).status == "converged"


def test_a_model_without_a_minimum_is_left_to_sweeps():
    """Most of Huber's errors are beyond δ at first: too few samples are curved for 50 weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    problem = solvers.make_problem(
        X,
        100.0 * X[:, 0],
        loss="huber",
        penalty="l1",
        lam=0.05,
        intercept=True,
        sample_weight=rng.random(300),
    )
    held, swept = (
        solvers.solve(problem, solvers.make_solver("newton-cd", covariance_updates=on), tol=1e-8)
        for on in (True, False)
    )
    assert held.status == swept.status == "converged"
    assert held.objective[-1] == pytest.approx(swept.objective[-1], rel=1e-9)
