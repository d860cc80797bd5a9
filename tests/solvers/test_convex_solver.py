"""Optima of the ℓ1/ℓ2 family against those of a generic convex solver: CVXPY, which is told the formulas."""

import cvxpy as cp
import numpy as np
import pytest

from solverscope import solvers
from tests.solvers.helpers import MAKERS, dense_of
from tests.solvers.oracles import label_sets

M = 3


def pair_hinge(Z, above, below):
    """Σ max(1 - z_r + z_q, 0)² over the samples and pairs with above_ir and below_iq."""
    pairs = [(r, q, above[:, r] & below[:, q]) for r in range(M) for q in range(M) if r != q]
    return sum(cp.sum_squares(cp.pos(1 - Z[on, r] + Z[on, q])) for r, q, on in pairs if on.any())


def multiclass_logistic(Z, data):
    return cp.sum(cp.log_sum_exp(Z, axis=1)) - cp.sum(cp.multiply(label_sets(data, M), Z))


def squared_hinge(Z, data):
    truth = label_sets(data, M)
    return pair_hinge(Z, truth, ~truth)


def multitask_squared_hinge(Z, data):
    return cp.sum_squares(cp.pos(1 - cp.multiply(np.where(label_sets(data, M), 1.0, -1.0), Z)))


LOSSES = {
    "multiclass-logistic": ("multiclass", multiclass_logistic),
    "multiclass-squared-hinge": ("multiclass", squared_hinge),
    "multitask-squared-hinge": ("multiclass", multitask_squared_hinge),
    "multilabel-squared-hinge": ("multilabel", squared_hinge),
}
PENALTIES = {
    "l1-l2": lambda W: cp.sum(cp.norm(W, 2, axis=1)),
    "l1-linf": lambda W: cp.sum(cp.norm(W, "inf", axis=1)),
    "sparse-group": lambda W: 0.5 * cp.sum(cp.abs(W)) + 0.5 * cp.sum(cp.norm(W, 2, axis=1)),
}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_cvxpy(loss, penalty):
    kind, formula = LOSSES[loss]
    data = MAKERS[kind](n=50, d=6, m=M)
    problem = solvers.make_problem(data, loss=loss, penalty=penalty, lam_ratio=0.2)
    W = cp.Variable((6, M))
    objective = formula(dense_of(data.train.X) @ W, data) / 50 + problem.lam * PENALTIES[penalty](W)
    theirs = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert problem.at(W.value.ravel()).objective == pytest.approx(theirs, rel=1e-7)
    for solver in ("bcd-ls", "sparsa"):
        trace = solvers.solve(problem, solvers.make_solver(solver), tol=1e-8, max_iter=20_000)
        assert trace.result["objective"] == pytest.approx(theirs, rel=1e-6)
        assert 0 < trace.result["nnz_rows"] < 6
