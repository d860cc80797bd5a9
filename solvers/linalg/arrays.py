"""Problems from arrays, which are validated as files are."""

from __future__ import annotations

import hashlib
import numbers
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from .storage import CanonicalRows, checked_rows

#: The largest feature that all solvers can work with: squares of it, and ratios of these, are finite and
#: beyond no safeguard of theirs.
LARGEST_ENTRY = 1e12
#: Integers up to this are exact as floating-point numbers.
EXACT = 2.0**53
#: Entries that are read together, twice, so that they stay in the cache.
CHECKED_AT_ONCE = 100_000
#: Types whose objects become floating-point numbers without loss of information.
REAL = (numbers.Real, Decimal, np.bool_)
#: Descriptions of the content of arrays of other kinds.
NO_NUMBERS = {
    "c": "it is complex: give real numbers, such as real and imaginary parts as features of their own",
    "U": "it holds text: give numbers, converted where they stand for numbers",
    "T": "it holds text: give numbers, converted where they stand for numbers",
    "S": "it holds bytes: give numbers, converted where they stand for numbers",
    "M": "it holds dates: give numbers, such as days since the first",
    "m": "it holds time spans: give numbers, such as days",
    "V": "it is a structured array: give one of numbers",
}
HIDDEN = "it is a masked array with hidden entries: fill them, or leave out their rows"
#: The default loss for each kind of labels.
ARRAY_LOSSES = {
    "binary": "logistic",
    "multiclass": "multiclass-logistic",
    "multilabel": "multitask-squared-hinge",
    "sequences": "chain-crf",
    "tree": "tree-softmax",
    "regression": "squared",
    "multitask": "multitask-squared",
}
#: Kinds of labels that are numbers, and the losses that take them.
NUMERIC_KINDS = ("regression", "multitask")
REGRESSION_LOSSES = "squared, huber, poisson, quantile or epsilon-insensitive"


@dataclass(frozen=True)
class ArrayPart:
    """Features (n, d), labels in the coding of their kind, and offsets of sequences."""

    X: Any
    y: Any
    offsets: np.ndarray | None = None


@dataclass(frozen=True)
class ArrayData:
    """Arrays with the interface of a data set, as far as :func:`solvers.make_problem` needs it."""

    kind: str
    train: ArrayPart
    n_classes: int
    label_names: tuple[str, ...]
    #: digest of everything except X, which the design has
    digest: str
    parents: np.ndarray | None = None
    id: str = "arrays"
    penalty: str = "l1"
    lam: float | None = None
    test: None = None
    seed: int = 0
    source: str = "arrays"
    options: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] = ()

    @property
    def loss(self) -> str:
        return ARRAY_LOSSES[self.kind]


def from_arrays(
    X: Any, y: Any, offsets: Any = None, parents: Any = None, kinds: tuple[str, ...] = ()
) -> ArrayData:
    """Return the data of a problem from features ``X`` (n, d), NumPy or SciPy sparse, and labels ``y``.

    X may also be a table, with ``columns`` and ``to_numpy``, such as a DataFrame of pandas or Polars: its
    columns name the features.

    y (n,) has two values (the larger is +1), classes, numeric targets, tags of tokens, or leaves of a tree. y
    (n, L) has 0 and 1 for each label, or several targets. Numbers with a fractional part are targets;
    integers are targets only if the loss takes targets. Tags of tokens need ``offsets``: sequence i is the
    rows offsets[i] .. offsets[i + 1]. Leaves need ``parents``, the parent of each node, -1 for the root.
    ``kinds`` are the kinds of labels that the loss takes, if a loss is chosen. Raises ValueError if the
    arrays are invalid.
    """
    feature_names = names_of_columns(X)
    X, y = features_of(X), labels_of(y)
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]:,} rows and y has {y.shape[0]:,}: give one label a row")
    kind = _kind(y, offsets, parents, kinds)
    names: tuple[str, ...]
    if kind in NUMERIC_KINDS:
        y, names = _targets(y, kind)
    elif kind == "multilabel":
        y, names = _sets(y), tuple(f"label {c + 1}" for c in range(y.shape[1]))
    elif kind == "tree":
        parents = _whole("parents", parents)
        y, names = _leaves(_whole("y", y), parents), tuple(f"node {k}" for k in range(parents.size))
    else:
        values, codes = np.unique(y, return_inverse=True)
        if _measured(y):
            raise ValueError(
                f"y has {values.size:,} different values that are not all whole numbers, and each would be a "
                f"class: give classes as whole numbers or strings, or take one of {REGRESSION_LOSSES}"
            )
        if values.size < 2:
            raise ValueError("all labels are the same: at least two classes are needed")
        names = tuple(str(value) for value in values)
        y = (2 * codes - 1).astype(np.int8) if kind == "binary" else codes.astype(np.int32)
    if kind == "sequences":
        offsets = _ends(_whole("offsets", offsets), X.shape[0])
    digest = digest_of(y, offsets, parents)
    part = ArrayPart(X, y, offsets)
    return ArrayData(kind, part, len(names), names, digest, parents, feature_names=feature_names)


