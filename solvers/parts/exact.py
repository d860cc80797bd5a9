"""Exact line searches over slopes and breakpoints: they know nothing of a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .linesearch import ROUNDING, Breakpoints

#: Doublings of a step after which a slope that is still negative counts as negative for ever.
DOUBLINGS = 100
#: The least tolerances that Brent's method takes: it goes on to the last digit.
TINY, EPS = np.finfo(float).tiny, np.finfo(float).eps
#: Share of the slope at 0 that counts as no slope, of smooth functions.
FLAT = 1e-12


#: What a smooth function jumps by.
NONE = np.zeros(0)


class Landing(NamedTuple):
    """Where an exact search lands: the ``step``, the target segment between two breakpoints that it lies in
    or ends (``segment``, from 0 and to inf where there is none), and how many breakpoints it ``visited``."""

    step: float
    segment: tuple[float, float]
    visited: int


def lowest(b: Breakpoints) -> Landing:
    """Return the first minimum of a convex piecewise quadratic over t >= 0; its step is inf where the
    function falls for ever.

    Algorithms 3 and 5 of Yu et al. 2010 alike: walk along the breakpoints until the derivative from the right
    is not negative; the minimum is there, or where the derivative is zero within the segment before.
    Breakpoints are sorted once, and jumps that are added up may miss zero by rounding.
    """
    if b.slope >= 0.0:
        return Landing(0.0, (0.0, 0.0), 0)
    risen = b.slope + np.cumsum(b.jump)
    rounding = ROUNDING * (risen - 2.0 * b.slope)
    rising = risen + b.curvature * b.t >= -rounding
    k = int(rising.argmax()) if rising.any() else b.t.size
    lo = float(b.t[k - 1]) if k else 0.0
    falling = float(risen[k - 1]) if k else b.slope
    zero = -falling / b.curvature if b.curvature > 0.0 else math.inf
    if k == b.t.size:
        return Landing(max(zero, lo), (lo, math.inf), k)
    hi = float(b.t[k])
    return Landing(min(max(zero, lo), hi), (lo, hi), k + 1)


def zero_slope(slope: Callable[[float, int], float], b: Breakpoints, flat: float = FLAT) -> Landing:
    """Return a minimum over t >= 0 of any convex function by its one-sided derivatives ``slope(t, side)``; of
    ``b`` the slope at 0, the breakpoints and the limit count. A slope of ``flat`` times that at 0 counts as
    zero. The step is inf where the function falls for ever.

    Halving among the breakpoints finds the target segment, and Brent's method a zero of the slope in it;
    beyond the last breakpoint the segment is found by doubling a step of 1.
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
    for _ in range(DOUBLINGS):
        hi = lo + step if lo else step
        at_hi = slope(hi, 1)
        if at_hi >= 0.0:
            return Landing(_zero(slope, lo, at_lo, hi, at_hi, flat), (lo, hi), visited)
        lo, at_lo, step = hi, at_hi, 2.0 * step
    return Landing(math.inf, (lo, math.inf), visited)


def _zero(
    slope: Callable[[float, int], float], lo: float, at_lo: float, hi: float, at_hi: float, flat: float
) -> float:
    """Return where a slope that is negative at ``lo`` and not at ``hi``, and continuous, is zero or less than
    ``flat``, by Brent's method."""
    from scipy.optimize import brentq  # here, since it is slow to import

    # SciPy keeps the function in a cycle, and no arguments: these hold the problem
    given = slope, {lo: at_lo, hi: at_hi}, flat
    # rounding may put the zero so near to a bound that halving does not come there: the last step will do
    return brentq(_settled, lo, hi, given, xtol=TINY, rtol=4.0 * EPS, full_output=True, disp=False)[0]


def _settled(t: float, slope: Callable[[float, int], float], known: dict[float, float], flat: float) -> float:
    """Return the slope at t, as zero where it is less than ``flat``."""
    here = known[t] if t in known else slope(t, 1)
    return 0.0 if abs(here) <= flat else here
