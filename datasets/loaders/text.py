"""From texts to word counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat

import numpy as np
import scipy.sparse

_WORD = re.compile(r"\b\w\w+\b")


def words(text: str) -> list[str]:
    r"""Lower-cased words of at least two letters or digits, \b\w\w+\b."""
    return _WORD.findall(text.lower())


def word_counts(
    train: Iterable[str], test: Iterable[str], split: Callable[[str], list[str]]
) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix, tuple[str, ...]]:
    """Counts (n, d) of both parts in the words of the training part, and these words, sorted."""
    numbers: dict[str, int] = {}
    codes, indptr = [], [0]
    for text in train:
        codes += [numbers.setdefault(word, len(numbers)) for word in split(text)]
        indptr.append(len(codes))
    vocabulary = tuple(sorted(numbers))
    order = np.empty(len(vocabulary), np.int32)
    order[[numbers[word] for word in vocabulary]] = np.arange(len(vocabulary))
    first = _counts(order[codes], indptr, len(vocabulary))
    codes, indptr = [], [0]
    for text in test:
        codes += [code for code in map(numbers.get, split(text), repeat(-1)) if code >= 0]
        indptr.append(len(codes))
    return first, _counts(order[codes], indptr, len(vocabulary)), vocabulary


def _counts(columns: np.ndarray, indptr: Sequence[int], d: int) -> scipy.sparse.csr_matrix:
    X = scipy.sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.asarray(indptr, np.int64)), (len(indptr) - 1, d)
    )
    X.sum_duplicates()
    return X


def mutual_information(X: scipy.sparse.csr_matrix, Y: np.ndarray) -> np.ndarray:
    """I(word present; label on), in nats, summed over the labels: (d,).

    X (n, d) counts, Y (n, L) 0/1.
    """
    n = X.shape[0]
    present = scipy.sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    both = present.T @ Y.astype(np.float64)
    word, label = np.asarray(present.sum(0)).reshape(-1, 1), Y.sum(0).reshape(1, -1).astype(np.float64)
    total = np.zeros(X.shape[1])
    for joint, a, b in (
        (both, word, label),
        (word - both, word, n - label),
        (label - both, n - word, label),
        (n - word - label + both, n - word, n - label),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = joint / n * np.log(joint * n / (a * b))
        total += np.where(joint > 0, terms, 0).sum(1)
    return total