def names_of_columns(X: Any) -> tuple[str, ...]:
    """Return the column names of a table if all are strings; return () otherwise, and for arrays."""
    names = tuple(X.columns) if _is_table(X) else ()
    return names if all(isinstance(name, str) for name in names) else ()


def _is_table(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def features_of(X: Any, name: str = "X") -> Any:
    """Return features (n, d) as a C-contiguous array, or CSR matrix, of float64.

    X is an array, a sparse matrix or a table. The result may share its memory. Raises ValueError, with
    ``name`` in the message, if the features are invalid.
    """
    X = X.to_numpy() if _is_table(X) else X
    if reason := why_no_numbers(X):
        raise ValueError(f"{name} is no matrix of numbers: {reason}")
    if sp.issparse(X):
        if X.ndim == 2:
            X = checked_rows(X, name).astype(np.float64, copy=False)
            if not X.has_canonical_format:  # its arrays may be the caller's
                X = X.copy()
                X.sum_duplicates()
            X = CanonicalRows((X.data, X.indices, X.indptr), shape=X.shape)
        values = X.data
    else:
        try:
            X = values = np.ascontiguousarray(X, dtype=np.float64)
        except OverflowError:
            raise ValueError(f"{name} has entries beyond {LARGEST_ENTRY:g}: scale them down") from None
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} is no matrix of numbers: give an array (n, d), or a sparse one"
            ) from None
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} has the shape {X.shape}: give at least one row and one feature, (n, d)")
    largest = _largest(values.reshape(-1))
    if not np.isfinite(largest):
        raise ValueError(f"{name} has entries that are NaN or infinite: all must be finite")
    if largest > LARGEST_ENTRY:
        raise ValueError(f"{name} has entries beyond {LARGEST_ENTRY:g}: scale them down")
    return X


def why_no_numbers(values: Any) -> str | None:
    """Return why an array, or nested lists, cannot become real numbers without loss; None if they can."""
    if hidden(values):
        return HIDDEN
    if sp.issparse(values):
        objects = "it is a sparse matrix of Python objects: give one of floats"
        return objects if values.dtype.kind == "O" else NO_NUMBERS.get(values.dtype.kind)
    try:
        given = np.asarray(values)
    except ValueError:
        return "its rows differ in their lengths: give an array (n, d)"
    if given.dtype.kind != "O":
        return NO_NUMBERS.get(given.dtype.kind)
    kinds = {type(entry) for entry in given.ravel().tolist()}
    wrong = sorted(kind.__name__ for kind in kinds if not issubclass(kind, REAL))
    return f"it has entries of type {' and '.join(wrong)}" if wrong else None


def hidden(values: Any) -> bool:
    """Return whether a masked array, or one in a list, has masked entries."""
    rows = values if isinstance(values, list | tuple) else [values]
    return any(map(np.ma.is_masked, rows))


def _largest(values: np.ndarray) -> float:
    """Return the largest absolute entry; return nan if any entry is nan."""
    parts = (values[lo : lo + CHECKED_AT_ONCE] for lo in range(0, values.size, CHECKED_AT_ONCE))
    return float(np.max([end for part in parts for end in (part.max(), -part.min())], initial=0.0))


