"""Progress of a descent: a lower bound on the minimum, and the decrease of f in recent iterations."""

from __future__ import annotations

import math
from collections import deque

from ...problems.certificates.certificate import bound_by_convexity
from ...problems.point import Point
from ..iterate import NAN

#: Iterations over which the recent decrease of f is computed.
STAGNATION_WINDOW = 5
#: Share of the first f that a decrease is compared with if f is smaller: a run whose f tends to 0 would
#: otherwise never stagnate.
FIRST_SHARE = 1e-2


class DescentProgress:
    """A lower bound on the minimum of a μ-strongly convex f, and the recent decrease of f.

    For any subgradient g at w the minimum is at least f(w) - ‖g‖²/(2μ); the largest such bound is stored.
    There is none if μ, the ``convexity``, is 0.
    """

    def __init__(self, convexity: float) -> None:
        self.convexity, self._bound, self._gap = convexity, -math.inf, NAN
        self._first: float | None = None
        self._recent: deque[float] = deque(maxlen=STAGNATION_WINDOW + 1)

    def update(self, point: Point, squares: float, *, tied: bool = False) -> float:
        """Update the lower bound at a point; return a bound on f - min f there, or nan if none is known.

        ``squares`` is ‖g‖² of the shortest subgradient known. ``tied`` is whether that may be a combination
        of several subgradients at a kink.
        """
        f = point.objective
        if self._recent and f > self._recent[-1]:  # a step without a search, from which f has to recover
            self._recent.clear()
        self._recent.append(f)
        self._first = f if self._first is None else self._first
        if self.convexity > 0.0:
            self._bound = max(self._bound, bound_by_convexity(point, squares, tied=tied))
            self._gap = max(f - self._bound, 0.0)
        return self._gap

    def recent_decrease(self) -> float:
        """Return the decrease of f over ``STAGNATION_WINDOW`` iterations; inf if there have been fewer."""
        return self._recent[0] - self._recent[-1] if len(self._recent) > STAGNATION_WINDOW else math.inf

    @property
    def reference(self) -> float:
        """Return the scale of decreases: |f|, or a fraction of the first |f| if that is larger."""
        assert self._first is not None  # there has been an iterate
        return max(abs(self._recent[-1]), FIRST_SHARE * abs(self._first))

    @property
    def proved(self) -> str:
        """Return the bound as a clause for a message; an empty string if there is none."""
        if math.isnan(self._gap):
            return ""
        return f"; f is proved to be above the minimum by {self._gap:.3g} at most"
