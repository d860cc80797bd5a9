"""Sums that conjugates of losses are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import entr

from .chunks import row_chunks
from .loss import BoundLoss


def entropy(P: np.ndarray) -> np.ndarray:
    """Return -p log p of each entry; rounding may have left some just below zero."""
    return entr(np.maximum(P, 0.0))


def entropies(P: np.ndarray) -> float:
    """Sum -p log p over all entries."""
    return float(np.sum(entropy(P)))


def over_rows(loss: BoundLoss, G: np.ndarray, term: Callable[[np.ndarray, slice], float]) -> float:
    """Sum of ``term(rows of G, their place)`` over runs of rows that stay in the cache."""
    total = 0.0
    for part in row_chunks(*G.shape):
        total += term(G[part], part)
        loss.pulse()
    return total
