"""Line searches: they see numbers only, and leave the problem untouched."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from ..problems.working_set import WorkingSet
    from .exact import Breakpoints

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
ROUNDING = 10 * sys.float_info.epsilon
#: Where a step leads: a point, or what a solver needs to get there.
Place = TypeVar("Place")


class Search:
    """Log of a search along a path w(t) from w(0) = w, for views and records.

    ``objective`` is f(w). ``trials`` lists what was tried, (t, f(w(t))), in order, and ``allowed`` the most
    that the rule let f be there, which tends to ``reference`` with t: f(w) but for a search that may rise.
    ``d`` is the direction where the path is w + t d, or its projection; the path is straight where ``active``
    is given, the weights that d has entries of. A search in one block of the weights, number ``block``, sees
    the part of f that depends on them.

    ``promised`` is Δ of a rule f + tσΔ, the change that a step of 1 is promised to make to first order.
    ``model`` is dᵀB d for the matrix B of the solver's own model of f, where the solver knows it for nothing.

    Searches that look at slopes log them as well: ``slope`` is the derivative of f(w(t)) at t = 0 from the
    right, and ``slopes`` lists that at each trial, nan where it was not computed. An exact search leaves the
    ``breakpoints`` that it visited, and the ``segment`` between two of them that it ended in.
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

    def along(self, d: np.ndarray, active: WorkingSet) -> Search:
        """Return the log of the same search as one along ``d``, which stands for its direction elsewhere."""
        other = copy.copy(self)
        other.d, other.active = d, active
        return other

    def note(self, t: float, value: float, allowed: float, slope: float = math.nan) -> None:
        """Add a trial to the log."""
        self.trials.append((t, value))
        self.allowed.append(allowed)
        self.slopes.append(slope)


class Trial(NamedTuple, Generic[Place]):
    """One step tried: where it leads, f there, the largest f that the rule allows, and its verdict."""

    point: Place
    value: float
    allowed: float
    accepted: bool


class Found(NamedTuple, Generic[Place]):
    """Outcome of a search: the ``point`` that the accepted step ``t`` leads to, the log of the ``search``,
    and the number of ``trials``, those of searches that failed before it included.

    t is 0 where no step was accepted, and inf where f falls along the ray for ever; the point is then None,
    or where the search began. A pass over blocks, with a search in each, has no t (nan): ``search`` is its
    longest, and ``trials`` counts those of all. ``kind`` is the record's ``ls_kind``.
    """

    point: Place | None
    t: float
    search: Search | None
    trials: int
    kind: str = "armijo"

    @property
    def backtracked(self) -> bool:
        """Tell whether a step was accepted, but shorter than the first one tried."""
        return self.search is not None and self.kind != "exact" and 0.0 < self.t < self.search.trials[0][0]


def unsearched(point: Place, t: float = float("nan")) -> Found[Place]:
    """Return the outcome of a step, or of a pass of steps, that was taken without a search."""
    return Found(point, t, None, -1, "none")


def backtrack(
    attempt: Callable[[float], Trial[Place]],
    search: Search,
    t: float = 1.0,
    *,
    beta: float = 0.5,
    max_trials: int = 30,
) -> Found[Place]:
    """Try t, βt, β²t, ... until one is accepted. Every attempt is added to the log ``search``."""
    for _ in range(max_trials):
        trial = attempt(t)
        search.note(t, trial.value, trial.allowed)
        if trial.accepted:
            return Found(trial.point, t, search, len(search.trials))
        t *= beta
    return Found(None, 0.0, search, len(search.trials))


def decreases(new: float, old: float, bound: float) -> bool:
    """Test new <= old + bound up to rounding; bound is σ times the promised decrease, negative."""
    return new <= old + bound + ROUNDING * abs(old)


def armijo(
    phi: Callable[[float], tuple[Place, float]],
    search: Search,
    decrease: float,
    *,
    beta: float,
    sigma: float,
    t: float = 1.0,
    max_trials: int = 30,
) -> Found[Place]:
    """Backtrack from ``t`` on until φ(t) <= φ(0) + t σ Δ, with Δ = ``decrease`` < 0; ``phi(t)`` returns where
    t leads, and φ(t)."""
    f, search.promised = search.objective, decrease

    def attempt(t: float) -> Trial[Place]:
        point, value = phi(t)
        bound = t * sigma * decrease
        return Trial(point, value, f + bound, decreases(value, f, bound))

    return backtrack(attempt, search, t, beta=beta, max_trials=max_trials)


def wolfe(
    phi: Callable[[float], tuple[Place, float]],
    slope: Callable[[float], float],
    search: Search,
    *,
    c1: float,
    c2: float,
    first: float = 1.0,
    decay: float | None = None,
    max_trials: int = 100,
) -> Found[Place]:
    """Find a step with φ(t) <= φ(0) + c1 t φ'(0) and φ'(t) >= c2 φ'(0), all slopes φ' from the right: the
    Wolfe conditions for subgradients, eqs. (23)-(24) of Yu et al. 2010. φ'(0) is ``search.slope``.

    ``phi(t)`` returns where t leads, and φ(t). A step that is too short, since (24) fails, is doubled until
    one is too long, since (23) fails; the next one is halfway between the longest too short and the shortest
    too long one, or ``decay`` times the latter where that is more. With a decay this is the inexact search of
    the paper's footnote 1. φ'(t) is computed only where (23) holds. t is inf if no step is too long.
    """
    f, start = search.objective, search.slope
    lo, hi, t = 0.0, math.inf, first
    while start < 0.0 and len(search.trials) < max_trials and lo < t < hi:
        point, value = phi(t)
        bound = t * c1 * start
        low_enough = decreases(value, f, bound)
        here = slope(t) if low_enough else math.nan
        search.note(t, value, f + bound, here)
        if low_enough and here >= c2 * start:
            return Found(point, t, search, len(search.trials), "wolfe")
        lo, hi = (t, hi) if low_enough else (lo, t)
        t = 2.0 * lo if hi == math.inf else max(0.5 * (lo + hi), decay * hi if decay else 0.0)
    endless = start < 0.0 and hi == math.inf
    return Found(None, math.inf if endless else 0.0, search, len(search.trials), "wolfe")
