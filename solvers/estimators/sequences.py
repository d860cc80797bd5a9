"""Conversion of sequences of tokens, and of their labels, to the rows of one problem."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.arrays import LARGEST_ENTRY, features_of, labels_of, names_of_columns


def _listed(values: Any, name: str, right: str) -> list[Any]:
    """Return ``values`` as a list of sequences; raise ValueError if it is empty or not iterable.

    ``name`` and ``right``, a description of a valid item, are for the message.
    """
    try:
        given = [] if isinstance(values, str | bytes) else list(values)
    except TypeError:
        given = []
    if not given:
        raise ValueError(f"{name} holds no sequence: give a list of at least one, {right}")
    return given


def sequences_of(X: Sequence[Any]) -> list[Any]:
    """Return X as a list of sequences; raise ValueError if it is not a list of at least one."""
    return _listed(X, "X", "each the features of its tokens")


def join_rows(sequences: list[Any]) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """Join sequences of arrays or tables.

    Return their rows, the offsets (n_sequences + 1,), and the names of their columns, () for arrays. Raises
    ValueError if a sequence is invalid, or if sequences differ in their columns.
    """
    parts = [features_of(one, f"sequence {k:,} of X") for k, one in enumerate(sequences, 1)]
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the sequences of X differ in their numbers of features: give all the same features")
    names = {names_of_columns(one) for one in sequences}
    if len(names) > 1:
        raise ValueError("the sequences of X differ in the names of their columns: give all the same columns")
    rows = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.vstack(parts)
    return rows, np.cumsum([0, *(part.shape[0] for part in parts)]), names.pop()


def has_named_features(sequences: list[Any]) -> bool:
    """Return whether some token of the sequences is a dict of features, or a list or set of their names."""
    tokens = (token for one in sequences if isinstance(one, list | tuple) for token in one)
    return any(isinstance(token, Mapping) or (_is_of_names(token) and len(token) > 0) for token in tokens)


def _is_of_names(token: Any) -> bool:
    return isinstance(token, list | tuple | Set) and all(isinstance(name, str) for name in token)


def join_named_features(sequences: list[Any]) -> tuple[Iterator[Mapping[str, float]], np.ndarray]:
    """Join sequences of tokens whose features have names.

    Return the weights of each token by feature, and the offsets of the sequences. Tokens are read lazily.
    Raises ValueError if a sequence or a token is invalid.
    """
    for k, one in enumerate(sequences, 1):
        if not isinstance(one, list | tuple) or not one:
            raise ValueError(
                f"sequence {k:,} of X is no list of tokens: give at least one, a dict of features or a list "
                "of their names"
            )
    tokens = (
        _weights_of(token, f"token {t:,} of sequence {k:,} of X")
        for k, one in enumerate(sequences, 1)
        for t, token in enumerate(one, 1)
    )
    return tokens, np.cumsum([0, *map(len, sequences)])


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _weights_of(token: Any, place: str) -> Mapping[str, float]:
    """Return the weights of a token's features, by CRFsuite's rules.

    In a dict, a string makes the feature ``name:string`` of weight 1. A number is the weight of ``name``;
    True is 1, and False leaves the feature out. In a list or set, each name has weight 1. ``place`` names the
    token in messages.
    """
    if _is_of_names(token):
        return Counter(token)
    if not isinstance(token, Mapping):
        raise ValueError(f"{place} is neither a dict of features nor a list or set of their names, strings")
    weights: dict[str, float] = defaultdict(float)
    for name, value in token.items():
        if not isinstance(name, str):
            raise ValueError(f"{place} has the feature {name!r}: names of features are strings")
        if isinstance(value, str):
            weights[f"{name}:{value}"] += 1.0
        elif _is_number(value) and abs(value) <= LARGEST_ENTRY:
            if value:
                weights[name] += float(value)
        else:
            raise ValueError(
                f"{place} has {value!r} as feature {name!r}: give a string, a bool or a number up to "
                f"{LARGEST_ENTRY:g}"
            )
    return weights


def join_labels(y: Sequence[Any], offsets: np.ndarray) -> np.ndarray:
    """Return the labels of all tokens of sequences with these ``offsets``; raise ValueError if they do not
    match."""
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
