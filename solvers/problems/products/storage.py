"""How X is stored: cut into blocks of rows, each by columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...compute.jit import kernel
from .by_columns import copy_columns
from .by_rows import Rows
from .working_set import Columns

#: Bytes of scores of one block of rows: they should stay in the second-level cache.
SLAB = 512 * 1024
#: Bytes of them of one output that lie in the first-level cache.
NEAR = 32 * 1024
#: Entries of a dense matrix that are turned into floating-point numbers at a time.
CAST = 1_000_000
#: Row numbers and values of entries that are counted, and not stored.
NOWHERE = np.empty(0, dtype=np.uint16), np.empty(0)


def plain_rows(X: Any) -> Any:
    """Return a sparse matrix by rows, each with its features in ascending order, once, and without zeros."""
    X = checked_rows(X) if sp.issparse(X) else sp.csr_array(X)
    zeros = any(bool((part == 0).any()) for part in _pieces(X.data))
    if zeros or not X.has_canonical_format:  # the caller's arrays are shared: they are not ours to reorder
        X = X.astype(np.float64)  # a sum of small integers may be none
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def checked_rows(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix (n, d) by rows, which shares its arrays where it can. Raises ValueError, one
    sentence, where they do not make a matrix of its shape: compiled code would read beyond them."""
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
    """Return a sparse matrix of the same arrays, after checking all their indices. Those of the other formats
    are Python objects, or follow from the shape."""
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


def _whole(X: Any, nnz: int, binary: bool) -> bool:
    """Return whether X is an array all of whose entries are stored."""
    return isinstance(X, np.ndarray) and nnz == X.size and not binary


def turned(X: Any, edges: np.ndarray, nnz: int, binary: bool) -> Columns:
    """Turn X into columns, cut into blocks at the rows ``edges``."""
    starts = np.zeros((len(edges) - 1, X.shape[1] + 1), dtype=np.int64)
    columns = Columns(starts, np.empty(nnz, dtype=np.uint16), np.empty(0 if binary else nnz))
    made, whole = hasattr(X, "csc_rows"), _whole(X, nnz, binary)
    offset = 0
    for own, (lo, hi) in zip(starts, pairwise(edges.tolist()), strict=True):
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
            columns.rows[at].reshape(-1, hi - lo)[:] = np.arange(hi - lo)
            columns.values[at].reshape(-1, hi - lo)[:] = X[lo:hi].T
        else:
            write_columns(X, lo, hi, own[1:], *NOWHERE)
            own[0] = offset
            np.cumsum(own, out=own)
            write_columns(X, lo, hi, own[:-1].copy(), columns.rows, columns.values)
        offset = int(own[-1])
    return columns


def side_by_side(columns: Columns, features: np.ndarray, each: Callable) -> Columns:
    """Copy the columns ``features``, in this order; ``each`` calls a function with each block."""
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


class PickedColumns:
    """A sparse X by rows, and by columns those that were asked for so far.

    To turn all of a large X takes longer than a solver takes that works on few weights. Entries of a block
    are picked into as much memory as all of them would take: pages that nobody writes to cost nothing.

    Attributes
    ----------
    counts : array of int64, (blocks, d)
        Entries of each column in each block.
    place : array of int64, (d,)
        Of each feature among the columns; -1 where its column is not there.
    likely : array, (d,), or None
        The larger, the sooner the column of a feature will be asked for.
    times : int
        How often columns were picked.
    """

    def __init__(self, X: Any, edges: np.ndarray, binary: bool) -> None:
        values = np.empty(0) if binary else X.data.astype(np.float64)
        self.rows = Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32), values)
        self.edges, self.times, self._held = edges, 0, 0
        self.likely: np.ndarray | None = None
        self.counts = np.zeros((len(edges) - 1, X.shape[1]), dtype=np.int64)
        self._copy(self.counts, *NOWHERE)
        self.place = np.full(X.shape[1], -1)
        starts = np.zeros((len(edges) - 1, X.shape[1] + 1), dtype=np.int64)
        starts[:, 0] = self.rows.starts[edges[:-1]]
        self.columns = Columns(starts, np.empty(X.nnz, dtype=np.uint16), np.empty(values.size))

    def turned(self) -> Columns:
        """Return all columns."""
        starts = np.zeros((len(self.counts), self.place.size + 1), dtype=np.int64)
        np.cumsum(self.counts, axis=1, out=starts[:, 1:])
        starts += self.columns.starts[:, :1]
        columns = Columns(starts, *(np.empty_like(entries) for entries in self.columns[1:]))
        self._copy(starts[:, :-1].copy(), columns.rows, columns.values)
        return columns

    def pick(self, features: np.ndarray) -> None:
        """Copy these columns, none of which is there, and some that are likely to be asked for next, with as
        many entries again."""
        features = np.concatenate([features, self._next(features)])
        lengths, first = self.counts[:, features], self._held
        self._held += features.size
        ends = self.columns.starts[:, first : first + 1] + np.cumsum(lengths, axis=1)
        self.columns.starts[:, first + 1 : self._held + 1] = ends
        place = np.full_like(self.counts, -1)
        place[:, features] = ends - lengths
        self._copy(place, self.columns.rows, self.columns.values)
        self.place[features] = np.arange(first, self._held)
        self.times += 1

    def _copy(self, place: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        """Copy entries to where ``place``, (blocks, d), says, with those of a column one after the other."""
        for b, (lo, hi) in enumerate(pairwise(self.edges)):
            starts = self.rows.starts[lo : hi + 1]
            into_columns(starts, self.rows.features, self.rows.values, place[b], rows, values)

    def _next(self, features: np.ndarray) -> np.ndarray:
        """List the likeliest of the features that are neither there nor among these."""
        if self.likely is None:
            return features[:0]
        likely = np.where(self.place < 0, self.likely, -np.inf)
        likely[features] = -np.inf
        most = min(8 * features.size, likely.size)
        top = np.argpartition(-likely, most - 1)[:most]
        top = top[np.argsort(-likely[top], kind="stable")]
        top = top[likely[top] > -np.inf]
        entries = np.cumsum(self.counts[:, top].sum(axis=0))
        return top[: np.searchsorted(entries, self.counts[:, features].sum())]


def write_columns(X: Any, lo: int, hi: int, place: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Go through the non-zero entries of rows lo to hi of X: store each where ``place`` says for its column,
    row numbers from lo and values (empty where all are one), or count them there, where there are no rows."""
    if isinstance(X, np.ndarray):
        for first in range(lo, hi, few := max(1, CAST // X.shape[1])):
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
    """Go through the entries of rows, none of them zero: store the number of the row, and the entry where not
    all are one, at the ``place`` of its column, and move that on by one; where it is negative, pass over.
    Without room for rows, move on alone."""
    if not rows.size:
        for p in range(starts[0], starts[-1]):
            place[features[p]] += 1
        return
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            j = features[p]
            q = place[j]
            if q >= 0:
                rows[q] = i
                if values.size:
                    values[q] = entries[p]
                place[j] = q + 1


@kernel
def dense_into_columns(X, first, place, rows, values):
    """The same for rows of a dense matrix, which are numbered from ``first`` on, and may have zeros. Rows are
    few: column after column they are read from the cache."""
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
