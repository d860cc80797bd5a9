"""Regressions agree with scikit-learn's programs, and refuse in a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, MultiTaskLasso, PoissonRegressor
from sklearn.preprocessing import scale

from solverscope import solvers
from solverscope.solvers.estimators import SparseRegressor


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("penalty", "theirs"),
    [("l1", Lasso(0.5)), ("elastic-net", ElasticNet(0.01)), ("none", LinearRegression())],
)
def test_regressions_are_those_of_scikit_learn(diabetes, penalty, theirs, intercept):
    X, y = diabetes
    lam = None if penalty == "none" else theirs.alpha
    ours = SparseRegressor(penalty=penalty, lam=lam, fit_intercept=intercept, tol=1e-10).fit(X, y)
    theirs = clone(theirs).set_params(fit_intercept=intercept, tol=1e-14)
    if penalty != "none":
        theirs.set_params(max_iter=100_000)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))
    assert ours.trace_.status == "converged"


def test_several_targets_share_their_features(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, 0.5 * y + 100.0 * X[:, 0], -y])
    ours = SparseRegressor(penalty="l1-l2", lam=0.5, tol=1e-10).fit(X, Y)
    theirs = MultiTaskLasso(0.5, tol=1e-14, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10)
    named = SparseRegressor(loss="multitask-squared", penalty="l1-l2", lam=0.5, tol=1e-10).fit(X, Y)
    np.testing.assert_array_equal(named.coef_, ours.coef_)


def test_counts_are_predicted_by_their_means(diabetes):
    X, y = scale(diabetes[0]), np.round(diabetes[1] / 50.0)
    ours = SparseRegressor(loss="poisson", penalty="l2", lam=0.1, tol=1e-10).fit(X, y)
    theirs = PoissonRegressor(alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", solvers.losses_for("regression"))
@pytest.mark.parametrize("penalty", solvers.PENALTIES)
def test_every_loss_and_penalty_has_a_solver_by_default(diabetes, loss, penalty, intercept):
    X, y = scale(diabetes[0]), diabetes[1]
    y = np.round(y / 50.0) if loss == "poisson" else scale(y)
    lam = None if penalty == "none" else 0.01
    params = {"loss": loss, "penalty": penalty, "fit_intercept": intercept}
    model = SparseRegressor(lam=lam, tol=None, max_iter=30, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.trace_.objective.min() < model.trace_.objective[0]


def test_a_constant_target_is_all_intercept():
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = SparseRegressor().fit(X, np.full(6, 0.1))
    assert not model.coef_.any()
    assert model.intercept_ == 0.1


@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_features_give_the_model_of_dense_ones(diabetes, intercept):
    X, y = diabetes
    model = SparseRegressor(lam=0.5, fit_intercept=intercept, tol=1e-10)
    dense = clone(model).fit(X, y)
    model.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(dense.intercept_)


@pytest.mark.parametrize(
    ("params", "X", "y", "said"),
    [
        ({"loss": "logistic"}, np.eye(2), [0.0, 1.0], "loss logistic is not one of numeric targets"),
        ({"loss": "none"}, np.eye(2), [0.5, 1.0], "there is no loss 'none'"),
        ({"loss": "poisson"}, np.eye(2), [-1.0, 1.0], "needs targets of at least 0"),
        ({"loss": "huber"}, np.eye(3), np.ones((3, 2)), "should be a 1d array"),
        (
            {"solver": "bmrm"},
            np.eye(3),
            [1.0, 2.0, 4.0],
            "solver bmrm needs a ridge penalty and a penalty with",
        ),
    ],
)
def test_regressions_that_do_not_fit_are_refused_in_a_sentence(params, X, y, said):
    with pytest.raises(ValueError, match=said):
        SparseRegressor(**{"lam": 0.1} | params).fit(X, y)


def test_penalty_factors_are_the_lasso_of_scikit_learn_on_columns_divided_by_them(diabetes):
    X, y = diabetes
    factors = np.linspace(0.5, 3.0, X.shape[1])
    ours = SparseRegressor(lam=0.3, penalty_factors=factors, tol=1e-10).fit(X, y)
    theirs = Lasso(0.3, tol=1e-14, max_iter=100_000).fit(X / factors, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_ / factors, atol=1e-5)
    assert 0 < np.count_nonzero(ours.coef_) < X.shape[1]


def test_penalty_factors_name_the_columns_of_a_data_frame(diabetes):
    pandas = pytest.importorskip("pandas")
    X, y = diabetes
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    fitted = SparseRegressor(lam=2.0, penalty_factors={"c3": 0.0}, tol=1e-10).fit(frame, y)
    slope = X.T @ (fitted.predict(frame) - y) / len(y)
    assert abs(slope[3]) < 1e-6, "it has no penalty"
    assert fitted.coef_[3] != 0.0
    assert np.abs(slope).max() <= 2.0 * (1.0 + 1e-6)
    with pytest.raises(ValueError, match="penalty_factors name 'c99', but X has no such column"):
        SparseRegressor(lam=2.0, penalty_factors={"c99": 0.0}).fit(frame, y)
    adaptive = SparseRegressor(lam=0.5, penalty_factors="adaptive", tol=1e-10).fit(frame, y)
    assert np.count_nonzero(adaptive.coef_) < X.shape[1]
