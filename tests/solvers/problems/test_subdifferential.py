"""All subgradients at a point, against enumeration over the tied instances."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.problems import subdifferential as module
from solverscope.solvers.problems.subdifferential import Subdifferential
from tests.solvers.helpers import binary, dense_of, multiclass

LAM = 0.1


def on_the_margin(ties=3, n=40, d=8):
    """A binary hinge at weights that put the first few samples exactly on the margin."""
    data = binary(n=n, d=d, density=0.9)
    X, y = dense_of(data.train.X), data.train.y.astype(float)
    w = np.linalg.lstsq(X[:ties], y[:ties], rcond=None)[0]
    problem = solvers.make_problem(data, loss="binary-hinge", penalty="l2", lam=LAM)
    point = problem.at(w)
    problem.loss.settle(point.scores)
    return problem, point, X, y


def corners(X, y, w, ties):
    """Every extreme point of the subdifferential, eq. (32)."""
    lack = 1.0 - y * (X @ w)
    fixed = LAM * w - (y * (lack > 1e-9))[ties:] @ X[ties:] / len(y)
    betas = np.array(list(itertools.product([0.0, 1.0], repeat=ties)))
    return fixed - (betas * y[:ties]) @ X[:ties] / len(y)


@pytest.mark.parametrize("by_rows", [True, False])
def test_the_steepest_subgradient_is_the_best_corner(by_rows, monkeypatch):
    if not by_rows:
        monkeypatch.setattr(module, "AT_ONCE", -1)
    problem, point, X, y = on_the_margin()
    every = corners(X, y, point.w, 3)
    here = Subdifferential(point)
    np.testing.assert_array_equal(here.ties, [0, 1, 2])
    for p in np.random.default_rng(0).normal(size=(50, problem.size)):
        g, product = here.sup(p)
        assert product == pytest.approx((every @ p).max(), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(g, every[(every @ p).argmax()], atol=1e-10)


def test_members_are_corners_whatever_residual_they_start_from():
    problem, point, X, y = on_the_margin()
    every = corners(X, y, point.w, 3)
    for seed in range(8):
        residual = problem.loss.random_subgradient(point.scores, np.random.default_rng(seed))
        here = Subdifferential(point, residual)
        assert np.abs(every - here.g).max(axis=1).min() < 1e-10
        p = np.random.default_rng(seed).normal(size=problem.size)
        assert here.sup(p)[1] == pytest.approx((every @ p).max(), abs=1e-12)


def test_work_is_in_proportion_to_the_tied_rows():
    problem, point, X, _ = on_the_margin(ties=2, n=200)
    here = Subdifferential(point)
    here.sup(np.ones(problem.size))
    touched = problem.design.touched
    for _ in range(10):
        here.sup(np.ones(problem.size))
    assert problem.design.touched - touched == 10 * 2 * np.count_nonzero(X[:2])


def test_all_labels_tie_at_zero_and_none_elsewhere():
    data = multiclass(n=30, density=1.0)
    problem = solvers.make_problem(data, loss="multiclass-hinge", penalty="l2", lam=LAM)
    np.testing.assert_array_equal(Subdifferential(problem.at()).ties, np.arange(30))
    elsewhere = Subdifferential(problem.at(np.random.default_rng(0).normal(size=problem.size)))
    assert elsewhere.single
    g, product = elsewhere.sup(np.ones(problem.size))
    assert g is elsewhere.g
    assert product == pytest.approx(g.sum())


def test_a_smooth_loss_has_one_member():
    problem = solvers.make_problem(binary(), loss="logistic", penalty="l2", lam=LAM)
    here = Subdifferential(problem.at())
    assert here.single
    np.testing.assert_array_equal(here.g, problem.at().gradient())
