"""Data sets as users get them, and their content as loaders return it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .errors import DataError
from .kinds import NUMERIC, ONE_CLASS
from .metrics import entity_f1

if TYPE_CHECKING:
    from .matrix import Products

#: The largest feature that all solvers can work with: squares of it, and ratios of these, are finite and
#: beyond no safeguard of theirs.
MAX_ENTRY = 1e12


@dataclass(frozen=True)
class Part:
    """The training or the test part of a data set.

    Attributes
    ----------
    X : array, CSR matrix or Products, shape (n, d)
        Rows are samples, or tokens of sequences.
    y : array or CSR matrix
        Binary: (n,) int8, -1 or +1. Multiclass and sequences: (n,) int32 codes from 0; in a test part -1 for
        labels unseen in training. Tree: (n,) int32, the node of the leaf. Multilabel: (n, L) CSR, int8.
        Regression: (n,) float64 targets. Multitask: (n, k) float64. Function: its pieces (see
        :mod:`solverscope.datasets.loaders.toys`); X is the identity, with a row per variable.
    offsets : array, shape (n_sequences + 1,), optional
        int64; sequence i consists of the rows ``offsets[i]`` to ``offsets[i + 1]``, the last excluded.
    sample_weight : array, shape (n,), optional
        Nonnegative weights of the samples in the loss, or in the metric of a test part.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets
    >>> part = datasets.Part(np.eye(3), np.array([0, 1, 1], np.int32), offsets=np.array([0, 1, 3]))
    >>> part.n_samples, part.take(np.array([1])).X.shape
    (2, (2, 3))
    """

    X: np.ndarray | scipy.sparse.csr_matrix | Products
    y: np.ndarray | scipy.sparse.csr_matrix
    offsets: np.ndarray | None = None
    sample_weight: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        """Return the number of sequences, or of rows if there are no sequences."""
        return self.X.shape[0] if self.offsets is None else len(self.offsets) - 1

    def take(self, samples: np.ndarray) -> Part:
        """Return the part that consists of the samples or sequences with these indices, in this order."""
        weights = None if self.sample_weight is None else self.sample_weight[samples]
        if self.offsets is None:
            return Part(_rows(self.X, samples), self.y[samples], None, weights)
        lengths = np.diff(self.offsets)[samples]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.offsets[:-1][samples] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Part(_rows(self.X, rows), self.y[rows], offsets, weights)


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.take(rows) if hasattr(X, "csc_rows") else X[rows]


@dataclass(frozen=True)
class Content:
    """The content of a data set as a loader returns it, before the common options (split, scale, ...) are
    applied.

    Attributes
    ----------
    train, test : Part
        ``test`` is None if the source has no test part.
    label_names, feature_names : sequence of str
        Names of the classes, labels, tags, nodes or targets, and of the columns of X. By default columns are
        named after pixels if there is a ``picture_shape``, else x1, x2, ...
    digest : str, optional
        A hash that changes whenever the data change; by default that of the :class:`Request`.
    kind : str, optional
        The kind of labels: binary, multiclass, multilabel, sequences, tree, regression, multitask or
        function; by default that of the :class:`DataSetInfo`.
    parents : array, shape (n_nodes,), optional
        int32, the parent of each node of a tree; -1 for the root.
    picture_shape : (int, int), optional
        Height and width of the images, if the features are pixels.
    texts : callable, optional
        ``texts(i)`` is the text of sample i; training samples come first.
    start : tuple of float, optional
        The starting point of solvers; 0 by default.
    """

    train: Part
    label_names: tuple[str, ...]
    feature_names: Sequence[str] = ()
    digest: str = ""
    test: Part | None = None
    kind: str | None = None
    parents: np.ndarray | None = None
    picture_shape: tuple[int, int] | None = None
    texts: Callable[[int], str] | None = field(default=None, repr=False, compare=False)
    start: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Example:
    """A sample for display: its label, and images (n, height, width) with values in [0, 1] or a text."""

    label: str
    pictures: np.ndarray | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset(Content):
    """A data set ready for a solver: content to which the common options have been applied.

    Attributes
    ----------
    id, summary, description, source, terms : str
        As in its :class:`DataSetInfo`.
    options : mapping
        The value of every option.
    seed : int
        The seed of the split or the generator.
    loss, penalty : str
        Ids of the default loss and penalty.
    lam : float, optional
        A suitable λ for this loss and penalty, if one is known.
    metric : str, optional
        A metric that replaces the default: "entity-f1" (see :func:`entity_scores`), or "f1" of one class
        against the rest.
    class_weights : tuple of float, optional
        The factor of each class in the weights of training samples.

    Examples
    --------
    >>> from solverscope import datasets
    >>> data = datasets.load("breast-cancer")
    >>> data.n_samples, data.n_features, data.label_names
    (456, 30, ('benign', 'malignant'))
    """

    id: str
    options: Mapping[str, Any]
    seed: int
    loss: str
    penalty: str
    summary: str
    description: str
    source: str
    terms: str
    lam: float | None = None
    metric: str | None = None
    class_weights: tuple[float, ...] | None = None

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
    def sample_weight(self) -> np.ndarray | None:
        """Return the weight of each training sample in the loss, (n,): its own weight times that of its
        class.

        Return None if all samples have the same weight.
        """
        own = self.train.sample_weight
        if self.class_weights is None:
            return own
        codes = (self.y > 0).astype(int) if self.kind == "binary" else self.y
        of_class = np.array(self.class_weights)[codes]
        return of_class if own is None else own * of_class

    @property
    def n_samples(self) -> int:
        """Return the number of training samples; for sequences, the number of sequences."""
        return self.train.n_samples

    @property
    def n_features(self) -> int:
        return self.train.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Return the number of classes, labels, tags, nodes or targets."""
        return len(self.label_names)

    @property
    def entity_f1(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
        """Return a function that computes the F1 of entities from labels, predicted labels and offsets."""
        return partial(entity_f1, self.label_names)

    def examples(self, k: int = 6) -> list[Example]:
        """Return up to ``k`` training samples for display, with labels in turn; the list is empty for a
        function."""
        if self.kind == "function":
            return []
        return [_example(self, int(i)) for i in _spread(self, k)]


def _spread(dataset: Dataset, k: int) -> np.ndarray:
    n = dataset.n_samples
    if dataset.kind in ("sequences", "multilabel", *NUMERIC):
        return np.linspace(0, n - 1, min(k, n)).astype(int)
    y = dataset.y
    # rank of each sample within its class: sorting by it takes one sample of each class in turn
    order = np.argsort(y, kind="stable")
    _, starts, counts = np.unique(y[order], return_index=True, return_counts=True)
    rank = np.empty(n, int)
    rank[order] = np.arange(n) - np.repeat(starts, counts)
    return np.lexsort((y, rank))[:k]


def _example(dataset: Dataset, i: int) -> Example:
    if dataset.offsets is None:
        rows = np.array([i])
    else:
        rows = np.arange(dataset.offsets[i], min(dataset.offsets[i + 1], dataset.offsets[i] + 40))
    pictures = text = None
    if dataset.picture_shape:
        height, width = dataset.picture_shape
        values = _features(dataset, rows)[:, : height * width]
        low, high = min(values.min(), 0), max(values.max(), 1)
        pictures = ((values - low) / (high - low)).reshape(len(rows), height, width)
    elif dataset.texts:
        text = dataset.texts(i)
    else:
        values = _features(dataset, rows[:1])[0]
        strongest = [j for j in np.argsort(-np.abs(values), kind="stable")[:8] if values[j]]
        text = ", ".join(f"{dataset.feature_names[int(j)]} = {values[j]:.3g}" for j in strongest)
    return Example(_label(dataset, rows), pictures, text)


def _features(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Return rows of features as a dense array, without products."""
    X = dataset.X
    X = X.base(rows) if hasattr(X, "csc_rows") else X[rows]
    return X.toarray().astype(float) if scipy.sparse.issparse(X) else X


def _label(dataset: Dataset, rows: np.ndarray) -> str:
    names, y = dataset.label_names, dataset.y[rows]
    if dataset.kind in NUMERIC:
        return ", ".join(f"{value:.4g}" for value in y.ravel()[:4])
    if dataset.kind == "binary":
        return names[int(y[0] > 0)]
    if dataset.kind == "multilabel":
        return ", ".join(names[j] for j in y.indices) or "none"
    if dataset.kind == "sequences":
        return ("" if all(len(name) == 1 for name in names) else " ").join(names[j] for j in y)
    return names[y[0]]


def check(dataset: Dataset) -> Dataset:
    """Check a loaded data set and return it.

    Raises DataError if a part or a sequence is empty, if a part has a single label, or if a label is invalid.
    Also raises it if the numbers of rows and labels differ.
    """
    for name, part in (("training", dataset.train), ("test", dataset.test)):
        if part is not None:
            _check_part(dataset, name, part)
    weighted = [part.sample_weight is not None for part in (dataset.train, dataset.test) if part is not None]
    if len(set(weighted)) > 1:
        raise DataError(f"{dataset.id}: one part has sample weights and the other has none; give both some.")
    if dataset.kind in ("function", *NUMERIC):
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
    right = (n, dataset.n_classes) if dataset.kind in ("multilabel", "multitask") else (n,)
    if part.y.shape != right and dataset.kind != "function":
        raise DataError(
            f"{dataset.id}: the {name} part has labels of shape {part.y.shape}; {dataset.kind} labels have "
            f"the shape {right}."
        )
    if dataset.kind in NUMERIC:
        check_values(dataset.id, name, part.y, what="targets")
    elif dataset.kind not in ("function", "multilabel"):
        _check_codes(dataset, name, part.y)
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
    if part.sample_weight is not None:
        _check_weights(dataset, name, part, part.sample_weight)


def _check_weights(dataset: Dataset, name: str, part: Part, weights: np.ndarray) -> None:
    if dataset.kind not in (*ONE_CLASS, *NUMERIC):
        raise DataError(
            f"{dataset.id}: sample weights need one class or numeric targets a sample, and these labels are "
            f"{dataset.kind}."
        )
    if weights.shape != (part.n_samples,):
        raise DataError(
            f"{dataset.id}: the {name} part has sample weights of shape {weights.shape}; give one for each "
            f"of {part.n_samples:,} samples."
        )
    if not np.isfinite(weights).all():
        raise DataError(
            f"{dataset.id}: the {name} part has sample weights that are NaN or infinite; all must be finite."
        )
    for wrong in (weights.min(), weights.max()):
        if not 0.0 <= wrong <= MAX_ENTRY:
            raise DataError(
                f"{dataset.id}: the {name} part has the sample weight {wrong:g}; give weights from 0 to "
                f"{MAX_ENTRY:g}."
            )
    if not weights.any():
        raise DataError(
            f"{dataset.id}: all sample weights of the {name} part are 0; at least one sample must count."
        )
    if name == "training" and dataset.kind not in NUMERIC and len(np.unique(part.y[weights > 0.0])) < 2:
        raise DataError(
            f"{dataset.id}: all training samples whose weight is not 0 have the same label; at least two "
            "classes are needed."
        )


def _check_codes(dataset: Dataset, name: str, y: np.ndarray) -> None:
    if dataset.kind == "binary":
        right, wrong = "-1 or +1", ~np.isin(y, (-1, 1))
    else:
        last = dataset.n_classes - 1
        right = f"whole numbers from 0 to {last:,}, one for each of its label_names"
        wrong = (y < (0 if name == "training" else -1)) | (y > last) | (y != np.floor(y))
    if wrong.any():
        raise DataError(
            f"{dataset.id}: the {name} part has the label {y[wrong][0]}; its labels must be {right}."
        )


def check_values(id: str, name: str, X: Any, most: float = MAX_ENTRY, *, what: str = "features") -> None:
    """Raise DataError if a feature or a target is not finite, or too large for the solvers."""
    lazy = hasattr(X, "csc_rows")
    base = X.base() if lazy else X
    values = base if isinstance(base, np.ndarray) else base.data
    # unsigned integers have no negative
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if not np.isfinite(largest):
        raise DataError(f"{id}: the {name} part has {what} that are NaN or infinite; all must be finite.")
    if largest > (math.sqrt(most) if lazy and X.degree == 2 else most):
        raise DataError(
            f"{id}: the {name} part has {what} beyond {most:g}; scale them down, as "
            f"{'scale' if what == 'features' else 'target_scale'}=standard does."
        )
