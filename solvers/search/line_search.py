"""Line searches on a function φ(t), as objects that solvers compose: ``Armijo``, ``Wolfe`` and ``Exact``.

All their defaults and tolerances are here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from ..declare import param
from .exact import Landing, lowest, zero_slope
from .outcome import NOWHERE, Breakpoints, SearchLog, SearchResult, Target, Trial

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
OBJECTIVE_ROUNDING = 10 * sys.float_info.epsilon

TargetOfLine = TypeVar("TargetOfLine", covariant=True)


class SearchedLine(Protocol[TargetOfLine]):
    """A line along which a search runs and then moves to the step found, such as :class:`.Line`."""

    def slope(self) -> float:
        """Return φ'(0) from the right."""
        ...

    def armijo(self, decrease: float, rule: Armijo) -> SearchResult[TargetOfLine]:
        """Search by Armijo's rule for a fraction of the predicted ``decrease``, and move."""
        ...

    def wolfe(self, rule: Wolfe, *, first: float) -> SearchResult[TargetOfLine]:
        """Search for a step that satisfies the Wolfe conditions, from the step ``first``, and move."""
        ...

    def exact(self, rule: Exact) -> SearchResult[TargetOfLine]:
        """Search for the minimum, and move."""
        ...


@dataclass(frozen=True)
class Armijo:
    """Armijo's rule: multiply the step by ``beta`` until f decreases by enough.

    The decrease must be at least ``sigma`` times the predicted decrease. The search gives up once the
    predicted decrease is within rounding of f, but not before ``least_trials`` trials. It makes at most
    ``max_trials`` trials. The default σ is that of quasi-Newton methods, as in Nocedal and Wright.
    """

    least_trials: ClassVar[int] = 30
    max_trials: ClassVar[int] = 1000

    beta: float = param(
        0.5,
        "factor of the backtracking line search",
        low=0.0,
        high=0.999,
        open_low=True,
        title="backtracking factor β",
    )
    sigma: float = param(
        1e-4,
        "share of the promised decrease that Armijo's rule asks for",
        low=0.0,
        high=0.5,
        title="decrease asked for σ",
    )

    def __call__(self, line: SearchedLine[Target], first: float = 1.0) -> SearchResult[Target]:
        """Search along a line from a step of 1, and move to the point found; ``first`` is ignored."""
        return line.armijo(line.slope(), self)

    def search(
        self,
        phi: Callable[[float], tuple[Target, float]],
        log: SearchLog,
        decrease: float,
        *,
        first: float = 1.0,
    ) -> SearchResult[Target]:
        """Backtrack from ``first`` until φ(t) <= φ(0) + t σ Δ, with Δ = ``decrease`` < 0.

        ``phi(t)`` returns the point at the step t and the value φ(t).
        """
        f, sigma, log.promised = log.objective, self.sigma, decrease

        def attempt(t: float) -> Trial[Target]:
            point, value = phi(t)
            bound = t * sigma * decrease
            return Trial(point, value, f + bound, decreases(value, f, bound))

        trials = self.least_trials
        if decrease < 0.0 and 0.0 < (share := OBJECTIVE_ROUNDING * abs(f) / -(first * decrease)) < 1.0:
            trials = max(trials, min(math.ceil(math.log(share) / math.log(self.beta)), self.max_trials))
        return backtrack(attempt, log, first, beta=self.beta, max_trials=trials)


#: Armijo's rule along directions to the minimum of a model with kinks, as in Tseng and Yun 2009.
MODEL_ARMIJO = Armijo(sigma=0.01)


