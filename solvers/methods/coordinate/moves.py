"""The last moves of a block coordinate method, and their combination with the least f."""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel
from ...problems.losses.feature_columns import ColumnData
from ...problems.point import Point
from ...problems.problem import Problem
from ..working_sets import weights_of
from .bcd_kernels import move_scores

#: Entries of X per sample that passes read between two combinations: one costs as much as some twenty.
COMBINATION_COST = 500
#: Entries of X per sample, in the features whose weights became zero, above which moves are forgotten: these
#: features are subtracted from their scores one by one.
FORGETTING_COST = 5
#: Fraction of its diagonal added to the matrix of curvatures, for moves that are nearly parallel.
CURVATURE_RIDGE = 1e-10


class RecentMoves:
    """The last ``most`` moves D_i of a solver, and the best point w + Σ_i c_i D_i.

    It minimizes f if f is quadratic on their span.

    Curvatures D_iᵀ∇²f D_j are secants: the changes along D_i of the residual, and of the penalty's gradient
    with respect to non-zero weights. So a combination costs a residual, products with the stored scores X
    D_i, and one product with X. A weight that became zero stays zero. It is set to zero in the moves, and its
    part is subtracted from their scores.

    If f is quadratic, and each pass visits the rows in some order and then in reverse, the last two moves
    suffice. This is the method of conjugate gradients, preconditioned by passes. More moves compensate for
    orders that differ.
    """

    def __init__(self, problem: Problem, data: ColumnData, most: int) -> None:
        self.problem, self.data, self.most, self.count = problem, data, most, 0
        self.touched, n, m = 0, problem.design.n_rows, problem.design.n_outputs
        #: X D_i of each move, flat, and D_iᵀ∇²f D_j
        self.S, self.H = np.zeros((most, n * m)), np.zeros((most, most))
        #: features with a weight that is not zero at the last point; the moves and W there
        self.rows, self.D, self.W = np.zeros(0, dtype=np.int64), np.zeros((most, 0, m)), np.zeros((0, m))
        #: scores and residual at the last point, and the gradient of the penalty by W
        self.Z, self.R, self.P = np.zeros(0), np.zeros(0), np.zeros((0, m))

    @property
    def due(self) -> bool:
        """Return whether a combination costs little relative to the passes since the last one."""
        return self.problem.design.touched - self.touched >= COMBINATION_COST * self.problem.design.n_rows

    def combine(self, point: Point, features: np.ndarray) -> Point:
        """Add the move to ``point``, and return the point at the best combination if f is lower there.

        Otherwise return ``point``. Its weights are zero outside these features, and change in place.
        """
        design = self.problem.design
        W, _ = design.split(point.w)
        rows = features[occupied(W, features)]
        gone = np.setdiff1d(self.rows, rows, assume_unique=True)
        if self.Z.size and design.column_nnz[gone].sum() <= FORGETTING_COST * design.n_rows:
            P = self._take_in(point, W, rows)
            point = self._combined(point, W, rows, P)
        else:
            self.count, self.D = 0, np.zeros((self.most, rows.size, design.n_outputs))
        self.rows = rows
        self.W, self.Z, self.R = W[rows], point.scores.Z.reshape(-1).copy(), point.residual.Z.reshape(-1)
        self.P = self._kinks(rows, self.W)
        self.touched = design.touched
        return point

    def _take_in(self, point: Point, W: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Store the move to this point and its curvatures, and set moves to zero at weights that became zero.

        Return the gradient of the penalty in ``rows``.
        """
        m, slot = self.problem.design.n_outputs, self.count % self.most
        self.count += 1
        every = np.union1d(self.rows, rows)
        before, after, now = np.searchsorted(every, self.rows), np.searchsorted(every, rows), W[every]
        D = np.zeros((self.most, *now.shape))
        D[:, before] = self.D
        D[slot] = now
        D[slot, before] -= self.W
        np.subtract(point.scores.Z.reshape(-1), self.Z, out=self.S[slot])
        lost = np.where(now == 0.0, D, 0.0)
        for j in np.flatnonzero(lost.any(axis=(0, 2))):
            for i in np.flatnonzero(lost[:, j].any(axis=1)):
                move_scores(self.data, self.S[i].reshape(-1, m), every[j], -lost[i, j])
        D -= lost
        P = self._kinks(every, now)
        turn = P.copy()
        turn[before] -= self.P
        self.D, P = D[:, after], P[after]
        self.H[slot] = self._along(point.residual.Z.reshape(-1) - self.R, turn[after])
        self.H[:, slot] = self.H[slot]
        return P

    def _along(self, residual: np.ndarray, kinks: np.ndarray) -> np.ndarray:
        """Return the product of each move with the gradient whose parts are ``residual`` and ``kinks``."""
        along = self.problem.scale * (self.S @ residual)
        return along + self.D.reshape(self.most, -1) @ kinks.reshape(-1)

    def _kinks(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the gradient of the penalty with respect to rows V of W, 0 for weights that are zero."""
        v, penalty = V.reshape(-1), self.problem.penalty.on(weights_of(rows, V.shape[1]))
        return np.where(v, penalty.subgradient(v, penalty.ridge_gradient(v)), 0.0).reshape(V.shape)

    def _combined(self, point: Point, W: np.ndarray, rows: np.ndarray, P: np.ndarray) -> Point:
        """Return the point at the best combination, or this one if f is not lower there."""
        problem, known = self.problem, min(self.count, self.most)
        g = self._along(point.residual.Z.reshape(-1), P)[:known]
        c = np.zeros(self.most)
        c[:known] = least(self.H[:known, :known], g)
        if not g @ c[:known] < 0.0:
            return point
        old, D = W[rows], np.tensordot(c, self.D, 1)
        # not c @ S: if moves are nearly parallel, c is large and magnifies the rounding of S
        along = problem.design.scores(D.reshape(-1), problem.design.working_set(weights_of(rows, W.shape[1])))
        scores, new = point.scores.plus(1.0, along), old + D
        W[rows] = new
        there = Point(problem, point.w, scores, active=point.active)
        if there.objective < point.objective:
            return there
        W[rows] = old
        return point


def least(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the c that minimizes cᵀg + ½ cᵀHc; return 0 if H does not determine c."""
    width = np.sqrt(np.diagonal(H).clip(min=0.0))
    if not (np.isfinite(H).all() and width.all()):
        return np.zeros_like(g)
    try:
        c = np.linalg.solve(H / np.outer(width, width) + CURVATURE_RIDGE * np.eye(g.size), -g / width) / width
    except np.linalg.LinAlgError:
        return np.zeros_like(g)
    return np.where(np.isfinite(c).all(), c, 0.0)


@kernel
def occupied(W, features):
    """Return for each feature whether its row of W has an entry that is not zero."""
    found = np.zeros(features.size, np.bool_)
    for q in range(features.size):
        for c in range(W.shape[1]):
            if W[features[q], c] != 0.0:
                found[q] = True
                break
    return found
