"""Small random problems of each kind of labels, seeded, in each storage of X."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

STORAGES = ("dense", "sparse", "binary", "lazy", "lazy-binary")


class Lazy:
    """A matrix that hands out its rows by columns only, as huge ones do."""

    def __init__(self, X: np.ndarray) -> None:
        self._X = sp.csr_array(X)
        self.shape, self.nnz = X.shape, self._X.nnz
        self.binary = bool(np.all(self._X.data == 1))

    def csc_rows(self, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        part = sp.csc_array(self._X[lo:hi])
        part.sort_indices()
        return part.indptr.astype(np.int64), part.indices, None if self.binary else part.data


def matrix(n: int, d: int, storage: str = "dense", *, density: float = 0.3, seed: int = 0) -> Any:
    """A random (n, d) matrix; ``dense_of`` gives it back as an array."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    if storage in ("binary", "lazy-binary"):
        X = (X != 0).astype(float)
    if storage.startswith("lazy"):
        return Lazy(X)
    return X if storage == "dense" else sp.csr_array(X)


def dense_of(X: Any) -> np.ndarray:
    """Any of the storages as an array."""
    if isinstance(X, Lazy):
        X = X._X
    return np.asarray(X.todense()) if sp.issparse(X) else X


@dataclass(frozen=True)
class Part:
    X: Any
    y: np.ndarray
    offsets: np.ndarray | None = None


@dataclass(frozen=True)
class Data:
    """What ``solvers.make_problem`` asks of a data set."""

    kind: str
    train: Part
    n_classes: int
    loss: str
    penalty: str = "l1"
    test: Part | None = None
    lam: float | None = None
    parents: np.ndarray | None = None
    id: str = "random"
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    digest: str = "0"
    source: str = "tests"


def binary(n: int = 60, d: int = 12, storage: str = "dense", seed: int = 0, **options: Any) -> Data:
    """Labels -1 and +1 from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    z = dense_of(X) @ rng.normal(size=d)
    y = np.where(z + 1.5 * z.std() * rng.normal(size=n) > 0, 1, -1).astype(np.int8)
    return Data("binary", Part(X, y), 2, "logistic")


def multiclass(
    n: int = 150, d: int = 8, m: int = 4, storage: str = "dense", seed: int = 0, **options: Any
) -> Data:
    """Classes 0 to m - 1 from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = (Z + 1.5 * Z.std() * rng.normal(size=(n, m))).argmax(axis=1).astype(np.int32)
    return Data("multiclass", Part(X, y), m, "multiclass-logistic")


def chains(
    n: int = 20,
    d: int = 8,
    m: int = 3,
    storage: str = "binary",
    seed: int = 0,
    longest: int = 8,
    **options: Any,
) -> Data:
    """Label sequences of 1 to ``longest`` tokens from a noisy linear rule: not separable."""
    rng = np.random.default_rng(seed + 1)
    lengths = rng.integers(1, longest + 1, size=n)
    lengths[0] = 1
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    X = matrix(int(offsets[-1]), d, storage, seed=seed, **options)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = (Z + 1.5 * Z.std() * rng.normal(size=Z.shape)).argmax(axis=1).astype(np.int32)
    return Data("sequences", Part(X, y, offsets), m, "chain-crf")


def multilabel(
    n: int = 120, d: int = 8, m: int = 4, storage: str = "dense", seed: int = 0, **options: Any
) -> Data:
    """Any number of labels a sample, none and all included, from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = Z + 1.5 * Z.std() * rng.normal(size=(n, m)) > 0
    return Data("multilabel", Part(X, sp.csr_array(y.astype(np.int8))), m, "multilabel-squared-hinge")


#: Root 0, inner nodes 1 and 2, a leaf below the root, leaves at two depths.
PARENTS = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 5, 5])
LEAVES = np.setdiff1d(np.arange(PARENTS.size), PARENTS)


def trees(n: int = 300, d: int = 5, storage: str = "dense", seed: int = 0, **options: Any) -> Data:
    """Leaves of a small tree from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, LEAVES.size))
    y = LEAVES[(Z + 3.0 * Z.std() * rng.normal(size=Z.shape)).argmax(axis=1)].astype(np.int32)
    return Data("tree", Part(X, y), PARENTS.size, "tree-softmax", parents=PARENTS)


#: A maker of small data for each kind of labels.
MAKERS = {
    "binary": binary,
    "multiclass": multiclass,
    "multilabel": multilabel,
    "sequences": chains,
    "tree": trees,
}