@dataclass(frozen=True)
class Wolfe:
    """A search for a step that satisfies the Wolfe conditions for subgradients, Yu et al. 2010, eqs.
    (23)-(24).

    They are φ(t) <= φ(0) + c1 t φ'(0) and φ'(t) >= c2 φ'(0), with derivatives φ' from the right.

    A step is too short if (24) fails, and too long if (23) fails. Steps that are too short are doubled until
    one is too long. The next step is the midpoint of the longest step that is too short and the shortest that
    is too long. If ``decay`` times the latter is larger, it is used instead: this is the inexact search of
    the paper's footnote 1.
    """

    max_trials: ClassVar[int] = 100

    c1: float = param(
        1e-4,
        "Wolfe: share of the promised decrease asked for, eq. (23)",
        low=0.0,
        high=0.5,
        title="Wolfe: decrease c₁",
    )
    c2: float = param(
        0.9,
        "Wolfe: share of the slope that may be left, eq. (24)",
        low=0.0,
        high=0.9999,
        title="Wolfe: slope c₂",
    )
    decay: float = 0.0

    def __call__(self, line: SearchedLine[Target], first: float = 1.0) -> SearchResult[Target]:
        """Search along a line from the step ``first``, and move to the point found."""
        return line.wolfe(self, first=first)

    def search(
        self,
        phi: Callable[[float], tuple[Target, float]],
        slope: Callable[[float], float],
        log: SearchLog,
        *,
        first: float = 1.0,
    ) -> SearchResult[Target]:
        """Search from the step ``first``; ``phi(t)`` returns the point at the step t, and φ(t).

        φ'(0) is ``log.slope``. φ'(t) is computed only if (23) holds at t. The t of the result is inf if no
        step is too long.
        """
        f, start, c1, c2, decay = log.objective, log.slope, self.c1, self.c2, self.decay
        lo, hi, t = 0.0, math.inf, first
        while start < 0.0 and len(log.trials) < self.max_trials and lo < t < hi:
            point, value = phi(t)
            bound = t * c1 * start
            low_enough = decreases(value, f, bound)
            here = slope(t) if low_enough else math.nan
            log.note(t, value, f + bound, here)
            if low_enough and here >= c2 * start:
                return SearchResult(point, t, log, len(log.trials), "wolfe")
            lo, hi = (t, hi) if low_enough else (lo, t)
            t = 2.0 * lo if hi == math.inf else max(0.5 * (lo + hi), decay * hi if decay else 0.0)
        unbounded = start < 0.0 and hi == math.inf
        return SearchResult(NOWHERE, math.inf if unbounded else 0.0, log, len(log.trials), "wolfe")


#: The inexact search of Yu et al. 2010, footnote 1, with the constants of their experiments.
INEXACT = Wolfe(c1=1e-3, c2=0.8, decay=0.9)


@dataclass(frozen=True)
class Exact:
    """The exact search, which finds the first minimum of φ.

    If φ is unbounded below there is no minimum. With ``to_last_kink`` the search then ends at the last
    breakpoint of the ray, if there is one. ``smooth_flat`` and ``kinked_flat`` are tolerances for a zero
    slope relative to the slope at 0, for functions without and with kinks. φ counts as unbounded below if its
    slope is still negative after ``doublings`` of the step.
    """

    smooth_flat: ClassVar[float] = 1e-12
    kinked_flat: ClassVar[float] = OBJECTIVE_ROUNDING
    doublings: ClassVar[int] = 100

    to_last_kink: bool = False

    def __call__(self, line: SearchedLine[Target], first: float = 1.0) -> SearchResult[Target]:
        """Search along a line, and move to the point found; ``first`` is ignored."""
        return line.exact(self)

    def by_breakpoints(self, b: Breakpoints) -> Landing:
        """Return the minimum of a piecewise quadratic function."""
        return lowest(b, rounding=OBJECTIVE_ROUNDING)

    def by_slopes(self, slope: Callable[[float, int], float], b: Breakpoints, *, smooth: bool) -> Landing:
        """Return the minimum of a convex function with one-sided derivatives ``slope(t, side)``."""
        flat = self.smooth_flat if smooth else self.kinked_flat
        return zero_slope(slope, b, flat=flat, doublings=self.doublings)


#: The exact search of a function that has a minimum.
TO_MINIMUM = Exact()
#: Every search that a solver can compose with a line.
LineSearch = Armijo | Wolfe | Exact


def backtrack(
    attempt: Callable[[float], Trial[Target]], log: SearchLog, t: float = 1.0, *, beta: float, max_trials: int
) -> SearchResult[Target]:
    """Try t, βt, β²t, ... until one is accepted; return the step 0 and ``NOWHERE`` after ``max_trials``.

    Every attempt is added to the ``log``.
    """
    for _ in range(max_trials):
        trial = attempt(t)
        log.note(t, trial.value, trial.allowed)
        if trial.accepted:
            return SearchResult(trial.point, t, log, len(log.trials))
        t *= beta
    return SearchResult(NOWHERE, 0.0, log, len(log.trials))


def decreases(new: float, old: float, bound: float) -> bool:
    """Return whether new <= old + bound up to rounding; the bound is σ times the predicted decrease,
    negative."""
    return new <= old + bound + OBJECTIVE_ROUNDING * abs(old)
