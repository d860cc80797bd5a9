"""Smooth losses as convex programs, solved by another program: nothing here comes from ``solvers``."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import cvxpy as cp
import numpy as np

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


LOSSES: dict[str, Callable[[cp.Expression, Data], cp.Expression]] = {
    "logistic": logistic,
    "smoothed-binary-hinge": smoothed_binary_hinge,
    "multiclass-logistic": multiclass_logistic,
    "multiclass-squared-hinge": multiclass_squared_hinge,
    "multitask-squared-hinge": multitask_squared_hinge,
}


def minimum(oracle: Oracle) -> np.ndarray:
    """Return the weights at the minimum by CVXPY, polished to some 1e-12 by FISTA in plain NumPy."""
    data, average = oracle.data, oracle.average
    X = dense_of(data.train.X)
    m, _ = OUTPUTS.get(oracle.loss, lambda m: (m, 0))(data.n_classes)
    W = cp.Variable((X.shape[1], m))
    l1, ridge, l2, sup = (oracle.lam * share for share in PENALTIES[oracle.penalty])
    kinks = l1 * cp.sum(cp.abs(W)) + l2 * cp.sum(cp.norm(W, axis=1)) + sup * cp.sum(cp.max(cp.abs(W), axis=1))
    scale = 1.0 / X.shape[0] if average else 1.0
    loss = scale * LOSSES[oracle.loss](X @ W, data) + 0.5 * ridge * cp.sum_squares(W)
    tols = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        cp.Problem(cp.Minimize(loss + kinks)).solve(solver=cp.CLARABEL, **tols)
    return polished(oracle, np.asarray(W.value).reshape(-1), np.linalg.norm(X, 2) ** 2 * scale)


def polished(oracle: Oracle, w: np.ndarray, squares: float, steps: int = 20_000) -> np.ndarray:
    """Return where accelerated proximal steps lead from ``w``, until nothing is left of the violation."""
    curvature = {"logistic": 0.25, "multiclass-logistic": 0.5}
    curvature |= dict.fromkeys(("smoothed-binary-hinge", "multitask-squared-hinge"), 2.0)
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
