"""Sending of a growing trace to a Bokeh data source: new rows, thinned to the resolution of a screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from bokeh.models import ColumnDataSource

from solverscope.solvers import Trace

#: Points of a curve after it was sent whole; as many again may be added before it is thinned once more.
CURVE_POINTS = 500

#: Points that are sent as numbers: Bokeh sends an array in two messages of its own, and after each the page's
#: thread may have to wait for Python's lock.
MAX_POINTS_AS_NUMBERS = 8

Records = Mapping[str, np.ndarray]
#: Computes columns of a source from rows of a trace; and tells which rows have something to draw (None: all).
Columns = Callable[[Records], Records]
Kept = Callable[[Records], np.ndarray | None]


class RecordFeed:
    """A feed that updates ``source`` from a trace, by every ``stride``-th row and always the newest one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.source = ColumnDataSource({name: np.empty(0, np.float32) for name in names})
        self._cursor: tuple[int, int] | None = None
        self._stride = 1
        self._seen = 0  # rows that were new once
        self._extra = False  # whether the newest point is there out of turn
        self._key: object = None

    def update(
        self, trace: Trace, columns: Columns, key: object = None, kept: Kept = lambda rows: None
    ) -> bool:
        """Send new rows of a trace; return whether anything was sent.

        ``kept`` selects rows; None selects all. If ``key``, on which ``columns`` depends, has changed, all
        rows are sent again.
        """
        rows, self._cursor, replaced = trace.since(self._cursor)
        whole = replaced or key != self._key or len(self.source.data["x"]) > 2 * CURVE_POINTS
        if whole:
            rows, self._cursor, _ = trace.since(None)
            self._key, self._seen, self._stride = key, 0, 1
        if (some := kept(rows)) is not None:
            rows = {name: column[some] for name, column in rows.items()}
        count = len(rows["iteration"])
        if not (whole or count):
            return False
        while whole and count > CURVE_POINTS * self._stride:
            self._stride *= 2
        due = np.arange(self._seen, self._seen + count) % self._stride == 0
        self._seen += count
        extra, self._extra = self._extra, not due[-1:].all()
        due[-1:] = True
        sent = np.flatnonzero(due)
        made = columns({name: column[sent] for name, column in rows.items()})
        with np.errstate(over="ignore"):  # float32, half the bytes on the wire: no screen shows more digits
            new = {name: np.asarray(column, dtype=np.float32) for name, column in made.items()}
        if whole:
            self.source.data = new
            return True
        if extra:
            last = len(self.source.data["x"]) - 1
            self.source.patch({name: [(last, column[0])] for name, column in new.items()})
            new = {name: column[1:] for name, column in new.items()}
        if len(new["x"]):
            few = len(new["x"]) <= MAX_POINTS_AS_NUMBERS
            self.source.stream({name: column.tolist() for name, column in new.items()} if few else new)
        return True

    def replace(self, columns: Callable[[], Records], key: object) -> None:
        """Send the result of ``columns()``, unless it was already sent with this ``key``."""
        if key != self._key:
            self._key = key
            self.source.data = dict(columns())

    def clear(self) -> None:
        """Empty the data source, also in the browser."""
        self._cursor, self._key = None, None
        if len(self.source.data["x"]):
            self.source.data = {name: np.empty(0, np.float32) for name in self.source.data}


def known(column: np.ndarray) -> np.ndarray:
    """Return a column of the trace as floats; unknown values are NaN."""
    values = column.astype(float)
    if np.issubdtype(column.dtype, np.integer):
        values[column < 0] = np.nan
    return values


def latest(at: np.ndarray, values: np.ndarray, iterations: np.ndarray) -> np.ndarray:
    """Return, for each iteration, the last value known up to it; NaN before the first.

    ``at`` are the iterations of ``values``, in ascending order.
    """
    return np.append(values, np.nan)[np.searchsorted(at, iterations, side="right") - 1]


def shaded(x: np.ndarray, epoch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends, on the horizontal axis, of every second epoch in the rows of a run."""
    n, edges = len(epoch), np.flatnonzero(np.diff(epoch)) + 1
    starts, ends = np.append(0, edges)[:n], np.append(edges, n - 1)[:n]
    odd = (epoch[starts] >= 0) & (epoch[starts] % 2 == 1)
    return x[starts[odd]], x[ends[odd]]


def positive(values: np.ndarray) -> np.ndarray:
    """Return values with those that are not positive, which a logarithmic axis cannot show,
    replaced by NaN."""
    return np.where(values > 0.0, values, np.nan)
