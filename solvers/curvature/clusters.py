"""Clusters of weights, and the change of variables β = Cγ in which each cluster is one weight.

A. Mathur, S. Chakrabarti: Accelerating Newton Optimization for Log-Linear Models through Feature Redundancy,
ICDM 2006, section III-B. Their ``cmap`` is the index of each β_j in γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from ..compute.jit import kernel
from ..compute.lazy import lazy
from ..compute.team import no_pulse

#: Maximal number of iterations of Lloyd's algorithm.
LLOYD = 20
#: Points whose nearest centre is looked up between two pulses, some 20 ms.
LOOKED_UP = 20_000
#: Weights per kernel call.
WEIGHTS_PER_CALL = 4_000_000

#: Divisors of the columns for k-means.
COLUMN_SCALES = ("deviation", "none")


def chunked(values: np.ndarray, size: int, *, split_signs: bool = False) -> np.ndarray:
    """Return the cluster of each value, int32: consecutive chunks of ``size`` values in sorted order.

    Chunks are numbered from the smallest value on; the last one may be shorter. The sort is stable. With
    ``split_signs`` negative values, zeros and positive values are cut into chunks separately.
    """
    order = np.argsort(values, kind="stable")
    starts = np.zeros(values.size, dtype=np.int32)
    edges = [0, values.size]
    if split_signs:
        edges[1:1] = [
            int(np.searchsorted(values, 0.0, side=side, sorter=order)) for side in ("left", "right")
        ]
    for lo, hi in pairwise(edges):
        starts[lo:hi:size] = 1
    labels = np.empty(values.size, dtype=np.int32)
    labels[order] = np.cumsum(starts) - 1
    return labels


def kmeans(
    points: np.ndarray,
    k: int,
    *,
    scale: str = "deviation",
    iterations: int = LLOYD,
    pulse: Callable[[], None] = no_pulse,
) -> np.ndarray:
    """Return the cluster of each point (a row), int32, by Lloyd's algorithm.

    It starts from ``k`` points at quantiles of the first column. At most ``k`` clusters remain, numbered by
    their mean in the first column. ``scale="deviation"`` divides each column by its standard deviation first:
    changes of weights are far smaller than weights, and would have no effect otherwise. Equal points share a
    cluster.
    """
    if scale not in COLUMN_SCALES:
        raise ValueError(f"scale={scale!r}: choose one of {', '.join(COLUMN_SCALES)}")
    if len(points) == 0:
        return np.zeros(0, dtype=np.int32)
    deviation = points.std(axis=0) if scale == "deviation" else np.ones(points.shape[1])
    points = points / np.where(deviation > 0.0, deviation, 1.0)
    order = np.lexsort(points.T[::-1])
    quantiles = ((np.arange(k) + 0.5) * (len(points) / k)).astype(np.int64)
    centres = np.unique(points[order[quantiles]], axis=0)
    labels = None
    for _ in range(iterations):
        nearest = _nearest(centres, points, pulse)
        if labels is not None and np.array_equal(nearest, labels):
            break
        labels = np.unique(nearest, return_inverse=True)[1]
        sizes = np.bincount(labels)
        centres = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    rank = np.empty(len(centres), dtype=np.int32)
    rank[np.argsort(centres[:, 0], kind="stable")] = np.arange(len(centres))
    return rank[labels]


def _nearest(centres: np.ndarray, points: np.ndarray, pulse: Callable[[], None]) -> np.ndarray:
    """Return for each point the index of its nearest centre."""
    from scipy.spatial import cKDTree  # here, since it is slow to import

    tree, found = cKDTree(centres), np.empty(len(points), dtype=np.int64)
    for lo in range(0, len(points), LOOKED_UP):
        found[lo : lo + LOOKED_UP] = tree.query(points[lo : lo + LOOKED_UP])[1]
        pulse()
    return found


def spreads(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the two parts of the variance of values: within clusters, and between clusters.

    They are the mean squared distance of values from the mean of their cluster, and of these means from the
    overall mean. Values labelled -1 are left out. Both parts are 0 if no value is left.
    """
    values, labels = values[labels >= 0], labels[labels >= 0]
    if values.size == 0:
        return 0.0, 0.0
    sizes = np.bincount(labels)
    means = np.bincount(labels, values) / np.maximum(sizes, 1)
    within = float(np.mean((values - means[labels]) ** 2))
    return within, float(np.mean((means[labels] - values.mean()) ** 2))


