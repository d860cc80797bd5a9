"""Line searches: they see numbers only, and leave the problem untouched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
ROUNDING = 10 * sys.float_info.epsilon


class Search:
    """A search along a path w(t) from w(0) = w, for whoever looks at it afterwards.

    ``objective`` is f(w). ``trials`` lists what was tried, (t, f(w(t))), in order, and ``allowed`` the most
    that the rule let f be there, which tends to ``reference`` with t: f(w) but for a search that may rise.
    ``d`` is the direction where the path is w + t d, or its projection. A search in one block of the weights,
    number ``block``, sees the part of f that depends on them.
    """

    def __init__(
        self,
        objective: float,
        d: np.ndarray | None = None,
        *,
        block: int = -1,
        reference: float | None = None,
    ) -> None:
        self.objective, self.d, self.block = objective, d, block
        self.reference = objective if reference is None else reference
        self.trials: list[tuple[float, float]] = []
        self._allowed: list[float] = []

    @property
    def allowed(self) -> list[float]:
        """The largest f that the rule accepts at each trial."""
        return self._allowed

    def note(self, t: float, value: float, allowed: float) -> None:
        """Take down a trial."""
        self.trials.append((t, value))
        self._allowed.append(allowed)


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
