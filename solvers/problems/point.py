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
        if self._dense:
            self.penalty = problem.total(problem.penalty.value, w)
        else:
            self.penalty = problem.penalty.value(active.take(w))
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
        ridge = self.problem.penalty.ridge
        return self.loss + 0.5 * ridge * float(self.w @ self.w) if ridge else self.loss

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
        if ridge := self.problem.penalty.ridge:
            g += ridge * (self.w if part is None else part.take(self.w))
        return g

    def hessian_diagonal(self, active: WorkingSet) -> np.ndarray:
        """Return ∂²/∂w_j² of the smooth part, an entry a member of ``active``; with
        ``Trait.DIAGONAL_HESSIAN``. Within an instance, scores that move together count as if each moved
        alone."""
        design, loss, G = self.problem.design, self.problem.loss, self.residual.Z
        h = Scores(loss.diagonal(G, np.arange(design.n_rows)), loss.tail_diagonal(self.scores))
        # columns gathered for gradients hold x, not x²
        alone = active if active.full else design.working_set(active.coordinates)
        return self.problem.scale * design.squared().adjoint(h, alone) + self.problem.penalty.ridge

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
        if self._dense:
            support = self.problem.support(w).coordinates
        else:
            support = self.active.coordinates[self.active.take(w) != 0.0]
        rows = support[support < design.n_features * design.n_outputs] // design.n_outputs
        return support.size, int(np.count_nonzero(np.diff(rows))) + (rows.size > 0)
