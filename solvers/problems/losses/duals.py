"""Sums that conjugates of losses are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import BoundLoss
from .chunks import row_chunks


def entropy(P: np.ndarray) -> np.ndarray:
    """Return -p log p of each entry; rounding may have left some just below zero."""
    positive = P > 0.0
    return -np.where(positive, P, 0.0) * np.log(P, out=np.zeros_like(P), where=positive)


def entropies(P: np.ndarray) -> float:
    """Sum -p log p over all entries."""
    return float(np.sum(entropy(P)))


def over_rows(loss: BoundLoss, G: np.ndarray, term: Callable[[np.ndarray, slice], float]) -> float:
    """Sum of ``term(rows of G, their place)`` over runs of rows that stay in the cache."""
    total = 0.0
    for lo, hi in row_chunks(*G.shape):
        total += term(G[lo:hi], slice(lo, hi))
        loss.pulse()
    return total
