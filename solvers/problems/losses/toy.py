"""Functions of two variables: the examples of Yu et al. 2010, and maxima of user-defined pieces."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...declare import Trait
from ...linalg.scores import Scores
from ...search.outcome import Breakpoints
from .envelope import TIE_TOL, envelope
from .loss import BoundLoss, Loss

#: Rounding of variables of order 1, from which a step to a kink near 0 starts.
ROUNDED = 1e-15
#: Smallest jump of the slope at a breakpoint, relative to 1 + the largest slope of a piece.
STEP = 1e-9


@dataclass(frozen=True)
class Toy(Loss):
    """A function f(x, y) of two variables, a maximum of pieces; the scores are x and y themselves."""

    id = "toy"
    name = "Toy function"
    summary = "a function of two variables, the maximum of simple pieces"
    paper = "Yu et al. 2010, eqs. (8), (112), (113) and (114)"
    kinds = ("function",)
    traits = Trait.DIRECTIONAL_DERIVATIVE
    average = False
    metric_name = "none"

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundToy:
        return BoundToy(self, 1, np.ascontiguousarray(part.y, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class BoundToy(BoundLoss):
    """The maximum of ``pieces`` (r, 7), with rows (0, c, g_x, g_y, h_xx, h_xy, h_yy).

    A piece is c + gᵀw + ½ wᵀHw, or sqrt(wᵀHw) in the cone x >= |y| if the first entry is 1. Pieces that tie
    with the maximum count as equal to it.
    """

    labelled: ClassVar[bool] = False
    n_instances: ClassVar[int] = 1
    #: there are no labels
    labels: ClassVar[np.ndarray] = np.zeros(0, dtype=np.int64)

    pieces: np.ndarray

    def first(self, n: int, most: int) -> tuple[Self, int]:
        return self, 2

    def instances_of(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(min(rows.size, 1), dtype=np.int64)

    def subset(self, instances: np.ndarray) -> tuple[Self, np.ndarray]:
        return self, np.arange(2)

    @property
    def piecewise_linear(self) -> bool:
        return not (self._cone.any() or self.pieces[:, 4:].any())

    @property
    def _cone(self) -> np.ndarray:
        return self.pieces[:, 0] == 1.0

    def _each(self, column: slice | int, w: np.ndarray) -> np.ndarray:
        """Return columns of ``pieces``, one row per piece, in a shape that broadcasts against the entries of
        w."""
        return self.pieces[:, column].T.reshape(*self.pieces[0, column].shape, -1, *(w.ndim - 1) * (1,))

    def _forms(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return vᵀHw of each piece."""
        xx, xy, yy = self._each(slice(4, None), w)
        return xx * v[0] * w[0] + xy * (v[0] * w[1] + v[1] * w[0]) + yy * v[1] * w[1]

    def heights(self, w: np.ndarray) -> np.ndarray:
        """Return the value of each piece at w, (r,), or (r, n) for the n columns of w.

        The value of a root is -inf outside its cone.
        """
        form = self._forms(w, w)
        heights = self._each(1, w) + self.pieces[:, 2:4] @ w + 0.5 * form
        root = np.where(w[0] >= abs(w[1]), np.sqrt(np.maximum(form, 0.0)), -np.inf)
        return np.where(self._each(0, w) == 1.0, root, heights)

    def active(self, w: np.ndarray, d: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces that attain the maximum at w and have a gradient there, and the gradients of all,
        (r, 2).

        At the apex of a cone, a root has the gradient of points w + t ``d``, if d is in the cone.
        """
        heights, place = self.heights(w), d if d is not None and not w.any() else w
        within = place.any() and place[0] >= abs(place[1])
        tied = self._tied(heights, w) & (within | ~self._cone)
        xx, xy, yy = self.pieces[:, 4:].T
        Hw, Hp = (np.stack([xx * v[0] + xy * v[1], xy * v[0] + yy * v[1]], axis=1) for v in (w, place))
        root = np.sqrt(np.maximum(self._forms(place, place), 0.0))[:, None]
        sloped = np.divide(Hp, root, out=np.zeros_like(Hp), where=root > 0.0)
        return np.flatnonzero(tied), np.where(self._cone[:, None], sloped, self.pieces[:, 2:4] + Hw)

    def _sizes(self, v: np.ndarray) -> np.ndarray:
        """Return a bound on the contribution of variables with absolute values ``v`` to each piece."""
        xx, xy, yy = abs(self.pieces[:, 4:]).T
        bends = xx * v[0] ** 2 + 2.0 * xy * v[0] * v[1] + yy * v[1] ** 2
        return np.where(self._cone, np.sqrt(bends), abs(self.pieces[:, 2:4]) @ v + 0.5 * bends)

    def _tied(self, heights: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the mask of the pieces that count as equal to the maximum.

        The tolerance covers the rounding of the terms of a piece, and shrinks with these terms as w goes to
        0.
        """
        terms = abs(self.pieces[:, 1]) + self._sizes(abs(w))
        allowed, top = TIE_TOL * terms + ROUNDED * self._sizes(np.ones(2)), heights.argmax()
        return heights[top] - heights <= np.maximum(allowed, allowed[top])

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        w = scores.Z[:, 0] if delta is None else scores.Z[:, 0] + t * delta.Z[:, 0]
        return np.array([self.heights(w).max()])

    def residual(self, scores: Scores) -> Scores:
        active, gradients = self.active(scores.Z[:, 0])
        return _residual(gradients[active[0]])

    def subgradient_sup(self, scores: Scores, delta: Scores) -> Scores:
        d = delta.Z[:, 0]
        active, gradients = self.active(scores.Z[:, 0], d)
        return _residual(gradients[active[(gradients[active] @ d).argmax()]])

    def ties(self, scores: Scores) -> np.ndarray:
        active, gradients = self.active(scores.Z[:, 0])
        return np.flatnonzero([np.ptp(gradients[active], axis=0).any()])

    def random_subgradient(self, scores: Scores, rng: np.random.Generator) -> Scores:
        active, gradients = self.active(scores.Z[:, 0])
        vertices = np.unique(gradients[active], axis=0)
        return _residual(vertices[rng.integers(len(vertices))])

    def breakpoints(self, scores: Scores, delta: Scores) -> Breakpoints:
        """Return the steps at which two pieces that attain the maximum meet.

        If all pieces are linear, they follow from Algorithm 4. Otherwise they are the crossings of any two
        pieces at which the slope jumps.
        """
        if self.piecewise_linear:
            return self._segments(scores.Z[:, 0], delta.Z[:, 0])
        w, d = scores.Z[:, 0], delta.Z[:, 0]
        found = []
        for t in self._crossings(w, d):
            jump = self.slope(scores, delta, t, 1) - self.slope(scores, delta, t, -1)
            if jump > STEP * (1.0 + np.abs(self.active(w + t * d)[1] @ d).max()):
                found.append((t, jump))
        t, jump = np.array(found).reshape(-1, 2).T
        return Breakpoints(self.slope(scores, delta), t, jump, limit=self._limit(d))

    def _segments(self, w: np.ndarray, d: np.ndarray) -> Breakpoints:
        a, b, r = self.pieces[:, 2:4] @ d, self.heights(w), len(self.pieces)
        gaps = np.where(self._tied(b, w), 0.0, b.max() - b)
        unit = gaps.min(where=gaps > 0.0, initial=np.inf)  # so near 0 as well no others count as equal
        unit = unit if unit < np.inf else 1.0
        t, line = np.empty(r), np.empty(r, dtype=np.int64)
        n = envelope(a, -gaps / unit, r, np.empty(r, dtype=np.int64), t, line)
        return Breakpoints(float(a[line[0]]), unit * t[1:n], np.diff(a[line[:n]]))

    def _crossings(self, w: np.ndarray, d: np.ndarray) -> list[float]:
        """Return the steps t > 0, ascending, at which two pieces that are not roots cross.

        A crossing at the step 0, of two pieces that tie at w, is treated as exact.
        """
        b, a, c = self.heights(w), self.pieces[:, 2:4] @ d + self._forms(w, d), 0.5 * self._forms(d, d)
        smooth, tied = np.flatnonzero(~self._cone), set(self.active(w)[0])
        found = set()
        for i, j in itertools.combinations(smooth, 2):
            together = {i, j} <= tied
            height = 0.0 if together else b[i] - b[j]
            found.update(t for t in _roots(c[i] - c[j], a[i] - a[j], height) if t > 0.0)
        return sorted(found)

    def _limit(self, d: np.ndarray) -> float:
        """Return the limit of the slope along d for t to infinity."""
        curved = self._forms(d, d)
        limits = np.where(curved > 0.0, np.inf, self.pieces[:, 2:4] @ d)
        ends = math.inf if d[0] >= abs(d[1]) else -math.inf
        return float(np.where(self._cone, np.minimum(np.sqrt(np.maximum(curved, 0.0)), ends), limits).max())

    def predict(self, scores: Scores) -> np.ndarray:
        return np.zeros(0)

    def metric(self, scores: Scores) -> float:
        """Return nan: there are no predictions."""
        return math.nan


def _residual(gradient: np.ndarray) -> Scores:
    return Scores(gradient.reshape(2, 1).copy(), np.zeros(0))


def _roots(c: float, b: float, a: float) -> list[float]:
    """Return the real roots of c t² + b t + a; a constant has none."""
    if c == 0.0:
        return [-a / b] if b != 0.0 else []
    square = b * b - 4.0 * a * c
    if square < 0.0:
        return []
    q = -0.5 * (b + math.copysign(math.sqrt(square), b))
    return [q / c, a / q] if q != 0.0 else [0.0]
