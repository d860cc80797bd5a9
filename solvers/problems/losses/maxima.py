"""Losses that are maxima of linear functions of a row of scores: base class, and what counts as a tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...compute.jit import kernel
from ...parts.linesearch import Breakpoints
from ..scores import Scores
from .chunks import scratch
from .row_loss import RowLoss

#: Share of 1 + |maximum| within which a linear function counts as one that attains the maximum: exact steps
#: lead to where two of them are equal, and rounding must not tell them apart.
TIE = 1e-10


@kernel
def ties(gap, top):
    """Tell whether a linear function that is ``gap`` below the maximum ``top`` counts as equal to it."""
    return gap <= TIE * (1.0 + abs(top))


@dataclass(frozen=True, eq=False)
class MaximumLoss(RowLoss):
    """Base of bound losses whose rows each have a maximum of linear functions of their scores as loss.

    A subclass defines, for chunks of rows with scores Z, directions D and labels y: ``chunk_values`` and
    ``chunk_residual`` as :class:`RowLoss` does, ``chunk_sup``, ``chunk_random``, ``chunk_breakpoints`` and
    ``chunk_settle``, and gives ``most_breakpoints``. Functions that tie with the maximum of their row count
    as equal to it.
    """

    piecewise_linear = True
    #: the largest number of breakpoints that a row may have along a line
    most_breakpoints: ClassVar[int]

    def chunk_sup(self, Z: np.ndarray, D: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        """Write the subgradient of each row with the largest slope along D to G."""
        raise TypeError(f"{type(self).__name__} does not define chunk_sup")

    def chunk_random(self, Z: np.ndarray, u: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        """Write a gradient of each row to G, that of one of the functions that attain the maximum, chosen by
        a number ``u`` in [0, 1) a row."""
        raise TypeError(f"{type(self).__name__} does not define chunk_random")

    def chunk_breakpoints(
        self, Z: np.ndarray, D: np.ndarray, y: np.ndarray, t: np.ndarray, jump: np.ndarray
    ) -> tuple[float, int]:
        """Write the breakpoints t > 0 of all rows along D, and by how much the slope jumps there; return the
        slope at 0 from the right, and their number."""
        raise TypeError(f"{type(self).__name__} does not define chunk_breakpoints")

    def chunk_settle(self, Z: np.ndarray, y: np.ndarray) -> float:
        """Set scores of functions that tie with the maximum so that they are equal to it; return the most by
        which one moves."""
        raise TypeError(f"{type(self).__name__} does not define chunk_settle")

    def subgradient_sup(self, scores: Scores, delta: Scores) -> Scores:
        G = np.empty_like(scores.Z)

        def task(lo: int, hi: int) -> None:
            self.chunk_sup(scores.Z[lo:hi], delta.Z[lo:hi], self.y[lo:hi], G[lo:hi])

        self._each_chunk(task)
        return Scores(G, np.zeros(0))

    def random_subgradient(self, scores: Scores, rng: np.random.Generator) -> Scores:
        G, u = np.empty_like(scores.Z), rng.random(self.n_instances)

        def task(lo: int, hi: int) -> None:
            self.chunk_random(scores.Z[lo:hi], u[lo:hi], self.y[lo:hi], G[lo:hi])

        self._each_chunk(task)
        return Scores(G, np.zeros(0))

    def breakpoints(self, scores: Scores, delta: Scores) -> Breakpoints:
        found: dict[int, tuple[float, np.ndarray, np.ndarray]] = {}

        def task(lo: int, hi: int) -> None:
            t, jump = (scratch(name, hi - lo, self.most_breakpoints).reshape(-1) for name in ("t", "jump"))
            slope, n = self.chunk_breakpoints(scores.Z[lo:hi], delta.Z[lo:hi], self.y[lo:hi], t, jump)
            found[lo] = slope, t[:n].copy(), jump[:n].copy()

        self._each_chunk(task)
        slopes, t, jump = zip(*(found[lo] for lo in sorted(found)), strict=True)
        all_t = np.concatenate(t)
        order = np.argsort(all_t)
        self.pulse()
        return Breakpoints(float(np.sum(slopes)), all_t[order], np.concatenate(jump)[order])

    def settle(self, scores: Scores) -> float:
        moved: list[float] = [0.0]
        self._each_chunk(lambda lo, hi: moved.append(self.chunk_settle(scores.Z[lo:hi], self.y[lo:hi])))
        return max(moved)
