"""All subgradients of f at a point, which differ only in the contributions of tied instances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..compute.lazy import lazy
from ..linalg.scores import Scores
from .losses.loss import BoundLoss
from .point import Point

#: Entries of tied rows, times outputs, up to which products with them are computed at once.
AT_ONCE = 1_000_000
#: Fraction of the entries of X in tied rows from which products with all of X are as fast.
MOST_COMBINATIONS = 0.25


class Subdifferential:
    """∂f(w) = s Aᵀ∂L(A w) + ridge w of a loss with ``Trait.DIRECTIONAL_DERIVATIVE`` and a smooth penalty.

    ``g`` is the subgradient of the given ``residual``, or any one. All others differ from it by s AᵀΔ, where
    Δ is zero except in the rows of tied instances. So finding the subgradient that is largest along a
    direction costs only two products with these rows of X. A subdifferential is valid until the point moves.
    """

    def __init__(self, point: Point, residual: Scores | None = None) -> None:
        self.point, self.problem = point, point.problem
        self.residual = point.residual if residual is None else residual
        self.g = point.gradient() if residual is None else self.point.adjoint_gradient(residual)

    @lazy
    def ties(self) -> np.ndarray:
        """Return the instances with more than one subgradient, ascending."""
        return self.problem.loss.ties(self.point.scores)

    @lazy
    def single(self) -> bool:
        """Return whether f is differentiable here, so that ``g`` is the gradient."""
        if self.point.scores.at_hand:
            return self.ties.size == 0
        return self.problem.loss.count_ties(self.point.scores) == 0

    def sup(self, p: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the subgradient g with the largest gᵀp, and that product: eq. (33) of Yu et al. 2010, for
        any loss."""
        if self.single:
            return self.g, float(self.g @ p)
        loss, rows, products = self._tied
        if products is None:
            delta = self.problem.design.scores(p)
            residual = loss.subgradient_sup(self.point.scores, delta)
            ridge = self.problem.penalty.ridge_product(self.point.w, p)
            slope = self.problem.scale * residual.dot(delta) + ridge
            return self.point.adjoint_gradient(residual), slope
        (X, transposed), tail = products, self.point.scores.tail
        here = Scores(self.point.scores.Z[rows], tail)
        ahead = Scores(X @ p.reshape(X.shape[1], -1), np.zeros_like(tail))
        change = self.problem.scale * (loss.subgradient_sup(here, ahead).Z - self.residual.Z[rows])
        self.problem.design.touched += 2 * X.nnz
        self.problem.pulse()
        return self.g + (transposed @ change).ravel(), float(self.g @ p) + float(np.vdot(change, ahead.Z))

    @lazy
    def _tied(self) -> tuple[BoundLoss, np.ndarray | slice, tuple[sp.csr_array, sp.csr_array] | None]:
        """Return the loss of the tied instances, the indices of their rows of X, and those rows as X and Xᵀ.

        Return the whole loss, a full slice and None if the rows are on shards, or so many that products with
        X are as fast.
        """
        problem, whole = self.problem, (self.problem.loss, slice(None), None)
        if not self.point.scores.at_hand or 4 * self.ties.size > problem.loss.n_instances:
            return whole
        loss, rows = problem.loss.subset(self.ties)
        X = problem.design.by_rows().some(rows, problem.design.n_features)
        if X.nnz > MOST_COMBINATIONS * problem.design.nnz or X.nnz * problem.design.n_outputs > AT_ONCE:
            return whole
        return loss, rows, (X, X.T.tocsr())
