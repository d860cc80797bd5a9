"""φ(t) = f(w + t d) of a recorded search, recomputed: values, slopes, and the steps of other search rules."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..declare import Trait
from ..problems.problem import Problem
from ..search.line_search import Armijo, Wolfe
from ..search.outcome import Breakpoints, SearchLog, SearchResult
from .label_lines import label_lines
from .probe import Seen
from .search_lines import rebuild

#: Halvings of the window, for values of φ and for its slopes: 2ᵏ + 1 of them.
VALUE_LEVELS, SLOPE_LEVELS = 7, 5
#: Halvings that are always done, and CPU seconds after which no further one begins.
MIN_LEVELS, MAX_CPU_SECONDS = 3, 1.0
#: Breakpoints at which φ and its slopes are computed exactly, at most.
MAX_EXACT_BREAKPOINTS = 400
#: Random subgradients whose slopes are computed.
SUBGRADIENTS = 6


@dataclass(frozen=True)
class Picture:
    """φ on an interval of steps: values, and slopes, of which breakpoints have two (from the left and the
    right)."""

    t: np.ndarray
    phi: np.ndarray
    slope_t: np.ndarray
    slope: np.ndarray


class Study:
    """φ(t) = f(w_k + t d) of a search, rebuilt on a problem from an observation of the LINE probe.

    Each value is computed once. ``pulse`` is called between computations, in the thread that computes.
    """

    def __init__(self, problem: Problem, seen: Seen, pulse: Callable[[], None] = lambda: None) -> None:
        began = time.thread_time()
        self.pulse = pulse
        self._problem = problem.with_pulse(lambda: self.pulse())
        self._line = rebuild(self._problem, seen)
        self._values: dict[float, float] = {}
        self._slopes: dict[tuple[float, int], float] = {}
        self.start = float(seen["start"][0])
        self.tried = seen["t"]
        loss, penalty = problem.loss, problem.penalty
        #: Whether the slopes of φ on both sides of a kink are known.
        self.has_slopes = bool(loss.traits & (Trait.SMOOTH | Trait.DIRECTIONAL_DERIVATIVE))
        #: Whether φ is quadratic between its breakpoints, so that these tell its slope everywhere.
        self.piecewise = self.has_slopes and loss.piecewise_linear and not penalty.l1
        self.breakpoints = self._breakpoints()
        promised = float(seen["promised"])
        #: Δ of Armijo's rule.
        self.promised = promised if math.isfinite(promised) or not self.has_slopes else self.slope(0.0)
        #: dᵀB d of the solver's own model; nan if it does not record that.
        self.model = float(seen["model"])
        longest = float(np.max(self.tried[np.isfinite(self.tried)], initial=0.0))
        accepted = float(self.tried[-1]) if self.tried.size and np.isfinite(self.tried[-1]) else 0.0
        reach = max(1.1 * longest, 1.6 * accepted) or 1.0
        #: Steps to draw: from a little before 0, to beyond all that were tried.
        self.window = -0.08 * reach, reach
        #: Where an exact search found its minimum to lie between two breakpoints.
        self.segment = tuple(map(float, seen["segment"])) if seen.get("visited") else None
        self._exact = "segment" in seen
        #: The lines of one sample's labels, of a multiclass hinge.
        self.label_lines = label_lines(self._line, reach)
        #: A narrow window around the accepted step.
        self.near = self._near(accepted or 0.1 * reach)
        #: CPU seconds of computing the first values, and those of one value of φ.
        self.seconds = time.thread_time() - began, 0.0

    def _near(self, step: float) -> tuple[float, float]:
        """Return an interval around a step that contains the two next breakpoints on each side.

        It extends by at most 0.3 of the step to each side, and by a tenth if there are no breakpoints.
        """
        t = self.breakpoints.t
        beside = [t[t < step][-2:], t[t > step][:2]]
        away = max((float(np.abs(side - step).max(initial=0.0)) for side in beside), default=0.0)
        width = min(1.2 * away, 0.3 * step) or 0.1 * step
        return step - width, step + width

    def phi(self, t: float) -> float:
        """Return φ(t)."""
        if t not in self._values:
            self.pulse()
            self._values[t] = self._line(t)
        return self._values[t]

    def slope(self, t: float, side: int = 1) -> float:
        """Return φ'(t) from the right, or from the left (``side`` -1)."""
        if (t, side) not in self._slopes:
            self.pulse()
            self._slopes[t, side] = self._line.slope(t, side)
        return self._slopes[t, side]

    def _breakpoints(self) -> Breakpoints:
        """Return the steps t > 0 at which φ' jumps: kinks of the loss, and zeros of weights under ‖·‖₁."""
        none = np.zeros(0)
        found = self._line.breakpoints() if self.has_slopes else Breakpoints(math.nan, none, none)
        l1, w, d = self._problem.l1_strengths, self._line.point.w, self._line.d
        if not self._problem.penalty.l1:
            return found
        passing = np.flatnonzero((w * d < 0.0) & (l1 > 0.0))
        t = np.concatenate([found.t, -w[passing] / d[passing]])
        jump = np.concatenate([found.jump, 2.0 * l1[passing] * np.abs(d[passing])])
        order = np.argsort(t, kind="stable")
        return found._replace(t=t[order], jump=jump[order])

    def marked(self, lo: float, hi: float) -> np.ndarray:
        """Return the breakpoints in an interval; if they are too many, an evenly spaced subset."""
        t = self.breakpoints.t
        inside = t[np.searchsorted(t, lo) : np.searchsorted(t, hi, side="right")]
        return inside[:: -(-inside.size // MAX_EXACT_BREAKPOINTS) or 1]

    def drawn(self, lo: float, hi: float) -> Picture:
        """Compute φ and φ' on an interval: at the steps tried, at breakpoints, and on a grid.

        The grid is refined for about a second.
        """
        began = time.thread_time()

        def enough(level: int) -> bool:
            return level > MIN_LEVELS and time.thread_time() - began > MAX_CPU_SECONDS

        for t in [0.0, *self.tried.tolist()]:
            if math.isfinite(t):
                self.phi(t)
        marked = self.marked(lo, hi)
        if self.has_slopes:
            self.slope(0.0, -1), self.slope(0.0)
        for level in range(1, VALUE_LEVELS + 1):
            if enough(level):
                break
            for t in np.linspace(lo, hi, 2**level + 1).tolist():
                self.phi(t)
            if level <= SLOPE_LEVELS and self.has_slopes and not self.piecewise:
                for t in np.linspace(lo, hi, 2**level + 1).tolist():
                    self.slope(t)
        for t in marked.tolist():
            if enough(VALUE_LEVELS):
                break
            self.phi(t)
            if not self.piecewise:
                self.slope(t, -1), self.slope(t)
        if not self.seconds[1]:
            spent = time.thread_time() - began
            self.seconds = self.seconds[0] + spent, spent / len(self._values)
        t = np.array(sorted(t for t in self._values if lo <= t <= hi))
        phi = np.array([self._values[x] for x in t.tolist()])
        return Picture(t, phi, *(self._steps(lo, hi) if self.piecewise else self._sampled(lo, hi)))

    def _sampled(self, lo: float, hi: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps in an interval at which slopes have been computed, and the slopes."""
        known = sorted((t, side, value) for (t, side), value in self._slopes.items() if lo <= t <= hi)
        return np.array([t for t, _, _ in known]), np.array([value for _, _, value in known])

    def _steps(self, lo: float, hi: float) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and slopes of a piecewise quadratic φ in an interval, with jumps at its
        breakpoints."""
        b, marked = self.breakpoints, self.marked(lo, hi)
        last = np.searchsorted(b.t, marked, side="right")
        first = np.searchsorted(b.t, marked, side="left")
        risen = b.slope + np.concatenate([[0.0], np.cumsum(b.jump)])
        t = np.repeat(marked, 2)
        slope = np.column_stack([risen[first], risen[last]]).ravel() + b.curvature * t
        ends = np.array([max(lo, 0.0), hi])
        at_ends = risen[np.searchsorted(b.t, ends, side="right")] + b.curvature * ends
        at_zero = [self.slope(0.0, -1)] if lo <= 0.0 else []
        return (
            np.concatenate([np.zeros(len(at_zero)), ends[:1], t, ends[1:]]),
            np.concatenate([at_zero, at_ends[:1], slope, at_ends[1:]]),
        )

    def armijo(self, rule: Armijo) -> SearchResult[float]:
        """Search by an Armijo rule, with the first step of the recorded search."""
        return rule.search(
            lambda t: (t, self.phi(t)), SearchLog(self.start), self.promised, first=self._first
        )

    def wolfe(self, rule: Wolfe) -> SearchResult[float]:
        """Search by Wolfe conditions, with the first step of the recorded search."""
        log = SearchLog(self.start)
        log.slope = self.slope(0.0)
        return rule.search(lambda t: (t, self.phi(t)), self.slope, log, first=self._first)

    @property
    def _first(self) -> float:
        """Return the first step for search rules: that of the recorded search if it backtracked, else 1."""
        backtracked = not self._exact and self.tried.size and 0.0 < self.tried[0] < math.inf
        return float(self.tried[0]) if backtracked else 1.0

    def allowed_by_wolfe(self, rule: Wolfe, drawn: Picture) -> tuple[float, float] | None:
        """Return the interval of steps that satisfy both Wolfe conditions; None if there is no such step.

        For a convex φ these steps form an interval. Its ends are read from the values in ``drawn``.
        """
        start, c1, c2 = self.slope(0.0), rule.c1, rule.c2
        if not start < 0.0:
            return None
        steep = np.flatnonzero((drawn.slope_t >= 0.0) & (drawn.slope >= c2 * start))
        low = np.flatnonzero((drawn.t > 0.0) & (drawn.phi <= self.start + c1 * start * drawn.t))
        if not steep.size or not low.size:
            return None
        lo = crossing(drawn.slope_t, drawn.slope - c2 * start, int(steep[0]))
        above = drawn.phi - self.start - c1 * start * drawn.t
        hi = crossing(drawn.t, above, int(low[-1]) + 1) if low[-1] + 1 < drawn.t.size else float(drawn.t[-1])
        return (lo, hi) if lo <= hi else None

    def random_slopes(self) -> np.ndarray:
        """Return gᵀd for random subgradients g at w_k; they are all equal if the loss is smooth."""
        line, rng = self._line, np.random.default_rng(0)
        loss, penalty = self._problem.loss, self._problem.penalty
        slopes = [
            loss.random_subgradient(line.point.scores, rng).dot(line.delta) for _ in range(SUBGRADIENTS)
        ]
        ridge = penalty.ridge_product(line.point.w, line.d)
        return np.unique(self._problem.scale * np.array(slopes) + ridge)


def crossing(t: np.ndarray, values: np.ndarray, k: int) -> float:
    """Return the zero of the linear interpolant of values between points k - 1 and k.

    Return point k itself if it is the first, or if both values are equal.
    """
    if k == 0 or values[k] == values[k - 1]:
        return float(t[k])
    share = -values[k - 1] / (values[k] - values[k - 1])
    return float(t[k - 1] + min(max(share, 0.0), 1.0) * (t[k] - t[k - 1]))
