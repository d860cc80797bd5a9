"""Smooth losses as convex programs, solved by another program: nothing here comes from ``solvers``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise, product

import cvxpy as cp
import numpy as np
from scipy.special import xlogy

from .helpers import Data, dense_of
from .oracles import OUTPUTS, PENALTIES, Oracle, label_sets


def logistic(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ log(1 + exp(-y z))."""
    return cp.sum(cp.logistic(-cp.multiply(data.train.y.astype(float), Z[:, 0])))


def smoothed_binary_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ min over u >= 0 of u² + max(1 - y z - u, 0): the hinge smoothed by δ = ½."""
    u = cp.Variable(Z.shape[0], nonneg=True)
    return cp.sum_squares(u) + cp.sum(cp.pos(1.0 - cp.multiply(data.train.y.astype(float), Z[:, 0]) - u))


def multiclass_logistic(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ_i log Σ_c exp(z_ic - z_iy)."""
    truth = np.eye(Z.shape[1])[data.train.y]
    return cp.sum(cp.log_sum_exp(Z, axis=1)) - cp.sum(cp.multiply(Z, truth))


def multiclass_squared_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ_i Σ_{r ≠ y_i} max(1 - z_iy + z_ir, 0)²."""
    truth = np.eye(Z.shape[1])[data.train.y]
    own = cp.sum(cp.multiply(Z, truth), axis=1, keepdims=True) @ np.ones((1, Z.shape[1]))
    return cp.sum_squares(cp.pos(cp.multiply(1.0 - truth, 1.0 - own + Z)))


def multitask_squared_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ max(1 - y z, 0)² over labels."""
    sign = np.where(label_sets(data, Z.shape[1]), 1.0, -1.0)
    return cp.sum_squares(cp.pos(1.0 - cp.multiply(sign, Z)))


def multilabel_squared_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ max(1 - z_r + z_q, 0)² over labels r of a sample and others q."""
    m = Z.shape[1]
    sets = label_sets(data, m).astype(float)
    pairs = [(r, q) for r in range(m) for q in range(m) if r != q]
    return cp.sum(
        [
            cp.sum(cp.multiply(sets[:, r] * (1.0 - sets[:, q]), cp.square(cp.pos(1.0 - Z[:, r] + Z[:, q]))))
            for r, q in pairs
        ]
    )


def tree_softmax(Z: cp.Expression, data: Data) -> cp.Expression:
    """The softmax over the leaves, whose scores are sums over the nodes above them."""
    leaves = np.setdiff1d(np.arange(Z.shape[1]), data.parents)
    above = np.zeros((Z.shape[1], leaves.size))
    for column, leaf in enumerate(leaves):
        node = leaf
        while node >= 0:
            above[node, column] = 1.0
            node = data.parents[node]
    truth = np.eye(leaves.size)[np.searchsorted(leaves, data.train.y)]
    return cp.sum(cp.log_sum_exp(Z @ above, axis=1)) - cp.sum(cp.multiply(Z @ above, truth))


def chain_crf(Z: cp.Expression, data: Data, tail: cp.Expression) -> cp.Expression:
    """Σ log Σ exp(score) - score(y), with a term for each label sequence: for short chains."""
    y, m, total = data.train.y, Z.shape[1], 0.0
    for lo, hi in pairwise(data.train.offsets):
        tokens = range(lo, hi)
        paths = np.array([y[lo:hi], *product(range(m), repeat=hi - lo)])
        nodes, pairs = np.zeros((len(paths), (hi - lo) * m)), np.zeros((len(paths), m * m))
        for k, path in enumerate(paths):
            nodes[k, [m * t + c for t, c in enumerate(path)]] = 1.0
            np.add.at(pairs[k], m * path[:-1] + path[1:], 1.0)
        scores = nodes @ cp.hstack([Z[i] for i in tokens]) + pairs @ tail
        total += cp.log_sum_exp(scores[1:]) - scores[0]
    return total


#: Of one label a row.
def squared(Z: cp.Expression, data: Data) -> cp.Expression:
    """½‖Z - Y‖²."""
    return 0.5 * cp.sum_squares(Z - data.train.y.reshape(Z.shape))


def huber(Z: cp.Expression, data: Data) -> cp.Expression:
    """Huber's loss, δ = 1.35: CVXPY's is twice as large."""
    return 0.5 * cp.sum(cp.huber(Z[:, 0] - data.train.y, 1.35))


def poisson(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ exp z - y z + y log y - y."""
    y = data.train.y
    return cp.sum(cp.exp(Z[:, 0])) - y @ Z[:, 0] + float((xlogy(y, y) - y).sum())


