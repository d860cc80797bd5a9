"""The solvers as scikit-learn's estimators: ``fit`` runs one, and what it learned has the usual names.

>>> from solverscope.solvers.estimators import SparseLogistic
>>> SparseLogistic(lam_ratio=0.1).fit(X, y).coef_

An intercept of a classifier is what the data sets' option ``bias=1`` makes: the weight of a last, constant
feature of ones, penalised like all other weights. liblinear has the same intercept; scikit-learn's other
solvers do not penalise theirs. :class:`SparseRegressor` does not either. There is none with
``fit_intercept=False``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .declare import Trait
from .from_data import make_problem
from .linalg.arrays import NUMERIC_KINDS, features_of, labels_of, why_no_numbers
from .linalg.storage import checked_rows
from .problems.certificates.optimality import why_not_tolerance
from .problems.losses.crf import viterbi
from .problems.problem import Problem
from .registry import LOSSES, accepts, lookup, make_solver, why_not_solver_on
from .runs.run import Run
from .runs.stopping import Stopping
from .traces.trace import Trace

#: The module of the live view. It belongs to the app, and is imported by its name where a view is wanted.
LIVE_VIEW = "solverscope.app.notebook"
#: The loss of which several targets are known: its id for one target, and for several.
LEAST_SQUARES = ("squared", "multitask-squared")
#: The solver of an estimator that chooses one by the problem, and those that it tries, the fastest first.
AUTO = "auto"
FASTEST = ("newton-cd", "anderson-bcd", "prox-qn", "fista-ls", "dual-cd", "ls-bmrm", "fobos")


@dataclass(eq=False, repr=False)  # scikit-learn compares and prints estimators itself
class Estimator(BaseEstimator):
    """Base of the estimators: min_w s Σ_i loss_i(w) + λR(w) by any solver that takes the loss and R.

    Parameters
    ----------
    solver : str
        A solver's id: one of ``solvers.compatible(loss, penalty)``.
    solver_params, penalty_params : mapping, optional
        Hyper-parameters by name.
    penalty : str
        A penalty's id.
    lam, lam_ratio : float, optional
        λ, or λ/λ_max; with neither, what :func:`solvers.make_problem` takes.
    fit_intercept : bool
        Whether a constant feature is added, whose weights are penalised like all others.
    tol, max_iter, max_seconds : optional
        Where the run ends: violation, or proved bound, relative to that at w = 0; iterations; CPU seconds.
    scope : bool or callable
        Whether the run is drawn in the notebook's cell while it goes on; or what to call with the trace after
        each iterate and at the end, off the clock, such as a ``solverscope.app.notebook.Scope`` of several
        runs.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in ascending order.
    coef_ : array of shape (n_outputs, n_features)
        The weights: one row for two classes of :class:`SparseLogistic`, else one a class.
    intercept_ : array of shape (n_outputs,)
        The weights of the constant feature; zeros without it.
    trace_ : Trace
        The record of the run.
    n_iter_, n_features_in_ : int
        Iterations of the run, features of X.
    """

    solver: str = "prox-qn"
    _: KW_ONLY
    solver_params: Mapping[str, Any] | None = None
    penalty: str = "l1"
    penalty_params: Mapping[str, Any] | None = None
    lam: float | None = None
    lam_ratio: float | None = None
    fit_intercept: bool = True
    tol: float | None = 1e-6
    max_iter: int | None = None
    max_seconds: float | None = 600.0
    scope: bool | Callable[[Trace], None] = False

    def _solve(self, X: Any, y: np.ndarray, loss: str, offsets: np.ndarray | None = None) -> np.ndarray:
        """Solve the problem of rows ``X`` with labels ``y``, set what was learned, and return the weights
        that belong to no feature."""
        rows = _with_ones(X) if self.fit_intercept else X
        W, tail = self._weights(rows, y, loss, offsets=offsets, lam=self.lam, lam_ratio=self.lam_ratio)
        d = X.shape[1]
        self.coef_ = W[:d].T.copy()
        self.intercept_ = W[d].copy() if self.fit_intercept else np.zeros(W.shape[1])
        return tail.copy()

    def _weights(self, X: Any, y: np.ndarray, loss: str, **params: Any) -> tuple[np.ndarray, np.ndarray]:
        """Solve the problem of ``X`` and ``y``, set the record, and return the weights of features,
        (d, n_outputs), and those that belong to no feature; ``params`` are those of ``make_problem``."""
        penalty = {"penalty": self.penalty, "penalty_params": self.penalty_params}
        problem = make_problem(X, y, loss=loss, **penalty, **params)
        id = _fastest(problem) if self.solver == AUTO else self.solver
        run = self._run(problem, id)
        watch = import_module(LIVE_VIEW).live() if self.scope is True else self.scope or (lambda trace: None)
        for trace in run.steps():
            watch(trace)
        watch(trace := run.trace)
        if trace.status == "failed":
            raise RuntimeError(f"solver {id} failed: {trace.message}")
        if trace.status != "converged":
            said = f"solver {id} has not converged: {trace.message}"
            warnings.warn(said, ConvergenceWarning, stacklevel=4)
        if trace.w is None:
            raise RuntimeError(f"solver {id} shows no weights: take another one")
        self.trace_, self.n_iter_ = trace, int(trace.iteration[-1])
        return problem.unpack(trace.w)

    def _run(self, problem: Problem, id: str) -> Run:
        """Return the run, all limits set; ValueError, one sentence, where the solver does not fit."""
        solver = make_solver(id, **(self.solver_params or {}))
        if reason := why_not_solver_on(id, problem):
            raise ValueError(f"solver {id} {reason}")
        stopping = Stopping(tol=self.tol, max_iter=self.max_iter, max_seconds=self.max_seconds).or_usual()
        if stopping.tol is not None and (reason := why_not_tolerance(problem, solver.knows)):
            raise ValueError(f"tol {reason}")
        return Run(problem, solver.with_tol(stopping.tol), stopping=stopping)

    def _scores(self, X: Any) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


def _fastest(problem: Problem) -> str:
    """Return the fastest solver that takes a problem."""
    return next((id for id in FASTEST if accepts(id, problem)), FASTEST[0])


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
        X, y = validate_data(self, _sound(X), y, accept_sparse="csr", dtype=np.float64)
        _check_numbers(given)
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
        given, X = X, validate_data(self, _sound(X), accept_sparse="csr", dtype=np.float64, reset=False)
        _check_numbers(given)
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


@dataclass(eq=False, repr=False)
class SparseRegressor(RegressorMixin, Estimator):
    """A loss of numeric targets with any penalty that fits: by default the Lasso.

    ``loss`` is ``squared``, ``huber``, ``poisson``, ``quantile`` or ``epsilon-insensitive``. With ``squared``
    y may hold several targets, (n, n_targets), for penalties such as ``l1-l2``, which leaves out whole
    features. Predictions of ``poisson`` are means, exp of the scores.

    f is the mean loss plus λR(w), so ``lam`` is ``alpha`` of scikit-learn's ``Lasso`` and ``ElasticNet``. As
    there, the intercept is not penalised: ``squared`` centres y and a dense X. For a sparse X and for other
    losses ``fit_intercept`` must be False. The other parameters and the attributes are those of
    :class:`Estimator`, with these differences.

    Parameters
    ----------
    solver : str
        A solver's id, or ``auto``: the fastest of ours that takes the loss and the penalty.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        The weights.
    intercept_ : float or array of shape (n_targets,)
        The predictions at x = 0.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from solverscope.solvers.estimators import SparseRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SparseRegressor(lam=0.5).fit(X, y)
    >>> int((model.coef_ != 0.0).sum()), round(float(model.intercept_), 2), round(model.score(X, y), 2)
    (4, 152.13, 0.46)
    """

    solver: str = AUTO
    _: KW_ONLY
    loss: str = "squared"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_intercept
        tags.target_tags.multi_output = self._least_squares
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    @property
    def _least_squares(self) -> bool:
        return self.loss in LEAST_SQUARES

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X``, (n, d), NumPy or SciPy sparse, and their targets ``y``, (n,) or, with
        ``squared``, (n, n_targets)."""
        given, several = X, self._least_squares
        kinds = lookup(LOSSES, "loss", self.loss).kinds
        if not set(kinds) & set(NUMERIC_KINDS):
            raise ValueError(f"loss {self.loss} is not one of numeric targets: take squared or huber")
        X, y = validate_data(
            self,
            _sound(X),
            y,
            accept_sparse="csr",
            dtype=np.float64,
            y_numeric=True,
            multi_output=several,
        )
        _check_numbers(given)
        if self.fit_intercept and (reason := self._why_no_intercept(X)):
            raise ValueError(f"an intercept {reason}: pass fit_intercept=False")
        shape = y.shape
        y = np.asarray(y, dtype=np.float64) if several else column_or_1d(y, dtype=np.float64)
        single = y.ndim == 1 or shape[1] == 1
        y = y.reshape(-1) if single else y
        loss = (LEAST_SQUARES[0] if single else LEAST_SQUARES[1]) if several else self.loss
        X_mean, y_mean = np.zeros(X.shape[1]), np.zeros(y.shape[1:])
        if self.fit_intercept:
            X_mean, y_mean = X.mean(axis=0), np.where((y == y[0]).all(axis=0), y[0], y.mean(axis=0))
            X, y = X - X_mean, y - y_mean
        params = {"lam": self.lam, "lam_ratio": self.lam_ratio}
        if self.lam is None and not y.any():  # no λ_max: w = 0 is optimal at any λ
            params = {"lam": 1.0}
        W, _ = self._weights(X, y, loss, **params)
        self.coef_ = W[:, 0].copy() if len(shape) == 1 else W.T.copy()
        self.intercept_ = y_mean - X_mean @ self.coef_.T
        return self

    def _why_no_intercept(self, X: Any) -> str | None:
        """Return why there can be no intercept, the end of a sentence; None if there can be one."""
        if not self._least_squares:
            return f"is not known with the loss {self.loss}, but with squared alone"
        return "needs a dense X, and this one is sparse" if sp.issparse(X) else None

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets of rows, (n,) or (n, n_targets)."""
        check_is_fitted(self)
        given, X = X, validate_data(self, _sound(X), accept_sparse="csr", dtype=np.float64, reset=False)
        _check_numbers(given)
        Z = self._scores(X)
        return np.exp(Z) if self.loss == "poisson" else Z


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
        rows, offsets = _joined(X)
        labels = _joined_labels(y, offsets)
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
        rows, offsets = _joined(X)
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
        truth = _joined_labels(y, offsets)
        if _sort_of(truth) != _sort_of(labels):
            raise ValueError(
                f"y has labels that are {_sort_of(truth)}, but {type(self).__name__} was fitted with "
                f"{_sort_of(labels)}"
            )
        return float(np.mean(labels == truth))


def _with_ones(X: Any) -> Any:
    """Return X with a last column of ones."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _sound(X: Any) -> Any:
    """Return X; ValueError, one sentence, where it is sparse and malformed: scikit-learn converts it."""
    return checked_rows(X) if sp.issparse(X) and X.ndim == 2 else X


