"""A set of weights a solver confines itself to, and the order in which the data is walked for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.jit import kernel


class Columns(NamedTuple):
    """Columns of X cut into blocks of rows: column q of block b is ``rows[starts[b, q]:starts[b, q + 1]]``,
    16-bit numbers within the block, and the same of ``values`` (empty for a matrix of ones)."""

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class Lineage:
    """What a working set shares with the sets it was restricted from: columns of X side by side."""

    def __init__(self) -> None:
        #: how often a partial gradient was asked for
        self.gradients = 0
        #: the set whose columns were gathered, how many entries they have, and the columns
        self.base: WorkingSet | None = None
        self.entries = 0
        self.columns: Columns | None = None


class WorkingSet:
    """Coordinates of the flat weight vector, ascending; the others are held at zero.

    A coordinate below ``n_features * n_outputs`` is weight (feature, output), in row-major order; the rest,
    the tail, multiplies no column of X (transitions of a chain). ``by_output`` regroups the first kind, so
    that kernels can stay with one output, whose scores fit the cache, while they walk over features.
    """

    def __init__(
        self,
        coordinates: np.ndarray | None,
        n_features: int,
        n_outputs: int,
        size: int,
        lineage: Lineage | None = None,
    ) -> None:
        """``coordinates`` None means all ``size`` of them, which are not written down until asked for."""
        self.n_features, self.n_outputs, self.size = n_features, n_outputs, size
        self._coordinates = coordinates
        body = n_features * n_outputs
        self.n_body = body if coordinates is None else int(np.searchsorted(coordinates, body))
        self.lineage = lineage or Lineage()
        self._grouped: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._rows: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def coordinates(self) -> np.ndarray:
        """The members, int64, ascending."""
        if self._coordinates is None:
            self._coordinates = np.arange(self.size)
        return self._coordinates

    def __len__(self) -> int:
        return self.size if self._coordinates is None else self._coordinates.size

    @property
    def full(self) -> bool:
        """Whether every weight is in the set."""
        return len(self) == self.size

    def take(self, w: np.ndarray) -> np.ndarray:
        """The members' entries of a vector over all weights (the vector itself when all are members)."""
        return w if self.full else w[self.coordinates]

    def restrict(self, mask: np.ndarray) -> WorkingSet:
        """The members where ``mask`` (one boolean a member) holds."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask) if self.full else self.coordinates[mask]
        return WorkingSet(kept, self.n_features, self.n_outputs, self.size, self.lineage)

    @property
    def tail(self) -> np.ndarray:
        """Positions in the tail of its members."""
        return self.coordinates[self.n_body :] - self.n_features * self.n_outputs

    def by_output(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``starts`` (n_outputs + 1), ``features`` and ``order``: member ``order[q]`` is weight
        (``features[q]``, c) for starts[c] <= q < starts[c + 1]; features ascend within an output."""
        if self._grouped is None:
            self._grouped = group_by_output(self.coordinates[: self.n_body], self.n_outputs)
        return self._grouped

    def places_in(self, base: WorkingSet) -> np.ndarray:
        """Where the members, taken by output, stand in the ``by_output`` order of a set that has them all."""
        rank = np.empty(base.n_body, dtype=np.int64)
        rank[base.by_output()[2]] = np.arange(base.n_body)
        members = np.searchsorted(base.coordinates[: base.n_body], self.coordinates[: self.n_body])
        return rank[members[self.by_output()[2]]]

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Features with a member, ascending, and for each member of the body the position of its feature."""
        if self._rows is None:
            features = self.coordinates[: self.n_body] // self.n_outputs
            starts = np.ones(features.size, dtype=bool)
            starts[1:] = features[1:] != features[:-1]
            self._rows = features[starts], np.cumsum(starts) - 1
        return self._rows


@kernel
def group_by_output(coordinates, n_outputs):
    """Counting sort of body coordinates by output; see :meth:`WorkingSet.by_output`."""
    starts = np.zeros(n_outputs + 1, np.int64)
    for q in range(coordinates.size):
        starts[coordinates[q] % n_outputs + 1] += 1
    for c in range(n_outputs):
        starts[c + 1] += starts[c]
    place = starts.copy()
    features = np.empty(coordinates.size, np.int64)
    order = np.empty(coordinates.size, np.int64)
    for q in range(coordinates.size):
        c = coordinates[q] % n_outputs
        features[place[c]] = coordinates[q] // n_outputs
        order[place[c]] = q
        place[c] += 1
    return starts, features, order
