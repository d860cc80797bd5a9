"""The columns of a trace: typed, append-only, of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..methods.iterate import FIELDS
from ..methods.iterate_record import MAX_OWN_FIELDS


class RecordColumns:
    """Columns that grow by rows; rows below ``n`` never change, so readers need no lock."""

    def __init__(self, room: int, own: Iterable[str] = ()) -> None:
        self.n = 0
        self.data: dict[str, np.ndarray] = {
            name: np.empty(room, dtype=field.dtype) for name, field in FIELDS.items()
        }
        self.data |= {name: np.full(room, np.nan) for name in own}

    @property
    def own(self) -> list[str]:
        """Return the names of the columns for additional fields of a solver or a loop."""
        return [name for name in self.data if name not in FIELDS]

    def append(self, record: Mapping[str, Any]) -> None:
        room = len(self.data["iteration"])
        if self.n == room:
            # readers may hold the old arrays: fill new ones before putting them in place
            self.data = {name: np.resize(column, 2 * room) for name, column in self.data.items()}
        if len(record) > len(FIELDS) and (new := record.keys() - self.data.keys()):
            room, free = len(self.data["iteration"]), MAX_OWN_FIELDS - len(self.own)
            added = [name for name in record if name in new][:free]
            self.data = {**self.data, **{name: np.full(room, np.nan) for name in added}}
        for name, column in self.data.items():
            column[self.n] = record.get(name, np.nan)
        self.n += 1  # last: a reader never sees half a row

    def thinned(self, cadence: int, capacity: int) -> RecordColumns:
        """Return a copy with fewer rows: the first, those with events, and iterations divisible by
        ``cadence``.

        If rows with events alone would fill more than a quarter of the ``capacity``, only an evenly spaced
        part of them is kept.
        """
        n = self.n
        keep = self.data["iteration"][:n] % cadence == 0
        keep[0] = True
        events = np.fromiter((len(e) > 0 for e in self.data["events"][:n]), bool, n)
        others = np.flatnonzero(events & ~keep)
        keep[others[:: -(-others.size // (capacity // 4)) or 1]] = True
        new = RecordColumns(max(capacity, 16), self.own)
        rows = np.flatnonzero(keep)
        for name, column in self.data.items():
            new.data[name][: len(rows)] = column[rows]
        new.n = len(rows)
        return new
