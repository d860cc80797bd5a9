"""How far a descent has come: a lower bound of the minimum, and the decrease of f in recent iterations."""

from __future__ import annotations

import math
from collections import deque

from ...problems.certificates.certificate import bound_by_convexity
from ...problems.point import Point
from ..iterate import NAN

#: Iterations over which the recent decrease of f is taken.
WINDOW = 5
#: Share of the first f that a decrease is compared with where f is smaller: a run whose f tends to 0 would
#: otherwise never stagnate.
LITTLE = 1e-2


class Progress:
    """A lower bound of the minimum of a ``ridge``-strongly convex f, and the recent decrease of f.

    For any subgradient g at w the minimum is at least f(w) - ‖g‖²/(2 ridge); the largest such bound is kept.
    Without a ridge there is none.
    """

    def __init__(self, ridge: float) -> None:
        self.ridge, self._bound, self._gap = ridge, -math.inf, NAN
        self._first: float | None = None
        self._recent: deque[float] = deque(maxlen=WINDOW + 1)

    def update(self, point: Point, squares: float, *, tied: bool = False) -> float:
        """Take an iterate into account and return a bound of f - min f there; nan without a ridge.

        ``squares`` is ‖g‖² of the shortest subgradient known, ``tied`` where it may be a combination of
        several at a kink.
        """
        f = point.objective
        if self._recent and f > self._recent[-1]:  # by a step without a search, from which it has to recover
            self._recent.clear()
        self._recent.append(f)
        self._first = f if self._first is None else self._first
        if self.ridge > 0.0:
            self._bound = max(self._bound, bound_by_convexity(point, squares, tied=tied))
            self._gap = max(f - self._bound, 0.0)
        return self._gap

    def recent_decrease(self) -> float:
        """Return the decrease of f over the last ``WINDOW`` iterations; inf while there are fewer."""
        return self._recent[0] - self._recent[-1] if len(self._recent) > WINDOW else math.inf

    @property
    def reference(self) -> float:
        """Return what a decrease is compared with: |f|, or a share of the first f where that is more."""
        assert self._first is not None  # there has been an iterate
        return max(abs(self._recent[-1]), LITTLE * abs(self._first))

    @property
    def proved(self) -> str:
        """Return the bound in words, to be added to a message; nothing where there is none."""
        if math.isnan(self._gap):
            return ""
        return f"; f is proved to be above the minimum by {self._gap:.3g} at most"
