"""Trajectories of selected weights, read from a probe's observations of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solverscope.app.views.base.probe_view import Seen

#: Maximal number of drawn iterates; if there are more, every second one is drawn, then every fourth, and so
#: on.
MAX_DRAWN_ITERATES = 300

#: Observations of the probe, with their iterations.
Entries = Sequence[tuple[int, Seen]]


class WeightHistory:
    """β of selected weights, one row per iterate: ``iterations`` (T,) and ``values`` (T, n).

    Values are NaN until a weight is recorded. ``labels`` (T, n) are the solver's own clusters, -1 if there
    are none. ``places`` are the indices of the weights in the observations, to which weights are only
    appended.
    """

    def __init__(self, entries: Entries, places: np.ndarray) -> None:
        self.places = places
        self._stride = 1
        while sum(k % self._stride == 0 for k, _ in entries) > MAX_DRAWN_ITERATES // (1 + (self._stride > 1)):
            self._stride *= 2
        self.iterations = np.empty(0, dtype=np.int64)
        self.values = np.empty((0, places.size), dtype=np.float32)
        self.labels = np.empty((0, places.size), dtype=np.int32)
        self._append(self._due(entries))

    def __len__(self) -> int:
        return len(self.iterations)

    @property
    def last(self) -> int:
        """Return the newest recorded iteration; -1 if there is none."""
        return int(self.iterations[-1]) if len(self) else -1

    def update(self, entries: Entries) -> bool:
        """Append new iterates; return False if there would be too many, so that all must be read again."""
        new = self._due([entry for entry in entries if entry[0] > self.last])
        if len(self) + len(new) > MAX_DRAWN_ITERATES:
            return False
        self._append(new)
        return True

    def _due(self, entries: Entries) -> Entries:
        """Return the observations whose iteration is a multiple of the stride, and the newest one."""
        if not entries:
            return []
        due = [entry for entry in entries[:-1] if entry[0] % self._stride == 0]
        return [*due, entries[-1]]

    def _append(self, entries: Entries) -> None:
        if not entries:
            return
        values = np.full((len(entries), self.places.size), np.nan, dtype=np.float32)
        labels = np.full(values.shape, -1, dtype=np.int32)
        for row, (_, seen) in enumerate(entries):
            there = self.places < seen["values"].size
            values[row, there] = seen["values"][self.places[there]]
            if "labels" in seen:
                labels[row, there] = seen["labels"][self.places[there]]
        self.iterations = np.append(self.iterations, [k for k, _ in entries])
        self.values = np.concatenate([self.values, values])
        self.labels = np.concatenate([self.labels, labels])

    def row(self, iteration: int) -> int:
        """Return the index of the last row up to an iteration, or 0."""
        return max(int(np.searchsorted(self.iterations, iteration, side="right")) - 1, 0)

    def nearest(self, x: float, y: float, reach: float) -> int | None:
        """Return the weight whose trajectory is nearest to β = y at iteration x.

        Return None if no trajectory is within ``reach``, relative to the height of all, or if x is outside of
        the run.
        """
        if not len(self) or not self.iterations[0] <= x <= self.iterations[-1]:
            return None
        at = np.array([np.interp(x, self.iterations, course) for course in self.values.T])
        if not np.isfinite(at).any():
            return None
        away = np.abs(at - y)
        best = int(np.nanargmin(away))
        height = float(np.nanmax(self.values) - np.nanmin(self.values))
        return best if away[best] <= reach * height else None
