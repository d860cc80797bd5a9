"""Conversion of texts to word counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np
import scipy.sparse
from scipy.special import rel_entr

from ..dataset import Content, Part
from ..errors import DataError, short
from .labels import encode

#: Characters of a text that are shown.
SHOWN = 300

#: A class and a text.
Labelled = tuple[str, str]


def classified(
    train: list[Labelled],
    test: list[Labelled],
    split: Callable[[str], list[str]] | None = None,
) -> Content:
    """Return word counts of texts that have one class each; ``split`` is passed on to :func:`word_counts`."""
    X, X_test, vocabulary = word_counts((text for _, text in train), (text for _, text in test), split)
    (y, y_test), names = encode(
        "multiclass", *(np.array([label for label, _ in part]) for part in (train, test))
    )
    shown = [text[:SHOWN] for _, text in train + test]
    return Content(Part(X, y), names, vocabulary, test=Part(X_test, y_test), texts=lambda i: shown[i])


def word_counts(
    train: Iterable[str], test: Iterable[str], split: Callable[[str], list[str]] | None = None
) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix, tuple[str, ...]]:
    """Return the word counts (n, d) of both parts, and the sorted words, which are those that occur in
    training.

    ``split`` splits a text into words; by default scikit-learn's CountVectorizer does.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # here, since it is slow to import

    vectorizer = CountVectorizer(analyzer=split or "word", dtype=np.float64)
    try:
        counts = vectorizer.fit_transform(train)
    except ValueError as error:
        raise DataError(f"The training part has no words ({short(error)}): get the file again.") from None
    counts.sort_indices()
    return counts, vectorizer.transform(test), tuple(vectorizer.get_feature_names_out())


def mutual_information(X: scipy.sparse.csr_matrix, Y: np.ndarray) -> np.ndarray:
    """Return the mutual information (d,) of the presence of each word and each label, in nats, summed over
    labels."""
    n = X.shape[0]
    present = scipy.sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    both = present.T @ Y.astype(np.float64)
    word, label = np.asarray(present.sum(0)).reshape(-1, 1), Y.sum(0).reshape(1, -1).astype(np.float64)
    cells = (
        (both, word, label),
        (word - both, word, n - label),
        (label - both, n - word, label),
        (n - word - label + both, n - word, n - label),
    )
    return reduce(np.add, (rel_entr(joint / n, a * b / n**2).sum(1) for joint, a, b in cells))
