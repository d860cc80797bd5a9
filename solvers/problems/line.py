"""The objective along a direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..parts.linesearch import Found, Search, armijo
from .point import REFRESH, Point

if TYPE_CHECKING:
    from .working_set import WorkingSet

#: Weights written between two pulses: each may be the first on its page of a huge vector.
SCATTERED = 50_000


class Line:
    """φ(t) = f(w + t d), d with an entry a member of ``active``. The scores of d are computed once; φ costs
    one evaluation of the loss."""

    def __init__(self, point: Point, d: np.ndarray, active: WorkingSet) -> None:
        self.point, self.d, self.active = point, d, active
        self.problem = point.problem
        self.delta = self.problem.design.scores(d, active)
        self._w = active.take(point.w)

    def __call__(self, t: float) -> float:
        """Return φ(t)."""
        return self._evaluate(t)[1]

    def _evaluate(self, t: float) -> tuple[float, float]:
        """Return the loss at w + t d, and φ(t)."""
        loss = self.problem.scale * self.problem.loss.value(self.point.scores, self.delta, t)
        return loss, loss + self.problem.penalty.value(self._w + t * self.d)

    def armijo(self, decrease: float, *, beta: float, sigma: float) -> Found[Point]:
        """Search for the first step of 1, β, β², ... with φ(t) <= φ(0) + tσΔ, Δ = ``decrease``, and move
        there: see :meth:`move`."""
        search = Search(self.point.objective, self.d, active=self.active)
        found = armijo(self._evaluate, search, decrease, beta=beta, sigma=sigma)
        return found._replace(point=self.move(found.t, found.point) if found.t else self.point)

    def curvature(self) -> float:
        """Return dᵀ∇²F(w)d of the smooth part F, by a secant of the residual in score space (no product with
        X)."""
        reach = max(np.abs(self.delta.Z).max(initial=0.0), np.abs(self.delta.tail).max(initial=0.0))
        if reach == 0.0:
            return 0.0
        h = 1e-4 / reach
        ahead, here = self.problem.loss.residual(self.point.scores.plus(h, self.delta)), self.point.residual
        rise = np.vdot(ahead.Z - here.Z, self.delta.Z) + (ahead.tail - here.tail) @ self.delta.tail
        return self.problem.scale * float(rise) / h + self.problem.penalty.ridge * float(self.d @ self.d)

    def move(self, t: float, loss: float | None = None) -> Point:
        """Move to w + t d and return the point there; ``loss`` is its loss, if known. Weights and scores move
        in place, so the old point must not be used again."""
        old, self._w = self.point, self._w + t * self.d
        if self.active.full:
            old.w[:] = self._w
        else:
            for lo in range(0, len(self.active), SCATTERED):
                part = slice(lo, lo + SCATTERED)
                old.w[self.active.coordinates[part]] = self._w[part]
                self.problem.pulse()
        if old.age + 1 >= REFRESH:
            return Point(
                self.problem, old.w, self.problem.design.scores(self._w, self.active), active=self.active
            )
        old.scores.move(t, self.delta)
        return Point(self.problem, old.w, old.scores, loss=loss, active=self.active, age=old.age + 1)
