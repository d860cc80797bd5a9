"""Slices of scores that fit in the cache, and scratch memory for them."""

from __future__ import annotations

import threading

import numpy as np

from ...linalg.scores import Scores

#: Maximal number of scores in a slice of rows, unless one row has more.
CACHED_SCORES = 32_768


class _Scratch(threading.local):
    """Named work arrays of the calling thread. Allocating them anew would cost more than the work itself."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def __call__(self, name: str, rows: int, columns: int) -> np.ndarray:
        """Return an uninitialized (rows, columns) array, valid until the next request for this name."""
        found = self._arrays.get(name)
        if found is None or found.size < rows * columns:
            found = self._arrays[name] = np.empty(rows * columns)
        return found[: rows * columns].reshape(rows, columns)


scratch = _Scratch()


def row_chunks(n: int, width: int) -> list[slice]:
    """Cut ``n`` rows with ``width`` scores each into consecutive slices whose scores fit in the cache."""
    rows = max(1, CACHED_SCORES // max(width, 1))
    return [slice(lo, min(lo + rows, n)) for lo in range(0, n, rows)]


def moved_rows(scores: Scores, rows: slice, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
    """Return some rows of Z + t ΔZ, in scratch memory."""
    Z = scratch("scores", rows.stop - rows.start, scores.Z.shape[1])
    if delta is None:
        Z[:] = scores.Z[rows]
    else:
        np.multiply(delta.Z[rows], t, out=Z)
        Z += scores.Z[rows]
    return Z
