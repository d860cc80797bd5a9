"""How X is stored: cut into blocks of rows, each by columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...compute.jit import kernel

#: Bytes of scores of one block of rows: they should stay in the second-level cache.
SLAB = 512 * 1024
#: Bytes of them of one output that lie in the first-level cache.
NEAR = 32 * 1024
#: Entries of a dense matrix that are turned into floating-point numbers at a time.
CAST = 1_000_000


def plain_rows(X: Any) -> Any:
    """Return a sparse matrix by rows, each with its features in ascending order, once, and without zeros."""
    if not (sp.issparse(X) and X.format == "csr"):
        X = sp.csr_array(X)
    zeros = any(bool((part == 0).any()) for part in _pieces(X.data))
    if zeros or not X.has_canonical_format:  # the caller's arrays are shared: they are not ours to reorder
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def content(X: Any) -> tuple[int, bool]:
    """Return the number of non-zero entries, and whether all of them are one."""
    if hasattr(X, "csc_rows"):
        return int(X.nnz), bool(X.binary)
    if not isinstance(X, np.ndarray):
        return int(X.nnz), all(bool((part == 1).all()) for part in _pieces(X.data))
    nnz = int(np.count_nonzero(X != 0))
    return nnz, nnz == np.count_nonzero(X == 1)


def _pieces(entries: np.ndarray) -> Iterator[np.ndarray]:
    return (entries[lo : lo + CAST] for lo in range(0, entries.size, CAST))


def rows_of_block(n: int, d: int, m: int, nnz: int) -> int:
    """Choose the number of rows in a block, about the same in each: scores of a block fit the slab, and
    columns keep some 8 entries a block on average."""
    rows = 1 << max(7, (SLAB // (8 * m)).bit_length() - 1)
    while rows < n and nnz * rows < 8 * n * d:
        rows *= 2
    blocks = -(-n // min(rows, 1 << 16))
    return max(1, -(-n // max(blocks, 1)))


def write_columns(
    X: Any, lo: int, hi: int, place: np.ndarray, columns: tuple[np.ndarray, np.ndarray] | None
) -> None:
    """Go through the non-zero entries of rows lo to hi of X: count them for each column in ``place``, or
    store each where ``place`` says, row numbers from lo and values (empty where all are one)."""
    rows, values = columns or (np.empty(0, dtype=np.uint16), np.empty(0))
    if isinstance(X, np.ndarray):
        for first in range(lo, hi, few := max(1, CAST // X.shape[1])):
            piece = np.ascontiguousarray(X[first : min(first + few, hi)], dtype=np.float64)
            dense_into_columns(piece, first - lo, place, rows, values, columns is not None)
        return
    starts = X.indptr[lo : hi + 1].astype(np.int64)
    at = slice(int(starts[0]), int(starts[-1]))
    features = X.indices[at].astype(np.int32, copy=False)
    if columns is None:
        count_columns(features, place)
    else:
        entries = X.data[at if values.size else slice(0)].astype(np.float64, copy=False)
        into_columns(starts, features, entries, place, rows, values)


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
