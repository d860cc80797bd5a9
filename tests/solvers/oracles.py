"""Losses, penalties and optimality in plain NumPy, from dense X: nothing here comes from ``solvers``.

Every smooth loss and every penalty of the registry has its formula here, so that what a solver claims is
checked by other code than its own; losses with kinks are in :mod:`.convex`. A new one needs a line in
``LOSSES`` or ``PENALTIES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, logsumexp, rel_entr, softmax

from .helpers import Data, dense_of

Residual = tuple[float, np.ndarray, np.ndarray]


def logistic(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """Value, ∂/∂Z and ∂/∂tail of Σ log(1 + exp(-y z))."""
    y = data.train.y
    margin = y * Z[:, 0]
    return np.logaddexp(0.0, -margin).sum(), (-y * expit(-margin))[:, None], np.zeros(0)


def smoothed_binary_hinge(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of the hinge with a parabola of width ½, from margin ½ to 1."""
    y = data.train.y
    lack = 1.0 - y * Z[:, 0]
    value = np.where(lack <= 0.5, np.maximum(lack, 0.0) ** 2, lack - 0.25)
    return value.sum(), (-y * np.clip(2.0 * lack, 0.0, 1.0))[:, None], np.zeros(0)


def multiclass_logistic(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of the softmax loss."""
    truth = np.eye(Z.shape[1])[data.train.y]
    return (logsumexp(Z, axis=1) - (Z * truth).sum(axis=1)).sum(), softmax(Z, axis=1) - truth, np.zeros(0)


def chain_crf(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of the chain CRF, by forward and backward messages in log space."""
    m, y, offsets = Z.shape[1], data.train.y, data.train.offsets
    T = tail.reshape(m, m)
    value, G, pairs = 0.0, np.zeros_like(Z), np.zeros((m, m))
    for lo, hi in pairwise(offsets):
        z, labels = Z[lo:hi], y[lo:hi]
        forward, backward = [z[0]], [np.zeros(m)]
        for row in z[1:]:
            forward.append(row + logsumexp(forward[-1][:, None] + T, axis=0))
        for row in z[:0:-1]:
            backward.insert(0, logsumexp(T + row + backward[0], axis=1))
        log_z = logsumexp(forward[-1])
        value += log_z - z[np.arange(hi - lo), labels].sum() - T[labels[:-1], labels[1:]].sum()
        G[lo:hi] = np.exp(np.array(forward) + np.array(backward) - log_z) - np.eye(m)[labels]
        for t in range(hi - lo - 1):
            pairs += np.exp(forward[t][:, None] + T + z[t + 1] + backward[t + 1] - log_z)
            pairs[labels[t], labels[t + 1]] -= 1.0
    return value, G, pairs.ravel()


def tree_softmax(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of the softmax over the leaves of a tree, whose scores are sums over the nodes above them."""
    leaves = np.setdiff1d(np.arange(Z.shape[1]), data.parents)
    above = np.zeros((leaves.size, Z.shape[1]))
    for row, leaf in enumerate(leaves):
        node = leaf
        while node >= 0:
            above[row, node] = 1.0
            node = data.parents[node]
    truth = np.searchsorted(leaves, data.train.y)
    A = Z @ above.T
    value = (logsumexp(A, axis=1) - A[np.arange(truth.size), truth]).sum()
    return value, (softmax(A, axis=1) - np.eye(leaves.size)[truth]) @ above, np.zeros(0)


def pair_hinge(Z: np.ndarray, above: np.ndarray, below: np.ndarray) -> Residual:
    """Σ over samples and pairs (r, q) with above_ir and below_iq of max(1 - z_r + z_q, 0)²."""
    A = np.maximum(1 - Z[:, :, None] + Z[:, None, :], 0) * (above[:, :, None] & below[:, None, :])
    return (A**2).sum(), 2 * (A.sum(axis=1) - A.sum(axis=2)), np.zeros(0)


def multiclass_squared_hinge(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The true class against the others."""
    truth = np.eye(Z.shape[1], dtype=bool)[data.train.y]
    return pair_hinge(Z, truth, ~truth)


def multilabel_squared_hinge(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """Labels of a sample against the others."""
    truth = label_sets(data, Z.shape[1])
    return pair_hinge(Z, truth, ~truth)


def multitask_squared_hinge(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """Each label against its absence."""
    sign = np.where(label_sets(data, Z.shape[1]), 1.0, -1.0)
    a = np.maximum(1 - sign * Z, 0)
    return (a**2).sum(), -2 * sign * a, np.zeros(0)


def label_sets(data: Data, m: int) -> np.ndarray:
    """Booleans (n, m), from classes or a sparse matrix."""
    y = data.train.y
    return np.eye(m, dtype=bool)[y] if isinstance(y, np.ndarray) else np.asarray(y.todense()) != 0


def squared(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of half the squared error."""
    R = Z - data.train.y.reshape(Z.shape)
    return 0.5 * (R * R).sum(), R, np.zeros(0)


def huber(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of Huber's loss, δ = 1.35."""
    R = Z - data.train.y.reshape(Z.shape)
    G = np.clip(R, -1.35, 1.35)
    return (G * (R - 0.5 * G)).sum(), G, np.zeros(0)


def poisson(Z: np.ndarray, tail: np.ndarray, data: Data) -> Residual:
    """The same of half the deviance of Poisson's distribution with mean exp z."""
    y, mean = data.train.y, np.exp(Z[:, 0])
    return (mean - y + rel_entr(y, mean)).sum(), (mean - y)[:, None], np.zeros(0)


LOSSES: dict[str, Callable[..., Residual]] = {
    "logistic": logistic,
    "smoothed-binary-hinge": smoothed_binary_hinge,
    "multiclass-logistic": multiclass_logistic,
    "multiclass-squared-hinge": multiclass_squared_hinge,
    "multitask-squared-hinge": multitask_squared_hinge,
    "multilabel-squared-hinge": multilabel_squared_hinge,
    "chain-crf": chain_crf,
    "tree-softmax": tree_softmax,
    "squared": squared,
    "multitask-squared": squared,
    "huber": huber,
    "poisson": poisson,
}
#: Shares of ‖w‖₁, of ½‖w‖², and of the sums of ‖W_j‖₂ and of ‖W_j‖_∞ over rows in λR(w).
PENALTIES = {
    "none": (0.0, 0.0, 0.0, 0.0),
    "l2": (0.0, 1.0, 0.0, 0.0),
    "l1": (1.0, 0.0, 0.0, 0.0),
    "elastic-net": (0.5, 0.5, 0.0, 0.0),
    "l1-l2": (0.0, 0.0, 1.0, 0.0),
    "l1-linf": (0.0, 0.0, 0.0, 1.0),
    "sparse-group": (0.5, 0.0, 0.5, 0.0),
}
#: Outputs a feature and weights beyond X, by number of classes (one a class and none if not here).
OUTPUTS = {
    **dict.fromkeys(("logistic", "binary-hinge", "smoothed-binary-hinge"), lambda m: (1, 0)),
    "chain-crf": lambda m: (m, m * m),
}


@dataclass(frozen=True)
class Oracle:
    """The objective of one problem; ``factors`` are the penalty factors of all weights."""

    data: Data
    loss: str
    penalty: str
    lam: float
    average: bool
    factors: np.ndarray | None = None

    def _smooth(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        X, part = dense_of(self.data.train.X), self.data.train
        m, n_tail = OUTPUTS.get(self.loss, lambda m: (m, 0))(self.data.n_classes)
        body = X.shape[1] * m
        assert w.size == body + n_tail
        value, G, tail = LOSSES[self.loss](X @ w[:body].reshape(-1, m), w[body:], self.data)
        n = part.X.shape[0] if part.offsets is None else part.offsets.size - 1
        scale = 1.0 / n if self.average else 1.0
        ridge = self.lam * PENALTIES[self.penalty][1] * self._factors(w)
        g = scale * np.concatenate([(X.T @ G).ravel(), tail]) + ridge * w
        return scale * value + 0.5 * ((ridge * w) @ w), g

    def _factors(self, w: np.ndarray) -> np.ndarray:
        return np.ones(w.size) if self.factors is None else self.factors

    def _rows(self, w: np.ndarray) -> np.ndarray:
        m, _ = OUTPUTS.get(self.loss, lambda m: (m, 0))(self.data.n_classes)
        return w.reshape(-1, m)

    def objective(self, w: np.ndarray) -> float:
        """f(w)."""
        l1, _, l2, sup = PENALTIES[self.penalty]
        W = np.abs(self._rows(self._factors(w) * w))  # norms are homogeneous
        kinks = l1 * W.sum() + l2 * np.sqrt((W * W).sum(axis=1)).sum() + sup * W.max(axis=1).sum()
        return self._smooth(w)[0] + self.lam * kinks

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Gradient of the smooth part."""
        return self._smooth(w)[1]

    def violation(self, w: np.ndarray) -> float:
        """Largest distance of an entry (a row, for penalties with a norm of rows) of -gradient to λ times the
        subdifferential of the part with kinks."""
        l1, _, l2, sup = (self.lam * share for share in PENALTIES[self.penalty])
        g, v = self.gradient(w), self._factors(w)
        if not (l2 or sup):
            zero = np.maximum(np.abs(g) - l1 * v, 0)
            return float(np.where(w != 0, np.abs(g + l1 * v * np.sign(w)), zero).max())
        return max(
            row_violation(w_j, g_j, l1 * v_j[0], l2 * v_j[0], sup * v_j[0])
            for w_j, g_j, v_j in zip(self._rows(w), self._rows(g), self._rows(v), strict=True)
        )


def row_violation(w: np.ndarray, g: np.ndarray, l1: float, l2: float, sup: float) -> float:
    """Distance of -g to the subdifferential of l1 ‖w‖₁ + l2 ‖w‖₂ + sup ‖w‖_∞ (sup alone)."""
    if sup:
        if not w.any():
            return float(np.linalg.norm(np.minimum(np.abs(g), water_level(np.abs(g), sup))))
        top = np.abs(w) >= (1 - 1e-9) * np.abs(w).max()
        wanted = -g[top] * np.sign(w[top])
        used = np.maximum(wanted - water_level(wanted, sup, low=wanted.min() - sup), 0)
        return float(np.linalg.norm(np.concatenate([g[~top], used - wanted])))
    if w.any():
        g = g + l2 * w / np.linalg.norm(w)
        return float(np.linalg.norm(np.where(w != 0, g + l1 * np.sign(w), np.maximum(np.abs(g) - l1, 0))))
    return max(float(np.linalg.norm(np.maximum(np.abs(g) - l1, 0))) - l2, 0.0)


def water_level(u: np.ndarray, total: float, low: float = 0.0) -> float:
    """θ >= low with Σ max(u - θ, 0) = total, by bisection; ``low`` where that is too little already."""
    high = u.max()
    if np.maximum(u - low, 0).sum() <= total:
        return low
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(u - middle, 0).sum() > total else (low, middle)
    return high
