"""Errors of predicted numeric targets: lower is better."""

from __future__ import annotations

import numpy as np


def mean_squared_error(predicted: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of (prediction - target)² over all entries; both have the shape (n,) or (n, m)."""
    return float(np.mean((predicted - y) ** 2))


def mean_absolute_error(predicted: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of |prediction - target| over all entries; both have the shape (n,) or (n, m)."""
    return float(np.mean(np.abs(predicted - y)))
