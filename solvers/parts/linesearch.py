"""Line searches over numbers φ(t): they know nothing of a problem."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..problems.products.working_set import WorkingSet

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
ROUNDING = 10 * sys.float_info.epsilon
#: Trials after which Armijo's rule may give up, and after which it does.
TRIALS = 30, 1000
#: The type of what a step leads to: a point, or what a solver needs to get there.
Place = TypeVar("Place")
Other = TypeVar("Other")
#: The ``point`` of an outcome without a step, which nobody may use.
NOWHERE: Any = None


class Breakpoints(NamedTuple):
    """A convex function of t >= 0 by its slopes: ``slope`` is the derivative at 0 from the right, ``t`` are
    the steps > 0, ascending, at which it jumps, by ``jump`` >= 0 each (equal steps may stand side by side).

    Where the function is piecewise quadratic, its derivative rises by ``curvature`` a unit of t in between;
    where it is not, ``limit`` is what the derivative tends to, inf if that is not known.
    """

    slope: float
    t: np.ndarray
    jump: np.ndarray
    curvature: float = 0.0
    limit: float = math.inf


class Search:
    """Log of a search along a path w(t) from w(0) = w, for views and records.

    Attributes
    ----------
    objective : float
        f(w).
    trials, allowed, slopes : list
        For each trial, in order: (t, f(w(t))); the largest f that the rule allowed there; the derivative of
        f(w(t)) from the right, nan if not computed.
    reference : float
        What ``allowed`` tends to as t tends to 0: f(w), but for a search that lets f rise.
    d, active
        The direction if the path is w + t d or its projection, with an entry a member of ``active``; the path
        is straight if ``active`` is given.
    block : int
        The number of the block of weights that is searched in, where f is the part that depends on them; -1
        for all.
    promised : float
        Δ of Armijo's rule f + tσΔ.
    model : float
        dᵀB d for the matrix B of the solver's model of f, if known for free.
    slope : float
        The derivative of f(w(t)) at 0 from the right.
    breakpoints, segment
        Of an exact search: the breakpoints visited, and the interval between two of them that it ended in.
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
    """Outcome of a search.

    Attributes
    ----------
    point
        What the accepted step leads to; ``NOWHERE``, or where the search began, if there is no such step.
    t : float
        The accepted step; 0 if none was accepted, inf if f falls along the ray for ever, nan for a pass with
        a search in each block.
    search : Search or None
        The log; of a pass over blocks, that of the longest search.
    trials : int
        Trials in all, failed searches before this one included; -1 without a search.
    kind : str
        The record's ``ls_kind``.
    """

    point: Place
    t: float
    search: Search | None
    trials: int
    kind: str = "armijo"

    @property
    def backtracked(self) -> bool:
        """Tell whether a step was accepted, but shorter than the first one tried."""
        return self.search is not None and self.kind != "exact" and 0.0 < self.t < self.search.trials[0][0]

    @property
    def displacement(self) -> np.ndarray:
        """Return t d, where the search went along a direction d."""
        assert self.search is not None
        assert self.search.d is not None
        return self.t * self.search.d

    def leading_to(self, point: Other) -> Found[Other]:
        """Return the same outcome, with what the step leads to."""
        return Found(point, self.t, self.search, self.trials, self.kind)


def unsearched(point: Place, t: float = float("nan")) -> Found[Place]:
    """Return the outcome of a step, or a pass of steps, without a search."""
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
    return Found(NOWHERE, 0.0, search, len(search.trials))


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
) -> Found[Place]:
    """Backtrack from ``t`` on until φ(t) <= φ(0) + t σ Δ, with Δ = ``decrease`` < 0; ``phi(t)`` returns where
    t leads, and φ(t).

    It gives up once tΔ is no more than rounding of φ(0), but not before 30 trials, or after 1000.
    """
    f, search.promised = search.objective, decrease

    def attempt(t: float) -> Trial[Place]:
        point, value = phi(t)
        bound = t * sigma * decrease
        return Trial(point, value, f + bound, decreases(value, f, bound))

    trials, most = TRIALS
    if decrease < 0.0 and 0.0 < (share := ROUNDING * abs(f) / -(t * decrease)) < 1.0:
        trials = max(trials, min(math.ceil(math.log(share) / math.log(beta)), most))
    return backtrack(attempt, search, t, beta=beta, max_trials=trials)


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
    return Found(NOWHERE, math.inf if endless else 0.0, search, len(search.trials), "wolfe")
