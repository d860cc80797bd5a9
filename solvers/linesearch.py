"""Line searches: they see numbers only, and leave the problem untouched."""

from __future__ import annotations

import sys
from collections.abc import Callable

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
ROUNDING = 10 * sys.float_info.epsilon


def backtrack(
    accept: Callable[[float], bool], t: float = 1.0, *, beta: float = 0.5, max_trials: int = 30
) -> tuple[float, int]:
    """The first of t, βt, β²t, ... that is accepted, and how many were tried; t = 0 if none was."""
    for trial in range(1, max_trials + 1):
        if accept(t):
            return t, trial
        t *= beta
    return 0.0, max_trials


def decreases(new: float, old: float, bound: float) -> bool:
    """new <= old + bound up to rounding; bound is σ times the decrease promised, negative."""
    return new <= old + bound + ROUNDING * abs(old)


def armijo(
    phi: Callable[[float], float],
    f: float,
    decrease: float,
    *,
    beta: float,
    sigma: float,
    max_trials: int = 30,
) -> tuple[float, int]:
    """Backtracking until φ(t) <= f + t σ Δ, with Δ = ``decrease`` < 0."""
    return backtrack(lambda t: decreases(phi(t), f, t * sigma * decrease), beta=beta, max_trials=max_trials)
