"""Numbers that are known exactly or within an interval, and comparisons of such numbers.

If a limit ended a run, only a lower bound on its seconds is known. Its results at the optimum are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """A number between ``low`` and ``high``.

    Both are equal if the number was measured, and infinite if a target is never reached.
    """

    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Interval:
        return cls(value, value)

    @classmethod
    def at_least(cls, value: float) -> Interval:
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

    def __mul__(self, factor: float) -> Interval:
        return Interval(factor * self.low, factor * self.high)


#: Functions that aggregate numbers, all of them nondecreasing in each number.
AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    **{"median": np.median, "mean": np.mean, "total": sum, "least": min, "most": max}
}


def together(how: str, values: Sequence[Interval]) -> Interval:
    """Aggregate numbers by the function ``how`` of ``AGGREGATES``, separately for their lower and upper
    bounds.

    The median of an even number of values is the mean of the two in the middle.
    """
    low, high = (AGGREGATES[how](list(ends)) for ends in zip(*((v.low, v.high) for v in values), strict=True))
    return Interval(float(low), float(high))


def less(first: Interval, second: Interval) -> bool | None:
    """Return whether the first number is smaller, or None if the bounds do not decide it."""
    if first.high < second.low:
        return True
    return False if first.low >= second.high else None
