"""Conditional random fields for label sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..linalg.arrays import ArrayPart, features_of
from ..linalg.scores import Scores
from ..problems.losses import crf
from .base import Estimator
from .sequences import (
    has_named_features,
    join_labels,
    join_named_features,
    join_rows,
    sequences_of,
    sort_of,
)


class ChainCRF(Estimator):
    """Linear-chain conditional random field with any compatible penalty: by default λ‖w‖₁, solved by
    ``prox-qn``.

    X is a list of sequences, y a list of the labels of their tokens. So ``cross_val_score`` and
    ``GridSearchCV`` of scikit-learn work, but functions that require one array do not. A sequence is an array
    of the features of its tokens, (n_tokens, d), NumPy, SciPy sparse or a DataFrame. Or it is a list of
    tokens with named features, as in sklearn-crfsuite: each a dict, or a list or set of names of weight 1.

    In a dict, ``{"pos": "NN"}`` is the feature ``pos:NN`` of weight 1. ``True`` is weight 1, ``False`` no
    feature, and a number is a weight. In prediction, features that were not in the training data are ignored.

    Parameters and attributes are those of :class:`Estimator`, with these additional attributes:

    Attributes
    ----------
    feature_names_in_ : array of shape (n_features,)
        The names of features, sorted, or of a DataFrame's columns.
    vectorizer_ : DictVectorizer or None
        The mapping of named features to columns; None if X consisted of arrays.
    transitions_ : array of shape (n_classes, n_classes)
        The weight of the transition from one label (row) to the next (column).

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope.solvers.estimators import ChainCRF
    >>> X, y = [np.eye(2), np.eye(2)[[0, 1, 1]]], [["a", "b"], ["a", "b", "b"]]
    >>> [said.tolist() for said in ChainCRF(lam=0.1).fit(X, y).predict(X)]
    [['a', 'b'], ['a', 'b', 'b']]

    >>> X, y = [[{"word": "the"}], [{"word": "cat", "short": True}]], [["DET"], ["NOUN"]]
    >>> model = ChainCRF(lam=0.1).fit(X, y)
    >>> model.feature_names_in_.tolist()
    ['short', 'word:cat', 'word:the']
    >>> token = model.predict_marginals([[{"word": "the"}]])[0][0]
    >>> {label: round(p, 2) for label, p in token.items()}
    {'DET': 0.9, 'NOUN': 0.1}
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        return tags

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Fit the model to sequences and the labels of their tokens."""
        sequences = sequences_of(X)
        if has_named_features(sequences):
            self.vectorizer_ = DictVectorizer()
            tokens, offsets = join_named_features(sequences)
            rows = features_of(self.vectorizer_.fit_transform(tokens))
            names = self.vectorizer_.get_feature_names_out()
        else:
            self.vectorizer_ = None
            rows, offsets, names = join_rows(sequences)
        labels = join_labels(y, offsets)
        self.n_features_in_ = rows.shape[1]
        if len(names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = np.unique(labels)
        problem, w = self._solve(rows, labels, "chain-crf", offsets=offsets)
        _, transitions = problem.unpack(w)
        self.transitions_ = transitions.copy()
        return self

    def _scores_of(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of all tokens, (n_tokens, n_classes), and the offsets of the sequences.

        Raises ValueError if X is not in the form of that in ``fit``.
        """
        check_is_fitted(self)
        sequences, own = sequences_of(X), type(self).__name__
        if self.vectorizer_ is not None:
            tokens, offsets = join_named_features(sequences)
            return self._scores(self.vectorizer_.transform(tokens)), offsets
        if has_named_features(sequences):
            raise ValueError(f"X has named features, but {own} was fitted with arrays: give arrays")
        rows, offsets, names = join_rows(sequences)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {own} is expecting {self.n_features_in_} features as "
                "input"
            )
        if names and names != tuple(getattr(self, "feature_names_in_", names)):
            raise ValueError(f"the columns of X are not those that {own} was fitted with, in their order")
        return self._scores(rows), offsets

    def predict(self, X: Sequence[Any]) -> list[np.ndarray]:
        """Return the most likely labels of each sequence, by the Viterbi algorithm."""
        labels, offsets = self._predicted(X)
        return np.split(labels, offsets[1:-1])

    def predict_marginals(self, X: Sequence[Any]) -> list[list[dict[Any, float]]]:
        """Return the probability of each label at each token, by forward-backward.

        Each sequence is a list with a dict from label to probability for each token, as in sklearn-crfsuite.
        """
        Z, offsets = self._scores_of(X)
        part = ArrayPart(None, np.zeros(len(Z)), offsets)
        loss = crf.ChainCRF().bind(part, self.classes_.size)
        P = loss.marginals(Scores(np.ascontiguousarray(Z), self.transitions_.ravel()))
        labels = self.classes_.tolist()
        tokens = [dict(zip(labels, row, strict=True)) for row in P.tolist()]
        return [tokens[lo:hi] for lo, hi in pairwise(offsets)]

    def _predicted(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the predicted labels of all tokens, and the offsets of the sequences, (n_sequences + 1,)."""
        Z, offsets = self._scores_of(X)
        codes = np.empty(len(Z), dtype=np.int64)
        crf.viterbi(Z, self.transitions_, offsets, codes)
        return self.classes_[codes], offsets

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Return the fraction of tokens whose label is predicted correctly."""
        labels, offsets = self._predicted(X)
        truth = join_labels(y, offsets)
        if sort_of(truth) != sort_of(labels):
            raise ValueError(
                f"y has labels that are {sort_of(truth)}, but {type(self).__name__} was fitted with "
                f"{sort_of(labels)}"
            )
        return float(np.mean(labels == truth))
