"""Losses with kinks as convex programs, solved by another program: nothing here comes from ``solvers``.

One subgradient does not tell how far from optimal an iterate is, so what a solver of these losses claims is
checked against the least value that CVXPY finds. A new loss needs a line in ``LOSSES``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import cvxpy as cp
import numpy as np

from .helpers import Data, dense_of
from .oracles import OUTPUTS, PENALTIES, label_sets


def binary_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ max(0, 1 - y z)."""
    return cp.sum(cp.pos(1.0 - cp.multiply(data.train.y.astype(float), Z[:, 0])))


def multiclass_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ_i max_r (1 if r ≠ y_i else 0) + z_ir - z_iy."""
    truth = np.eye(Z.shape[1])[data.train.y]
    return cp.sum(cp.max(1.0 - truth + Z, axis=1) - cp.sum(cp.multiply(Z, truth), axis=1))


def multilabel_hinge(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ_i max(0, 1 + z_iq - z_ir) over labels r that i has and q that it has not; 0 where there is no such
    pair."""
    total = []
    for i, has in enumerate(label_sets(data, Z.shape[1])):
        if has.any() and not has.all():
            others, own = np.flatnonzero(~has), np.flatnonzero(has)
            total.append(cp.pos(1.0 + cp.max(Z[i, others]) - cp.min(Z[i, own])))
    return cp.sum(cp.hstack(total))


def quantile(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ max(τ(y - z), (1 - τ)(z - y)), τ = ½."""
    return 0.5 * cp.norm1(Z[:, 0] - data.train.y)


def epsilon_insensitive(Z: cp.Expression, data: Data) -> cp.Expression:
    """Σ max(0, |z - y| - ε), ε = 0.1."""
    return cp.sum(cp.pos(cp.abs(Z[:, 0] - data.train.y) - 0.1))


LOSSES: dict[str, Callable[[cp.Expression, Data], cp.Expression]] = {
    "binary-hinge": binary_hinge,
    "multiclass-hinge": multiclass_hinge,
    "multilabel-hinge": multilabel_hinge,
    "quantile": quantile,
    "epsilon-insensitive": epsilon_insensitive,
}


class Program:
    """The objective of one problem with kinks in its loss, as a convex program."""

    def __init__(
        self,
        data: Data,
        loss: str,
        penalty: str,
        lam: float,
        average: bool,
        factors: np.ndarray | None = None,
    ) -> None:
        X = dense_of(data.train.X)
        m, _ = OUTPUTS.get(loss, lambda m: (m, 0))(data.n_classes)
        self._W = cp.Variable((X.shape[1], m))
        v = np.ones((X.shape[1], m)) if factors is None else factors.reshape(-1, m)
        scaled = cp.multiply(v, self._W)
        l1, l2, norm, sup = (lam * share for share in PENALTIES[penalty])
        terms = [
            l1 * cp.sum(cp.abs(scaled)),
            0.5 * l2 * cp.sum_squares(cp.multiply(np.sqrt(v), self._W)),
            norm * cp.sum(cp.norm(scaled, axis=1)),
            sup * cp.sum(cp.max(cp.abs(scaled), axis=1)),
        ]
        scale = 1.0 / X.shape[0] if average else 1.0
        used = [term for term, weight in zip(terms, (l1, l2, norm, sup), strict=True) if weight]
        self._objective = scale * LOSSES[loss](X @ self._W, data) + cp.sum(cp.hstack([0.0, *used]))

    def objective(self, w: np.ndarray) -> float:
        """Return f(w)."""
        self._W.value = w.reshape(self._W.shape)
        return float(self._objective.value)

    @property
    def w(self) -> np.ndarray:
        """The weights found last."""
        return np.asarray(self._W.value).reshape(-1)

    def least(self) -> float:
        """Return the minimum, good to about 1e-8 of it."""
        problem = cp.Problem(cp.Minimize(self._objective))
        for tol in (1e-11, 1e-9):  # where the minimum is next to w = 0 the first may be out of reach
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if problem.status == "optimal":
                break
        assert problem.status == "optimal"
        return float(problem.value)
