"""Generated numeric targets that depend on a few of many correlated features."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..names import LazyNames

#: Entries of a matrix at most.
MAX_DRAWN_ENTRIES = 200_000_000
#: How far outliers are moved, in deviations of the signal.
OUTLIER_SHIFT = 10.0


def synthetic_regression(request: Request) -> Content:
    """Generate features with correlation ρ^|i - j|, and targets Xw + noise for a sparse w.

    The test part has a quarter as many samples. Features follow an autoregressive process, nonzero weights
    alternate between 1 and -1, and ‖Xw‖/‖noise‖ = snr, as in the simulated data of celer and benchopt.
    """
    options, rng = request.options, np.random.default_rng(request.seed)
    n, d, k = options["n_samples"], options["n_features"], options["n_targets"]
    rows = n + max(n // 4, 1)
    if rows * d * options["density"] > MAX_DRAWN_ENTRIES:
        raise DataError(f"{rows:,} x {d:,} are more than {MAX_DRAWN_ENTRIES:,} entries: lower n_samples.")
    X = _features(rng, rows, d, options["correlation"], options["density"])
    relevant = np.sort(rng.permutation(d)[: min(options["n_relevant"], d)])
    W = np.zeros((d, k))
    W[relevant] = rng.permuted((-1.0) ** np.arange(len(relevant))[:, None] * np.ones(k), axis=0)
    signal = np.asarray(X @ W)
    size = float(np.sqrt(np.mean(signal**2))) or 1.0
    if options["link"] == "log":
        Y = rng.poisson(np.exp(np.clip(signal / size, -5.0, 5.0))).astype(np.float64)
    else:
        noise = rng.standard_normal(signal.shape)
        if options["snr"] > 0.0:
            signal = signal + noise * (np.linalg.norm(signal) or 1.0) / np.linalg.norm(noise) / options["snr"]
        Y = signal
        moved = rng.random(n) < options["outliers"]
        Y[:n][moved] += OUTLIER_SHIFT * size * rng.choice((-1.0, 1.0), (int(moved.sum()), 1))
    y = Y[:, 0] if k == 1 else Y
    train, test = (Part(X[part], np.ascontiguousarray(y[part])) for part in (slice(n), slice(n, rows)))
    names = ("y",) if k == 1 else tuple(f"y{c + 1}" for c in range(k))
    kind = "regression" if k == 1 else "multitask"
    return Content(train, names, LazyNames.numbered(d), test=test, kind=kind)


def _features(rng: np.random.Generator, n: int, d: int, rho: float, density: float) -> np.ndarray:
    """Draw standard normal features with correlation ρ^|i - j|.

    If ``density`` is below 1, draw a sparse matrix whose nonzeros are independent and standard normal.
    """
    if density < 1.0:
        values = scipy.sparse.random_array((n, d), density=density, rng=rng, data_sampler=rng.standard_normal)
        return scipy.sparse.csr_matrix(values)
    X = rng.standard_normal((n, d))
    innovation = math.sqrt(1.0 - rho * rho)
    for j in range(1, d):  # x_j = ρ x_(j-1) + √(1 - ρ²) ε_j
        X[:, j] = rho * X[:, j - 1] + innovation * X[:, j]
    return X
