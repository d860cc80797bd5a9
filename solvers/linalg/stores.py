"""Stores of X in blocks of rows: with all columns, or with those picked on request."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..compute.team import no_pulse
from . import storage
from .by_rows import Rows, SomeRows, column_squares, count_columns
from .derived import Derived
from .working_set import Columns

#: Entries of a sparse X with one output from which on columns are only computed on request.
PICKED_FROM = 1_000_000
#: How often, and up to what share of the entries at a time, some columns are picked before all are made.
MOST_PICKS, PICKED_SHARE = 8, 1 / 6


class AllColumns:
    """X stored by columns.

    Attributes
    ----------
    rows : None
        There is no copy by rows: products with all weights read columns.
    column_nnz : array of int64, (d,)
        Number of entries of each column.
    """

    rows = None

    def __init__(self, columns: Columns, edges: np.ndarray, column_nnz: np.ndarray | None = None) -> None:
        self._columns, self.edges = columns, edges
        self.binary = not columns.values.size
        self.column_nnz = np.diff(columns.starts).sum(axis=0) if column_nnz is None else column_nnz

    @property
    def arrays(self) -> Columns:
        """Return the arrays that store X."""
        return self._columns

    def all_columns(self, derived: Derived) -> Columns:
        """Return all columns."""
        return self._columns

    def columns_of(self, features: np.ndarray, derived: Derived) -> tuple[Columns, np.ndarray]:
        """Return stored columns, and the index among these of the column of each of ``features``."""
        return self._columns, features

    def expect(self, gradient: np.ndarray) -> None:
        """Do nothing: all columns are stored, whichever are likely to be needed."""

    def by_rows(self, derived: Derived) -> Rows:
        """Return X by rows: a second copy, computed at the first call."""
        every = np.arange(self.column_nnz.size)
        return derived("rows", lambda: SomeRows(self.edges, self._columns, every).rows)

    def column_squares(self, derived: Derived) -> np.ndarray:
        """Return Σ_i x_ij² of each column, computed at the first call."""
        starts, _, values = self._columns
        return derived("column squares", lambda: column_squares(self.edges, starts, values))

    def squared(self, derived: Derived) -> Self:
        """Return a store of the columns with entries x_ij²."""
        other = copy.copy(self)
        other._columns = self._columns._replace(values=self._columns.values * self._columns.values)
        return other

    def block(self, b: int) -> sp.csc_array:
        """Return one block of rows as a sparse matrix."""
        starts, rows, values = self._columns
        own = starts[b]
        entries, shape = slice(own[0], own[-1]), (self.edges[b + 1] - self.edges[b], own.size - 1)
        found = np.ones(own[-1] - own[0]) if self.binary else values[entries]
        return sp.csc_array((found, rows[entries], own - own[0]), shape)

    def first_rows(self, n: int) -> sp.csr_array:
        """Return the first ``n`` rows, at most those of the first block."""
        starts, rows, values = self._columns
        found = np.flatnonzero(rows[: starts[0, -1]] < n)
        entries = np.ones(found.size) if self.binary else values[found]
        shape = (min(n, int(self.edges[1])), self.column_nnz.size)
        return sp.csc_array((entries, rows[found], np.searchsorted(found, starts[0])), shape).tocsr()

    def take(self, rows: np.ndarray, pulse: Callable[[], None]) -> sp.csr_array:
        """Return copies of these rows, ascending; ``pulse`` is called between blocks."""
        parts, cuts = [], np.searchsorted(rows, self.edges)
        for b, (lo, hi) in enumerate(pairwise(cuts)):
            parts.append(self.block(b).tocsr()[rows[lo:hi] - self.edges[b]])
            pulse()
        return sp.vstack(parts, format="csr")


class PickedColumns:
    """A large sparse X with one output, stored by rows, with a copy of the columns requested so far.

    The rows share the arrays of X if these have the right types: copies would cost as much as a gradient.
    Converting all of a large X to columns takes longer than a solver that works on few weights. Memory is
    reserved for all entries of a block: pages that are not written to cost nothing.

    A last column of ones, if ``constant``, is not part of the rows; it is the first of the columns.

    Attributes
    ----------
    rows : Rows
        X by rows.
    column_nnz : array of int64, (d,)
        Number of entries of each column.
    counts : array of int64, (blocks, d)
        Number of entries of each column in each block.
    squares : array, (d,)
        Σ_i x_ij² of each column.
    place : array of int64, (d,)
        The index of each feature among the picked columns; -1 if its column has not been picked.
    likely : array, (d,), or None
        A score per feature: columns with larger scores are expected to be requested sooner.
    times : int
        Number of times that columns were picked.
    """

    def __init__(self, X: Any, edges: np.ndarray, binary: bool, *, constant: bool = False) -> None:
        values = np.empty(0) if binary else X.data.astype(np.float64, copy=False)
        indices = X.indices.astype(np.int32, copy=False)
        self.rows = Rows(X.indptr.astype(np.int64, copy=False), indices, values)
        self.edges, self.binary, self.constant = edges, binary, constant
        self.times = self._held = 0
        self.likely: np.ndarray | None = None
        n, d = X.shape[0], X.shape[1] + constant
        self.counts = np.zeros((len(edges) - 1, d), dtype=np.int64)
        self.squares = np.zeros(d)
        for own, lo, hi in zip(self.counts, edges[:-1], edges[1:], strict=True):
            count_columns(self.rows.starts[lo : hi + 1], indices, values, own, self.squares)
        self.place = np.full(d, -1)
        starts, entries = np.zeros((len(edges) - 1, d + 1), dtype=np.int64), X.nnz + n * constant
        starts[:, 0] = self.rows.starts[edges[:-1]] + edges[:-1] * constant
        self.columns = Columns(starts, np.empty(entries, np.uint16), np.empty(0 if binary else entries))
        if constant:
            self.counts[:, -1], self.squares[-1] = np.diff(edges), n
            self.place[-1], self._held = 0, 1
            starts[:, 1] = self._write_ones(self.columns, starts[:, 0])
        self.column_nnz = self.counts.sum(axis=0)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that store X."""
        return (*self.rows, np.ones(1)) if self.constant else self.rows

    def all_columns(self, derived: Derived) -> Columns:
        """Return all columns, computed at the first call."""
        return derived("columns", self.turned)

    def columns_of(self, features: np.ndarray, derived: Derived) -> tuple[Columns, np.ndarray]:
        """Return stored columns, and the index among these of the column of each of ``features``.

        They are the picked columns, with missing ones added, or all columns once these cost less.
        """
        if "columns" in derived:
            return self.all_columns(derived), features
        while (missing := np.unique(features[self.place[features] < 0])).size:
            entries, most = self.column_nnz[missing].sum(), PICKED_SHARE * self.rows.features.size
            if self.times >= MOST_PICKS or entries > most:
                return self.all_columns(derived), features
            derived(f"columns {self.times}", partial(self.pick, missing))
        for time in range(self.times):  # set-up of all that use them
            derived(f"columns {time}", no_pulse)
        return self.columns, self.place[features]

    def expect(self, gradient: np.ndarray) -> None:
        """Store that features with large entries of ``gradient`` will probably be needed first."""
        self.likely = np.abs(gradient[: self.place.size])

    def by_rows(self, derived: Derived) -> Rows:
        """Return X by rows; with a constant it is a copy, computed at the first call."""
        if not self.constant:
            return self.rows
        return derived("rows", lambda: self.rows.with_constant(self.place.size - 1))

    def adjoint(self, G: np.ndarray, each: Callable, *, squared: bool = False) -> np.ndarray:
        """Return Σ_i x_ij G_ic for each feature j and output c, computed along rows; with x_ij² if
        ``squared``."""
        rows = self.rows.squared() if squared else self.rows
        sums = rows.adjoint(G, self.place.size, each)
        if self.constant:
            sums[-1] = G.sum(axis=0)
        return sums

    def column_squares(self, derived: Derived) -> np.ndarray:
        """Return Σ_i x_ij² of each column."""
        return self.squares

    def squared(self, derived: Derived) -> AllColumns:
        """Return a store of all columns with entries x_ij²."""
        return AllColumns(self.all_columns(derived), self.edges, self.column_nnz).squared(derived)

    def first_rows(self, n: int) -> sp.csr_array:
        """Return the first ``n`` rows, at most those of the first block."""
        return self.take(np.arange(min(n, int(self.edges[1]))), no_pulse)

    def take(self, rows: np.ndarray, pulse: Callable[[], None]) -> sp.csr_array:
        """Return copies of these rows, ascending."""
        X = self.rows.some(rows, self.place.size - self.constant)
        return sp.hstack([X, np.ones((rows.size, 1))], format="csr") if self.constant else X

    def turned(self) -> Columns:
        """Return all columns, converted from the rows."""
        starts = np.zeros((len(self.counts), self.place.size + 1), dtype=np.int64)
        np.cumsum(self.counts, axis=1, out=starts[:, 1:])
        starts += self.columns.starts[:, :1]
        columns = Columns(starts, *(np.empty_like(entries) for entries in self.columns[1:]))
        self._copy(storage.into_columns, starts[:, :-1].copy(), columns.rows, columns.values)
        if self.constant:
            self._write_ones(columns, starts[:, -2])
        return columns

    def pick(self, features: np.ndarray) -> None:
        """Copy these columns, none of which is stored, and others that are likely to be requested next.

        The others have about as many entries.
        """
        features = np.concatenate([features, self._next(features)])
        lengths, first = self.counts[:, features], self._held
        self._held += features.size
        ends = self.columns.starts[:, first : first + 1] + np.cumsum(lengths, axis=1)
        self.columns.starts[:, first + 1 : self._held + 1] = ends
        place = np.full_like(self.counts, -1)
        place[:, features] = ends - lengths
        self._copy(storage.some_into_columns, place, self.columns.rows, self.columns.values)
        self.place[features] = np.arange(first, self._held)
        self.times += 1

    def _copy(self, write: Callable, place: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        """Copy entries with the kernel ``write`` to the positions ``place``, (blocks, d), of their columns.

        The entries of a column are stored one after the other.
        """
        for b, (lo, hi) in enumerate(pairwise(self.edges)):
            starts = self.rows.starts[lo : hi + 1]
            write(starts, self.rows.features, self.rows.values, place[b], rows, values)

    def _write_ones(self, columns: Columns, at: np.ndarray) -> list[int]:
        """Store the constant column in each block, from the positions ``at`` on; return the positions after
        it."""
        lengths = np.diff(self.edges).tolist()
        return [storage.write_ones(columns, *there) for there in zip(at.tolist(), lengths, strict=True)]

    def _next(self, features: np.ndarray) -> np.ndarray:
        """Return the features most likely to be needed that are neither stored nor among ``features``."""
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


def store_of(
    X: Any,
    edges: np.ndarray,
    nnz: int,
    binary: bool,
    n_outputs: int,
    n_tail: int,
    *,
    constant: bool = False,
) -> ColumnStore:
    """Return the store of X, which has ``nnz`` entries, cut at the rows ``edges``.

    A last column of ones is added if ``constant``. A large sparse X with one output is converted to columns
    only when these are requested.
    """
    if sp.issparse(X) and n_outputs == 1 and not n_tail and nnz >= PICKED_FROM:
        return PickedColumns(X, edges, binary, constant=constant)
    return AllColumns(storage.turned(X, edges, nnz, binary, constant=constant), edges)


ColumnStore = AllColumns | PickedColumns
