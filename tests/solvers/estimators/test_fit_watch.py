"""Fits of scikit-learn's estimators become runs, by its callbacks: also in pipelines, searches, processes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from solverscope.solvers.estimators import FitWatch
from solverscope.solvers.estimators import fit_watch as module


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X[:200]), y[:200]


def watched(estimator):
    """An estimator that is watched, and the list of its traces, which fills."""
    seen = []

    def watch(trace):
        if not any(trace is known for known in seen):
            seen.append(trace)

    return estimator.set_callbacks(FitWatch(watch)), seen


def test_every_iterate_of_a_small_fit_has_the_objective_of_its_problem(cancer):
    model, seen = watched(LogisticRegression(C=0.1, tol=1e-6))
    model.fit(*cancer)
    (trace,) = seen
    assert trace.iteration.tolist() == list(range(model.n_iter_[0] + 1))
    assert trace.objective[0] == pytest.approx(np.log(2.0))
    assert (np.diff(trace.objective) < 0.0).all()
    assert trace.violation[-1] < 1e-4 * trace.violation[0]
    assert np.append(model.coef_, model.intercept_).tolist() == trace.w.tolist()
    assert (trace.status, trace.info.label) == ("stopped", "LogisticRegression(C=0.1, tol=1e-06)")


@pytest.mark.parametrize(
    ("params", "weighted", "names"),
    [
        ({"fit_intercept": False}, False, None),
        ({"class_weight": "balanced"}, True, ["malignant", "benign"]),
        ({"C": 3.0}, True, None),
    ],
)
def test_weights_of_samples_and_classes_are_those_of_the_problem(cancer, params, weighted, names):
    X, y = cancer
    y = y if names is None else np.array(names)[y]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    model, seen = watched(LogisticRegression(tol=1e-8, max_iter=1000, **params))
    model.fit(X, y, sample_weight=weights)
    assert seen[0].violation[-1] < 1e-5 * seen[0].violation[0]


def test_several_classes_have_the_softmax_problem():
    model, seen = watched(LogisticRegression(tol=1e-6, max_iter=500))
    model.fit(*load_iris(return_X_y=True))
    assert seen[0].violation[-1] < 1e-4 * seen[0].violation[0]
    assert seen[0].w.size == 3 * 5


def test_fits_of_a_search_over_a_pipeline_are_runs_with_their_splits(cancer):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search, seen = watched(GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, cv=2))
    search.fit(*cancer)
    first, second = "LogisticRegression(C=0.1)", "LogisticRegression()"
    assert [trace.info.label for trace in seen[:-1]] == [
        f"{name}, split {k} of 2" for name in (first, second) for k in (1, 2)
    ]
    assert seen[-1].info.label.endswith(", refit")
    assert all(trace.result for trace in seen)


@pytest.mark.slow  # starts processes
def test_fits_in_other_processes_are_sent_to_this_one(cancer):
    search, seen = watched(GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2))
    search.fit(*cancer)
    assert len(seen) == 5
    assert sum(trace.info.label.endswith("split 2 of 2") for trace in seen) == 2
    for trace in seen:
        assert trace.result["iterations"] == trace.iteration[-1] == len(trace) - 1
        assert (np.diff(trace.objective) < 0.0).all()


def test_objectives_stop_where_they_would_take_more_than_their_share(cancer, monkeypatch):
    monkeypatch.setattr(module, "FREE_SECONDS", 0.0)
    model, seen = watched(LogisticRegression(tol=1e-8))
    model.fit(*cancer)
    assert len(seen[0]) < model.n_iter_[0] / 2
    assert seen[0].iteration[-1] == model.n_iter_[0]


def test_a_fit_that_fails_ends_its_run(cancer):
    def watch(trace):
        seen.append(trace)
        if trace.last["iteration"] == 3 and not trace.result:
            raise RuntimeError("no more")

    seen = []
    model = LogisticRegression().set_callbacks(FitWatch(watch))
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(*cancer)
    assert seen[-1].result["iterations"] == 3


class Descent(CallbackSupportMixin, BaseEstimator):
    """An estimator of somebody else's, which supports callbacks and has no weights."""

    @with_callbacks
    def fit(self, X, y=None):
        task = self._init_callback_context(max_subtasks=3)
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        for k in range(3):
            step = task.subcontext(task_name="step").call_on_fit_task_begin(
                estimator=self, X=X, y=y, reconstruction_attributes={"loss_": 3.0 - k}
            )
            step.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={"loss_": 2.0 - k})
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self


def test_an_estimator_of_somebody_else_s_has_its_own_loss():
    model, seen = watched(Descent())
    model.fit(np.zeros((3, 2)))
    assert [trace.info.label for trace in seen] == ["Descent()"]
    assert seen[0].objective.tolist() == [3.0, 2.0, 1.0, 0.0]
    model.fit(np.zeros((3, 2)))
    assert seen[1].info.label == "Descent() (2)"


def test_a_problem_that_is_not_known_is_none(cancer):
    assert module.problem_of(Descent(), *cancer) is None
    assert module.problem_of(LogisticRegression(C=np.inf), *cancer) is None
