"""Sequences of tokens, and their labels, as the rows of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.arrays import features_of, labels_of


def _listed(values: Any, name: str, right: str) -> list[Any]:
    """Return a list of sequences; ValueError, one sentence, where it is none or empty."""
    try:
        given = [] if isinstance(values, str | bytes) else list(values)
    except TypeError:
        given = []
    if not given:
        raise ValueError(f"{name} holds no sequence: give a list of at least one, {right}")
    return given


def join_rows(X: Sequence[Any]) -> tuple[Any, np.ndarray]:
    """Return the rows of all sequences, and where each begins and the last one ends."""
    given = _listed(X, "X", "each the features of its tokens, (n_tokens, d)")
    parts = [features_of(one, f"sequence {k:,} of X") for k, one in enumerate(given, 1)]
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the sequences of X differ in their numbers of features: give all the same features")
    rows = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.vstack(parts)
    return rows, np.cumsum([0, *(part.shape[0] for part in parts)])


def join_labels(y: Sequence[Any], offsets: np.ndarray) -> np.ndarray:
    """Return the labels of all tokens of sequences that begin and end at ``offsets``."""
    given = _listed(y, "y", "each the labels of its tokens")
    lengths = np.diff(offsets)
    if len(given) != lengths.size:
        raise ValueError(f"X has {lengths.size:,} sequences and y has {len(given):,}: give labels for each")
    labels = [labels_of(one, f"sequence {k:,} of y") for k, one in enumerate(given, 1)]
    for k, (one, length) in enumerate(zip(labels, lengths, strict=True), 1):
        if one.shape != (length,):
            raise ValueError(
                f"sequence {k:,} has {length:,} tokens and labels of shape {one.shape}: give a label for "
                "each token"
            )
    if len(sorts := sorted(set(map(sort_of, labels)))) > 1:
        raise ValueError(f"y has labels that are {' and '.join(sorts)}: give all of one sort")
    return np.concatenate(labels)


def sort_of(labels: np.ndarray) -> str:
    sorts = {"U": "strings", "T": "strings", "S": "bytes", "M": "dates", "m": "time spans"}
    return sorts.get(labels.dtype.kind, "numbers")