LOSSES: dict[str, Callable[[cp.Expression, Data], cp.Expression]] = {
    "logistic": logistic,
    "smoothed-binary-hinge": smoothed_binary_hinge,
    "multiclass-logistic": multiclass_logistic,
    "multiclass-squared-hinge": multiclass_squared_hinge,
    "multitask-squared-hinge": multitask_squared_hinge,
    "squared": squared,
    "multitask-squared": squared,
    "huber": huber,
    "poisson": poisson,
}
#: Of sets of labels, leaves and sequences.
STRUCTURED: dict[str, Callable[..., cp.Expression]] = {
    "multilabel-squared-hinge": multilabel_squared_hinge,
    "tree-softmax": tree_softmax,
    "chain-crf": chain_crf,
}


def minimum(oracle: Oracle) -> np.ndarray:
    """Return the weights at the minimum by CVXPY; those of X alone are polished to some 1e-12 by FISTA in
    plain NumPy, beside transitions they are what CVXPY finds."""
    data, average = oracle.data, oracle.average
    X = dense_of(data.train.X)
    m, n_tail = OUTPUTS.get(oracle.loss, lambda m: (m, 0))(data.n_classes)
    W = cp.Variable((X.shape[1] + n_tail // m, m))  # transitions are rows of weights
    l1, ridge, l2, sup = (oracle.lam * share for share in PENALTIES[oracle.penalty])
    kinks = l1 * cp.sum(cp.abs(W)) + l2 * cp.sum(cp.norm(W, axis=1)) + sup * cp.sum(cp.max(cp.abs(W), axis=1))
    n = X.shape[0] if data.train.offsets is None else data.train.offsets.size - 1
    scale = 1.0 / n if average else 1.0
    tail = [cp.vec(W[X.shape[1] :], order="C")] if n_tail else []
    loss = scale * (LOSSES | STRUCTURED)[oracle.loss](X @ W[: X.shape[1]], data, *tail)
    tols = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        cp.Problem(cp.Minimize(loss + 0.5 * ridge * cp.sum_squares(W) + kinks)).solve(
            solver=cp.CLARABEL, **tols
        )
    w = np.asarray(W.value).reshape(-1)
    return w if n_tail else polished(oracle, w, np.linalg.norm(X, 2) ** 2 * scale)


def polished(oracle: Oracle, w: np.ndarray, squares: float, steps: int = 20_000) -> np.ndarray:
    """Return where accelerated proximal steps lead from ``w``, until nothing is left of the violation."""
    curvature = {"logistic": 0.25, "multiclass-logistic": 0.5}
    curvature |= dict.fromkeys(("smoothed-binary-hinge", "multitask-squared-hinge"), 2.0)
    curvature |= dict.fromkeys(("squared", "multitask-squared", "huber"), 1.0)
    if oracle.loss == "poisson":  # exp z has no bound, but it has one next to the minimum
        curvature["poisson"] = 2.0 * float(np.exp(dense_of(oracle.data.train.X) @ w).max())
    m = w.size // dense_of(oracle.data.train.X).shape[1]
    K = curvature.get(oracle.loss, 2.0 * m) * squares + oracle.lam * PENALTIES[oracle.penalty][1]
    least, v, t = 1e-13 * oracle.violation(np.zeros_like(w)), w.copy(), 1.0
    for step in range(steps):
        new = prox(oracle, v - oracle.gradient(v) / K, 1.0 / K, m)
        if (v - new) @ (new - w) > 0.0:
            t = 1.0
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        w, v, t = new, new + (t - 1.0) / later * (new - w), later
        if step % 50 == 0 and oracle.violation(w) <= least:
            break
    return w


def prox(oracle: Oracle, v: np.ndarray, step: float, m: int) -> np.ndarray:
    """The proximal step of ℓ1, then of ℓ2 norms of rows."""
    l1, _, l2, sup = (step * oracle.lam * share for share in PENALTIES[oracle.penalty])
    assert sup == 0.0
    V = (np.sign(v) * np.maximum(np.abs(v) - l1, 0.0)).reshape(-1, m)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    return (V * np.maximum(1.0 - l2 / np.where(lengths > 0.0, lengths, 1.0), 0.0)).reshape(-1)