def labels_of(y: Any, name: str = "y") -> np.ndarray:
    """Return labels as an array of numbers or of strings; a single column (n, 1) becomes (n,).

    Raises ValueError, with ``name`` in the message, if the labels are invalid.
    """
    if hidden(y):
        raise ValueError(f"{name} cannot be used: {HIDDEN}")
    if sp.issparse(y):
        given = (checked_rows(y, name) if y.ndim == 2 else y).toarray()
    else:
        try:
            given = np.asarray(y)
        except ValueError:
            said = f"{name} has rows of different lengths: give (n,), or (n, L) of 0 and 1"
            raise ValueError(said) from None
        if given.dtype.kind == "O" or (given.dtype.kind in "US" and isinstance(y, list | tuple)):
            given = _of_one_kind(np.asarray(y, dtype=object), name)
    if given.ndim not in (1, 2):
        raise ValueError(
            f"{name} has the shape {given.shape}: give (n,), or (n, L) of 0 and 1 for each label"
        )
    if given.dtype.kind in "cV":
        raise ValueError(f"{name} has labels of type {given.dtype.name}: give real numbers, or strings")
    if given.dtype.kind in "fmM" and not np.isfinite(given).all():
        raise ValueError(f"{name} has entries that are NaN, NaT or infinite: all must be labels")
    if given.dtype.kind == "f" and (np.abs(given) > EXACT).any():
        raise ValueError(f"{name} has numbers beyond 2^53, not all of which are told apart: give strings")
    return given[:, 0] if given.shape[1:] == (1,) else given


def _of_one_kind(y: np.ndarray, name: str) -> np.ndarray:
    """Return labels that are Python objects as an array of numbers, or of strings.

    Raises ValueError if their types differ, or if integers need more than 64 bits.
    """
    entries = y.ravel().tolist()
    for kind in ((numbers.Real, np.bool_), str, bytes):
        if all(isinstance(entry, kind) for entry in entries):
            made = np.array(y.tolist())
            if made.dtype.kind == "O":
                raise ValueError(f"{name} has numbers that take more than 64 bits: give strings")
            return made
    found = " and ".join(sorted({type(entry).__name__ for entry in entries}))
    raise ValueError(f"{name} has labels of type {found}: give all numbers, or all strings")


def _kind(y: np.ndarray, offsets: Any, parents: Any, kinds: tuple[str, ...]) -> str:
    if parents is not None:
        return "tree"
    if offsets is not None:
        return "sequences"
    if "regression" in kinds:
        return "regression"
    if y.ndim == 2:
        targets = "multitask" in kinds or (not kinds and not np.isin(y, (0, 1)).all())
        return "multitask" if targets else "multilabel"
    if not kinds and _measured(y):
        return "regression"
    two = np.unique(y).size == 2
    return "binary" if two and (not kinds or "binary" in kinds) else "multiclass"


def _measured(y: np.ndarray) -> bool:
    """Return whether labels are numeric targets: more than two values, and not all of them integers."""
    return y.dtype.kind == "f" and bool((y != np.trunc(y)).any()) and np.unique(y).size > 2


def _targets(y: np.ndarray, kind: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return numeric targets and their names; raise ValueError if they are invalid."""
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y holds {y.dtype.name}: the targets of a regression are numbers")
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.ndim != (1 if kind == "regression" else 2):
        right = "(n,); multitask-squared takes several targets" if kind == "regression" else "(n, targets)"
        raise ValueError(f"y has the shape {y.shape}: give {right}")
    if np.abs(y).max(initial=0.0) > LARGEST_ENTRY:
        raise ValueError(f"y has entries beyond {LARGEST_ENTRY:g}: scale them down")
    names = ("y",) if kind == "regression" else tuple(f"y{c + 1}" for c in range(y.shape[1]))
    return y, names


def _whole(name: str, values: Any) -> np.ndarray:
    given = np.asarray(values)
    flat = given.ndim == 1 and given.size and given.dtype.kind in "iuf" and not hidden(values)
    if not (flat and np.all(np.abs(given) <= EXACT) and np.all(given == np.trunc(given))):
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
    """Return the bytes of an array, without a copy if the array is contiguous."""
    array = np.ascontiguousarray(array)
    return array.tobytes() if array.dtype.hasobject else array.view(np.uint8).data if array.size else b""


def digest_of(*arrays: Any) -> str:
    """Return a hash of the contents and lengths of arrays, dense or sparse."""
    digest = hashlib.sha256()
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sp.issparse(array) else (array,)
        for part in parts:
            if part is not None:
                digest.update(str(part.shape).encode())
                digest.update(_bytes_of(part))
    return digest.hexdigest()
