"""Trajectories of weights: the same ones at every iterate, the largest among them."""

from __future__ import annotations

import numpy as np

from ..methods.iterate import Iterate
from ..problems.working_set import WorkingSet

#: Weights that are followed, at most: all of a smaller problem.
MOST = 4096
#: Of these, in a larger problem, weights drawn at random; the rest is for the largest.
RANDOM = 1024
#: The largest of one iterate that are looked for.
LARGEST = 512
#: Weights of a w that is searched for its largest where it has no working set, at most.
SEARCHED = 10_000_000
#: Weights by which it is guessed from which size on weights are among the largest, and how many of them are
#: then sorted, in units of those that are looked for.
GUESSED_BY, SORTED = 16_384, 3
#: Growth of the number of iterations at which they are looked for again.
AGAIN = 2.0


class Follower:
    """Takes of each iterate of one run the weights that it follows, in single precision, and the number of
    the cluster that the solver has put each of them in.

    ``members`` are their places in w: all of a small problem. Of others a random sample, the same for each
    run on as many weights, and behind it the largest, which join when they are first found: now and then the
    largest of an iterate are looked for, and take half of the room left, so that later ones find room too.
    Who follows is followed to the end, so that no trajectory breaks.
    """

    def __init__(self) -> None:
        self._members: np.ndarray | None = None
        self._next = 0
        self._labels: tuple[object, np.ndarray | None, np.ndarray | None] = (None, None, None)

    def __call__(self, it: Iterate) -> dict[str, np.ndarray] | None:
        w = it.w
        if w is None:
            return None
        if self._members is None:
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
        labels = self._labels_of(it.live.get("clusters"))
        return found if labels is None else found | {"labels": labels}

    def _join(self, w: np.ndarray, active: WorkingSet | None, iteration: int) -> None:
        found = largest(w, active, LARGEST)
        if found.size:
            self._next = max(iteration + 1, int(AGAIN * iteration))
        new = found[~np.isin(found, self._members)][: (MOST - self._members.size + 1) // 2]
        if new.size:
            self._members = np.append(self._members, new.astype(np.int32))

    def _labels_of(self, clusters: object) -> np.ndarray | None:
        """Return the cluster of each weight followed, -1 where it is in none; made once for all iterates that
        have the same clusters."""
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
    """Return the weights that are followed from the start: all, or a random sample, ascending."""
    if size <= MOST:
        return np.arange(size, dtype=np.int32)
    return np.unique(np.random.default_rng(0).integers(size, size=RANDOM)).astype(np.int32)


def largest(w: np.ndarray, active: WorkingSet | None, most: int) -> np.ndarray:
    """Return the places of the largest weights that are not zero, in falling order; none of a huge w all of
    which is in the working set."""
    inside = None
    if active is not None and not active.full:
        inside = active.coordinates
    elif w.size > SEARCHED:
        return np.empty(0, dtype=np.int64)
    size = np.abs(w if inside is None else w[inside])
    top = np.flatnonzero(size >= _guess(size, most))
    if top.size < most:  # the guess was too high
        top = np.flatnonzero(size)
    top = top[np.argsort(-size[top], kind="stable")[:most]]
    return top if inside is None else inside[top]


def _guess(size: np.ndarray, most: int) -> float:
    """Guess above which size a few more than ``most`` of these sizes are, from every so many-th of them."""
    sample = size[:: max(size.size // GUESSED_BY, 1)]
    wanted = SORTED * most * sample.size // size.size + 1
    least = np.finfo(float).tiny  # those that are zero are never meant
    return max(np.partition(sample, -wanted)[-wanted], least) if wanted < sample.size else least
