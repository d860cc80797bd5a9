"""The data matrix X, indexed by feature, and its two products."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..compute.team import Team, no_pulse
from . import storage
from .arrays import digest_of
from .by_columns import adjoint_by_output, adjoint_by_rows, scores_by_output, scores_by_rows
from .by_rows import CSR, ENTRIES_PER_CALL, Rows, SomeRows, weighted_sum
from .derived import Derived
from .scores import Scores, recycled
from .storage import NEAR_BYTES, SLAB_BYTES
from .stores import AllColumns, ColumnStore, PickedColumns, store_of
from .working_set import Columns, WorkingSet

#: Bytes of columns that are copied side by side for a working set, at most.
GATHERED_BYTES = 48 * 2**20
#: Entries of a column in a block from which on its neighbours in memory do not matter.
LONG_COLUMN = 1024
#: Entries of a fresh array that are cleared between two pulses, some 20 ms.
CLEARED_PER_PULSE = 4_000_000
#: Weights read between two pulses.
WEIGHTS_PER_PULSE = 4_000_000
#: Slices of features per thread, since some take longer than others.
RUNS_PER_THREAD = 2
#: All members, and none.
EVERY_MEMBER = slice(None)
NO_MEMBERS = np.zeros(0, dtype=np.int64)


class Design:
    """The data matrix X, cut into blocks of rows, each stored by columns with 16-bit local row indices.

    Parameters
    ----------
    X : array or sparse array, (n, d)
        Or anything with ``shape`` and ``csc_rows(lo, hi) -> (indptr, indices, values or None)``, so that a
        huge matrix never exists twice.
    n_outputs : int
        Scores per row of X.
    n_tail : int
        Weights after the d · n_outputs of the body, which are passed through to the loss.
    team : Team, optional
        Threads that share the products. Default: one.
    constant : bool
        Whether to add a last feature that is 1 in each row; X is not copied for it.

    Notes
    -----
    Products gather scores over the rows of a column; with blocks that fit the cache this costs a fraction of
    the time over all rows. A matrix of ones stores no values. Columns of block b are
    ``rows[starts[b, j]:starts[b, j + 1]]`` and the same of ``values`` (empty when ``binary``).

    A large sparse X with one output is stored by rows, since converting it takes longer than many runs.
    Columns are computed when a solver needs all, or picked for a working set, and count as its set-up.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope.solvers.linalg.design import Design
    >>> design = Design(np.array([[1.0, 0.0], [2.0, 3.0]]), n_outputs=1)
    >>> scores = design.scores(np.array([1.0, -1.0]))
    >>> scores.Z[:, 0]
    array([ 1., -1.])
    >>> design.adjoint(scores)
    array([-1., -3.])
    """

    def __init__(
        self,
        X: Any,
        n_outputs: int,
        n_tail: int = 0,
        team: Team | None = None,
        *,
        constant: bool = False,
    ) -> None:
        n, d = X.shape
        self._describe((n, d + constant), n_outputs, n_tail, team)
        self._store(X, constant)

    def _describe(self, shape: tuple[int, int], n_outputs: int, n_tail: int, team: Team | None) -> None:
        self.shape = self.n_rows, self.n_features = shape
        self.n_outputs, self.n_tail = n_outputs, n_tail
        self.size = self.n_features * n_outputs + n_tail
        self.team = team or Team()
        self.pulse: Callable[[], None] = no_pulse
        #: entries of X touched by products so far
        self.touched = 0

    def _store(self, X: Any, constant: bool) -> None:
        if not hasattr(X, "csc_rows") and not isinstance(X, np.ndarray):
            X = storage.plain_rows(X)
        nnz, self.binary = storage.content(X)
        self.nnz = nnz + self.n_rows * constant
        self.block_rows = storage.rows_of_block(*self.shape, self.n_outputs, self.nnz)
        self.edges = np.append(np.arange(0, self.n_rows, self.block_rows), self.n_rows)
        whole = X, self.edges, nnz, self.binary, self.n_outputs, self.n_tail
        self._keep(store_of(*whole, constant=constant))

    def _keep(self, store: ColumnStore) -> None:
        self.stored, self.column_nnz, self.derived = store, store.column_nnz, Derived()

    @property
    def columns(self) -> Columns:
        """Return all columns of X; if X is large and sparse they are computed at the first call."""
        return self.stored.all_columns(self.derived)

    @property
    def starts(self) -> np.ndarray:
        return self.columns.starts

    @property
    def rows(self) -> np.ndarray:
        return self.columns.rows

    @property
    def values(self) -> np.ndarray:
        return self.columns.values

    def columns_of(self, features: np.ndarray) -> tuple[Columns, np.ndarray]:
        """Return stored columns, and the index among these of the column of each of ``features``."""
        return self.stored.columns_of(features, self.derived)

    def expect(self, gradient: np.ndarray) -> None:
        """Announce that weights with large entries of the ``gradient`` at w = 0 will probably be needed
        first."""
        self.stored.expect(gradient)

    @property
    def n_blocks(self) -> int:
        return len(self.edges) - 1

    @classmethod
    def of_blocks(
        cls, edges: np.ndarray, columns: Columns, n_outputs: int, n_tail: int = 0, team: Team | None = None
    ) -> Self:
        """Return the design of columns that are already cut into row blocks; ``edges`` has their bounds."""
        design = cls.__new__(cls)
        design._describe((int(edges[-1]), columns.starts.shape[1] - 1), n_outputs, n_tail, team)
        design.edges, design.block_rows = edges, int(edges[1] - edges[0])
        design.nnz, design.binary = columns.rows.size, not columns.values.size
        design._keep(AllColumns(columns, edges))
        return design

    def attached(self, pulse: Callable[[], None]) -> Self:
        """Return a shallow copy with its own pulse, count of entries read, and record of derived arrays."""
        other = copy.copy(self)
        other.pulse, other.touched, other.derived = pulse, 0, self.derived.attached()
        return other

    def working_set(self, coordinates: np.ndarray | None = None) -> WorkingSet:
        """Return the working set of the given coordinates (ascending), or of all weights."""
        return WorkingSet(coordinates, self.n_features, self.n_outputs, self.size)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return views of flat weights: W (n_features, n_outputs) and the tail."""
        body = self.n_features * self.n_outputs
        return w[:body].reshape(self.n_features, self.n_outputs), w[body:]

    def cost(self, active: WorkingSet | None) -> int:
        """Return the number of entries of X that a product over these weights reads."""
        return self.nnz if active is None or active.full else int(self.column_nnz[active.rows()[0]].sum())

    def scores(self, v: np.ndarray, active: WorkingSet | None = None) -> Scores:
        """Return A v for weights v, one per member of ``active`` (None: all weights); zeros are skipped."""
        Z, tail = recycled(self.n_rows, self.n_outputs), np.zeros(self.n_tail)
        part = None if active is None or active.full else active
        if part is not None and (rows := self._some_rows(part, v[: part.n_body] != 0.0)) is not None:
            tail[part.tail] = v[part.n_body :]
            self.touched += rows.entries
            rows.write_scores(v[: part.n_body], *part.body, Z, self._each_part)
            return Scores(Z, tail)
        Z[:] = 0.0
        if part is None and (rows := self._occupied(v)) is not None:
            features, V, tail = rows
            self.touched += int(self.column_nnz[features].sum())
            self._scores_rows(features, V, Z)
            return Scores(Z, tail)
        nonzero = v != 0.0
        active, v = (self.working_set() if active is None else active).restrict(nonzero), v[nonzero]
        body = v[: active.n_body]
        tail[active.tail] = v[active.n_body :]
        self.touched += self.cost(active)
        if self._by_rows(active):
            features, place = active.rows()
            V = np.zeros((features.size, self.n_outputs))
            V[place, active.body[1]] = body
            self._scores_rows(features, V, Z)
        else:
            outputs, features, order = active.by_output()
            ordered = body[order]
            (starts, rows, values), places = self._columns(active)

            def task(b: int, lo: int, hi: int) -> None:
                slab = Z[self.edges[b] : self.edges[b + 1]]
                scores_by_output(starts[b], rows, values, outputs, places, ordered, lo, hi, slab)

            self._each_block(task, features, 1)
        return Scores(Z, tail)

    def _occupied(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the features with a non-zero weight, their rows of W, and the tail.

        Return None unless it pays to handle all outputs of a feature at once. No array of the length of v is
        allocated if all features have a non-zero weight.
        """
        if self.n_outputs == 1:
            return None
        W, tail = self.split(v)
        found, nonzero, piece = [], 0, max(1, CLEARED_PER_PULSE // self.n_outputs)
        for lo in range(0, len(W), piece):
            if lo:
                self.pulse()
            there = W[lo : lo + piece] != 0.0
            nonzero += int(np.count_nonzero(there))
            found.append(lo + np.flatnonzero(there.any(axis=1)))
        features = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        if not self._pays_by_rows(nonzero, features.size):
            return None
        return features, W if features.size == len(W) else W[features], tail.copy()

    def _scores_rows(self, features: np.ndarray, V: np.ndarray, Z: np.ndarray) -> None:
        """Add X V to Z, for the rows ``V`` of W of these features."""

        def task(b: int, lo: int, hi: int) -> None:
            slab = Z[self.edges[b] : self.edges[b + 1]]
            scores_by_rows(self.starts[b], self.rows, self.values, features[lo:hi], V[lo:hi], slab)

        self._each_block(task, features, self.n_outputs)

    def column(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with feature j, ascending, and its values there."""
        spans = [(b, int(lo), int(hi)) for b, (lo, hi) in enumerate(self.starts[:, j : j + 2]) if lo < hi]
        if not spans:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        rows = np.concatenate([self.edges[b] + self.rows[lo:hi] for b, lo, hi in spans])
        if self.binary:
            return rows, np.ones(rows.size)
        return rows, np.concatenate([self.values[lo:hi] for _, lo, hi in spans])

    def by_rows(self) -> Rows:
        """Return X by rows, for solvers that visit samples: a second copy, computed at the first call."""
        return self.stored.by_rows(self.derived)

    def csr(self) -> CSR:
        """Return X by rows with explicit values, also for a matrix of ones."""
        starts, features, values = self.by_rows()
        if self.binary:
            values = self.derived("ones", lambda: np.ones(features.size))
        return CSR(*map(read_only, (starts, features, values)))

    def column_squares(self) -> np.ndarray:
        """Return Σ_i x_ij² of each column, computed at the first call."""
        return self.stored.column_squares(self.derived)

    def longest_column(self) -> float:
        """Return the largest length ‖x_j‖ of a column; a weight of the tail counts as a column of ones."""
        longest = math.sqrt(self.column_squares().max(initial=0.0))
        return max(longest, math.sqrt(self.n_rows)) if self.n_tail else longest

    def column_lengths(self) -> np.ndarray:
        """Return ‖x_j‖ of each column, computed at the first call."""
        squares = self.column_squares()
        return self.derived("column lengths", lambda: np.sqrt(squares))

    def reach(self, v: np.ndarray, active: WorkingSet | None = None, first: int = 0) -> float:
        """Return Σ_j ‖x_j‖ |v_j|, an upper bound on ‖A v‖ and on the norm of every partial sum of A v. v has
        one entry per member of ``active`` (None: per weight from index ``first`` on)."""
        members = NO_MEMBERS if active is None or active.full else active.coordinates
        lengths, total = self.column_lengths(), 0.0
        for lo in range(0, v.size, WEIGHTS_PER_PULSE):
            part = slice(lo, lo + WEIGHTS_PER_PULSE)
            at = members[part], first + lo, lengths, self.n_outputs, math.sqrt(self.n_rows)
            total += weighted_sum(v[part], *at)
            self.pulse()
        return total

    def squared(self) -> Design:
        """Return the design with entries x_ij²; a matrix of ones returns itself."""
        if self.binary:
            return self
        other = copy.copy(self)
        other.stored = self.stored.squared(self.derived)
        return other

    def squared_sums(self, C: np.ndarray) -> np.ndarray:
        """Return Σ_i x_ij² C_ik, shape (n_features, k)."""
        if isinstance(self.stored, PickedColumns):
            return self.stored.adjoint(C, self._each_part, squared=True)
        out = np.empty((self.n_features, C.shape[1]))
        self.squared()._adjoint_rows(C, np.arange(self.n_features), out)
        return out

    def adjoint_of_squares(self, h: Scores, active: WorkingSet) -> np.ndarray:
        """Return Σ_i x_ij² h_ic for each weight (j, c) of ``active``."""
        if self.stored.rows is not None:
            if active.full:
                return self.squared_sums(h.Z)[:, 0]
            columns = storage.side_by_side(*self.columns_of(active.body[0]), self._each_part)
            own = Design.of_blocks(self.edges, columns, 1, team=self.team).attached(self.pulse)
            return own.squared().adjoint(h)
        # columns gathered for gradients hold x, not x²
        alone = active if active.full else self.working_set(active.coordinates)
        return self.squared().adjoint(h, alone)

    def first_rows(self, n: int) -> sp.csr_array:
        """Return the first ``n`` rows, which must be in the first block."""
        return self.stored.first_rows(n)

    def digest(self) -> str:
        """Return a hash of the entries of X."""
        return digest_of(np.array(self.shape), *self.stored.arrays)

    def take(self, rows: np.ndarray) -> Design:
        """Return a design of copies of these rows (ascending), with all features."""
        return Design(self.stored.take(rows, self.pulse), self.n_outputs, self.n_tail, self.team)

    def head(self, n: int) -> Design:
        """Return a design of the first ``n`` rows, with only the features that occur in them."""
        X = self.first_rows(n)
        occurring = np.unique(X.indices) if X.nnz else np.arange(1)
        return Design(X[:, occurring], self.n_outputs, self.n_tail)

    def adjoint(self, residual: Scores, active: WorkingSet | None = None) -> np.ndarray:
        """Return Aᵀ G for a residual G in score space: Σ_i x_ij G_ic for each weight (j, c) of ``active``."""
        G = residual.Z
        if active is None or active.full:
            self.touched += self.nnz
            out = np.empty(self.size)
            body, tail = self.split(out)
            tail[:] = residual.tail
            if isinstance(self.stored, PickedColumns):  # always: its sums differ in the last digits
                body[:] = self.stored.adjoint(G, self._each_part)
            else:
                self._adjoint_rows(G, np.arange(self.n_features), body)
            return out
        out = np.empty(len(active))
        out[active.n_body :] = residual.tail[active.tail]
        if (rows := self._some_rows(active)) is not None:
            self.touched += rows.entries
            out[: active.n_body] = rows.adjoint(G, *active.body, self._each_part)
            return out
        self.touched += self.cost(active)
        if self._by_rows(active):
            features, place = active.rows()
            rows = np.empty((features.size, self.n_outputs))
            self._adjoint_rows(G, features, rows)
            out[: active.n_body] = rows[place, active.body[1]]
        else:
            outputs, features, order = active.by_output()
            sums = np.zeros(features.size)
            self._gather(active)
            (starts, rows, values), places = self._columns(active)

            def task(b: int, lo: int, hi: int) -> None:
                slab = G[self.edges[b] : self.edges[b + 1]]
                adjoint_by_output(starts[b], rows, values, outputs, places, lo, hi, slab, sums)

            self._each_feature(task, features, 1)
            out[order] = sums
        return out

    def _adjoint_rows(self, G: np.ndarray, features: np.ndarray, out: np.ndarray) -> None:
        piece = max(1, CLEARED_PER_PULSE // self.n_outputs)
        for lo in range(0, len(out), piece):
            if lo:
                self.pulse()
            out[lo : lo + piece] = 0.0

        def task(b: int, lo: int, hi: int) -> None:
            slab = G[self.edges[b] : self.edges[b + 1]]
            adjoint_by_rows(self.starts[b], self.rows, self.values, features[lo:hi], slab, out[lo:hi])

        self._each_feature(task, features, self.n_outputs)

    def _some_rows(self, active: WorkingSet, needed: np.ndarray | slice = EVERY_MEMBER) -> SomeRows | None:
        """Return X by rows with the members' features; return None if products by columns are faster.

        Rows are faster if neither the scores of a block fit the cache, nor those of one output its first
        level. Moreover columns must be read for so many outputs that rows with all outputs cost less, though
        only some members are ``needed``. The rows serve all sets restricted from this one, until half of the
        entries is not needed.
        """
        near = self.block_rows * self.n_outputs * 8 <= SLAB_BYTES or self.block_rows * 8 <= NEAR_BYTES
        if near or self.n_outputs == 1:
            return None
        features, shared = active.rows()[0], active.lineage
        entries = int(self.column_nnz[features].sum())
        if int(self.column_nnz[active.body[0][needed]].sum()) <= entries * (3.0 + self.n_outputs / 6.0):
            return None
        held = shared.rows
        if held is None or held.entries > 2 * entries or not held.has(features):
            shared.rows = SomeRows(self.edges, self.columns, features)
        return shared.rows

    def _each_part(self, walk: Callable, parts: Iterable[int]) -> None:
        self.team.each(walk, parts, self.pulse)

    def _by_rows(self, active: WorkingSet) -> bool:
        """Return whether products should handle all outputs of a feature at once."""
        return self.n_outputs > 1 and self._pays_by_rows(active.n_body, active.rows()[0].size)

    def _pays_by_rows(self, members: int, features: int) -> bool:
        """Return whether products by rows are faster: more than one output, and a sixth of all, must be
        needed."""
        return members > features * max(self.n_outputs / 6, 1.5)

    def _columns(self, active: WorkingSet) -> tuple[Columns, np.ndarray]:
        """Return the columns to read for the members, and the index of each member's column, ordered by
        output."""
        shared = active.lineage
        if shared.columns is None or shared.base is None:
            return self.columns_of(active.by_output()[1])
        places = active.places_in(shared.base)  # None for an older set, wider than the one with the columns
        return self.columns_of(active.by_output()[1]) if places is None else (shared.columns, places)

    def _gather(self, active: WorkingSet) -> None:
        """Copy the columns of a set next to each other, in the order in which products read them."""
        shared = active.lineage
        shared.gradients += 1
        if self.stored.rows is not None or shared.gradients < 2:  # picked columns lie side by side already
            return
        entries = int(self.column_nnz[features := active.by_output()[1]].sum())
        if shared.columns is not None and 2 * entries >= shared.entries:
            return
        if entries >= LONG_COLUMN * features.size * self.n_blocks:
            return
        if entries * (self.rows.itemsize + (0 if self.binary else 8)) > GATHERED_BYTES:
            return
        shared.columns = storage.side_by_side(self.columns, features, self._each_part)
        shared.base, shared.entries = active, entries

    def _each_block(self, task: Callable, features: np.ndarray, width: int) -> None:
        """Call task(block, lo, hi) for every block, in parallel, and every slice of ``features``. Slices are
        consecutive, and short enough that each call is short. Those of a block are visited in order."""
        runs = self._runs(features, width, 1)

        def walk(b: int) -> Iterator[None]:
            for lo, hi in runs:
                task(b, lo, hi)
                yield

        self.team.each(walk, range(self.n_blocks), self.pulse)

    def _each_feature(self, task: Callable, features: np.ndarray, width: int) -> None:
        """Call task(block, lo, hi) for every slice of ``features``, in parallel, and every block. The blocks
        of one slice are visited in order, so that sums over blocks do not depend on the number of threads."""

        def walk(run: tuple[int, int]) -> Iterator[None]:
            for b in range(self.n_blocks):
                task(b, *run)
                yield

        least = 1 if self.team.threads == 1 else RUNS_PER_THREAD * self.team.threads
        self.team.each(walk, self._runs(features, width, least), self.pulse)

    def _runs(self, features: np.ndarray, width: int, least: int) -> list[tuple[int, int]]:
        """Cut features, with ``width`` outputs each, into consecutive slices with about equally many entries.

        There are at least ``least`` slices, if there are as many features. They are short enough that a call
        for one slice of one block is short.
        """
        if least == 1 and self.nnz * self.n_outputs <= ENTRIES_PER_CALL:
            return [(0, features.size)]
        lengths = self.column_nnz[features]
        total = int(lengths.sum())
        pieces = max(least, -(-total * width // (ENTRIES_PER_CALL * max(self.n_blocks, 1))))
        if pieces == 1:
            return [(0, features.size)]
        ends = np.cumsum(lengths)
        inner = np.searchsorted(ends, np.arange(1, pieces) * (total / pieces), side="right")
        cuts = sorted({0, *inner.tolist(), features.size})
        return list(pairwise(cuts)) or [(0, 0)]


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view
