"""X row by row, made from its blocks of columns, and the sums of squares of its columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...compute.jit import kernel


class Rows(NamedTuple):
    """X row by row: ``features[starts[i]:starts[i + 1]]`` and ``values`` (empty for a matrix of ones)."""

    starts: np.ndarray
    features: np.ndarray
    values: np.ndarray

    def squared_norms(self) -> np.ndarray:
        """Return ‖x_i‖² of each row."""
        if self.values.size == 0:
            return np.diff(self.starts).astype(float)
        return row_squares(self.starts, self.values)

    def some(self, rows: np.ndarray, n_features: int) -> sp.csr_array:
        """Copy a few rows, for products with them alone."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        values = self.values[entries] if self.values.size else np.ones(entries.size)
        return sp.csr_array((values, self.features[entries], starts), shape=(rows.size, n_features))


@kernel
def row_squares(starts, values):
    """Return Σ x² of each row."""
    out = np.zeros(starts.size - 1)
    for i in range(out.size):
        for p in range(starts[i], starts[i + 1]):
            out[i] += values[p] * values[p]
    return out


@kernel
def column_squares(starts, values):
    """Return Σ x² of each column; ``values`` is empty for a matrix of ones."""
    out = np.zeros(starts.shape[1] - 1)
    for b in range(starts.shape[0]):
        for j in range(out.size):
            total = out[j]
            for p in range(starts[b, j], starts[b, j + 1]):
                total += values[p] * values[p] if values.size else 1.0
            out[j] = total
    return out


@kernel
def weighted_sum(v, coordinates, first, lengths, width, tail):
    """Return Σ_k |v_k| ‖x_j‖, j the feature of weight ``coordinates[k]``, or of weight ``first`` + k where
    there are no coordinates; ``tail`` takes the place of ‖x_j‖ behind the last feature."""
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


@kernel
def transpose(edges, starts, rows, values):
    """Turn blocks of columns into rows, in which features ascend."""
    place = np.zeros(edges[-1] + 1, np.int64)
    for b in range(starts.shape[0]):
        for p in range(starts[b, 0], starts[b, -1]):
            place[edges[b] + rows[p] + 1] += 1
    for i in range(1, place.size):
        place[i] += place[i - 1]
    row_starts = place.copy()
    features = np.empty(rows.size, np.int32)
    entries = np.empty(values.size)
    for b in range(starts.shape[0]):
        for j in range(starts.shape[1] - 1):
            for p in range(starts[b, j], starts[b, j + 1]):
                i = edges[b] + rows[p]
                features[place[i]] = j
                if values.size:
                    entries[place[i]] = values[p]
                place[i] += 1
    return row_starts, features, entries


@kernel
def count_columns(features, counts):
    """Add to ``counts`` how often each column occurs."""
    for p in range(features.size):
        counts[features[p]] += 1


@kernel
def into_columns(starts, features, entries, place, rows, values):
    """Go through the entries of rows, none of them zero: store the number of the row, and the entry where not
    all are one, at the ``place`` of its column, and move that on by one."""
    for i in range(starts.size - 1):
        for p in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            j = features[p]
            q = place[j]
            rows[q] = i
            if values.size:
                values[q] = entries[p]
            place[j] = q + 1


@kernel
def dense_into_columns(X, first, place, rows, values, store):
    """The same for rows of a dense matrix, which are numbered from ``first`` on, and may have zeros; unless
    ``store``, entries are only counted. Rows are few: column after column they are read from the cache."""
    for j in range(X.shape[1]):
        q = place[j]
        for i in range(X.shape[0]):
            if X[i, j] != 0.0:
                if store:
                    rows[q] = first + i
                    if values.size:
                        values[q] = X[i, j]
                q += 1
        place[j] = q
