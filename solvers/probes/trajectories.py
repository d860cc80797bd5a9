"""Weight trajectories: the values of a fixed selection of weights at every iterate, including large ones."""

from __future__ import annotations

import numpy as np

from ..curvature.clusters import Clusters
from ..linalg.working_set import WorkingSet
from ..methods.iterate import Iterate

#: Maximal number of weights recorded; in a smaller problem all are.
MOST = 4096
#: Number of them that are drawn at random in a larger problem; the others are the largest.
RANDOM = 1024
#: Largest weights of one iterate that are searched for.
MAX_SEARCHED_WEIGHTS = 512
#: Weights up to which a w without a working set is searched for its largest.
SEARCHED = 10_000_000
#: Weights from which the threshold of the largest is estimated, and how many are then sorted, in multiples of
#: those searched for.
GUESSED_BY, SORTED = 16_384, 3
#: Factor from one iteration at which the largest are searched for to the next.
SEARCH_GROWTH = 2.0
#: Before the first iterate.
NOBODY = np.empty(0, dtype=np.int32)


class WeightFollower:
    """A recorder of selected weights, in single precision, and of their clusters in clustered solvers.

    ``members`` are their indices in w. In a small problem all weights are recorded. In a larger one a random
    sample is recorded, the same for all runs with as many weights. Large weights are added later: at growing
    intervals the largest of an iterate are searched for, and may take half of the remaining room. A weight
    stays selected until the end.
    """

    def __init__(self) -> None:
        self._members = NOBODY
        self._next = 0
        self._labels: tuple[Clusters | None, np.ndarray, np.ndarray] = (None, NOBODY, NOBODY)

    def __call__(self, it: Iterate) -> dict[str, np.ndarray] | None:
        w = it.w
        if w is None:
            return None
        if not self._members.size:
            self._members = first(w.size)
        if self._members.size < min(MOST, w.size) and it.iteration >= self._next:
            self._join(w, it.live.get("active"), it.iteration)
        found = {
            "members": self._members,
            "values": w[self._members].astype(np.float32),
            "size": np.array(w.size),
            "epoch": np.array(it.epoch),
            "phase": np.array(it.phase or ""),
        }
        labels = self._labels_of(it.live.get("clustering"))
        return found if labels is None else found | {"labels": labels}

    def _join(self, w: np.ndarray, active: WorkingSet | None, iteration: int) -> None:
        found = largest(w, active, MAX_SEARCHED_WEIGHTS)
        if found.size:
            self._next = max(iteration + 1, int(SEARCH_GROWTH * iteration))
        new = found[~np.isin(found, self._members)][: (MOST - self._members.size + 1) // 2]
        if new.size:
            self._members = np.append(self._members, new.astype(np.int32))

    def _labels_of(self, clusters: Clusters | None) -> np.ndarray | None:
        """Return the cluster of each selected weight, -1 for none; it is cached while the clusters stay the
        same."""
        if clusters is None:
            return None
        known, members, labels = self._labels
        if known is not clusters or members is not self._members:
            labels = np.full(self._members.size, -1, dtype=np.int32)
            body = self._members < clusters.labels.size
            labels[body] = clusters.labels[self._members[body]]
            self._labels = clusters, self._members, labels
        return labels


def first(size: int) -> np.ndarray:
    """Return the indices of the weights selected from the start, ascending: all, or a random sample."""
    if size <= MOST:
        return np.arange(size, dtype=np.int32)
    return np.unique(np.random.default_rng(0).integers(size, size=RANDOM)).astype(np.int32)


def largest(w: np.ndarray, active: WorkingSet | None, most: int) -> np.ndarray:
    """Return the indices of the largest non-zero weights, in descending order of size.

    Return no index if w is huge and its working set is full.
    """
    inside = None
    if active is not None and not active.full:
        inside = active.coordinates
    elif w.size > SEARCHED:
        return np.empty(0, dtype=np.int64)
    size = np.abs(w if inside is None else w[inside])
    top = np.flatnonzero(size >= _guess(size, most))
    if top.size < most:  # the guess was too high
        top = np.flatnonzero(size > 0.0)
    top = top[np.argsort(-size[top], kind="stable")[:most]]
    return top if inside is None else inside[top]


def _guess(size: np.ndarray, most: int) -> float:
    """Return a threshold, estimated from a sample, that somewhat more than ``most`` of these sizes exceed."""
    sample = size[:: max(size.size // GUESSED_BY, 1)]
    wanted = SORTED * most * sample.size // size.size + 1
    least = np.finfo(float).tiny  # those that are zero are never meant
    return max(np.partition(sample, -wanted)[-wanted], least) if wanted < sample.size else least