def _check_numbers(X: Any) -> None:
    """Raise ValueError, one sentence, where scikit-learn has turned into numbers what is none."""
    if reason := why_no_numbers(X):
        raise ValueError(f"X is no matrix of numbers: {reason}")


def _listed(values: Any, name: str, right: str) -> list[Any]:
    """Return a list of sequences; ValueError, one sentence, where it is none or empty."""
    try:
        given = [] if isinstance(values, str | bytes) else list(values)
    except TypeError:
        given = []
    if not given:
        raise ValueError(f"{name} holds no sequence: give a list of at least one, {right}")
    return given


def _joined(X: Sequence[Any]) -> tuple[Any, np.ndarray]:
    """Return the rows of all sequences, and where each begins and the last one ends."""
    given = _listed(X, "X", "each the features of its tokens, (n_tokens, d)")
    parts = [features_of(one, f"sequence {k:,} of X") for k, one in enumerate(given, 1)]
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the sequences of X differ in their numbers of features: give all the same features")
    rows = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.vstack(parts)
    return rows, np.cumsum([0, *(part.shape[0] for part in parts)])


def _joined_labels(y: Sequence[Any], offsets: np.ndarray) -> np.ndarray:
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
    if len(sorts := sorted(set(map(_sort_of, labels)))) > 1:
        raise ValueError(f"y has labels that are {' and '.join(sorts)}: give all of one sort")
    return np.concatenate(labels)


def _sort_of(labels: np.ndarray) -> str:
    sorts = {"U": "strings", "T": "strings", "S": "bytes", "M": "dates", "m": "time spans"}
    return sorts.get(labels.dtype.kind, "numbers")
