"""From the labels that stand in files to codes and names."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from ..errors import DataError


def name_of(label: float | str) -> str:
    """How a label is shown and typed: 3 for 3.0."""
    return f"{label:.12g}" if isinstance(label, float) else str(label)


def encode(
    kind: str, train: np.ndarray, test: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Codes of training and test labels, one a sample, and the names of the classes in sorted order.

    Binary: -1 for the smaller of two labels, +1 for the larger; otherwise int32 codes, -1 in the test part
    for a label that the training part does not have. Raises
    DataError where a binary set has other than two labels.
    """
    if not len(train):
        raise DataError("No training sample has a label; at least two samples need different ones.")
    classes, codes = np.unique(train, return_inverse=True)
    if kind == "binary" and len(classes) != 2:
        raise DataError(
            f"A binary set has two different labels in training, not {len(classes):,}: use kind=multiclass."
        )
    test_codes = None
    if test is not None:
        places = np.minimum(np.searchsorted(classes, test), len(classes) - 1)
        test_codes = np.where(classes[places] == test, places, -1).astype(np.int32)
        if kind == "binary" and (test_codes < 0).any():
            raise DataError(
                f"The test part has label {name_of(test[test_codes < 0][0])}, the training part does not."
            )
    if kind == "binary":
        codes = (2 * codes - 1).astype(np.int8)
        test_codes = None if test_codes is None else (2 * test_codes - 1).astype(np.int8)
    else:
        codes = codes.astype(np.int32)
    return codes, test_codes, tuple(name_of(label) for label in classes.tolist())


def indicator(codes: np.ndarray, offsets: np.ndarray, n_labels: int) -> scipy.sparse.csr_matrix:
    """0/1 matrix (n, n_labels) int8: row i has codes[offsets[i] : offsets[i + 1]] but for negative ones."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = codes >= 0
    ones = np.ones(int(known.sum()), np.int8)
    Y = scipy.sparse.csr_matrix((ones, (rows[known], codes[known])), (len(offsets) - 1, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
