"""The hinge with a parabola in place of its kink: below the hinge by half of its width at most."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores
from tests.solvers.helpers import binary, dense_of

WIDTHS = [1e-3, 0.5, 3.0]


def bound(delta, n=40):
    """The loss of random labels, scores around its parabola, and a direction."""
    rng = np.random.default_rng(3)
    y = rng.choice([-1, 1], n)
    loss = solvers.LOSSES["smoothed-binary-hinge"](delta=delta).bind(SimpleNamespace(y=y), 2)
    z = y * (1.0 - delta * rng.uniform(-1.0, 2.0, n))
    return loss, Scores(z[:, None], np.zeros(0)), Scores(rng.normal(size=(n, 1)), np.zeros(0))


def problem_of(loss, **params):
    return solvers.make_problem(binary(), loss=loss, penalty="l2", lam=0.01, loss_params=params)


@pytest.mark.parametrize("delta", WIDTHS)
def test_it_is_the_hinge_less_half_of_the_width_at_most(delta):
    loss, scores, _ = bound(delta)
    hinge = np.maximum(1.0 - loss.y * scores.Z[:, 0], 0.0)
    values = loss.values(scores)
    assert np.all(values <= hinge)
    assert np.all(values >= hinge - 0.5 * delta * (1 + 1e-12))
    far = 1.0 - loss.y * scores.Z[:, 0] > delta
    np.testing.assert_allclose(values[far], hinge[far] - 0.5 * delta, rtol=1e-12)


@pytest.mark.parametrize("delta", WIDTHS)
def test_its_residual_is_the_slope_of_its_value(delta):
    loss, scores, along = bound(delta)
    h = 1e-7 * delta
    residual = loss.residual(scores)
    slope = (loss.values(scores, along, h) - loss.values(scores, along, -h)) / (2 * h)
    np.testing.assert_allclose(slope, residual.Z[:, 0] * along.Z[:, 0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("delta", WIDTHS)
def test_its_minimum_is_that_of_another_program_and_its_gap_is_proved(delta):
    data, problem = binary(), problem_of("smoothed-binary-hinge", delta=delta)
    X, y = dense_of(data.train.X), data.train.y.astype(float)
    w, u = cp.Variable(X.shape[1]), cp.Variable(y.size, nonneg=True)
    lack = 1.0 - cp.multiply(y, X @ w)
    loss = cp.sum_squares(u) / (2.0 * delta) + cp.sum(cp.pos(lack - u))
    f = loss / y.size + 0.005 * cp.sum_squares(w)
    least = cp.Problem(cp.Minimize(f)).solve(solver=cp.CLARABEL)
    for id in ("dual-cd", "lbfgs", "bmrm"):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-7, max_seconds=10)
        assert trace.result["objective"] == pytest.approx(least, rel=1e-5), id
        assert np.all((trace.objective - trace.dual_gap)[1:] <= least * (1 + 1e-6)), id


def test_the_minimum_tends_to_that_of_the_hinge():
    def least(loss, **params):
        solver = solvers.make_solver("dual-cd")
        return solvers.solve(problem_of(loss, **params), solver, tol=1e-8).result["objective"]

    hinge = least("binary-hinge")
    for delta in (0.5, 0.1, 1e-3):
        smooth = least("smoothed-binary-hinge", delta=delta)
        assert hinge - 0.5 * delta <= smooth <= hinge * (1 + 1e-7)
