"""Exact minimization of convex functions of a step, from their slopes and breakpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .outcome import Breakpoints

#: The smallest tolerances that Brent's method takes, so that it runs to the last digit.
MIN_XTOL = np.finfo(float).tiny
MIN_RTOL = 4.0 * np.finfo(float).eps


class Landing(NamedTuple):
    """The minimum that an exact search finds.

    ``step`` is the minimizer, ``segment`` the interval between two breakpoints that contains it or ends at
    it, and ``visited`` the number of breakpoints visited. The first segment begins at 0, the last one ends at
    inf.
    """

    step: float
    segment: tuple[float, float]
    visited: int


def lowest(b: Breakpoints, *, rounding: float) -> Landing:
    """Return the first minimum of a convex piecewise quadratic function over t >= 0.

    The step is inf if the function is unbounded below.

    This is Algorithms 3 and 5 of Yu et al. 2010: walk along the breakpoints until the derivative from the
    right is not negative. The minimum is there, or at the zero of the derivative within the segment before.
    Breakpoints must be sorted. A sum of jumps within ``rounding`` of zero, relative to its terms, counts as
    zero.
    """
    if b.slope >= 0.0:
        return Landing(0.0, (0.0, 0.0), 0)
    risen = b.slope + np.cumsum(b.jump)
    missed = rounding * (risen - 2.0 * b.slope)
    rising = risen + b.curvature * b.t >= -missed
    k = int(rising.argmax()) if rising.any() else b.t.size
    lo = float(b.t[k - 1]) if k else 0.0
    falling = float(risen[k - 1]) if k else b.slope
    zero = -falling / b.curvature if b.curvature > 0.0 else math.inf
    if k == b.t.size:
        return Landing(max(zero, lo), (lo, math.inf), k)
    hi = float(b.t[k])
    return Landing(min(max(zero, lo), hi), (lo, hi), k + 1)


def zero_slope(
    slope: Callable[[float, int], float], b: Breakpoints, *, flat: float, doublings: int
) -> Landing:
    """Return a minimum over t >= 0 of any convex function with one-sided derivatives ``slope(t, side)``.

    Only the slope at 0, the breakpoints and the limit of ``b`` are used.

    Bisection among the breakpoints finds the target segment, and Brent's method a zero of the slope in it.
    Beyond the last breakpoint the segment is found by doubling a step of 1. A slope of ``flat`` times that at
    0 counts as zero. The step is inf if the function is unbounded below, or still decreases after this number
    of ``doublings``.
    """
    if b.slope >= 0.0:
        return Landing(0.0, (0.0, 0.0), 0)
    t, flat = b.t, -flat * b.slope
    below, above, at_lo, visited = -1, t.size, b.slope, 0
    while above - below > 1:
        middle = (below + above) // 2
        rise, visited = slope(float(t[middle]), 1), visited + 1
        if rise >= 0.0:
            above = middle
        else:
            below, at_lo = middle, rise
    lo = float(t[below]) if below >= 0 else 0.0
    if above < t.size:
        hi = float(t[above])
        at_hi = slope(hi, -1)
        if at_hi <= 0.0:
            return Landing(hi, (lo, hi), visited)
        return Landing(_zero(slope, lo, at_lo, hi, at_hi, flat), (lo, hi), visited)
    if b.limit < 0.0:
        return Landing(math.inf, (lo, math.inf), visited)
    step = max(1.0, lo)
    for _ in range(doublings):
        hi = lo + step if lo else step
        at_hi = slope(hi, 1)
        if not at_hi < 0.0:
            bounds = _with_finite_slopes(slope, lo, at_lo, hi, at_hi)
            return Landing(_zero(slope, *bounds, flat), (bounds[0], bounds[2]), visited)
        lo, at_lo, step = hi, at_hi, 2.0 * step
    return Landing(math.inf, (lo, math.inf), visited)


def _with_finite_slopes(
    slope: Callable[[float, int], float], lo: float, at_lo: float, hi: float, at_hi: float
) -> tuple[float, float, float, float]:
    """Return bounds on a zero of the slope, and the slopes there, halved until the slope at ``hi`` is finite.

    The slope overflows far out on an exponential, and Brent's method would only bisect too.
    """
    while not math.isfinite(at_hi) and lo < (middle := 0.5 * (lo + hi)) < hi:
        here = slope(middle, 1)
        if here < 0.0:
            lo, at_lo = middle, here
        else:
            hi, at_hi = middle, here
    return lo, at_lo, hi, at_hi


def _zero(
    slope: Callable[[float, int], float], lo: float, at_lo: float, hi: float, at_hi: float, flat: float
) -> float:
    """Return a zero, up to ``flat``, of a continuous slope that is negative at ``lo`` but not at ``hi``.

    Brent's method finds it.
    """
    from scipy.optimize import brentq  # here, since it is slow to import

    # SciPy keeps the function in a cycle, and no arguments: these hold the problem
    given = slope, {lo: at_lo, hi: at_hi}, flat
    # rounding may put the zero so near to a bound that halving does not come there: the last step will do
    return brentq(_settled, lo, hi, given, xtol=MIN_XTOL, rtol=MIN_RTOL, full_output=True, disp=False)[0]


def _settled(t: float, slope: Callable[[float, int], float], known: dict[float, float], flat: float) -> float:
    """Return the slope at t, or zero if its size is at most ``flat``."""
    here = known[t] if t in known else slope(t, 1)
    return 0.0 if abs(here) <= flat else here
