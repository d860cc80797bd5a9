"""Classifiers of single rows, for two classes and for more."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ..declare import Trait
from ..linalg.arrays import labels_of
from ..registry import LOSSES
from .base import Estimator, check_numbers, sound_rows


def _tells_probabilities(estimator: _OfRows) -> bool:
    """Return whether the loss is the likelihood of a log-linear model."""
    known = LOSSES.get(estimator.loss)
    return known is not None and Trait.LOG_LINEAR in known.traits


class _OfRows(ClassifierMixin, Estimator):
    """Base of the classifiers of single rows, which learn by their ``loss``."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X``, (n, d), NumPy or SciPy sparse, and their labels ``y``, (n,)."""
        given, labels = X, y
        X, y = validate_data(self, sound_rows(X), y, accept_sparse="csr", dtype=np.float64)
        check_numbers(given)
        check_classification_targets(y)
        labels_of(labels)
        two = not self.__sklearn_tags__().classifier_tags.multi_class
        if two and (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: take "
                "SparseMulticlass"
            )
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(f"y holds one class, {self.classes_[0]!r}: at least two classes are needed")
        self._solve(X, y, self.loss)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows: of the second class, (n,), where there are two, else (n, n_classes)."""
        check_is_fitted(self)
        Z = self._scores_of(X)
        if Z.shape[1] == 1:
            return Z[:, 0]
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    def _scores_of(self, X: Any) -> np.ndarray:
        """Return the scores of rows as the loss has them, (n, n_outputs)."""
        given, X = X, validate_data(self, sound_rows(X), accept_sparse="csr", dtype=np.float64, reset=False)
        check_numbers(given)
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the highest score of each row, (n,), as the metric of the trace counts it."""
        check_is_fitted(self)
        Z = self._scores_of(X)
        return self.classes_[(Z[:, 0] >= 0.0).astype(int) if Z.shape[1] == 1 else Z.argmax(axis=1)]

    @available_if(_tells_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n, n_classes)."""
        Z = self.decision_function(X)
        return softmax(Z, axis=1) if Z.ndim == 2 else np.column_stack([expit(-Z), expit(Z)])


@dataclass(eq=False, repr=False)
class SparseLogistic(_OfRows):
    """Logistic loss of two classes with any penalty that fits: by default λ‖w‖₁ by ``newton-cd``.

    Parameters and attributes are those of :class:`Estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from solverscope.solvers.estimators import SparseLogistic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseLogistic(lam=0.01).fit(scale(X), y)
    >>> model.trace_.status, int((model.coef_ != 0.0).sum())
    ('converged', 11)
    """

    solver: str = "newton-cd"
    loss: ClassVar[str] = "logistic"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False)
class SparseMulticlass(_OfRows):
    """A loss of two classes or more with any penalty that fits: by default λΣ_j ‖W_j:‖₂ by
    ``anderson-bcd``, which leaves out whole features.

    ``loss`` is one for multiclass labels: ``multiclass-logistic``, ``multiclass-squared-hinge``,
    ``multitask-squared-hinge`` (one class against the rest) or ``multiclass-hinge``. Probabilities are those
    of ``multiclass-logistic`` alone. The other parameters and the attributes are those of
    :class:`Estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from solverscope.solvers.estimators import SparseMulticlass
    >>> X, y = load_iris(return_X_y=True)
    >>> SparseMulticlass(lam_ratio=0.1).fit(X, y).coef_.shape
    (3, 4)
    """

    solver: str = "anderson-bcd"
    _: KW_ONLY
    penalty: str = "l1-l2"
    loss: str = "multiclass-logistic"
