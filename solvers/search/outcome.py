"""Breakpoints for line searches, and the trials, logs and results of searches."""

from __future__ import annotations

import copy
import math
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..linalg.working_set import WorkingSet

#: The type of the result of a step: a point, or what a solver needs to compute one.
Target = TypeVar("Target")
Other = TypeVar("Other")
#: The ``point`` of a result without a step, which must not be used.
NOWHERE: Any = None
#: The breakpoints of a smooth function.
NO_BREAKPOINTS = np.zeros(0)


class Breakpoints(NamedTuple):
    """The slopes of a convex function of t >= 0.

    ``slope`` is its derivative at 0 from the right. ``t`` has the steps > 0, ascending, at which the
    derivative jumps by ``jump`` >= 0; steps may repeat.

    Between breakpoints the derivative of a piecewise quadratic function increases by ``curvature`` per unit
    of t. For other functions ``limit`` is the limit of the derivative, inf if it is unknown.
    """

    slope: float
    t: np.ndarray
    jump: np.ndarray
    curvature: float = 0.0
    limit: float = math.inf


class SearchLog:
    """Log of a search along a path w(t) from w(0) = w, for views and records.

    Attributes
    ----------
    objective : float
        f(w).
    trials, allowed, slopes : list
        One entry per trial: (t, f(w(t))); the largest f that the rule accepts at t; the derivative of f(w(t))
        from the right, nan if not computed.
    reference : float
        The limit of ``allowed`` as t tends to 0: f(w), except for a nonmonotone search.
    d, active
        The direction, with one entry per member of ``active``, if the path is w + t d or its projection. The
        path is straight if ``active`` is set.
    block : int
        The index of the block of weights that is searched, where f is the part that depends on the block; -1
        for all weights.
    promised : float
        Δ of Armijo's rule f + tσΔ.
    model : float
        dᵀB d for the matrix B of the solver's model of f, if it is available at no cost.
    slope : float
        The derivative of f(w(t)) at 0 from the right.
    breakpoints, segment
        For an exact search: the breakpoints visited, and the interval between two of them in which it ended.
    """

    def __init__(
        self,
        objective: float,
        d: np.ndarray | None = None,
        *,
        active: WorkingSet | None = None,
        block: int = -1,
        reference: float | None = None,
    ) -> None:
        self.objective, self.d, self.active, self.block = objective, d, active, block
        self.reference = objective if reference is None else reference
        self.promised = self.model = math.nan
        self.trials: list[tuple[float, float]] = []
        self.allowed: list[float] = []
        self.slope = math.nan
        self.slopes: list[float] = []
        self.breakpoints: Breakpoints | None = None
        self.segment: tuple[float, float] | None = None

    def along(self, d: np.ndarray, active: WorkingSet) -> SearchLog:
        """Return a copy of this log with the direction ``d``: the same step in another space."""
        other = copy.copy(self)
        other.d, other.active = d, active
        return other

    def note(self, t: float, value: float, allowed: float, slope: float = math.nan) -> None:
        """Add a trial to the log."""
        self.trials.append((t, value))
        self.allowed.append(allowed)
        self.slopes.append(slope)


class Trial(NamedTuple, Generic[Target]):
    """A trial step: the point it leads to, f there, the largest f that is accepted, and whether it is
    accepted."""

    point: Target
    value: float
    allowed: float
    accepted: bool


class SearchResult(NamedTuple, Generic[Target]):
    """Result of a search, or of a step without one.

    Attributes
    ----------
    point
        The result of the accepted step. Without one, ``NOWHERE`` or the starting point of the search.
    t : float
        The accepted step; 0 if none was accepted, inf if f is unbounded below along the ray, nan for a pass
        with a search in each block.
    search : SearchLog or None
        The log; for a pass over blocks, that of the longest search.
    trials : int
        Total number of trials, including those of failed searches before this one; -1 without a search.
    kind : str
        The record's ``ls_kind``.
    """

    point: Target
    t: float
    search: SearchLog | None
    trials: int
    kind: str = "armijo"

    @property
    def backtracked(self) -> bool:
        """Return whether the accepted step is shorter than the first one tried."""
        return self.search is not None and self.kind != "exact" and 0.0 < self.t < self.search.trials[0][0]

    @property
    def displacement(self) -> np.ndarray:
        """Return the displacement t d of a search along a direction d."""
        assert self.search is not None
        assert self.search.d is not None
        return self.t * self.search.d

    def leading_to(self, point: Other) -> SearchResult[Other]:
        """Return the same result with another ``point``."""
        return SearchResult(point, self.t, self.search, self.trials, self.kind)


def without_search(point: Target, t: float = float("nan")) -> SearchResult[Target]:
    """Return the result of a step, or a pass of steps, without a search."""
    return SearchResult(point, t, None, -1, "none")
