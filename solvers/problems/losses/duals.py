"""Sums that conjugates of losses are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import entr

from ..scores import Scores
from .chunks import row_chunks
from .loss import BoundLoss


def entropy(P: np.ndarray) -> np.ndarray:
    """Return -p log p of each entry; rounding may have left some just below zero."""
    return entr(np.maximum(P, 0.0))


def entropies(P: np.ndarray) -> float:
    """Sum -p log p over all entries."""
    return float(np.sum(entropy(P)))


def cancelled_by_logs(scores: Scores, times: float = 1.0) -> float:
    """Return how large the terms are that cancel where log Z(x) - score(y) is a difference of two numbers:
    for each row at most its largest score, ``times`` as much where several add up, and a transition; and 1,
    since the probability of the truth is 1 + G."""
    n, tail = len(scores.Z), float(np.abs(scores.tail).max(initial=0.0))
    return n + 2.0 * (times * math.sqrt(n) * float(np.linalg.norm(scores.Z)) + n * tail)


def over_rows(loss: BoundLoss, G: np.ndarray, term: Callable[[np.ndarray, slice], float]) -> float:
    """Sum of ``term(rows of G, their place)`` over runs of rows that stay in the cache."""
    total = 0.0
    for part in row_chunks(*G.shape):
        total += term(G[part], part)
        loss.pulse()
    return total
