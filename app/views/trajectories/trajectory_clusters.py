"""Clusters of trajectories: the solver's own, or computed for the trace of any solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solverscope.app.views.trajectories.trajectory_history import WeightHistory
from solverscope.solvers.curvature.clusters import chunked, crossed, kmeans, spreads

#: Number of clusters that have a separate colour; all others share the next one.
COLORED = 8

#: Kinds of clusters by their names in the menu.
MAKERS = {
    "the solver's own": "own",
    "k-means on (β, Δβ)": "kmeans",
    "chunks of sorted β": "chunks",
}


@dataclass(frozen=True)
class Grouping:
    """Clusters of the weights drawn at one iterate.

    ``labels`` (n,) are numbered from 0, with -1 for none, and ``maker`` is the kind of clusters. ``slots``
    (n,) is the index of each weight's colour, ``COLORED`` for small clusters.
    """

    labels: np.ndarray
    maker: str
    slots: np.ndarray

    @classmethod
    def of(cls, beta: np.ndarray, change: np.ndarray, own: np.ndarray, maker: str, count: int) -> Grouping:
        """Cluster weights by their values ``beta`` and changes; ``own`` are the solver's own clusters, -1 for
        none.

        Without own clusters, and unless ``maker`` is "chunks", there are at most ``count`` clusters by
        k-means on unscaled (β, Δβ). With scaling, changes near the end of a run, which are noise, would be as
        important as weights.
        """
        if maker == "own" and (own >= 0).any():
            labels = own
        elif maker == "chunks":
            labels = chunked(beta, max(-(-beta.size // count), 1))
        else:
            maker, labels = "kmeans", kmeans(np.stack([beta, change], axis=1), count, scale="none")
        return cls(labels, maker, _slots(labels, beta))

    def spread(self, values: np.ndarray) -> tuple[float, float]:
        """Return the standard deviation of other values of the weights within these clusters, and that of
        cluster means."""
        known = np.isfinite(values)
        inside, between = spreads(np.where(known, values, 0.0), np.where(known, self.labels, -1))
        return float(np.sqrt(inside)), float(np.sqrt(between))

    def crossovers(self, history: WeightHistory) -> np.ndarray:
        """Return a mask (T, n) of weights that have changed clusters since the previous row.

        The solver's own clusters are those recorded at each iterate; chunks are computed for each iterate.
        With k-means a weight belongs, at each iterate, to the cluster with the nearest mean.
        """
        labels = self._at_each(history)
        moved = np.zeros(labels.shape, dtype=bool)
        for row in range(1, len(labels)):
            if not np.array_equal(labels[row], labels[row - 1]):
                moved[row] = crossed(labels[row - 1], labels[row])
        known = np.isfinite(history.values)
        moved[1:] &= known[1:] & known[:-1]
        apart = np.asarray(
            np.nan_to_num(history.values).any(axis=1)
        )  # where all are zero none is in any cluster
        moved[1:] &= (apart[1:] & apart[:-1])[:, None]
        return moved

    def _at_each(self, history: WeightHistory) -> np.ndarray:
        if self.maker == "own":
            return history.labels
        values, count = np.nan_to_num(history.values), int(self.labels.max(initial=0)) + 1
        if self.maker == "chunks":
            return np.stack([chunked(row, max(-(-self.labels.size // count), 1)) for row in values])
        members = self.labels[:, None] == np.arange(count)
        means = values @ (members / np.maximum(members.sum(axis=0), 1.0))
        away = (np.abs(row[:, None] - centres) for row, centres in zip(values, means, strict=True))
        return np.stack([distances.argmin(axis=1) for distances in away])


def _slots(labels: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Assign colours to the clusters with most weights; ties are resolved in favour of the largest weights.

    Colours are in the order of each cluster's first weight, so that an iterate always has the same colours,
    and weights mostly keep theirs.
    """
    slots = np.full(labels.size, COLORED, dtype=np.int64)
    inside = labels >= 0
    clusters, head, place, sizes = np.unique(
        labels[inside], return_index=True, return_inverse=True, return_counts=True
    )
    if clusters.size:
        means = np.bincount(place, beta[inside]) / sizes
        first = np.lexsort((-np.abs(means), -sizes))[:COLORED]
        ordered = first[np.argsort(head[first])]
        slot = np.full(clusters.size, COLORED)
        slot[ordered] = np.arange(ordered.size)
        slots[inside] = slot[place]
    return slots
