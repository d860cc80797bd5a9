"""Rows of W that became nonzero or zero, as observed by the ``rows`` probe."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solverscope.app.views.base.probe_view import Seen
from solverscope.solvers import ROWS, Trace


class RowMoves:
    """Features of a run with a ``rows`` probe that became nonzero or zero between two observations.

    They ``entered`` or ``left`` between the observation at an iteration and the one ``before`` it. Those
    ``since_start`` entered since the start and are still nonzero; those ``gone`` were nonzero and are zero
    again. Nonzero features are sorted by decreasing ‖W_j‖, others by decreasing iteration of leaving.
    """

    def __init__(self, trace: Trace, iteration: int) -> None:
        entries = [entry for entry in trace.probes.entries(ROWS.name) if entry[0] <= iteration]
        seen = entries[-1][1]
        now, first = _support(seen), _support(entries[0][1])
        self.before, last = entries[-2] if len(entries) > 1 else (None, seen)
        previous = _support(last)
        ever = np.bitwise_or.reduce([entry["support"] for _, entry in entries])
        gone = np.unpackbits(ever, count=now.size).astype(bool) & ~now
        self.entered = _ranked([seen], now & ~previous)
        self.left = _ranked([last], previous & ~now)
        self.since_start = _ranked([seen], now & ~first)
        self.gone = _ranked((entry for _, entry in reversed(entries)), gone)


def _support(seen: Seen) -> np.ndarray:
    return np.unpackbits(seen["support"], count=int(seen["size"])).astype(bool)


def _ranked(entries: Iterable[Seen], wanted: np.ndarray) -> list[int]:
    """Return the wanted features in the order of the entries; those with norms too small to be stored come
    last."""
    wanted, found = wanted.copy(), []
    for seen in entries:
        if not wanted.any():
            break
        rows = seen["rows"][wanted[seen["rows"]]]
        found.extend(rows.tolist())
        wanted[rows] = False
    return found + np.flatnonzero(wanted).tolist()
