"""Chains are those of ``make_problem``, take part in scikit-learn's searches, and refuse in a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks

from solverscope import datasets, solvers
from solverscope.solvers.estimators import ChainCRF

#: scikit-learn's checks of estimators that need no data: all others give ``fit`` one array.
WITHOUT_DATA = (
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_mixin_order,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
)


@pytest.fixture(scope="module")
def strings():
    part = datasets.load("digit-strings", n_samples=60, degree=1).train
    ends = part.offsets[1:-1]
    return np.split(part.X, ends), np.split(part.y.astype(str), ends)


@pytest.fixture(scope="module")
def chain():
    return ChainCRF(lam=0.1).fit([np.eye(2), np.eye(2)[[0, 1, 1]]], [["a", "b"], ["a", "b", "b"]])


@pytest.mark.parametrize("check", WITHOUT_DATA, ids=lambda check: check.__name__)
def test_scikit_learn_finds_nothing_wrong_with_the_parameters_of_chains(check):
    check("ChainCRF", ChainCRF())


def test_chains_are_those_of_make_problem(strings):
    X, y = strings
    model = ChainCRF(lam=5.0, fit_intercept=False).fit(X, y)
    offsets = np.cumsum([0, *map(len, X)])
    problem = solvers.make_problem(np.vstack(X), np.concatenate(y), offsets=offsets, lam=5.0)
    w = np.append(model.coef_.T.ravel(), model.transitions_.ravel())
    assert problem.at(w).objective == pytest.approx(model.trace_.objective[-1], rel=1e-12)
    codes = problem.loss.predict(problem.design.scores(w))
    assert np.concatenate(model.predict(X)).tolist() == model.classes_[codes].tolist()
    assert model.score(X, y) == problem.loss.metric(problem.design.scores(w)) > 0.8


def test_chains_take_part_in_a_grid_search(strings):
    X, y = strings
    search = GridSearchCV(ChainCRF(max_iter=5, tol=None), {"lam": [1.0, 1e3]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert search.best_params_ == {"lam": 1.0}
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_sparse_sequences_are_the_same(strings):
    X, y = strings
    dense = ChainCRF(lam=5.0).fit(X, y)
    sparse = ChainCRF(lam=5.0).fit([sp.csr_array(one) for one in X], y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)


def test_a_label_that_training_lacks_counts_as_wrong(chain):
    assert chain.score([np.eye(2)], [["a", "never seen"]]) == 0.5
