"""The base of the estimators: from rows and labels to the weights of a solved problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..compatibility import accepts, why_not_solver_on
from ..from_data import make_problem
from ..linalg.arrays import why_no_numbers
from ..linalg.storage import checked_rows
from ..problems.certificates.optimality import why_not_tolerance
from ..problems.problem import Problem
from ..registry import make_solver
from ..runs.run import Run
from ..runs.stopping import Stopping
from ..traces.trace import Trace

#: The module of the live view. It belongs to the app, and is imported by its name where a view is wanted.
LIVE_VIEW = "solverscope.app.notebook"
#: The sum of a residual's row that counts as zero, relative to its largest entry.
SUM_ROUNDING = 1e-9
#: The solver of an estimator that chooses one by the problem, and those that it tries, the fastest first.
AUTO = "auto"
FASTEST = (
    *("newton-cd", "anderson-bcd", "prox-qn", "sparsa", "fista-ls", "dual-cd", "ls-bmrm", "sublbfgs"),
    "fobos",
)


@dataclass(eq=False, repr=False)  # scikit-learn compares and prints estimators itself
class Estimator(BaseEstimator):
    """Base of the estimators: min_w s Σ_i loss_i(w) + λR(w) by any solver that accepts the loss and R.

    Parameters
    ----------
    solver : str
        The id of a solver: one of ``solvers.compatible(loss, penalty)``.
    solver_params, penalty_params : mapping, optional
        Hyper-parameters of solver and penalty by name.
    penalty : str
        The id of a penalty.
    lam, lam_ratio : float, optional
        λ, or λ/λ_max; the default is that of :func:`solvers.make_problem`.
    fit_intercept : bool
        Whether an unpenalised constant is fitted for each output.
    penalty_factors : array, mapping or str, optional
        v ≥ 0 of each feature, whose weights have the strength λv. An array, {name: v} with 1 for all others,
        or "adaptive" for 1/|w| of a ridge problem.
    tol, max_iter, max_seconds : optional
        Limits of the run: violation relative to that at w = 0, or proved bound; iterations; CPU seconds. See
        :class:`solvers.Stopping`.
    scope : bool or callable
        Whether to plot the run in the notebook cell while it is running. Or a function to call with the trace
        after each iterate and at the end, off the clock, such as a ``solverscope.app.notebook.Scope`` of
        several runs.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels in ascending order.
    coef_ : array of shape (n_outputs, n_features)
        The weights: one row for :class:`SparseLogistic`, else one row per class.
    intercept_ : array of shape (n_outputs,)
        The constants; zeros without an intercept.
    trace_ : Trace
        The record of the run.
    n_iter_, n_features_in_ : int
        The number of iterations of the run, and of features of X.
    feature_names_in_ : array of shape (n_features,)
        The names of the columns of X, if X is a DataFrame and all names are strings.
    """

    solver: str = "prox-qn"
    _: KW_ONLY
    solver_params: Mapping[str, Any] | None = None
    penalty: str = "l1"
    penalty_params: Mapping[str, Any] | None = None
    lam: float | None = None
    lam_ratio: float | None = None
    fit_intercept: bool = True
    penalty_factors: Any = None
    tol: float | None = 1e-6
    max_iter: int | None = None
    max_seconds: float | None = 600.0
    scope: bool | Callable[[Trace], None] = False

    def _solve(self, X: Any, y: np.ndarray, loss: str, **params: Any) -> tuple[Problem, np.ndarray]:
        """Solve the problem of rows ``X`` with labels ``y``, and set the fitted attributes.

        Return the problem and all its weights. ``params`` are those of ``make_problem``.
        """
        problem, w = self._solved(X, y, loss, **({"lam": self.lam, "lam_ratio": self.lam_ratio} | params))
        W, _ = problem.unpack(w)
        d = X.shape[1]
        self.coef_ = W[:d].T.copy()
        self.intercept_ = W[d].copy() if self.fit_intercept else np.zeros(W.shape[1])
        if self.fit_intercept and shifts_freely(problem.at(w).residual.Z):
            self.intercept_ -= self.intercept_.mean()
        return problem, w

    def _solved(self, X: Any, y: np.ndarray, loss: str, **params: Any) -> tuple[Problem, np.ndarray]:
        """Solve the problem of ``X`` and ``y``, and set ``trace_``; return the problem and its weights.

        ``params`` are those of ``make_problem``.
        """
        penalty = {"penalty": self.penalty, "penalty_params": self.penalty_params}
        names = getattr(self, "feature_names_in_", None)
        factors = self.penalty_factors
        if names is not None and isinstance(factors, Mapping):
            factors = _by_place(factors, list(names))
        about = {"loss": loss, "intercept": self.fit_intercept, "penalty_factors": factors}
        problem = make_problem(X, y, **about, **penalty, **params)
        if names is not None:
            problem.names = replace(problem.names, features=tuple(names))
        id = self.solver
        if id == AUTO:
            id = next((id for id in FASTEST if accepts(id, problem)), FASTEST[0])
        run = self._run(problem, id)
        watch = import_module(LIVE_VIEW).live() if self.scope is True else self.scope or (lambda trace: None)
        for trace in run.steps():
            watch(trace)
        watch(trace := run.trace)
        if trace.status == "failed":
            raise RuntimeError(f"solver {id} failed: {trace.message}") from trace.exception
        if trace.status != "converged":
            said = f"solver {id} has not converged: {trace.message}"
            warnings.warn(said, ConvergenceWarning, stacklevel=4)
        if trace.w is None:
            raise RuntimeError(f"solver {id} shows no weights: take another one")
        self.trace_, self.n_iter_ = trace, int(trace.iteration[-1])
        return problem, trace.w

    def _run(self, problem: Problem, id: str) -> Run:
        """Return a run with all limits set; raise ValueError if the solver does not accept the problem."""
        solver = make_solver(id, **(self.solver_params or {}))
        if reason := why_not_solver_on(id, problem):
            raise ValueError(f"solver {id} {reason}")
        stopping = Stopping(tol=self.tol, max_iter=self.max_iter, max_seconds=self.max_seconds).or_usual()
        if stopping.tol is not None and (reason := why_not_tolerance(problem, solver.knows)):
            raise ValueError(f"tol {reason}")
        return Run(problem, solver.with_tol(stopping.tol), stopping=stopping)

    def _checked_rows(self, X: Any, *y: Any, **params: Any) -> Any:
        """Return rows, and labels if given, as scikit-learn converts them.

        ``params`` are those of ``validate_data``. Raises ValueError if rows are sparse and malformed, or if
        other values would be converted to numbers.
        """
        sound = checked_rows(X) if sp.issparse(X) and X.ndim == 2 else X
        found = validate_data(self, sound, *y, accept_sparse="csr", dtype=np.float64, **params)
        if reason := why_no_numbers(X):
            raise ValueError(f"X is no matrix of numbers: {reason}")
        return found

    def _scores(self, X: Any) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


def _by_place(factors: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    """Return the penalty factors in the order of the column names; missing factors are 1.

    Raises ValueError if a factor has a name that is not a column.
    """
    if unknown := [name for name in factors if name not in names]:
        raise ValueError(f"penalty_factors name {unknown[0]!r}, but X has no such column: choose one")
    return np.array([factors.get(name, 1.0) for name in names], dtype=np.float64)


def shifts_freely(G: np.ndarray) -> bool:
    """Return whether adding a constant to all scores of a sample leaves the loss unchanged, as in a softmax.

    Then the rows of a residual ``G`` sum to zero, and intercepts are unique up to a common constant.
    """
    return G.shape[1] > 1 and bool(np.abs(G.sum(axis=1)).max() <= SUM_ROUNDING * np.abs(G).max())


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Return the sample weights as scikit-learn validates them; None if there are none, or all are 1."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return None if (weights == 1.0).all() else weights
