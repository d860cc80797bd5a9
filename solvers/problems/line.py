"""The objective along a direction."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..linalg.scores import Scores
from ..linalg.working_set import WorkingSet
from ..search.line_search import TO_MINIMUM, Armijo, Exact, Wolfe
from ..search.outcome import Breakpoints, SearchLog, SearchResult
from .point import NO_DRIFT, REFRESH, Drift, Point

#: Largest move of a score that a second derivative can predict.
LARGEST_SCORE_MOVE = 1e12
#: Weights written between two pulses: each may be the first on its page of a huge vector.
SCATTERED_WRITES = 50_000


class Line:
    """φ(t) = f(w + t d); :meth:`Problem.line` makes one.

    Parameters
    ----------
    point : Point
        The point at w.
    d : array, (members of ``active``,)
        The direction, with an entry for each member.
    active : WorkingSet
        The weights that move.

    Notes
    -----
    The scores of d are computed once; φ costs one evaluation of the loss, and a slope one of its residual.

    Slopes, subgradients and searches that use them are also defined at kinks of a loss, if it offers
    ``Trait.DIRECTIONAL_DERIVATIVE``. Searches move the point: see :meth:`move`. If f is unbounded below along
    the ray, they return the step inf and do not move.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import solvers
    >>> problem = solvers.make_problem(np.eye(2), [1, -1], loss="logistic", penalty="none")
    >>> line = problem.line(problem.at(), np.array([1.0, -1.0]))
    >>> round(line(0.0), 4), round(line(2.0), 4), line.slope()
    (0.6931, 0.1269, -0.5)
    """

    def __init__(self, point: Point, d: np.ndarray, active: WorkingSet) -> None:
        self.point, self.d, self.active = point, d, active
        self.problem = point.problem
        self.delta = self.problem.design.scores(d, active)
        self._w = active.take(point.w)
        self._penalty = self.problem.penalty_on(active)
        self._sup: tuple[float, Scores] | None = None
        self._first = True

    def __call__(self, t: float) -> float:
        """Return φ(t)."""
        return self._evaluate(t)[1]

    def _evaluate(self, t: float) -> tuple[float, float]:
        """Return the loss at w + t d, and φ(t)."""
        loss = self.problem.scale * self._loss(t)
        pieces = self.problem.parts(self.active, self._w, self.d)
        return loss, loss + sum(penalty.value(w + t * d) for penalty, w, d in pieces)

    def _loss(self, t: float) -> float:
        """Return the loss before scaling.

        The first trial step is usually accepted. So its residual is stored if the loss computes it anyway.
        """
        here, first, self._first = (self.point.scores, self.delta, t), self._first, False
        if not first or t == 0.0 or (self._sup is not None and self._sup[0] == t):
            return self.problem.loss.value(*here)
        value, residual = self.problem.loss.value_and_residual(*here)
        if residual is not None:
            self._sup = t, residual
        return value

    def slope(self, t: float = 0.0, side: int = 1) -> float:
        """Return the derivative of φ at t from the right (``side`` 1) or from the left (-1).

        From the right it is the supremum of gᵀd over all subgradients g at w + t d.
        """
        if side > 0:
            loss = self._sup_at(t).dot(self.delta)
        else:
            loss = self.problem.loss.slope(self.point.scores, self.delta, t, side)
        pieces = self.problem.parts(self.active, self._w, self.d)
        return self.problem.scale * loss + sum(penalty.slope(w + t * d, d, side) for penalty, w, d in pieces)

    def _sup_at(self, t: float) -> Scores:
        """Return the subgradient of the loss at w + t d with the largest slope along d; the last one is
        cached."""
        if self._sup is None or self._sup[0] != t:
            if t == 0.0 and self.problem.smooth:
                sup = self.point.residual
            else:
                here = self.point.scores.plus(t, self.delta) if t else self.point.scores
                sup = self.problem.loss.subgradient_sup(here, self.delta)
            self._sup = t, sup
        return self._sup[1]

    def breakpoints(self) -> Breakpoints:
        """Return the steps t > 0 at which the slope of loss and ridge jumps, the jumps, and the slope at 0.
        On shards, only the steps next to the minimum are returned."""
        scale, rise = self.problem.scale, self._penalty.ridge_product(self._w, self.d)
        curvature = self._penalty.ridge_product(self.d, self.d)
        tilt = rise / scale, curvature / scale
        kinks = self.problem.loss.breakpoints_near_turn(self.point.scores, self.delta, tilt)
        slope, limit = scale * kinks.slope + rise, math.inf if self._penalty.ridge else scale * kinks.limit
        return Breakpoints(slope, kinks.t, scale * kinks.jump, curvature, limit)

    def log(self) -> SearchLog:
        """Return an empty log for a custom search along the line, which ends by calling :meth:`move`.

        Add trial steps with :meth:`SearchLog.note`.
        """
        return SearchLog(self.point.objective, self.d, active=self.active)

    def armijo(self, decrease: float, rule: Armijo) -> SearchResult[Point]:
        """Search for the first step of 1, β, β², ... with φ(t) <= φ(0) + tσΔ, Δ = ``decrease``, and move
        there."""
        search = self.log()
        return self._moved(rule.search(self._evaluate, search, decrease))

    def wolfe(self, rule: Wolfe, *, first: float = 1.0) -> SearchResult[Point]:
        """Search from the step ``first`` for one that satisfies the Wolfe conditions for subgradients, and
        move there.

        ``gradient()`` of the point found is the subgradient with the largest slope along d.
        """
        search = self.log()
        search.slope = self.slope()
        return self._moved(rule.search(self._evaluate, self.slope, search, first=first))

    def exact(self, rule: Exact = TO_MINIMUM) -> SearchResult[Point]:
        """Search for the first minimum of φ over t >= 0, and move there; t is 0 if φ does not decrease.

        If φ is unbounded below, and the rule does not stop at the last kink, t is inf and nothing moves.
        Scores on a kink are set exactly onto it after the step. ``gradient()`` of the point found is the
        subgradient with the largest slope along d.
        """
        search = self.log()
        marks = self.breakpoints()
        if self.problem.loss.piecewise_linear and self.problem.penalty.smooth:
            search.slope, landing = marks.slope, rule.by_breakpoints(marks)
        else:
            search.slope = self.slope()
            b = marks._replace(slope=search.slope)
            landing = rule.by_slopes(self._logged_slope(search), b, smooth=self.problem.smooth)
        t = landing.step
        if t == np.inf and rule.to_last_kink and marks.t.size:
            t = float(marks.t[-1])
        search.segment = landing.segment
        search.breakpoints = marks._replace(t=marks.t[: landing.visited], jump=marks.jump[: landing.visited])
        if not 0.0 < t < np.inf:
            return SearchResult(self.point, t, search, len(search.trials), "exact")
        point = self._landed(t)
        if not search.trials or search.trials[-1][0] != t:
            search.note(t, point.objective, search.objective)
        return SearchResult(point, t, search, len(search.trials), "exact")

    def _logged_slope(self, search: SearchLog) -> Callable[[float, int], float]:
        """Return :meth:`slope`, wrapped so that steps at which it is computed from the right are logged."""

        def slope(t: float, side: int) -> float:
            rise = self.slope(t, side)
            if side > 0:
                search.note(t, self(t), search.objective, rise)
            return rise

        return slope

    def _moved(self, found: SearchResult[float]) -> SearchResult[Point]:
        """Move to the step found, whose ``point`` is the loss there if that is known."""
        there = 0.0 < found.t < np.inf
        return found.leading_to(self.move(found.t, found.point) if there else self.point)

    def curvature(self) -> float:
        """Return dᵀ∇²F(w)d of the smooth part F, by a secant of the residual in score space (no product with
        X)."""
        reach = self.delta.largest()
        if reach == 0.0:
            return 0.0
        h = 1e-4 / reach
        ahead, here = self.problem.loss.residual(self.point.scores.plus(h, self.delta)), self.point.residual
        rise = ahead.plus(-1.0, here).dot(self.delta)
        return self.problem.scale * rise / h + self._penalty.ridge_product(self.d, self.d)

    def first_step(self) -> float:
        """Return the step t that minimizes a model of φ with the curvature of F at w: dᵀd/dᵀ∇²F d.

        -d must be the minimum-norm subgradient. Return :meth:`straight_step` if F is linear at w, or so
        nearly linear that a score would move by more than ``LARGEST_SCORE_MOVE``.
        """
        curvature, squares = self.curvature(), float(self.d @ self.d)
        if squares * self.delta.largest() < LARGEST_SCORE_MOVE * curvature:
            return squares / curvature
        return self.straight_step()

    def straight_step(self) -> float:
        """Return the largest power of two at which φ falls by at least half of what its slope at 0 predicts.

        Return 1 if φ does not decrease. This step replaces 1/K if F is linear, when K carries no information.
        The search begins at a step that moves scores by at most 1, so that it does not depend on units of
        features.
        """
        slope, reach = self.slope(), self.delta.largest()
        if not (slope < 0.0 and 0.0 < reach < math.inf):
            return 1.0
        start, t = self(0.0), 2.0 ** -math.ceil(math.log2(reach))

        def falls(t: float) -> bool:
            return self(t) <= start + 0.5 * t * slope

        while falls(2.0 * t):
            t *= 2.0
        while not falls(t):
            t *= 0.5
        return t or 1.0

    def move(self, t: float, loss: float | None = None) -> Point:
        """Move to w + t d and return the point there; ``loss`` is its loss, if known. Weights and scores move
        in place, so the old point must not be used again."""
        residual = self._sup[1] if self._sup is not None and self._sup[0] == t else None
        scores, drift = self._step(t)
        known = {"loss": loss, "residual": residual} if drift.updates else {}
        return Point(self.problem, self.point.w, scores, active=self.active, drift=drift, **known)

    def _landed(self, t: float) -> Point:
        """Move to w + t d as :meth:`move` does, with the scores on a kink set exactly onto it."""
        if self.problem.smooth:
            return self.move(t)
        (scores, drift), loss = self._step(t), self.problem.loss
        drift = drift.settling(loss.settle(scores))
        if drift is None:
            scores = self.problem.design.scores(self._w, self.active)
            drift = NO_DRIFT._replace(settled=loss.settle(scores))
        sup = loss.subgradient_sup(scores, self.delta)
        return Point(self.problem, self.point.w, scores, residual=sup, active=self.active, drift=drift)

    def _step(self, t: float) -> tuple[Scores, Drift]:
        """Move weights and scores by t d; return the scores and their drift."""
        old = self.point
        if self.active.full:  # then these are the point's weights themselves
            for part in self.problem.pieces():
                self._w[part] += t * self.d[part]
        else:
            self._w = self._w + t * self.d
            for lo in range(0, len(self.active), SCATTERED_WRITES):
                part = slice(lo, lo + SCATTERED_WRITES)
                old.w[self.active.coordinates[part]] = self._w[part]
                self.problem.pulse()
        design, active = self.problem.design, self.active
        drift = old.drift.after(self.problem, self._w, self.d, active, times=t)
        if drift is None or drift.updates >= REFRESH:
            return design.scores(self._w, active), NO_DRIFT
        old.scores.move(t, self.delta)
        return old.scores, drift
