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
            for p in range(starts[b, j], starts[b, j + 1]):
                out[j] += values[p] * values[p] if values.size else 1.0
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
def into_columns(starts, features, entries, place, rows, values, store):
    """Go through the entries of rows, but for zeros: move ``place`` of their column on by one each, and
    ``store`` there, in ``rows`` and ``values``, the number of the row and the entry."""
    for i in range(starts.size - 1):
        for p in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            if entries[p] != 0.0:
                j = features[p]
                if store:
                    rows[place[j]] = i
                    if values.size:
                        values[place[j]] = entries[p]
                place[j] += 1


@kernel
def dense_into_columns(X, first, place, rows, values, store):
    """The same for a dense matrix, whose rows are numbered from ``first`` on."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                if store:
                    rows[place[j]] = first + i
                    if values.size:
                        values[place[j]] = X[i, j]
                place[j] += 1
