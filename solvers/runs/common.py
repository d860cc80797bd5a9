"""Vectors that observations of several iterates have in common, counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Bytes of a reference.
WORD = 8


class Common(tuple[np.ndarray, ...]):
    """Vectors that nobody changes, which an observation therefore refers to instead of copying them. Its own
    bytes are those of the references."""

    @property
    def nbytes(self) -> int:
        return WORD * len(self)


class Holders:
    """Counts, of each vector in a :class:`Common`, the entries that hold it: it takes memory from the first
    that comes until the last one leaves."""

    def __init__(self) -> None:
        self._holders: Counter[int] = Counter()  # by address, which is the vector's own while it is held

    def enter(self, entry: Mapping[str, Mapping[str, Any]]) -> int:
        """Take note of an entry, {probe: what it saw}; return the bytes that it adds."""
        vectors = _vectors(entry)
        new = sum(vector.nbytes for vector in vectors if id(vector) not in self._holders)
        self._holders.update(map(id, vectors))
        return new

    def leave(self, entry: Mapping[str, Mapping[str, Any]]) -> int:
        """Take note that an entry is given up; return the bytes that nobody holds any more."""
        vectors, freed = _vectors(entry), 0
        for vector in vectors:
            self._holders[id(vector)] -= 1
            if not self._holders[id(vector)]:
                del self._holders[id(vector)]
                freed += vector.nbytes
        return freed


def _vectors(entry: Mapping[str, Mapping[str, Any]]) -> list[np.ndarray]:
    return [
        vector
        for seen in entry.values()
        for kept in seen.values()
        if isinstance(kept, Common)
        for vector in kept
    ]
