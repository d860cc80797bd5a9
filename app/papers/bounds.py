"""Figures of which some are only known within bounds, and what can be said when two of them are compared.

A run that a limit ended takes at least as long as it was given: its seconds are bounded from below, and what
it would have found in the end is not known at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bounds:
    """A figure that is at least ``low`` and at most ``high``: the same number twice where it was measured,
    and infinity twice where it never comes."""

    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Bounds:
        return cls(value, value)

    @classmethod
    def at_least(cls, value: float) -> Bounds:
        return cls(value, math.inf)

    @property
    def known(self) -> bool:
        return self.low == self.high

    def __str__(self) -> str:
        if self.low == math.inf:
            return "never"
        if self.known:
            return f"{self.low:.4g}"
        if self.low <= 0.0 and math.isinf(self.high):
            return "not known"
        if math.isinf(self.low):
            return f"at most {self.high:.4g}"
        return f"over {self.low:.4g}" if math.isinf(self.high) else f"{self.low:.4g} to {self.high:.4g}"

    def __mul__(self, factor: float) -> Bounds:
        return Bounds(factor * self.low, factor * self.high)


#: How figures become one, each of which grows with them.
TOGETHER: dict[str, Callable[[list[float]], float]] = {
    **{"median": np.median, "mean": np.mean, "total": sum, "least": min, "most": max}
}


def together(how: str, values: Sequence[Bounds]) -> Bounds:
    """Put figures together in one of the ways ``TOGETHER``: the results for both ends bound it. The median of
    an even number is the mean of the two in the middle."""
    low, high = (TOGETHER[how](list(ends)) for ends in zip(*((v.low, v.high) for v in values), strict=True))
    return Bounds(float(low), float(high))


def less(first: Bounds, second: Bounds) -> bool | None:
    """Tell whether the first figure is smaller; None where the bounds leave it open."""
    if first.high < second.low:
        return True
    return False if first.low >= second.high else None
