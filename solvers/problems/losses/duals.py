"""Sums that conjugates of losses are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import entr

from ...linalg.scores import Scores
from .chunks import row_chunks
from .loss import BoundLoss


def entropy(P: np.ndarray) -> np.ndarray:
    """Return -p log p of each entry; rounding may have left some just below zero."""
    return entr(np.maximum(P, 0.0))


def row_entropies(P: np.ndarray) -> np.ndarray:
    """Sum -p log p over the entries of each row."""
    return entropy(P).sum(axis=1)


def entropies(P: np.ndarray) -> float:
    """Sum -p log p over all entries."""
    return float(np.sum(entropy(P)))


def cancelled_by_logs(scores: Scores, times: float = 1.0) -> float:
    """Return the size of the terms that cancel in the difference log Z(x) - score(y).

    For each row it is at most the largest score, ``times`` as much if several add up, plus a transition. 1 is
    added, since the probability of the truth is 1 + G.
    """
    n, tail = len(scores.Z), float(np.abs(scores.tail).max(initial=0.0))
    return n + 2.0 * (times * math.sqrt(n) * float(np.linalg.norm(scores.Z)) + n * tail)


def of_rows(loss: BoundLoss, G: np.ndarray, terms: Callable[[np.ndarray, slice], np.ndarray]) -> np.ndarray:
    """Return ``terms(rows of G, their place)``, one a row, of slices of rows that stay in the cache."""
    out = np.empty(len(G))
    for part in row_chunks(*G.shape):
        out[part] = terms(G[part], part)
        loss.pulse()
    return out


def over_rows(loss: BoundLoss, G: np.ndarray, term: Callable[[np.ndarray, slice], float]) -> float:
    """Sum ``term(rows of G, their place)`` over slices of rows that stay in the cache."""
    total = 0.0
    for part in row_chunks(*G.shape):
        total += term(G[part], part)
        loss.pulse()
    return total
