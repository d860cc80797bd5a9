"""What a loader returns and what a user gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError
from .examples import Example, examples

if TYPE_CHECKING:
    import scipy.sparse

    from .matrix import Products

LARGEST = 1e100


@dataclass(frozen=True)
class Part:
    """A training or a test part.

    X        (n, d) rows are samples, or tokens of sequences; see `matrix` for lazy matrices
    y        binary: (n,) int8 in {-1, +1}; tree: (n,) int32 node of the leaf; multilabel: (n, L) CSR int8;
             multiclass, sequences: (n,) int32 codes, in a test part -1 for labels unseen in training;
             function: its pieces (see loaders.toys), X being the identity: a row a variable
    offsets  sequences: (n_sequences + 1,) int64, sequence i is the rows offsets[i] .. offsets[i + 1]
    """

    X: np.ndarray | scipy.sparse.csr_matrix | Products
    y: np.ndarray | scipy.sparse.csr_matrix
    offsets: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        """Count the sequences where there are any, else the rows."""
        return self.X.shape[0] if self.offsets is None else len(self.offsets) - 1

    def take(self, samples: np.ndarray) -> Part:
        """Return the part with these samples (sequences, where there are any), in this order."""
        if self.offsets is None:
            return Part(_rows(self.X, samples), self.y[samples])
        lengths = np.diff(self.offsets)[samples]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.offsets[:-1][samples] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Part(_rows(self.X, rows), self.y[rows], offsets)


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.take(rows) if hasattr(X, "csc_rows") else X[rows]


@dataclass(frozen=True)
class Content:
    """What a loader returns: data before splitting, scaling, products and the other common options.

    `kind` overrides the entry's where it depends on what is in a file; `start` is where solvers start, 0
    where there is none. `texts(i)` is the text of training sample i before any split, for examples; test
    samples come after the training ones.
    """

    train: Part
    label_names: tuple[str, ...]
    feature_names: Sequence[str]
    digest: str
    test: Part | None = None
    kind: str | None = None
    parents: np.ndarray | None = None
    picture_shape: tuple[int, int] | None = None
    texts: Callable[[int], str] | None = None
    start: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set ready for a solver, with what a card and a trace say about it.

    `options` holds every effective option; `metric` names a measure of its own ("entity-f1", see `metrics`;
    "f1" of a class against the rest); `lam` is a λ for `loss` and `penalty` that is worth a run, or None;
    `parents` is the int32 parent of each node (-1 for the root) of trees, whose labels are nodes; `start` is
    where solvers start; `digest` is the SHA-256 of the source files or of a generator's parameters.
    """

    id: str
    options: Mapping[str, Any]
    seed: int
    kind: str
    train: Part
    test: Part | None
    label_names: tuple[str, ...]
    feature_names: Sequence[str]
    loss: str
    penalty: str
    summary: str
    description: str
    source: str
    terms: str
    digest: str
    lam: float | None = None
    metric: str | None = None
    parents: np.ndarray | None = None
    picture_shape: tuple[int, int] | None = None
    texts: Callable[[int], str] | None = field(default=None, repr=False, compare=False)
    start: tuple[float, ...] | None = None

    @property
    def X(self) -> Any:
        return self.train.X

    @property
    def y(self) -> Any:
        return self.train.y

    @property
    def offsets(self) -> np.ndarray | None:
        return self.train.offsets

    @property
    def n_samples(self) -> int:
        """Count the training sequences for kind "sequences", else the training rows."""
        return self.train.n_samples

    @property
    def n_features(self) -> int:
        return self.train.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Count the classes, labels or tags; for trees the nodes."""
        return len(self.label_names)

    def examples(self, k: int = 6) -> list[Example]:
        """Return up to k training samples as a card shows them, spread over the labels."""
        return examples(self, k)


def check(dataset: Dataset) -> Dataset:
    """Check loaded data, of whatever source, and return them.

    Raises DataError for an empty set, features that are NaN or infinite, one class only, a sequence of length
    0, and labels that do not line up with rows.
    """
    for name, part in (("training", dataset.train), ("test", dataset.test)):
        if part is not None:
            _check_part(dataset, name, part)
    if dataset.kind == "function":
        return dataset
    if dataset.kind == "multilabel":
        counts = np.bincount(dataset.y.indices, minlength=dataset.n_classes)
        if not np.any((counts > 0) & (counts < dataset.n_samples)):
            raise DataError(
                f"{dataset.id}: no label is on some samples and off on others; at least one must be."
            )
    elif len(np.unique(dataset.y)) < 2:
        raise DataError(
            f"{dataset.id}: all training samples have the same label; at least two classes are needed."
        )
    return dataset


def _check_part(dataset: Dataset, name: str, part: Part) -> None:
    n, d = part.X.shape
    if part.n_samples == 0 or n == 0 or d == 0:
        raise DataError(
            f"{dataset.id}: the {name} part is empty ({part.n_samples:,} samples, {d:,} features); at "
            "least one sample and one feature are needed."
        )
    if part.y.shape[0] != n and dataset.kind != "function":
        raise DataError(
            f"{dataset.id}: the {name} part has {n:,} rows but {part.y.shape[0]:,} labels; give one a row."
        )
    if part.offsets is not None:
        if part.offsets[0] != 0 or part.offsets[-1] != n:
            raise DataError(
                f"{dataset.id}: the offsets of the {name} part do not go from 0 to its {n:,} rows."
            )
        empty = np.flatnonzero(np.diff(part.offsets) <= 0)
        if len(empty):
            raise DataError(
                f"{dataset.id}: sequence {empty[0] + 1:,} of the {name} part has length 0; every "
                "sequence needs at least one token."
            )
    check_values(dataset.id, name, part.X)


def check_values(id: str, name: str, X: Any) -> None:
    """Raise DataError where features of a part are not finite, or so large that sums of squares would not
    be."""
    base = X.base() if hasattr(X, "csc_rows") else X
    values = base if isinstance(base, np.ndarray) else base.data
    largest = float(np.maximum(values.max(initial=0), -values.min(initial=0)))
    if not np.isfinite(largest):
        raise DataError(f"{id}: the {name} part has features that are NaN or infinite; all must be finite.")
    if largest > LARGEST:
        raise DataError(f"{id}: the {name} part has features beyond {LARGEST:g}; scale them down.")
