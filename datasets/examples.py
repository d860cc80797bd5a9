"""What a card shows of a data set: pictures, texts, or the strongest features of a few samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from .dataset import Dataset


@dataclass(frozen=True)
class Example:
    """One sample as a card shows it: its label, and pictures (n, height, width) in [0, 1] or a text."""

    label: str
    pictures: np.ndarray | None = None
    text: str | None = None


def examples(dataset: Dataset, k: int) -> list[Example]:
    """Return up to k training samples, one label after the other; none of a function."""
    if dataset.kind == "function":
        return []
    return [_example(dataset, int(i)) for i in _spread(dataset, k)]


def _spread(dataset: Dataset, k: int) -> np.ndarray:
    n = dataset.n_samples
    if dataset.kind in ("sequences", "multilabel"):
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
    """Return the rows, dense, without products."""
    X = dataset.X
    X = X.base(rows) if hasattr(X, "csc_rows") else X[rows]
    return X.toarray().astype(float) if scipy.sparse.issparse(X) else X


def _label(dataset: Dataset, rows: np.ndarray) -> str:
    names, y = dataset.label_names, dataset.y[rows]
    if dataset.kind == "binary":
        return names[int(y[0] > 0)]
    if dataset.kind == "multilabel":
        return ", ".join(names[j] for j in y.indices) or "none"
    if dataset.kind == "sequences":
        return ("" if all(len(name) == 1 for name in names) else " ").join(names[j] for j in y)
    return names[y[0]]
