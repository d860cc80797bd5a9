"""Losses that are differences of large numbers, as log Z(x) - score(y) is: proved bounds allow for what
rounding leaves of them. Formulas in extended precision, which are not the solvers', say what f is."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.problems.certificates.certificate import duality_gap
from tests.solvers.helpers import MAKERS, dense_of

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are doubles on this machine"
)


def log_sum(z, axis):
    top = z.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(z - top).sum(axis=axis))


def losses(data, w):
    """The loss of each instance of a chain CRF or a softmax, in extended precision."""
    X, y, m = dense_of(data.train.X).astype(np.longdouble), data.train.y, data.n_classes
    body = X.shape[1] * m
    Z, tail = X @ w[:body].astype(np.longdouble).reshape(-1, m), w[body:].astype(np.longdouble)
    if data.train.offsets is None:
        return log_sum(Z, 1) - Z[np.arange(len(y)), y]
    found, tail = [], tail.reshape(m, m)
    for lo, hi in itertools.pairwise(data.train.offsets):
        ahead, score = Z[lo], Z[lo, y[lo]]
        for t in range(lo + 1, hi):
            ahead = Z[t] + log_sum(ahead[:, None] + tail, 0)
            score = score + Z[t, y[t]] + tail[y[t - 1], y[t]]
        found.append(log_sum(ahead, 0) - score)
    return np.array(found)


@pytest.mark.parametrize("lam", [1e-3, 3e-8, 1e-10])
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("sequences", {"n": 6, "d": 30, "storage": "dense"}),
        ("multiclass", {"n": 20, "d": 40, "density": 1.0}),
    ],
)
def test_a_bound_holds_where_the_loss_is_what_rounding_leaves(kind, how, lam):
    for seed in range(2):
        data = MAKERS[kind](seed=seed, **how)
        problem = solvers.make_problem(data, loss=data.loss, penalty="l2", lam=lam)
        exact, bounds = [], []
        for id in ("newton-cd", "lbfgs", "prox-qn"):
            w = solvers.solve(problem, solvers.make_solver(id), tol=1e-13, max_iter=500).w
            point, ridge = problem.at(w), w.astype(np.longdouble)
            f = losses(data, w).sum() * np.longdouble(problem.scale) + lam * (ridge @ ridge) / 2
            assert abs(point.objective - f) <= point.rounding()
            exact.append(f)
            bounds.append(np.longdouble(point.objective) - np.longdouble(duality_gap(problem, point)))
        assert max(bounds) <= min(exact)
