"""Clusters of trajectories: the solver's own, or found in the trace of any solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solverscope.app.views.trajectories.trajectory_history import WeightHistory
from solverscope.solvers.curvature.clusters import chunked, crossed, kmeans, spreads

#: Clusters that have a colour of their own; the others share the next number.
COLORED = 8

#: What makes the clusters: names in the menu.
MAKERS = {
    "the solver's own": "own",
    "k-means on (β, Δβ)": "kmeans",
    "chunks of sorted β": "chunks",
}


@dataclass(frozen=True)
class Grouping:
    """Clusters of the weights drawn at one iterate: ``labels`` (n,) from 0, -1 for none, made by ``maker``.
    ``slots`` (n,) is the number of each weight's colour, ``COLORED`` for all others."""

    labels: np.ndarray
    maker: str
    slots: np.ndarray

    @classmethod
    def of(cls, beta: np.ndarray, change: np.ndarray, own: np.ndarray, maker: str, count: int) -> Grouping:
        """Cluster weights by their values, their changes, and the solver's own clusters (-1: none).

        Without clusters of the solver, and unless chunks are asked for, there are at most ``count`` clusters
        by k-means. It works on unscaled (β, Δβ). If they were divided by their deviations, changes near the
        end of a run, which are noise, would count as much as weights.
        """
        if maker == "own" and (own >= 0).any():
            labels = own
        elif maker == "chunks":
            labels = chunked(beta, max(-(-beta.size // count), 1))
        else:
            maker, labels = "kmeans", kmeans(np.stack([beta, change], axis=1), count, scale="none")
        return cls(labels, maker, _slots(labels, beta))

    def spread(self, values: np.ndarray) -> tuple[float, float]:
        """Return the standard deviation inside these clusters, and that of their means, for other values of
        the weights; nan if one is unknown."""
        known = np.isfinite(values)
        inside, between = spreads(np.where(known, values, 0.0), np.where(known, self.labels, -1))
        return float(np.sqrt(inside)), float(np.sqrt(between))

    def crossovers(self, history: WeightHistory) -> np.ndarray:
        """Return a mask (T, n) of weights that have changed their cluster since the previous row.

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
    """Assign colours to the clusters with most weights; ties go to the largest weights.

    Colours are in the order of the first weight in each. So an iterate has the same colours at each visit,
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
