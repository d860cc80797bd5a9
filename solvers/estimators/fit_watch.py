"""A scikit-learn callback that records iterative fits as runs, also those inside pipelines and searches."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..from_data import make_problem
from ..problems.problem import Problem
from ..runs.own_loop import OwnLoop
from ..traces.trace import Trace

#: CPU seconds that objectives of all fits of a watch may take besides their share of the fits' time: small
#: fits are then seen whole.
FREE_SECONDS = 1.0
#: Entries of X beyond which objectives are not computed: the problem copies X.
MOST_ENTRIES_OF_X = 20_000_000
#: Characters of a run's label, at most.
MAX_FIT_LABEL_LENGTH = 60
#: What searches call the fit of a candidate on a split.
CANDIDATE_TASK = "candidate-split-evaluation"


class FitWatch:
    """A callback for scikit-learn (1.9 or newer): each fit that reports its iterations becomes a run.

    ``estimator.set_callbacks(FitWatch(watch))`` sets it on an estimator, a pipeline or a search; the latter
    pass it on to the estimators inside. ``watch`` is called with the trace of a fit when it has a new row,
    and at its end. Iterates of a ``LogisticRegression`` have the objective, violation and non-zeros of its
    problem, as those of :class:`solvers.OwnLoop`. Iterates of other estimators have their non-zeros and the
    estimator's ``loss_``. Fits in other processes (``n_jobs``) send their iterates to this one.
    """

    #: Pass the callback on to estimators at all depths.
    max_propagation_depth = None

    def __init__(self, watch: Callable[[Trace], None]) -> None:
        self._watch = watch
        self._lock = threading.Lock()
        self._search: Any = None
        self._n_splits: int | None = None
        self._fits: dict[Any, OwnLoop] = {}
        self._labels: dict[str, int] = {}
        self._spent = 0.0
        self._address: Any = None
        self._received: dict[Any, Trace] = {}

    def __deepcopy__(self, memo: object) -> FitWatch:
        """Return this callback itself, so that it watches copies of an estimator too."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a worker process: the address to which traces are sent."""
        with self._lock:
            if self._address is None:
                self._address = _transport().open_listener(self._receive, owner=self)
        return {"address": self._address, "n_splits": getattr(self._search, "n_splits_", self._n_splits)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(TraceSender(state["address"]))
        self._address, self._n_splits = state["address"], state["n_splits"]

    def _receive(self, message: tuple[Any, Mapping[str, Any], list[dict[str, Any]], dict[str, Any]]) -> None:
        """Add the new rows of a fit in another process to its trace."""
        key, info, rows, result = message
        with self._lock:
            trace = self._received.setdefault(key, Trace(info))
            for row in rows:
                trace.append({name: value for name, value in row.items() if value is not None})
            if result:
                trace.result = result
                trace.finish(result["status"], result["message"])
                del self._received[key]
            self._watch(trace)

    def setup(self, estimator: Any, context: Any) -> None:
        """Start watching; scikit-learn calls this before the fit of the outermost estimator."""
        self._search, self._spent = estimator, 0.0

    def teardown(self, estimator: Any, context: Any) -> None:
        """End the runs of fits that have failed; scikit-learn calls this after the outermost fit."""
        for task in list(self._fits):
            self._end(task)
        self._search = None

    def on_fit_task_begin(
        self,
        estimator: Any,
        context: Any,
        *,
        X: Any = None,
        y: Any = None,
        metadata: Any = None,
        fitted_estimator: Any = None,
    ) -> None:
        """Start a run at the first iteration of a fit."""
        if not _is_iteration(context, fitted_estimator) or context.parent in self._fits:
            return
        problem = problem_of(estimator, X, y, metadata)
        label = self._label(estimator, context.parent)
        free = max(FREE_SECONDS - self._spent, 0.0)
        run = OwnLoop(label, problem, watch=self._tell, free_seconds=free)
        self._fits[context.parent] = run.__enter__()
        _report(run, problem, fitted_estimator)

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        """Report an iterate of a fit, or end its run."""
        run = self._fits.get(context.parent)
        if run is not None and _is_iteration(context, fitted_estimator):
            _report(run, run.trace.problem, fitted_estimator)
        elif context in self._fits:
            self._end(context)

    def _end(self, task: Any) -> None:
        run = self._fits.pop(task)
        run.__exit__(None, None, None)
        self._spent += run.measuring_seconds

    def _tell(self, trace: Trace) -> None:
        with self._lock:  # fits may run in threads
            self._watch(trace)

    def _label(self, estimator: Any, task: Any) -> str:
        """Return the name of a fit: the estimator and, in a search, which of its fits it is."""
        label = " ".join(repr(estimator).split())[:MAX_FIT_LABEL_LENGTH]
        while task is not None:
            name = task.source_task_name or task.task_name
            if name == CANDIDATE_TASK and (n_splits := getattr(self._search, "n_splits_", self._n_splits)):
                label += f", split {task.task_id % n_splits + 1} of {n_splits}"
            elif name.startswith("refit"):
                label += ", refit"
            task = task.parent
        self._labels[label] = n = self._labels.get(label, 0) + 1
        return label if n == 1 else f"{label} ({n})"


def _transport() -> Any:
    """Return scikit-learn's private module for callbacks in worker processes; raise ImportError if it is
    missing."""
    try:
        return import_module("sklearn.callback._transport")
    except ImportError:
        raise ImportError(
            "fits in other processes cannot be watched with this version of scikit-learn: set n_jobs=1"
        ) from None


class TraceSender:
    """The ``watch`` of a worker process, which sends new rows of traces to the process of the search."""

    def __init__(self, address: Any) -> None:
        self._address, self._cursors = address, {}

    def __call__(self, trace: Trace) -> None:
        key = os.getpid(), id(trace)
        seen = self._cursors.get(key, 0)
        rows = list(trace.records())
        self._cursors[key] = len(rows)
        _transport().send(self._address, (key, trace.info.record(), rows[seen:], trace.result))
        if trace.result:
            del self._cursors[key]


def problem_of(estimator: Any, X: Any, y: Any, metadata: Mapping[str, Any] | None = None) -> Problem | None:
    """Return the problem that an estimator solves on rows and labels; return None if it is unknown.

    For ``LogisticRegression`` it is the mean logistic loss with λ/2‖w‖² and λ = 1/(C n), where n is the sum
    of the sample weights.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.class_weight import compute_class_weight

    if not isinstance(estimator, LogisticRegression) or X is None or not np.isfinite(estimator.C):
        return None
    if estimator.l1_ratio or (X.nnz if sp.issparse(X) else np.size(X)) > MOST_ENTRIES_OF_X:
        return None
    classes, codes = np.unique(y, return_inverse=True)
    weights = (metadata or {}).get("sample_weight")
    if estimator.class_weight is not None:
        of_classes = compute_class_weight(estimator.class_weight, classes=classes, y=y, sample_weight=weights)
        weights = of_classes[codes] * (1.0 if weights is None else np.asarray(weights))
    binary = classes.size == 2
    total = X.shape[0] if weights is None else float(np.sum(weights))
    return make_problem(
        X,
        np.where(codes == 1, 1, -1) if binary else codes,
        loss="logistic" if binary else "multiclass-logistic",
        penalty="l2",
        lam=1.0 / (estimator.C * total),
        average=True,
        intercept=estimator.fit_intercept,
        sample_weight=weights,
    )


def _is_iteration(context: Any, fitted_estimator: Any) -> bool:
    """Return whether a task is an iteration of a fit, rather than a fit inside a pipeline or a search."""
    return (
        fitted_estimator is not None
        and context.parent is not None
        and context.parent.sequential_subtasks
        and context.source_task_name is None
    )


def _report(run: OwnLoop, problem: Problem | None, fitted: Any) -> None:
    """Report the current weights of an estimator after an iteration."""
    loss = getattr(fitted, "loss_", None)
    w = getattr(fitted, "coef_", None)
    if w is not None and problem is not None and problem.intercept:
        w = np.concatenate([np.atleast_2d(w).T, np.reshape(fitted.intercept_, (1, -1))])
    elif w is not None:
        w = np.atleast_2d(w).T
    if w is not None or loss is not None:
        run.iterate(w=w, objective=loss)
