"""Sums that occur in conjugates of losses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import entr

from ...linalg.scores import Scores
from .chunks import row_chunks
from .loss import BoundLoss


def entropy(P: np.ndarray) -> np.ndarray:
    """Return -p log p of each entry; entries just below zero, due to rounding, count as 0."""
    return entr(np.maximum(P, 0.0))


def row_entropies(P: np.ndarray) -> np.ndarray:
    """Return the sum of -p log p over each row."""
    return entropy(P).sum(axis=1)


def entropies(P: np.ndarray) -> float:
    """Return the sum of -p log p over all entries."""
    return float(np.sum(entropy(P)))


def cancelled_by_logs(scores: Scores, times: float = 1.0) -> float:
    """Return the size of the terms that cancel in the difference log Z(x) - score(y), summed over rows.

    For each row this is at most the largest score plus a transition. ``times`` is how many scores add up to
    one term. 1 is added per row, since the probability of the truth is 1 + G.
    """
    n, tail = len(scores.Z), float(np.abs(scores.tail).max(initial=0.0))
    return n + 2.0 * (times * math.sqrt(n) * float(np.linalg.norm(scores.Z)) + n * tail)


def of_rows(loss: BoundLoss, G: np.ndarray, terms: Callable[[np.ndarray, slice], np.ndarray]) -> np.ndarray:
    """Return ``terms(G[part], part)``, one value per row, computed over slices that fit in the cache."""
    out = np.empty(len(G))
    for part in row_chunks(*G.shape):
        out[part] = terms(G[part], part)
        loss.pulse()
    return out


def over_rows(loss: BoundLoss, G: np.ndarray, term: Callable[[np.ndarray, slice], float]) -> float:
    """Return the sum of ``term(G[part], part)`` over slices of rows that fit in the cache."""
    total = 0.0
    for part in row_chunks(*G.shape):
        total += term(G[part], part)
        loss.pulse()
    return total
