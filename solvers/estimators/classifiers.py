"""Classifiers of single samples: for two classes, for several classes, and for sets of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..compatibility import losses_for
from ..declare import Trait
from ..linalg.arrays import labels_of
from ..problems.metrics.multilabel import fit_thresholds
from ..registry import LOSSES, lookup
from .base import AUTO, Estimator, checked_weights


def _tells_probabilities(estimator: _OfRows) -> bool:
    """Return whether the loss is the likelihood of a log-linear model, so that there are probabilities."""
    known = LOSSES.get(estimator.loss)
    return known is not None and Trait.LOG_LINEAR in known.traits


@dataclass(eq=False, repr=False)
class _OfRows(ClassifierMixin, Estimator):
    """Base of the classifiers of single samples, which minimize the loss with the id ``loss``.

    ``class_weight`` multiplies the weights of samples by those of their classes, a mapping or ``balanced``,
    as in scikit-learn. Losses with kinks do not accept weights.
    """

    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to ``X``, (n, d), NumPy or SciPy sparse, and labels ``y``, (n,).

        ``sample_weight``, (n,), has a weight for each sample.
        """
        X, y = self._validated(X, y)
        self._solve(X, self._classes(y), self.loss, sample_weight=self._weights(sample_weight, X, y))
        return self

    def _weights(self, sample_weight: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
        """Return the sample weights, times the weights of their classes; return None if all are 1."""
        weights = checked_weights(sample_weight, X)
        if weights is not None and y.ndim == 1 and np.unique(y[weights > 0.0]).size < 2:
            raise ValueError("sample_weight leaves one class: at least two classes are needed")
        if self.class_weight is None:
            return weights
        own = compute_sample_weight(self.class_weight, y)
        return own if weights is None else weights * own

    def _validated(self, X: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        """Return rows and labels as scikit-learn converts them; ``params`` are those of ``validate_data``."""
        X, converted = self._checked_rows(X, y, **params)
        check_classification_targets(converted)
        labels_of(y)
        return X, converted

    def _classes(self, y: np.ndarray) -> np.ndarray:
        """Set ``classes_`` from labels ``y``, (n,), and return y.

        Raises ValueError if there are too few or too many classes.
        """
        two = not self.__sklearn_tags__().classifier_tags.multi_class
        if two and (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: take "
                "SparseMulticlass"
            )
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(f"y holds one class, {self.classes_[0]!r}: at least two classes are needed")
        return y

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of samples: (n,) of the second of two classes, or (n, n_classes) of more."""
        check_is_fitted(self)
        Z = self._scores_of(X)
        if Z.shape[1] == 1:
            return Z[:, 0]
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    def _scores_of(self, X: Any) -> np.ndarray:
        """Return the scores of samples as the loss defines them, (n, n_outputs)."""
        return self._scores(self._checked_rows(X, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the highest score of each sample, (n,), as in the metric of the trace."""
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
    """Logistic regression for two classes with any compatible penalty: by default λ‖w‖₁, solved by
    ``newton-cd``.

    Parameters and attributes are those of :class:`Estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from solverscope.solvers.estimators import SparseLogistic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseLogistic(lam=0.01).fit(scale(X), y)
    >>> model.trace_.status, int((model.coef_ != 0.0).sum())
    ('converged', 9)
    """

    solver: str = "newton-cd"
    loss: ClassVar[str] = "logistic"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False)
class SparseMulticlass(_OfRows):
    """A linear classifier for two or more classes with any compatible loss and penalty.

    The default penalty is λΣ_j ‖W_j:‖₂, which leaves out whole features. The default solver is the fastest of
    this package that accepts loss and penalty. ``loss`` is one for multiclass labels:
    ``multiclass-logistic``, ``multiclass-squared-hinge``, ``multitask-squared-hinge`` (one class against the
    rest) or ``multiclass-hinge``. Only ``multiclass-logistic`` has probabilities. The other parameters and
    the attributes are those of :class:`Estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from solverscope.solvers.estimators import SparseMulticlass
    >>> X, y = load_iris(return_X_y=True)
    >>> SparseMulticlass(lam_ratio=0.1).fit(X, y).coef_.shape
    (3, 4)
    """

    solver: str = AUTO
    _: KW_ONLY
    penalty: str = "l1-l2"
    loss: str = "multiclass-logistic"


@dataclass(eq=False, repr=False)
class SparseMultilabel(_OfRows):
    """A linear classifier for sets of labels with any compatible loss and penalty.

    The default penalty is λΣ_j ‖W_j:‖₂, which leaves out whole features.

    y is an indicator matrix, (n, n_labels), NumPy or SciPy sparse: 1 for the labels that a row has, else 0.
    ``loss`` is ``multitask-squared-hinge``, for independent labels, or one that ranks the labels of a row
    above all others: ``multilabel-squared-hinge`` or ``multilabel-hinge``. With ``multitask-squared-hinge`` y
    may also be classes, (n,), one against the rest. ``score`` is the fraction of rows whose labels are all
    correct.

    The other parameters and the attributes are those of :class:`Estimator`, with these differences.

    Parameters
    ----------
    solver : str
        The id of a solver, or ``auto``: the fastest of this package that accepts loss and penalty.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The indices of the labels, from 0; if y was classes, their values.
    multilabel_ : bool
        Whether y was an indicator matrix.
    thresholds_ : array of shape (n_labels,)
        The score above which each label is predicted. It is 0, except for ranking losses, whose scores have
        no natural zero: there thresholds maximize the micro-averaged F1 on the training data.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from solverscope.solvers.estimators import SparseMultilabel
    >>> X, y = make_multilabel_classification(n_classes=4, random_state=0)
    >>> model = SparseMultilabel(lam_ratio=0.1).fit(X, y)
    >>> model.predict(X[:2]).tolist()
    [[1, 0, 1, 0], [0, 1, 0, 0]]
    """

    solver: str = AUTO
    _: KW_ONLY
    penalty: str = "l1-l2"
    loss: str = "multitask-squared-hinge"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to ``X``, (n, d), NumPy or SciPy sparse, and indicators ``y``, (n, n_labels).

        ``sample_weight``, (n,), has a weight for each sample.
        """
        if "multilabel" not in lookup(LOSSES, "loss", self.loss).kinds:
            right = ", ".join(losses_for("multilabel"))
            raise ValueError(f"loss {self.loss} is not one of sets of labels: take one of {right}")
        X, y = self._validated(X, y, multi_output=True)
        y = y.toarray() if sp.issparse(y) else y
        self.multilabel_ = y.ndim == 2 and y.shape[1] > 1
        if self.multilabel_:
            self.classes_ = np.arange(y.shape[1])
        else:
            y = self._classes(column_or_1d(y))
        problem, w = self._solve(X, y, self.loss, sample_weight=self._weights(sample_weight, X, y))
        self.thresholds_ = np.zeros(self.classes_.size)
        if problem.loss.ranks:
            self.thresholds_ = fit_thresholds(problem.design.scores(w).Z, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of labels, (n, n_labels); if y was classes, as for :class:`SparseMulticlass`."""
        check_is_fitted(self)
        return self._scores_of(X) if self.multilabel_ else super().decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the indicators of labels, (n, n_labels), 1 for scores above ``thresholds_``.

        If y was classes, return the class with the highest score, (n,).
        """
        check_is_fitted(self)
        if not self.multilabel_:
            return super().predict(X)
        return (self._scores_of(X) > self.thresholds_).astype(np.int64)
