"""Metrics of scores for instances with sets of labels: of rankings, and of label sets."""

from __future__ import annotations

import numpy as np

#: Number of folds for fitting thresholds.
FOLDS = 2


def ranking_loss(Z: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean fraction of pairs (label of the instance, other label) that scores Z (n, m) misorder.

    The mean is over the instances that have such pairs; it is 0.0 if there are none. Y (n, m) is 0 and 1.
    """
    shares = []
    for z, y in zip(Z, Y != 0, strict=True):
        if y.any() and not y.all():
            shares.append(np.mean(z[y][:, None] <= z[~y]))
    return float(np.mean(shares)) if shares else 0.0


def fit_thresholds(Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the threshold of each label, shape (m,), that maximizes the micro-averaged F1 of the predicted
    sets.

    The predicted sets are {r : z_ir > threshold_r} for scores Z and true labels Y, both (n, m). Thresholds
    lie half-way between scores. F1 = 2 tp/(assigned + true) is a ratio of sums over labels, maximized as in
    Dinkelbach 1967. For a value F, maximize 2 tp_r - F assigned_r for each label separately. This gives the
    next F, and so on until F does not rise.
    """
    n, m = Z.shape
    order = np.argsort(-Z, axis=0, kind="stable")
    sorted_Z = np.take_along_axis(Z, order, axis=0)
    hits = np.vstack([np.zeros(m), np.cumsum(np.take_along_axis(Y != 0, order, axis=0), axis=0)])
    assigned = np.arange(n + 1)[:, None]
    edges = np.vstack([np.full(m, np.inf), sorted_Z, np.full(m, -np.inf)])
    possible = edges[:-1] > edges[1:]  # equal scores are all above a threshold, or none
    true, best, labels = np.count_nonzero(Y), 0.0, np.arange(m)
    while True:
        gain = np.where(possible, 2.0 * hits - best * assigned, -np.inf)
        counts = gain.argmax(axis=0)
        f1 = 2.0 * hits[counts, labels].sum() / max(counts.sum() + true, 1)
        if f1 <= best:
            break
        best = f1
    above, below = edges[counts, labels], edges[counts + 1, labels]
    middle = 0.5 * (above + below)
    return np.where(np.isfinite(middle) & (middle >= above), below, middle)


def micro_f1(Z: np.ndarray, Y: np.ndarray) -> float:
    """Return the micro-averaged F1 of label sets from scores Z (n, m) against Y (n, m) of 0 and 1.

    The thresholds for each half of the instances (even and odd indices) are fitted on the other half. So no
    threshold is fitted to the instances on which it is evaluated.
    """
    found = np.zeros(Y.shape, dtype=bool)
    part = np.arange(len(Z)) % FOLDS
    for k in range(FOLDS):
        found[part == k] = Z[part == k] > fit_thresholds(Z[part != k], Y[part != k])
    true = Y != 0
    return float(2.0 * np.count_nonzero(found & true) / max(np.count_nonzero(found) + true.sum(), 1))
