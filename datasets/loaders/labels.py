"""From the labels that stand in files to codes and names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from ..errors import DataError

#: So many classes are possible with any number of rows; of more each has so many rows on average.
FEW_CLASSES, LEAST_OF_A_CLASS = 20, 10


def name_of(label: float | str) -> str:
    """Return how a label is shown and typed, 3 for 3.0; labels that differ have names that differ."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def encode(kind: str, *parts: np.ndarray) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Codes of the labels of each part, one a sample, and the names of the classes in sorted order.

    Training comes first. Binary: -1 for the smaller of two labels, +1 for the larger; otherwise int32 codes,
    -1 for a label that the training part does not have. Raises DataError where a binary set has other than
    two labels.
    """
    if not len(parts[0]):
        raise DataError("No training sample has a label; at least two samples need different ones.")
    classes = np.unique(parts[0])
    if kind == "binary" and len(classes) != 2:
        raise DataError(
            f"A binary set has two different labels in training, not {len(classes):,}: use kind=multiclass."
        )
    coded = []
    for labels in parts:
        places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        codes = np.where(classes[places] == labels, places, -1).astype(np.int32)
        if kind == "binary":
            if (codes < 0).any():
                raise DataError(
                    f"The test part has label {name_of(labels[codes < 0][0])}, the training part does not."
                )
            codes = (2 * codes - 1).astype(np.int8)
        coded.append(codes)
    return coded, tuple(name_of(label) for label in classes.tolist())


def numbers_or_texts(values: Sequence[str]) -> np.ndarray:
    """Return labels as they stand in a file, as numbers if all of them are finite ones."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return np.array(values)
    return (
        numbers
        if np.isfinite(numbers).all() and not any("_" in value for value in values)
        else np.array(values)
    )


def check_classes(labels: np.ndarray, kind: str, where: str, right: str) -> None:
    """Raise DataError where labels of training are measured numbers, or nearly each row has its own.

    Where the user says what ``kind`` they are, they may be many. Two numbers may be any. ``where`` begins the
    message and ``right`` says what would be right.
    """
    classes = np.unique(labels)
    if labels.dtype.kind == "f":
        broken = classes[classes != np.round(classes)]
        if len(broken) and len(classes) > 2:
            raise DataError(
                f"{where} holds numbers that are not whole, such as {broken[0]:.6g}, which are no classes: "
                f"{right}."
            )
    if kind == "auto" and len(classes) > FEW_CLASSES and len(labels) < LEAST_OF_A_CLASS * len(classes):
        raise DataError(
            f"{where} has {len(classes):,} different values in {len(labels):,} rows, which are no classes: "
            f"{right}, or say kind=multiclass."
        )


def indicator(codes: np.ndarray, offsets: np.ndarray, n_labels: int) -> scipy.sparse.csr_matrix:
    """0/1 matrix (n, n_labels) int8: row i has codes[offsets[i] : offsets[i + 1]] but for negative ones."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = codes >= 0
    ones = np.ones(int(known.sum()), np.int8)
    Y = scipy.sparse.csr_matrix((ones, (rows[known], codes[known])), (len(offsets) - 1, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
