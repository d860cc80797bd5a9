"""The problem in coarse variables γ, β = Cγ, in which each cluster of weights moves as one.

A. Mathur, S. Chakrabarti: Accelerating Newton Optimization for Log-Linear Models through Feature Redundancy,
ICDM 2006, sections III-B, III-C and III-E-6.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..compute.jit import kernel
from ..curvature.clusters import Clusters
from ..linalg.design import ENTRIES_PER_CALL, Design
from ..linalg.scores import Scores
from ..linalg.working_set import Columns, WorkingSet
from .point import Point
from .problem import Problem

Product = TypeVar("Product")


class Accumulated(Design):
    """The design A C of γ, applied by products with A itself, eq. (14).

    Before a product weights are copied from γ to β = Cγ; after it the gradient of each cluster is summed.
    Scores are those of the ``fine`` design, whose counter also counts the products. Weights outside W, the
    transitions of a chain, are the tail of both designs.
    """

    def __init__(self, fine: Design, clusters: Clusters) -> None:
        self._describe((fine.n_rows, clusters.size - fine.n_tail), 1, fine.n_tail, fine.team)
        self.fine, self.clusters, self.pulse = fine, clusters, fine.pulse

    def scores(self, v: np.ndarray, active: WorkingSet | None = None) -> Scores:
        """Return A C v, for a ``v`` with one entry per member of ``active`` (None: all)."""
        return self._scores(self._whole(v, active))

    def adjoint(self, residual: Scores, active: WorkingSet | None = None) -> np.ndarray:
        """Return CᵀAᵀG for a residual G in score space, one entry per member of ``active`` (None: all)."""
        g = self._adjoint(residual)
        return g if active is None else active.take(g)

    def reach(self, v: np.ndarray, active: WorkingSet | None = None) -> float:
        """Return :meth:`.design.Design.reach` of C v."""
        return self.fine.reach(self.clusters.up(self._whole(v, active)))

    def _whole(self, v: np.ndarray, active: WorkingSet | None) -> np.ndarray:
        """Return ``v`` as a vector over all of γ, zero outside ``active``."""
        if active is None or active.full:
            return v
        whole = np.zeros(self.size)
        whole[active.coordinates] = v
        return whole

    def _scores(self, gamma: np.ndarray) -> Scores:
        return self.fine.scores(self.clusters.up(gamma))

    def _adjoint(self, residual: Scores) -> np.ndarray:
        return self.clusters.accumulate(self.fine.adjoint(residual))


class Aggregated(Accumulated):
    """The design A C of γ, applied by products with X̂ = XC, which is computed once: pre-aggregation, eq.
    (15).

    Column k of X̂ is the sum of the columns of cluster k, which belong to one output. A product counts the
    entries of X̂ that it reads. Computing X̂ counts as a product with X.
    """

    def __init__(self, fine: Design, clusters: Clusters) -> None:
        super().__init__(fine, clusters)
        outputs, columns = aggregate(fine, clusters)
        self.X = Design.of_blocks(fine.edges, columns, fine.n_outputs, fine.n_tail, fine.team)
        self.X.pulse = fine.pulse
        fine.touched += fine.nnz
        body = np.arange(self.n_features) * fine.n_outputs + outputs
        tail = np.arange(self.X.size - self.n_tail, self.X.size)
        self._members = self.X.working_set(np.concatenate([body, tail]))

    def _scores(self, gamma: np.ndarray) -> Scores:
        return self._counted(self.X.scores(gamma, self._members))

    def _adjoint(self, residual: Scores) -> np.ndarray:
        return self._counted(self.X.adjoint(residual, self._members))

    def _counted(self, product: Product) -> Product:
        """Add the entries of X̂ that a product has read to the counter of the fine design."""
        self.fine.touched += self.X.touched
        self.X.touched = 0
        return product


def coarse_problem(problem: Problem, clusters: Clusters, *, aggregated: bool) -> Problem:
    """Return the problem of γ, f(Cγ), in which a ridge counts γ_k once for each weight of its cluster.

    The penalty must have no kinks. With ``aggregated``, X̂ is computed once, as in (15); otherwise products
    are those of (14).
    """
    design = (Aggregated if aggregated else Accumulated)(problem.design, clusters)
    return problem.in_variables(design, problem.penalty.repeated(clusters.members))


def lifted(problem: Problem, clusters: Clusters, point: Point) -> Point:
    """Return the point Cγ of the fine problem for a point γ of the coarse one, whose scores it shares."""
    return Point(problem, clusters.up(point.w), point.scores, loss=point.loss, drift=point.drift)


def aggregate(fine: Design, clusters: Clusters) -> tuple[np.ndarray, Columns]:
    """Return the columns of X̂ = XC, stored in the same row blocks as those of X, and the output of each
    column."""
    m, body = fine.n_outputs, fine.n_features * fine.n_outputs
    cmap = clusters.cmap[:body]
    size = clusters.size - fine.n_tail
    outputs = np.zeros(size, dtype=np.int64)
    outputs[cmap] = np.arange(body) % m
    order = np.argsort(cmap, kind="stable")
    edges = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(cmap, minlength=size), out=edges[1:])
    features = order // m
    starts = np.zeros((fine.n_blocks, size + 1), dtype=np.int64)
    runs = _runs(fine.column_nnz[features], edges)
    place = np.empty(int(np.diff(fine.edges).max()), dtype=np.int64)

    def walk(rows: np.ndarray, values: np.ndarray) -> None:
        for b in range(fine.n_blocks):
            place[:] = -1
            starts[b, 0] = starts[b - 1, -1] if b else 0
            for lo, hi in runs:
                block = fine.starts[b], fine.rows, fine.values
                merge(*block, features, edges, lo, hi, place, starts[b], rows, values)
                fine.pulse()

    walk(np.empty(0, dtype=np.uint16), np.empty(0))
    entries = int(starts[-1, -1])
    columns = Columns(starts, np.empty(entries, dtype=np.uint16), np.empty(entries))
    walk(columns.rows, columns.values)
    return outputs, columns


def _runs(lengths: np.ndarray, edges: np.ndarray) -> list[tuple[int, int]]:
    """Cut the clusters into consecutive slices of about ``ENTRIES_PER_CALL`` entries.

    The members of cluster k have the entries edges[k] to edges[k + 1] of ``lengths``.
    """
    before = np.concatenate([[0], np.cumsum(lengths)])[edges]
    cuts = np.searchsorted(before, np.arange(ENTRIES_PER_CALL, before[-1], ENTRIES_PER_CALL))
    cuts = np.unique(np.concatenate([[0], cuts, [edges.size - 1]]))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


@kernel
def merge(starts, rows, values, features, edges, lo, hi, place, new_starts, new_rows, new_values):
    """Add up the columns of each cluster k, lo <= k < hi, over one block of rows, and write the end of each
    sum.

    If ``new_rows`` has no room, the entries are only counted. ``place`` is work space; all its entries must
    be below new_starts[lo].
    """
    for k in range(lo, hi):
        first = to = new_starts[k]
        for q in range(edges[k], edges[k + 1]):
            for p in range(starts[features[q]], starts[features[q] + 1]):
                i, x = rows[p], values[p] if values.size else 1.0
                if place[i] < first:
                    place[i] = to
                    if new_rows.size:
                        new_rows[to], new_values[to] = i, x
                    to += 1
                elif new_rows.size:
                    new_values[place[i]] += x
        new_starts[k + 1] = to
