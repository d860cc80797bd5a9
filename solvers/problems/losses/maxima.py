"""Losses that are maxima of linear functions of a row of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ...linalg.scores import Scores
from ...search.outcome import Breakpoints
from .chunks import CACHED_SCORES, scratch
from .row_loss import RowLoss

#: Weights of the rows of a slice if all are 1.
ONES = np.ones(CACHED_SCORES)


class MaximumKernels(NamedTuple):
    """Kernels over chunks of rows with scores Z, directions D and labels y.

    The first argument is the term of the loss.

    * ``sup(term, Z, D, y, G)`` writes the subgradient of each row with the largest slope along D;
    * ``random(term, Z, u, y, G)`` writes the gradient of one of the functions that attain the maximum,
      selected by u in [0, 1);
    * ``breakpoints(term, Z, D, y, s, t, jump)`` writes the breakpoints t > 0 of all rows along D, and the
      jumps of the slope there, the loss of row i times s_i; it returns the slope at 0 from the right, and the
      number of breakpoints;
    * ``settle(term, Z, y)`` changes scores so that functions that tie with the maximum are equal to it, and
      returns the largest change of a score.
    """

    sup: Callable[..., None]
    random: Callable[..., None]
    breakpoints: Callable[..., tuple[float, int]]
    settle: Callable[..., float]


@dataclass(frozen=True, eq=False)
class MaximumLoss(RowLoss):
    """Base of bound losses that are a maximum of linear functions of the scores in each row.

    A subclass defines ``term``, ``kernels``, ``most_breakpoints``, and ``chunk_values`` and
    ``chunk_residual`` as for :class:`RowLoss`. Functions that tie with the maximum of their row count as
    equal to it.
    """

    least = 0.0
    piecewise_linear = True
    #: the largest number of breakpoints that a row may have along a line
    most_breakpoints: ClassVar[int]
    kernels: ClassVar[MaximumKernels]

    def subgradient_sup(self, scores: Scores, delta: Scores) -> Scores:
        G, y, sup = np.empty_like(scores.Z), self.y, self.kernels.sup
        self._each_chunk(lambda k: sup(self.term, scores.Z[k], delta.Z[k], y[k], G[k]))
        return Scores(G, np.zeros(0))

    def random_subgradient(self, scores: Scores, rng: np.random.Generator) -> Scores:
        G, y, u = np.empty_like(scores.Z), self.y, rng.random(self.n_instances)
        self._each_chunk(lambda k: self.kernels.random(self.term, scores.Z[k], u[k], y[k], G[k]))
        return Scores(G, np.zeros(0))

    def breakpoints(self, scores: Scores, delta: Scores, weights: np.ndarray | None = None) -> Breakpoints:
        found: dict[int, tuple[float, np.ndarray, np.ndarray]] = {}
        compute, most = self.kernels.breakpoints, self.most_breakpoints

        def task(k: slice) -> None:
            t, jump = (scratch(name, k.stop - k.start, most).reshape(-1) for name in ("t", "jump"))
            s = ONES[: k.stop - k.start] if weights is None else weights[k]
            slope, n = compute(self.term, scores.Z[k], delta.Z[k], self.y[k], s, t, jump)
            found[k.start] = slope, t[:n].copy(), jump[:n].copy()

        self._each_chunk(task)
        slopes, t, jump = zip(*(found[lo] for lo in sorted(found)), strict=True)
        all_t = np.concatenate(t)
        order = np.argsort(all_t)
        self.pulse()
        return Breakpoints(float(np.sum(slopes)), all_t[order], np.concatenate(jump)[order])

    def settle(self, scores: Scores) -> float:
        moved = [0.0]
        self._each_chunk(lambda k: moved.append(self.kernels.settle(self.term, scores.Z[k], self.y[k])))
        return max(moved)
