"""What is known at one w."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .scores import Scores

if TYPE_CHECKING:
    from .problem import Problem
    from .working_set import WorkingSet

#: Incremental updates of the scores after which they are computed afresh, against drift.
REFRESH = 50


class Point:
    """What is known at one w, each quantity computed at most once.

    A point is valid until its solver takes the next step: :meth:`Line.move` and the solvers that go block by
    block change ``w`` and ``scores`` in place. A copy of w is what an observer may keep.

    ``active`` is a working set outside which w is known to be zero (None: nothing is known).
    """

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        scores: Scores,
        *,
        loss: float | None = None,
        residual: Scores | None = None,
        active: WorkingSet | None = None,
        age: int = 0,
    ) -> None:
        self.problem, self.w, self.scores, self.active, self.age = problem, w, scores, active, age
        self.loss = problem.scale * problem.loss.value(scores) if loss is None else loss
        penalty = problem.penalty
        if self._dense:
            self.penalty = float(sum(penalty.on(part).value(w[part]) for part in problem.pieces()))
        else:
            self.penalty = penalty.on(active.coordinates).value(active.take(w))
        self.objective = self.loss + self.penalty
        self._residual = residual
        self._gradient: np.ndarray | None = None

    @property
    def _dense(self) -> bool:
        return self.active is None or self.active.full

    @property
    def residual(self) -> Scores:
        """Return the derivative of the loss, summed over instances, by the scores."""
        if self._residual is None:
            self._residual = self.problem.loss.residual(self.scores)
        return self._residual

    @property
    def smooth(self) -> float:
        """Return the smooth part s L(A w) + ½ ridge ‖w‖²."""
        penalty = self.problem.penalty
        return self.loss + 0.5 * penalty.ridge_product(self.w, self.w) if penalty.ridge else self.loss

    def gradient(self, active: WorkingSet | None = None) -> np.ndarray:
        """Return the gradient of the smooth part s L(A w) + ½ ridge ‖w‖²: on ``active``, or of all weights
        (kept). Where the loss has kinks it is one subgradient."""
        if active is not None and not active.full:
            return self.pulled_back(self.residual, active)
        if self._gradient is None:
            self._gradient = self.pulled_back(self.residual)
        return self._gradient

    def subgradient(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random extreme point of the subdifferential of the smooth part and the loss's kinks; of a
        smooth loss, its gradient."""
        return self.pulled_back(self.problem.loss.random_subgradient(self.scores, rng))

    def pulled_back(self, residual: Scores, active: WorkingSet | None = None) -> np.ndarray:
        """Return s Aᵀ ``residual`` + ridge w, which is a subgradient where ``residual`` is one of the loss:
        on ``active``, or of all weights."""
        part = None if active is None or active.full else active
        g = self.problem.design.adjoint(residual, part)
        if self.problem.scale != 1.0:
            g *= self.problem.scale
            self.problem.pulse()
        penalty = self.problem.penalty
        if penalty.ridge and part is None:
            for piece in self.problem.pieces():
                g[piece] += penalty.on(piece).ridge_gradient(self.w[piece])
        elif penalty.ridge:
            g += penalty.on(part.coordinates).ridge_gradient(part.take(self.w))
        return g

    def hessian_diagonal(self, active: WorkingSet) -> np.ndarray:
        """Return ∂²/∂w_j² of the smooth part, an entry a member of ``active``; with
        ``Trait.DIAGONAL_HESSIAN``. Within an instance, scores that move together count as if each moved
        alone."""
        problem, h = self.problem, self.problem.loss.second_derivatives(self.scores, self.residual)
        return problem.scale * problem.design.adjoint_of_squares(h, active) + problem.penalty.ridge

    def violation(self) -> float:
        """Return the largest entry (or block norm) of the minimum-norm subgradient over all weights; nan
        where the loss has no gradient, since one subgradient does not tell it."""
        if not self.problem.smooth:
            return math.nan
        w, g, problem = self.w, self.gradient(), self.problem
        return max(problem.penalty.violation(w[part], g[part]) for part in problem.pieces())

    def sparsity(self) -> tuple[int, int]:
        """Count non-zero weights, and features with one."""
        design, w = self.problem.design, self.w
        m, body = design.n_outputs, design.n_features * design.n_outputs
        if self._dense:
            nnz = rows = 0
            for part in self.problem.pieces():
                nonzero = w[part] != 0.0
                nnz += int(np.count_nonzero(nonzero))
                W = nonzero[: max(body - part.start, 0)].reshape(-1, m)
                rows += int(np.count_nonzero(W.any(axis=1)))
            return nnz, rows
        support = self.active.coordinates[self.active.take(w) != 0.0]
        rows = support[support < body] // m
        return support.size, int(np.count_nonzero(np.diff(rows))) + (rows.size > 0)
