"""X stored by rows, converted from its blocks of columns; products with it, and sums of squares of
columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compute.jit import kernel
from .by_columns import product

#: Parts of the rows whose products threads share: always as many, so that sums do not depend on the threads.
ROW_PARTS = 4
#: Entries times outputs that one kernel call handles, some 20 ms.
ENTRIES_PER_CALL = 16_000_000


class CSR(NamedTuple):
    """X as read-only arrays in compressed sparse row format.

    Entries k of row i, from ``indptr[i]`` to ``indptr[i + 1]`` - 1, have the values ``data[k]`` in the
    columns ``indices[k]``, ascending.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class Rows(NamedTuple):
    """X by rows: row i has ``features[starts[i]:starts[i + 1]]`` and the same slice of ``values``.

    ``values`` is empty for a matrix of ones.
    """

    starts: np.ndarray
    features: np.ndarray
    values: np.ndarray

    def squared_norms(self) -> np.ndarray:
        """Return ‖x_i‖² of each row."""
        if self.values.size == 0:
            return np.diff(self.starts).astype(float)
        return row_squares(self.starts, self.values)

    def squared(self) -> Rows:
        """Return the rows with entries x_ij²."""
        return self._replace(values=self.values * self.values)

    def adjoint(self, G: np.ndarray, n_features: int, each: Callable) -> np.ndarray:
        """Return Σ_i x_ij G_ic for each feature j and output c."""
        sums = np.zeros((ROW_PARTS, n_features, G.shape[1]))
        self.each_part(lambda lo, hi, k: row_adjoint(*self, G, lo, hi, sums[k]), G.shape[1], each)
        return sums.sum(axis=0)

    def with_constant(self, j: int) -> Rows:
        """Return a copy with an entry 1 of feature ``j`` appended to each row."""
        n = self.starts.size - 1
        features = np.empty(self.features.size + n, dtype=np.int32)
        values = np.empty(features.size if self.values.size else 0)
        append_ones(*self, j, features, values)
        return Rows(self.starts + np.arange(n + 1), features, values)

    def each_part(self, task: Callable[[int, int, int], None], width: int, each: Callable) -> None:
        """Call task(lo, hi, k) for consecutive slices of the rows of each part k, so that each call is
        short."""
        n = self.starts.size - 1
        step = max(1, ENTRIES_PER_CALL * n // max(self.features.size * width, 1))

        def walk(k: int) -> Iterator[None]:
            end = n * (k + 1) // ROW_PARTS
            for lo in range(n * k // ROW_PARTS, end, step):
                task(lo, min(lo + step, end), k)
                yield

        each(walk, range(ROW_PARTS))

    def some(self, rows: np.ndarray, n_features: int) -> sp.csr_array:
        """Return a copy of a few rows, for products with only these rows."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        values = self.values[entries] if self.values.size else np.ones(entries.size)
        return sp.csr_array((values, self.features[entries], starts), shape=(rows.size, n_features))


@kernel
def append_ones(starts, features, values, j, new_features, new_values):
    """Copy rows, with an entry 1 of feature ``j`` appended to each; ``values`` is empty if all are one."""
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            new_features[p + i] = features[p]
            if values.size:
                new_values[p + i] = values[p]
        new_features[starts[i + 1] + i] = j
        if values.size:
            new_values[starts[i + 1] + i] = 1.0


@kernel
def row_squares(starts, values):
    """Return Σ x² of each row, as an array."""
    out = np.zeros(starts.size - 1)
    for i in range(out.size):
        for p in range(starts[i], starts[i + 1]):
            out[i] += values[p] * values[p]
    return out


@kernel
def column_squares(edges, starts, values):
    """Return Σ x² of each column; ``values`` is empty for a matrix of ones."""
    out = np.zeros(starts.shape[1] - 1)
    for b in range(starts.shape[0]):
        for j in range(out.size):
            lo, hi = starts[b, j], starts[b, j + 1]
            if values.size and hi - lo == edges[b + 1] - edges[b]:
                at = np.uint64(lo)
                out[j] += product(values, at, values, at, np.uint64(hi - lo))
                continue
            total = out[j]
            for p in range(lo, hi):
                total += values[p] * values[p] if values.size else 1.0
            out[j] = total
    return out


@kernel
def count_columns(starts, features, values, counts, squares):
    """Add the number of entries of each feature in some rows to ``counts``, and Σ x² to ``squares``.

    ``values`` is empty if all are one.
    """
    for p in range(starts[0], starts[-1]):
        j = np.uint32(features[p])
        counts[j] += 1
        squares[j] += values[p] * values[p] if values.size else 1.0


@kernel
def weighted_sum(v, coordinates, first, lengths, width, tail):
    """Return Σ_k |v_k| ‖x_j‖, with j the feature of weight ``coordinates[k]``.

    If there are no coordinates, j is the feature of weight ``first`` + k. ``tail`` replaces ‖x_j‖ for weights
    after those of the last feature.
    """
    total = 0.0
    j, c = first // width, first % width
    for k in range(v.size):
        if coordinates.size:
            j = coordinates[k] // width
        total += abs(v[k]) * (lengths[j] if j < lengths.size else tail)
        c += 1
        if c == width:
            j, c = j + 1, 0
    return total


class SomeRows:
    """The columns ``features`` (ascending) of X, stored by rows, for products with all outputs at once.

    The scores of a row stay in the first-level cache, whereas products by columns gather the scores of all
    rows.
    """

    def __init__(
        self, edges: np.ndarray, columns: tuple[np.ndarray, np.ndarray, np.ndarray], features: np.ndarray
    ) -> None:
        self.features = features
        self.rows = Rows(*transpose(edges, *columns, features))
        self.entries = self.rows.features.size

    def has(self, features: np.ndarray) -> bool:
        """Return whether all of these features are stored."""
        return bool(np.isin(features, self.features, assume_unique=True).all())

    def write_scores(
        self, v: np.ndarray, features: np.ndarray, outputs: np.ndarray, Z: np.ndarray, each: Callable
    ) -> None:
        """Write X V to Z, for the weights ``v`` at these features and outputs."""
        V = np.zeros((self.features.size, Z.shape[1]))
        V[np.searchsorted(self.features, features), outputs] = v
        self.rows.each_part(lambda lo, hi, k: row_scores(*self.rows, V, lo, hi, Z), Z.shape[1], each)

    def adjoint(self, G: np.ndarray, features: np.ndarray, outputs: np.ndarray, each: Callable) -> np.ndarray:
        """Return Σ_i x_ij G_ic for each pair (j, c) of these features and outputs."""
        sums = self.rows.adjoint(G, self.features.size, each)
        return sums[np.searchsorted(self.features, features), outputs]


@kernel
def transpose(edges, starts, rows, values, some):
    """Return the columns ``some`` (ascending) of blocks by rows; features are indices into ``some``,
    ascending."""
    place = np.zeros(edges[-1] + 1, np.int64)
    for b in range(starts.shape[0]):
        for j in some:
            for p in range(starts[b, j], starts[b, j + 1]):
                place[edges[b] + rows[p] + 1] += 1
    for i in range(1, place.size):
        place[i] += place[i - 1]
    row_starts = place.copy()
    features = np.empty(place[-1], np.int32)
    entries = np.empty(place[-1] if values.size else 0)
    for b in range(starts.shape[0]):
        for q in range(some.size):
            for p in range(starts[b, some[q]], starts[b, some[q] + 1]):
                i = edges[b] + rows[p]
                features[place[i]] = q
                if values.size:
                    entries[place[i]] = values[p]
                place[i] += 1
    return row_starts, features, entries


@kernel
def row_scores(starts, features, values, V, lo, hi, Z):
    """Write Σ_j x_ij V[j] to Z[i] for the rows from ``lo`` to ``hi`` - 1, summed by ascending features.

    Feature indices are read as unsigned, since a negative index would count from the end.
    """
    m = Z.shape[1]
    for i in range(lo, hi):
        z, p, end = Z[i], starts[i], starts[i + 1]
        for c in range(m):
            z[c] = 0.0
        if values.size == 0:
            while p + 4 <= end:  # four features at a time: one store of the scores for four loads
                a, b = np.uint32(features[p]), np.uint32(features[p + 1])
                d, e = np.uint32(features[p + 2]), np.uint32(features[p + 3])
                for c in range(m):
                    z[c] = (((z[c] + V[a, c]) + V[b, c]) + V[d, c]) + V[e, c]
                p += 4
        while p < end:
            a, x = np.uint32(features[p]), values[p] if values.size else 1.0
            for c in range(m):
                z[c] += x * V[a, c]
            p += 1


@kernel
def row_adjoint(starts, features, values, G, lo, hi, sums):
    """Add x_ij G[i] to sums[j] for the rows from ``lo`` to ``hi`` - 1."""
    m = G.shape[1]
    if m == 1:
        alone = sums.reshape(-1)
        for i in range(lo, hi):
            g = G[i, 0]
            for p in range(starts[i], starts[i + 1]):
                alone[np.uint32(features[p])] += values[p] * g if values.size else g
        return
    for i in range(lo, hi):
        g = G[i]
        for p in range(starts[i], starts[i + 1]):
            j, x = np.uint32(features[p]), values[p] if values.size else 1.0
            for c in range(m):
                sums[j, c] += x * g[c]
