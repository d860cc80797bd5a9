"""Label sequences drawn from a Markov chain."""

from __future__ import annotations

import numpy as np


def draw_labels(
    rng: np.random.Generator, offsets: np.ndarray, first: np.ndarray, transitions: np.ndarray
) -> np.ndarray:
    """Draw the labels (offsets[-1],) int32 of Markov chains.

    ``first`` (K,) contains the probabilities of the first label, and ``transitions`` (K, K) those of the
    next.
    """
    cumulated = np.cumsum(np.vstack([transitions, first]), axis=1)
    cumulated[:, -1] = 1.0
    uniform = rng.random(int(offsets[-1]))
    K = len(first)
    # all first tokens, then all second ones, ...: as many steps as the longest sequence has tokens
    y = np.empty(len(uniform), np.int32)
    lengths = np.diff(offsets)
    state = np.full(len(lengths), K)
    for t in range(int(lengths.max())):
        alive = np.flatnonzero(lengths > t)
        places = offsets[alive] + t
        rows = cumulated[state[alive]]
        y[places] = state[alive] = (uniform[places, None] >= rows).sum(1)
    return y