def within_error(values: np.ndarray, error: float, cluster: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return ``cluster(factor)`` for the largest factor n, n/2, n/4, ... that meets an error bound.

    At most the fraction ``error`` of the variance of the values may be inside clusters.
    """
    factor = max(values.size, 1)
    while True:
        labels = cluster(factor)
        within, between = spreads(values, labels)
        if within <= error * (within + between) or factor == 1:
            return labels
        factor = max(factor // 2, 1)


def crossed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return a mask of the values that changed their cluster.

    Each cluster of ``after`` is matched with the cluster of ``before`` that shares most values with it. A
    value has changed if it was in another cluster ``before``. So labels need not agree between the two
    arrays. Values with the label -1, which have no cluster, never count as changed.
    """
    moved = np.zeros(after.size, dtype=bool)
    both = np.flatnonzero((before >= 0) & (after >= 0))
    if both.size == 0:
        return moved
    old, new = before[both].astype(np.int64), after[both].astype(np.int64)
    n_old = int(old.max()) + 1
    pairs, shared = np.unique(new * n_old + old, return_counts=True)
    # of each new cluster the old one that shares most with it, the lower number in doubt
    order = np.lexsort((pairs % n_old, -shared, pairs // n_old))
    clusters, first = np.unique(pairs[order] // n_old, return_index=True)
    came_from = np.full(int(clusters[-1]) + 1, -1)
    came_from[clusters] = pairs[order][first] % n_old
    moved[both] = old != came_from[new]
    return moved


@dataclass(frozen=True, eq=False)
class Clusters:
    """A clustering of weights; each cluster is one weight of γ.

    ``labels`` has the cluster of each weight, int32, and -1 for weights that are not clustered. ``count`` is
    the number of clusters. γ has the weights of the clusters first, then the others in order.
    """

    labels: np.ndarray
    count: int
    pulse: Callable[[], None] = no_pulse

    @classmethod
    def of_columns(
        cls,
        cluster: Callable[[np.ndarray], np.ndarray],
        size: int,
        n_features: int,
        n_outputs: int = 1,
        *,
        still: np.ndarray | None = None,
        pulse: Callable[[], None] = no_pulse,
    ) -> Self:
        """Cluster each column of W separately; weights after W are not clustered.

        W is (n_features, n_outputs), row by row at the beginning of ``size`` weights. ``cluster(weights)``
        returns the labels of weights, given by their indices. Features in the mask ``still`` form a separate
        cluster in each column.
        """
        labels, count = np.full(size, -1, dtype=np.int32), 0
        features = np.arange(n_features) if still is None else np.flatnonzero(~still)
        rest = np.zeros(0, dtype=np.int64) if still is None else np.flatnonzero(still)
        for c in range(n_outputs):
            pulse()
            if features.size:
                found = cluster(features * n_outputs + c)
                labels[features * n_outputs + c] = found + count
                count += int(found.max()) + 1
            if rest.size:
                labels[rest * n_outputs + c] = count
                count += 1
        return cls(labels, count, pulse)

    @lazy
    def cmap(self) -> np.ndarray:
        """Return the index in γ of each weight, int32."""
        fine = self.labels < 0
        if not fine.any():
            return self.labels
        cmap = self.labels.copy()
        cmap[fine] = self.count + np.arange(np.count_nonzero(fine), dtype=np.int32)
        return cmap

    @lazy
    def members(self) -> np.ndarray:
        """Return the number of weights per entry of γ, as floats."""
        members = np.zeros(self.size)
        for part in self._parts():
            members += np.bincount(self.cmap[part], minlength=self.size)
        return members

    @property
    def size(self) -> int:
        """Return the number of entries of γ."""
        return self.count + int(np.count_nonzero(self.labels < 0))

    def down(self, w: np.ndarray) -> np.ndarray:
        """Return γ whose entries are the averages of ``w`` over the clusters: projectDown."""
        return self.accumulate(w) / self.members

    def up(self, gamma: np.ndarray) -> np.ndarray:
        """Return β = Cγ, β_j = γ_cmap(j): projectUp."""
        w = np.empty(self.labels.size)
        for part in self._parts():
            copied_down(self.cmap[part], gamma, w[part])
        return w

    def accumulate(self, g: np.ndarray) -> np.ndarray:
        """Return Cᵀg, the sums over the clusters: eq. (14)."""
        sums = np.zeros(self.size)
        for part in self._parts():
            added_up(self.cmap[part], g[part], sums)
        return sums

    def _parts(self) -> Iterator[slice]:
        """Yield slices that cover all weights, calling the pulse between them."""
        for lo in range(0, self.labels.size, WEIGHTS_PER_CALL):
            if lo:
                self.pulse()
            yield slice(lo, lo + WEIGHTS_PER_CALL)


@kernel
def added_up(cmap, g, sums):
    """Add each g_j to the sum of its cluster."""
    for j in range(cmap.size):
        sums[cmap[j]] += g[j]


@kernel
def copied_down(cmap, gamma, w):
    """Copy the weight of a cluster to its members."""
    for j in range(cmap.size):
        w[j] = gamma[cmap[j]]
