"""Problems from arrays: what a researcher has at hand, checked as files are."""

from __future__ import annotations

import hashlib
import numbers
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Features beyond it have squares that overflow in sums.
LARGEST = 1e100
#: Entries looked at together, twice: they stay in the cache.
PIECE = 100_000
#: The loss of each kind of labels where none is named.
LOSSES = {
    "binary": "logistic",
    "multiclass": "multiclass-logistic",
    "multilabel": "multitask-squared-hinge",
    "sequences": "chain-crf",
    "tree": "tree-softmax",
}


@dataclass(frozen=True)
class Part:
    """Features (n, d), labels in the coding of the kind, and where sequences begin and end."""

    X: Any
    y: Any
    offsets: np.ndarray | None = None


@dataclass(frozen=True)
class Arrays:
    """Arrays as :func:`solvers.make_problem` takes them: what it needs of a data set, and no more."""

    kind: str
    train: Part
    n_classes: int
    label_names: tuple[str, ...]
    #: that of all but X, which the design has
    digest: str
    parents: np.ndarray | None = None
    id: str = "arrays"
    penalty: str = "l1"
    lam: float | None = None
    test: None = None
    seed: int = 0
    source: str = "arrays"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def loss(self) -> str:
        return LOSSES[self.kind]


def from_arrays(
    X: Any, y: Any, offsets: Any = None, parents: Any = None, kinds: tuple[str, ...] = ()
) -> Arrays:
    """Make the data of a problem from features ``X`` (n, d), NumPy or SciPy sparse, and labels ``y``.

    y (n,) holds any two values (the larger is +1), classes, tags of the tokens of sequences (with
    ``offsets``, sequence i is the rows offsets[i] .. offsets[i + 1]), or leaves of a tree (with ``parents``,
    the parent of each node, -1 for the root); y (n, L) holds 0 and 1 for each label. ``kinds`` are those that
    the loss takes, where one is named. Raises ValueError, one sentence, for what cannot be used.
    """
    X, y = _features(X), _labels(y)
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]:,} rows and y has {y.shape[0]:,}: give one label a row")
    kind = _kind(y, offsets, parents, kinds)
    names: tuple[str, ...]
    if kind == "multilabel":
        y, names = _sets(y), tuple(f"label {c + 1}" for c in range(y.shape[1]))
    elif kind == "tree":
        parents = _whole("parents", parents)
        y, names = _leaves(_whole("y", y), parents), tuple(f"node {k}" for k in range(parents.size))
    else:
        values, codes = np.unique(y, return_inverse=True)
        if values.size < 2:
            raise ValueError("all labels are the same: at least two classes are needed")
        names = tuple(str(value) for value in values)
        y = (2 * codes - 1).astype(np.int8) if kind == "binary" else codes.astype(np.int32)
    if kind == "sequences":
        offsets = _ends(_whole("offsets", offsets), X.shape[0])
    digest = digest_of(y, offsets, parents)
    return Arrays(kind, Part(X, y, offsets), len(names), names, digest, parents)


def _features(X: Any) -> Any:
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float64)
        if not X.has_canonical_format:  # its arrays may be the caller's
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        try:
            X = values = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("X is no matrix of numbers: give an array or a sparse matrix (n, d)") from None
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has the shape {X.shape}: give at least one row and one feature, (n, d)")
    largest = _largest(values.reshape(-1))
    if not np.isfinite(largest):
        raise ValueError("X has entries that are NaN or infinite: all must be finite")
    if largest > LARGEST:
        raise ValueError(f"X has entries beyond {LARGEST:g}: scale them down")
    return X


def _largest(values: np.ndarray) -> float:
    """Return the largest absolute entry; nan where there is one."""
    parts = (values[lo : lo + PIECE] for lo in range(0, values.size, PIECE))
    return float(np.max([end for part in parts for end in (part.max(), -part.min())], initial=0.0))


def _labels(y: Any) -> np.ndarray:
    try:
        y = y.toarray() if sp.issparse(y) else np.asarray(y)
    except ValueError:
        raise ValueError("y has rows of different lengths: give (n,), or (n, L) of 0 and 1") from None
    if y.dtype.kind == "O":
        y = _of_one_kind(y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y has the shape {y.shape}: give (n,), or (n, L) with 0 and 1 for each label")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y has entries that are NaN or infinite: all must be labels")
    return y


def _of_one_kind(y: np.ndarray) -> np.ndarray:
    """Return labels that are Python objects as an array of numbers, or of strings."""
    entries = y.ravel().tolist()
    for kind in (numbers.Real, str):
        if all(isinstance(entry, kind) for entry in entries):
            return np.array(y.tolist())
    found = " and ".join(sorted({type(entry).__name__ for entry in entries}))
    raise ValueError(f"y has labels of type {found}: give all numbers, or all strings")


def _kind(y: np.ndarray, offsets: Any, parents: Any, kinds: tuple[str, ...]) -> str:
    if parents is not None:
        return "tree"
    if offsets is not None:
        return "sequences"
    if y.ndim == 2:
        return "multilabel"
    two = np.unique(y).size == 2
    return "binary" if two and (not kinds or "binary" in kinds) else "multiclass"


def _whole(name: str, values: Any) -> np.ndarray:
    given = np.asarray(values)
    flat = given.ndim == 1 and given.size and given.dtype.kind in "iuf"
    if not (flat and np.all(np.isfinite(given)) and np.all(given == np.trunc(given))):
        raise ValueError(f"{name} must be whole numbers in one dimension")
    return given.astype(np.int64)


def _sets(y: np.ndarray) -> sp.csr_array:
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y (n, L) must hold 0 and 1 alone: 1 for the labels that a sample has")
    counts = y.sum(axis=0)
    if not np.any((counts > 0) & (counts < y.shape[0])):
        raise ValueError("no label is on some samples and off on others: at least one must be")
    return sp.csr_array(y.astype(np.int8))


def _leaves(y: np.ndarray, parents: np.ndarray) -> np.ndarray:
    if y.min() < 0 or y.max() >= parents.size:
        wrong = y.min() if y.min() < 0 else y.max()
        raise ValueError(f"y names node {wrong}: nodes are numbered from 0 to {parents.size - 1:,}")
    if np.unique(y).size < 2:
        raise ValueError("all labels are the same: at least two leaves are needed")
    return y.astype(np.int32)


def _ends(offsets: np.ndarray, n: int) -> np.ndarray:
    if offsets[0] != 0 or offsets[-1] != n:
        raise ValueError(
            f"offsets go from {offsets[0]:,} to {offsets[-1]:,}: they must go from 0 to {n:,}, all rows"
        )
    empty = np.flatnonzero(np.diff(offsets) <= 0)
    if empty.size:
        raise ValueError(f"sequence {empty[0] + 1:,} has length 0: every sequence needs at least one token")
    return offsets


def _bytes_of(array: np.ndarray) -> Any:
    """Return what an array holds, without a copy where it has none between its entries."""
    array = np.ascontiguousarray(array)
    return array.tobytes() if array.dtype.hasobject else array.view(np.uint8).data if array.size else b""


def digest_of(*arrays: Any) -> str:
    """Hash what arrays hold, sparse ones among them, and how long they are."""
    digest = hashlib.sha256()
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sp.issparse(array) else (array,)
        for part in parts:
            if part is not None:
                digest.update(str(part.shape).encode())
                digest.update(_bytes_of(part))
    return digest.hexdigest()
