"""Errors of predicted numeric targets: lower is better."""

from __future__ import annotations

import numpy as np


def mean_squared_error(predicted: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean of (prediction - target)² over all entries; both have the shape (n,) or (n, m).

    Row i has the weight ``weights[i]``.
    """
    return _mean((predicted - y) ** 2, weights)


def mean_absolute_error(predicted: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean of |prediction - target| over all entries; both have the shape (n,) or (n, m).

    Row i has the weight ``weights[i]``.
    """
    return _mean(np.abs(predicted - y), weights)


def _mean(errors: np.ndarray, weights: np.ndarray | None) -> float:
    if weights is None:
        return float(np.mean(errors))
    return float(np.average(errors.reshape(len(errors), -1).mean(axis=1), weights=weights))
