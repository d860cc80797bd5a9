"""Conditional random fields over label sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..problems.losses.crf import viterbi
from .base import Estimator
from .sequences import join_labels, join_rows, sort_of


class ChainCRF(Estimator):
    """Conditional random field over chains with any penalty that fits: by default λ‖w‖₁ by ``prox-qn``.

    X is a list of sequences, each the features of its tokens, (n_tokens, d), NumPy or SciPy sparse; y is a
    list of the labels of their tokens. So it goes into scikit-learn's ``cross_val_score`` and
    ``GridSearchCV``, not into what works on one array. Parameters and attributes are those of
    :class:`Estimator`, and besides:

    Attributes
    ----------
    transitions_ : array of shape (n_classes, n_classes)
        The weight of each label that is followed by each other one, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope.solvers.estimators import ChainCRF
    >>> X, y = [np.eye(2), np.eye(2)[[0, 1, 1]]], [["a", "b"], ["a", "b", "b"]]
    >>> [said.tolist() for said in ChainCRF(lam=0.1).fit(X, y).predict(X)]
    [['a', 'b'], ['a', 'b', 'b']]
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Learn from sequences and the labels of their tokens."""
        rows, offsets = join_rows(X)
        labels = join_labels(y, offsets)
        self.n_features_in_ = rows.shape[1]
        self.classes_ = np.unique(labels)
        self.transitions_ = self._solve(rows, labels, "chain-crf", offsets)
        return self

    def predict(self, X: Sequence[Any]) -> list[np.ndarray]:
        """Return the most likely labels of each sequence, by Viterbi's algorithm."""
        labels, offsets = self._predicted(X)
        return np.split(labels, offsets[1:-1])

    def _predicted(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of all tokens, and where each sequence begins and the last one ends."""
        check_is_fitted(self)
        rows, offsets = join_rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        codes = np.empty(rows.shape[0], dtype=np.int64)
        viterbi(self._scores(rows), self.transitions_, offsets, codes)
        return self.classes_[codes], offsets

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Return the share of tokens whose label is predicted right."""
        labels, offsets = self._predicted(X)
        truth = join_labels(y, offsets)
        if sort_of(truth) != sort_of(labels):
            raise ValueError(
                f"y has labels that are {sort_of(truth)}, but {type(self).__name__} was fitted with "
                f"{sort_of(labels)}"
            )
        return float(np.mean(labels == truth))
