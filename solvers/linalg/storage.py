"""Conversion of X into blocks of rows, each stored by columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compute.jit import kernel
from .by_columns import copy_columns
from .working_set import Columns

#: Bytes of scores of one block of rows: they should stay in the second-level cache.
SLAB_BYTES = 512 * 1024
#: Bytes of the scores of one output that should fit in the first-level cache.
NEAR_BYTES = 32 * 1024
#: Entries of a dense matrix that are turned into floating-point numbers at a time.
CAST_ENTRIES = 1_000_000
#: Entries listed at a time, which stay in the first-level cache.
ENTRIES_LISTED = 2048
#: Row indices and values of entries that are only counted.
NO_ENTRIES = np.empty(0, dtype=np.uint16), np.empty(0)


class CanonicalRows(sp.csr_array):
    """A validated sparse matrix in CSR format.

    Its arrays are consistent with its shape, and each row has its features in ascending order without
    duplicates.
    """


def plain_rows(X: Any) -> Any:
    """Return a sparse matrix by rows, with ascending features, without duplicates and explicit zeros."""
    canonical = isinstance(X, CanonicalRows)
    if not canonical:
        X = checked_rows(X) if sp.issparse(X) else sp.csr_array(X)
    zeros = any(bool((part == 0).any()) for part in _pieces(X.data))
    # the caller's arrays are shared: they are not ours to reorder
    if zeros or not (canonical or X.has_canonical_format):
        X = X.astype(np.float64)  # a sum of small integers may be none
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def checked_rows(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix (n, d) in CSR format, which shares the arrays of the given matrix if possible.

    Raises ValueError, with ``name`` in the message, if its arrays are inconsistent with its shape: compiled
    code would read beyond them.
    """
    try:
        X = _checked(X)
        if X.format == "csr":
            return X
        if X.dtype != np.float64:
            X = X.astype(np.float64)  # the conversion adds entries that stand twice
        return _checked(X.tocsr())
    except (ValueError, TypeError, IndexError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{name} is no sparse matrix of shape {X.shape}: {said}") from None


def _checked(X: Any) -> Any:
    """Return a sparse matrix with the same arrays, after checking all their indices.

    Only formats with arrays of indices are checked. Those of others are Python objects, or follow from the
    shape.
    """
    if X.format == "coo":
        return type(X)((X.data, X.coords), shape=X.shape)
    if X.format in ("csr", "csc", "bsr"):
        if not {X.indices.dtype.kind, X.indptr.dtype.kind} <= set("iu"):
            raise ValueError("indices and indptr must be whole numbers")
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        if (np.diff(X.indptr) < 0).any():
            raise ValueError("indptr must be a non-decreasing sequence")
        X.check_format(full_check=True)
    if X.format == "lil" and any(map(operator.ne, map(len, X.rows), map(len, X.data))):
        raise ValueError("rows and data differ in their lengths")
    return X


def content(X: Any) -> tuple[int, bool]:
    """Return the number of non-zero entries, and whether all of them are one."""
    if hasattr(X, "csc_rows"):
        return int(X.nnz), bool(X.binary)
    if not isinstance(X, np.ndarray):
        return int(X.nnz), all(bool((part == 1).all()) for part in _pieces(X.data))
    parts = list(_pieces(X, max(1, CAST_ENTRIES // X.shape[1])))
    counts = [int(np.count_nonzero(part != 0)) for part in parts]
    binary = all(n == np.count_nonzero(part == 1) for n, part in zip(counts, parts, strict=True))
    return sum(counts), binary


def _pieces(entries: np.ndarray, step: int = CAST_ENTRIES) -> Iterator[np.ndarray]:
    return (entries[lo : lo + step] for lo in range(0, len(entries), step))


def rows_of_block(n: int, d: int, m: int, nnz: int) -> int:
    """Return the number of rows per block, about the same in each.

    The scores of a block should fit the slab, with about 8 entries per block and column on average. Full
    columns are read so fast that the scores of an output should be in a nearer cache.
    """
    slab = min(SLAB_BYTES, NEAR_BYTES * m) if nnz == n * d else SLAB_BYTES
    rows = 1 << max(7, (slab // (8 * m)).bit_length() - 1)
    while rows < n and nnz * rows < 8 * n * d:
        rows *= 2
    blocks = -(-n // min(rows, 1 << 16))
    return max(1, -(-n // max(blocks, 1)))


def _whole(X: Any, nnz: int, binary: bool) -> bool:
    """Return whether X is a dense array without zeros, other than a matrix of ones."""
    return isinstance(X, np.ndarray) and nnz == X.size and not binary


def turned(X: Any, edges: np.ndarray, nnz: int, binary: bool, *, constant: bool = False) -> Columns:
    """Return X, with ``nnz`` entries, as columns cut into blocks at the rows ``edges``.

    A last column of ones is added if ``constant``.
    """
    (n, d), made, whole = X.shape, hasattr(X, "csc_rows"), _whole(X, nnz, binary)
    entries = nnz + n * constant
    starts = np.zeros((len(edges) - 1, d + constant + 1), dtype=np.int64)
    columns = Columns(starts, np.empty(entries, dtype=np.uint16), np.empty(0 if binary else entries))
    offset = 0
    for block, (lo, hi) in zip(starts, pairwise(edges.tolist()), strict=True):
        own = block[: d + 1]
        if made:
            indptr, indices, values = X.csc_rows(lo, hi)
            own[:] = offset + indptr
            at = slice(offset, int(own[-1]))
            columns.rows[at] = indices
            if not binary:
                columns.values[at] = values
        elif whole:
            own[:] = np.arange(offset, offset + X[lo:hi].size + 1, hi - lo)
            at = slice(offset, int(own[-1]))
            columns.rows[at].reshape(-1, hi - lo)[:] = np.arange(hi - lo, dtype=np.uint16)
            columns.values[at].reshape(-1, hi - lo)[:] = X[lo:hi].T
        else:
            write_columns(X, lo, hi, own[1:], *NO_ENTRIES)
            own[0] = offset
            np.cumsum(own, out=own)
            write_columns(X, lo, hi, own[:-1].copy(), columns.rows, columns.values)
        if constant:
            block[-1] = write_ones(columns, int(own[-1]), hi - lo)
        offset = int(block[-1])
    return columns


def write_ones(columns: Columns, at: int, n: int) -> int:
    """Store a column with 1 in each of the ``n`` rows of a block; return the position after it."""
    columns.rows[at : at + n] = np.arange(n, dtype=np.uint16)
    columns.values[at : at + n] = 1.0
    return at + n


def side_by_side(columns: Columns, features: np.ndarray, each: Callable) -> Columns:
    """Return copies of the columns ``features``, in this order; ``each`` calls a function with each block."""
    lengths = columns.starts[:, features + 1] - columns.starts[:, features]
    starts = np.zeros((len(lengths), features.size + 1), dtype=np.int64)
    np.cumsum(lengths, axis=1, out=starts[:, 1:])
    starts[1:] += np.cumsum(starts[:-1, -1])[:, None]
    entries, values = int(starts[-1, -1]), columns.values
    copies = Columns(starts, np.empty(entries, np.uint16), np.empty(entries if values.size else 0))
    each(
        lambda b: copy_columns(columns.starts[b], columns.rows, values, features, *copies, b),
        range(len(starts)),
    )
    return copies


def write_columns(X: Any, lo: int, hi: int, place: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Store the non-zero entries of rows lo to hi - 1 of X at the positions ``place`` of their columns.

    Row indices are relative to lo, and ``values`` is empty if all are one. With an empty array of rows, the
    entries are only counted in ``place``.
    """
    if isinstance(X, np.ndarray):
        for first in range(lo, hi, few := max(1, CAST_ENTRIES // X.shape[1])):
            piece = np.ascontiguousarray(X[first : min(first + few, hi)], dtype=np.float64)
            dense_into_columns(piece, first - lo, place, rows, values)
        return
    starts = X.indptr[lo : hi + 1].astype(np.int64)
    at = slice(int(starts[0]), int(starts[-1]))
    features = X.indices[at].astype(np.int32, copy=False)
    entries = X.data[at if values.size else slice(0)].astype(np.float64, copy=False)
    into_columns(starts - starts[0], features, entries, place, rows, values)


@kernel
def into_columns(starts, features, entries, place, rows, values):
    """Store the non-zero entries of rows at the positions ``place`` of their columns, which are advanced.

    The index of the row is stored, and the entry unless all are one. With an empty array of rows, ``place``
    is only advanced.
    """
    if not rows.size:
        for p in range(starts[0], starts[-1]):
            place[features[p]] += 1
        return
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            j = features[p]
            q = place[j]
            rows[q] = i
            if values.size:
                values[q] = entries[p]
            place[j] = q + 1


@kernel
def some_into_columns(starts, features, entries, place, rows, values):
    """Store entries as :func:`into_columns` does, but only of columns whose ``place`` is not negative.

    Entries to store are listed first, without a branch, which would be mispredicted too often.
    """
    wanted = np.empty(place.size, np.uint8)
    for j in range(place.size):
        wanted[j] = place[j] >= 0
    found = np.empty(ENTRIES_LISTED + 1, np.int64)
    i = 0
    for lo in range(starts[0], starts[-1], ENTRIES_LISTED):
        n = 0
        for p in range(lo, min(lo + ENTRIES_LISTED, starts[-1])):
            found[n] = p
            n += wanted[np.uint32(features[p])]
        for k in range(n):
            p = found[k]
            while starts[i + 1] <= p:
                i += 1
            j = features[p]
            q = place[j]
            rows[q] = i
            if values.size:
                values[q] = entries[p]
            place[j] = q + 1


@kernel
def dense_into_columns(X, first, place, rows, values):
    """Store the non-zero entries of rows of a dense matrix, with row indices from ``first`` on.

    There are so few rows that they stay in the cache while columns are read one after another.
    """
    if not rows.size:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                place[j] += X[i, j] != 0.0
        return
    for j in range(X.shape[1]):
        q = place[j]
        for i in range(X.shape[0]):
            if X[i, j] != 0.0:
                rows[q] = first + i
                if values.size:
                    values[q] = X[i, j]
                q += 1
        place[j] = q
