"""The set of weights on which a solver works, and the order in which products read the data for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .by_rows import SomeRows


class Columns(NamedTuple):
    """Columns of X cut into blocks of rows.

    Column q of block b is ``rows[starts[b, q]:starts[b, q + 1]]``, 16-bit indices within the block. Its
    entries are the same slice of ``values``, which is empty for a matrix of ones.
    """

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class Lineage:
    """The copies of X for a working set, shared with the sets restricted from it: columns, or rows."""

    def __init__(self) -> None:
        #: X row by row with the features of some set, where products are made so
        self.rows: SomeRows | None = None
        #: number of partial gradients computed so far
        self.gradients = 0
        #: the set whose columns were gathered, how many entries they have, and the columns
        self.base: WorkingSet | None = None
        self.entries = 0
        self.columns: Columns | None = None


class WorkingSet:
    """Coordinates of the flat weight vector, ascending; all other weights are zero.

    A coordinate below ``n_features * n_outputs`` is weight (feature, output), in row-major order; the others,
    the tail, multiply no column of X (transitions of a chain). ``by_output`` regroups the first kind. So
    kernels can visit the features of one output, whose scores fit the cache, before the next output.
    """

    #: what the members are, for observers
    of = "weights"

    def __init__(
        self,
        coordinates: np.ndarray | None,
        n_features: int,
        n_outputs: int,
        size: int,
        lineage: Lineage | None = None,
    ) -> None:
        """Store the coordinates; None stands for all ``size`` coordinates, which are listed when first
        needed."""
        self.n_features, self.n_outputs, self.size = n_features, n_outputs, size
        self._coordinates = coordinates
        body = n_features * n_outputs
        self._length = size if coordinates is None else coordinates.size
        #: whether every weight is in the set
        self.full = self._length == size
        if coordinates is None or body == size:  # there is no tail
            self.n_body = min(body, self._length)
        else:
            self.n_body = int(np.searchsorted(coordinates, body))
        self.lineage = lineage or Lineage()
        self._grouped: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._rows: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def coordinates(self) -> np.ndarray:
        """Return the members, int64, ascending."""
        if self._coordinates is None:
            self._coordinates = np.arange(self.size)
        return self._coordinates

    def __len__(self) -> int:
        return self._length

    def take(self, w: np.ndarray) -> np.ndarray:
        """Return the members' entries of a vector over all weights; the vector itself if all are members."""
        return w if self.full else w[self.coordinates]

    def mask(self) -> np.ndarray:
        """Return the mask of the members among all weights."""
        if self.full:
            return np.ones(self.size, dtype=np.bool_)
        # pages of zeros that are not touched cost nothing
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[self.coordinates] = True
        return mask

    def support(self, w: np.ndarray) -> np.ndarray:
        """Return the members whose weight is not zero, ascending."""
        places = np.flatnonzero(self.take(w) != 0.0)
        return places if self.full else self.coordinates[places]

    def restrict(self, mask: np.ndarray) -> WorkingSet:
        """Return the set of the members for which ``mask`` (one boolean per member) is true."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask) if self.full else self.coordinates[mask]
        return WorkingSet(kept, self.n_features, self.n_outputs, self.size, self.lineage)

    def overlap(self, other: WorkingSet) -> tuple[np.ndarray, np.ndarray]:
        """Return two masks: of the members that are in ``other``, and of the members of ``other`` that are in
        this set."""
        return self.take(other.mask()), other.take(self.mask())

    @property
    def body(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the features and the outputs of the members of the body."""
        return np.divmod(self.coordinates[: self.n_body], self.n_outputs)

    @property
    def tail(self) -> np.ndarray:
        """Return the members in the tail, as positions in the tail."""
        return self.coordinates[self.n_body :] - self.n_features * self.n_outputs

    def by_output(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``starts`` (n_outputs + 1), ``features`` and ``order`` of the members grouped by output.

        Member ``order[q]`` is weight (``features[q]``, c) for starts[c] <= q < starts[c + 1]; features ascend
        within an output.
        """
        if self._grouped is None and self.n_outputs == 1:
            features = self.coordinates[: self.n_body]
            self._grouped = np.array([0, features.size]), features, np.arange(features.size)
        elif self._grouped is None:
            features, outputs = self.body
            counts = np.bincount(outputs, minlength=self.n_outputs)
            # sorted by counting, as numbers this short are
            order = np.argsort(outputs.astype(np.min_scalar_type(self.n_outputs)), kind="stable")
            self._grouped = np.concatenate([[0], np.cumsum(counts)]), features[order], order
        return self._grouped

    def places_in(self, base: WorkingSet) -> np.ndarray | None:
        """Return the positions of the members in ``base``, both in ``by_output`` order.

        Return None if ``base`` does not contain all members.
        """
        there, own = base.coordinates[: base.n_body], self.coordinates[: self.n_body]
        members = np.searchsorted(there, own)
        if own.size and (members[-1] == there.size or np.any(there[members] != own)):
            return None
        rank = np.empty(base.n_body, dtype=np.int64)
        rank[base.by_output()[2]] = np.arange(base.n_body)
        return rank[members[self.by_output()[2]]]

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the features that have a member, ascending, and the index of each member's feature among
        these."""
        if self._rows is None and self.n_outputs == 1:
            features = self.coordinates[: self.n_body]
            self._rows = features, np.arange(features.size)
        elif self._rows is None:
            features = self.coordinates[: self.n_body] // self.n_outputs
            starts = np.ones(features.size, dtype=bool)
            starts[1:] = features[1:] != features[:-1]
            self._rows = features[starts], np.cumsum(starts) - 1
        return self._rows
