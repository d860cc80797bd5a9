"""Figures of which some are only known within bounds, and what can be said when two of them are compared.

A run that the budget ended takes at least as long as it was given: its seconds are bounded from below, and
what it would have found in the end is not known at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bounds:
    """A figure that is at least ``low`` and at most ``high``: the same number twice where it was measured."""

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
        if self.known:
            return f"{self.low:.4g}"
        return f"over {self.low:.4g}" if math.isinf(self.high) else f"{self.low:.4g} to {self.high:.4g}"


def mean(values: Sequence[Bounds]) -> Bounds:
    return Bounds(float(np.mean([v.low for v in values])), float(np.mean([v.high for v in values])))


def total(values: Sequence[Bounds]) -> Bounds:
    return Bounds(sum(v.low for v in values), sum(v.high for v in values))


def median(values: Sequence[Bounds]) -> Bounds:
    """The median, of an even number of values the mean of the two in the middle.

    It grows with each of the values, hence the medians of both ends bound it.
    """
    return Bounds(*(float(np.median(ends)) for ends in ([v.low for v in values], [v.high for v in values])))


def smallest(values: Sequence[Bounds]) -> Bounds:
    return Bounds(min(v.low for v in values), min(v.high for v in values))


def largest(values: Sequence[Bounds]) -> Bounds:
    return Bounds(max(v.low for v in values), max(v.high for v in values))


def less(first: Bounds, second: Bounds) -> bool | None:
    """Whether the first figure is smaller; None where the bounds leave it open."""
    if first.high < second.low:
        return True
    return False if first.low >= second.high else None


def verdict(holds: bool | None, cut: int) -> str:
    """A claim in the words of the reports; ``cut`` runs, of those it rests on, were ended by the budget."""
    runs = f"{cut} {'run was' if cut == 1 else 'runs were'} cut by the budget"
    if holds is None:
        return f"undecided: {runs}" if cut else "undecided"
    seen = "seen" if holds else "not seen"
    return f"{seen}, though {runs}" if cut else seen


def better(
    claim: str,
    lams: Sequence[float],
    first: Sequence[Bounds],
    second: Sequence[Bounds],
    slack: float,
    cut: int,
) -> list[str]:
    """A row of a report: is the best of the first accuracies, one for each λ, above the best of the second
    less ``slack``?"""
    best = largest(first), largest(second)
    at = " / ".join(
        f"{lams[int(np.argmax([value.low for value in values]))]:.2g}" for values in (first, second)
    )
    allowed = Bounds(best[1].low - slack, best[1].high - slack)
    figures = " / ".join(f"{b.low:.4f}" if b.known else f"at least {b.low:.4f}" for b in best)
    return [claim, figures, verdict(less(allowed, best[0]), cut), f"best at λ = {at}"]
