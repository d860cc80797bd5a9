"""Conversion of the labels of files to codes and names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from ..errors import DataError
from ..kinds import NUMERIC

#: So many whole numbers are classes with any number of rows; of more each has so many rows on average.
FEW_CLASSES, LEAST_OF_A_CLASS = 20, 10


def name_of(label: float | str) -> str:
    """Return the displayed name of a label, such as 3 for 3.0. Different labels have different names."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def encode(kind: str, *parts: np.ndarray) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Return the codes of each part's labels, one per sample, and the sorted names of the classes.

    The first part is for training. Numeric targets stay as they are. Binary labels become -1 for the smaller
    and +1 for the larger one. Other labels become int32 codes, -1 for those that do not occur in training.
    Raises DataError if a binary set does not have exactly two labels.
    """
    if not len(parts[0]):
        raise DataError("No training sample has a label; at least two samples need different ones.")
    if kind in NUMERIC:
        return [np.ascontiguousarray(part, dtype=np.float64) for part in parts], ("y",)
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
    """Return labels as numbers if all of them are finite numbers, else as strings."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return np.array(values)
    return (
        numbers
        if np.isfinite(numbers).all() and not any("_" in value for value in values)
        else np.array(values)
    )


def kind_of(kind: str, labels: np.ndarray, where: str, right: str) -> str:
    """Return the kind of labels, one per row: ``kind``, or, if that is "auto", a guess.

    Two different labels are guessed to be binary. Numbers are targets of a regression if not all are
    integers, or if nearly all are different; otherwise labels are classes. Raises DataError if labels do not
    suit the kind, or if strings are nearly all different. Its message starts with ``where`` and ends with
    ``right``, the remedy.
    """
    texts, classes = labels.dtype.kind == "U", np.unique(labels)
    many = len(classes) > FEW_CLASSES and len(labels) < LEAST_OF_A_CLASS * len(classes)
    measured = labels.dtype.kind == "f" and (classes != np.round(classes)).any() and len(classes) > 2
    if kind == "auto":
        if many and texts:
            raise DataError(
                f"{where} has {len(classes):,} different texts in {len(labels):,} rows, which are no "
                f"classes: {right}, or say kind=multiclass."
            )
        return "binary" if len(classes) == 2 else "regression" if many or measured else "multiclass"
    if kind in NUMERIC and texts:
        raise DataError(f"{where} holds texts: the targets of a regression are numbers.")
    if kind not in NUMERIC and measured:
        broken = classes[classes != np.round(classes)][0]
        raise DataError(
            f"{where} holds numbers that are not whole, such as {broken:.6g}, which are no "
            f"classes: {right}, or say kind=regression."
        )
    return kind


def indicator(codes: np.ndarray, offsets: np.ndarray, n_labels: int) -> scipy.sparse.csr_matrix:
    """Return the 0/1 matrix (n, n_labels), int8, whose row i has ones at codes[offsets[i] : offsets[i + 1]].

    Negative codes are ignored.
    """
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = codes >= 0
    ones = np.ones(int(known.sum()), np.int8)
    Y = scipy.sparse.csr_matrix((ones, (rows[known], codes[known])), (len(offsets) - 1, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
