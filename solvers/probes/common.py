"""Vectors that observations of several iterates share, counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

#: What a probe has copied from one iterate, by name.
Seen = Mapping[str, np.ndarray]
#: Bytes of a reference.
WORD = 8


class Common(tuple[np.ndarray, ...]):
    """Vectors that are never changed: an observation refers to them instead of copying them, and counts the
    bytes of the references alone."""

    @property
    def nbytes(self) -> int:
        return WORD * len(self)


class Holders:
    """Counts the entries that refer to each vector of a :class:`Common`, whose memory is in use from the
    first of them until the last has gone."""

    def __init__(self) -> None:
        self._holders: Counter[int] = Counter()  # by address, which is the vector's own while it is held

    def enter(self, entry: Mapping[str, Mapping[str, Any]]) -> int:
        """Count an entry, {probe: what it saw}, in, and return the bytes that it adds."""
        vectors = _vectors(entry)
        new = sum(vector.nbytes for vector in vectors if id(vector) not in self._holders)
        self._holders.update(map(id, vectors))
        return new

    def leave(self, entry: Mapping[str, Mapping[str, Any]]) -> int:
        """Count an entry out, and return the bytes that no other entry refers to."""
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
