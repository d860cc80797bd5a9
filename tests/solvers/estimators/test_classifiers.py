"""Classifiers of rows agree with scikit-learn's programs, and predict as the loss does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_loss
from sklearn.preprocessing import scale
from sklearn.utils import compute_sample_weight

from solverscope import solvers
from solverscope.solvers.estimators import SparseLogistic, SparseMulticlass, SparseMultilabel


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_the_intercept_is_not_penalised_as_in_scikit_learn(cancer):
    X, y = cancer
    ours = SparseLogistic(lam=0.02, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(
        C=1.0 / (0.02 * len(y)), l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=10_000
    )
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert ours.intercept_[0] != 0.0


def test_without_intercept_the_problem_is_that_of_make_problem(cancer):
    X, y = cancer
    model = SparseLogistic("bcd-ls", lam_ratio=0.1, fit_intercept=False, tol=1e-8).fit(sp.csr_matrix(X), y)
    problem = solvers.make_problem(X, y, penalty="l1", lam_ratio=0.1)
    assert model.trace_.info.problem["lam"] == pytest.approx(problem.lam)
    w = model.coef_[0]
    g = -X.T @ ((2 * y - 1) / (1.0 + np.exp((2 * y - 1) * (X @ w)))) / len(y)
    assert abs(g[w == 0.0]).max() <= problem.lam
    np.testing.assert_allclose(g[w != 0.0], -problem.lam * np.sign(w[w != 0.0]), atol=1e-8)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("loss", solvers.losses_for("multiclass"))
def test_every_multiclass_loss_learns_irises(loss):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    smooth = solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
    kinks = {"solver": "ls-bmrm", "penalty": "l2", "lam": 1e-3, "tol": 1e-3, "fit_intercept": False}
    model = SparseMulticlass(loss=loss, **({"lam_ratio": 0.01} if smooth else kinks)).fit(scale(X), names)
    assert model.score(scale(X), names) > 0.85
    assert model.coef_.shape == (3, 4)
    assert hasattr(model, "predict_proba") == (loss == "multiclass-logistic")


def test_rows_of_the_default_penalty_are_left_out_as_a_whole(cancer):
    X, y = cancer
    model = SparseMulticlass(lam_ratio=0.3).fit(X, y)
    used = (model.coef_ != 0.0).sum(axis=0)
    assert set(used) == {0, 2}
    assert model.trace_.nnz_rows[-1] == (used > 0).sum() + (model.intercept_ != 0.0).any()


@pytest.mark.parametrize("model", [SparseLogistic(lam=1.0), SparseMulticlass(lam=10.0)])
def test_ties_are_predicted_as_the_metric_counts_them(model):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat([0, 1], [7, 13])
    model.fit(X, y)
    assert not model.coef_.any()
    assert model.score(X, y) == model.trace_.result["train_metric"]


@pytest.mark.parametrize("y", [np.ma.masked_equal([0, 1, 2], 2), np.array(["2020", "2021", "NaT"], "M8[Y]")])
def test_hidden_labels_and_dates_that_are_none_are_no_classes(y):
    with pytest.raises(ValueError, match=r"hidden entries|NaT"):
        SparseMulticlass(lam=0.1).fit(np.eye(3), y)


@pytest.fixture(scope="module")
def topics():
    X, Y = make_multilabel_classification(n_samples=80, n_classes=4, random_state=0)
    return scale(X), Y


def test_sets_of_labels_are_those_of_make_problem(topics):
    X, Y = topics
    model = SparseMultilabel(lam=0.3, fit_intercept=False).fit(X, Y)
    problem = solvers.make_problem(X, Y, loss="multitask-squared-hinge", penalty="l1-l2", lam=0.3)
    w = model.coef_.T.ravel()
    assert problem.at(w).objective == pytest.approx(model.trace_.objective[-1], rel=1e-12)
    scores = problem.design.scores(w)
    np.testing.assert_allclose(model.decision_function(X), scores.Z)
    np.testing.assert_array_equal(model.predict(X), problem.loss.predict(scores))
    assert set((model.coef_ != 0.0).sum(axis=0)) == {0, 4}


@pytest.mark.parametrize("of", [sp.csr_array, lambda Y: Y.astype(bool), lambda Y: Y.tolist()])
def test_indicators_may_be_sparse_or_lists(topics, of):
    X, Y = topics
    params = {"lam": 0.1, "tol": None, "max_iter": 3}
    with pytest.warns(ConvergenceWarning):
        expected, model = (SparseMultilabel(**params).fit(X, y) for y in (Y, of(Y)))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.predict(X).dtype == np.int64


@pytest.mark.parametrize(
    ("loss", "params"),
    [
        ("multitask-squared-hinge", {"lam": 0.01}),
        ("multilabel-squared-hinge", {"lam": 0.01}),
        ("multilabel-hinge", {"penalty": "l2", "lam": 1e-3, "tol": 1e-3, "fit_intercept": False}),
    ],
)
def test_every_loss_of_sets_of_labels_learns(topics, loss, params):
    X, Y = topics
    model = SparseMultilabel(loss=loss, **params).fit(X, Y)
    Z = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.thresholds_ < Z)
    assert f1_score(Y, model.predict(X), average="micro") > 0.8
    if loss == "multitask-squared-hinge":
        assert not model.thresholds_.any()
    else:
        assert 1.0 - label_ranking_loss(Y, Z) == pytest.approx(model.trace_.result["train_metric"])


def test_two_labels_have_two_scores_and_classes_have_theirs(topics):
    X, Y = topics
    model = SparseMultilabel(lam=0.1).fit(X, Y[:, :2])
    assert model.multilabel_
    assert model.decision_function(X).shape == model.predict(X).shape == (80, 2)
    names = np.where(Y[:, 0] == 1, "yes", "no")
    model, rest = (
        cls(loss="multitask-squared-hinge", lam=0.1) for cls in (SparseMultilabel, SparseMulticlass)
    )
    assert not model.fit(X, names).multilabel_
    assert model.predict(X).tolist() == rest.fit(X, names).predict(X).tolist()


@pytest.mark.parametrize(
    ("Y", "said"),
    [
        ([[1, -1], [-1, 1], [1, 1]], r"y \(n, L\) must hold 0 and 1 alone"),
        ([[1, 0]] * 3, "no label is on some samples and off on others"),
    ],
)
def test_what_are_no_indicators_is_refused_in_a_sentence(Y, said):
    with pytest.raises(ValueError, match=said):
        SparseMultilabel().fit(np.eye(3), Y)


def test_weights_of_rows_and_of_classes_multiply_as_in_scikit_learn(cancer):
    X, y = cancer
    rows = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    ours = SparseLogistic(penalty="l2", lam=0.02, class_weight="balanced", tol=1e-9).fit(X, y, rows)
    weights = rows * compute_sample_weight("balanced", y)
    theirs = LogisticRegression(C=1.0 / (0.02 * weights.sum()), tol=1e-10, max_iter=10_000)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    given = {0: 1.0, 1: 3.0}
    once = SparseMulticlass(lam=0.01, class_weight=given, tol=1e-8).fit(X, y)
    again = SparseMulticlass(lam=0.01, tol=1e-8).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(once.coef_, again.coef_)
    used = [SparseMulticlass(lam=0.01, class_weight=c).fit(X, y).trace_.info.solver for c in (None, given)]
    assert used == ["newton-cd", "sparsa"]
    hinge = SparseMulticlass(
        "ls-bmrm", loss="multiclass-hinge", penalty="l2", lam=0.1, fit_intercept=False, tol=1e-6
    )
    weighed, repeated = hinge.fit(X, y, rows).trace_, np.repeat(np.arange(y.size), rows.astype(int))
    expected = hinge.fit(X[repeated], y[repeated]).trace_.result["objective"]
    assert weighed.result["objective"] == pytest.approx(expected, rel=1e-5)
