"""Chains are those of ``make_problem``, name their features, and take part in scikit-learn's searches."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
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


#: Sequences as sklearn-crfsuite takes them, and the same ones by names and as arrays.
SENTENCES = [
    [{"w": "the", "title": False}, {"w": "cat", "len": 3}, {"w": "sat", "title": True}],
    [{"w": "Cats", "title": True, "len": np.int64(4)}, {"w": "sat", "len": 0.5, "title": np.False_}],
]
NAMES = ["len", "title", "w:Cats", "w:cat", "w:sat", "w:the"]
ARRAYS = [
    np.array([[0, 0, 0, 0, 0, 1], [3, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]),
    np.array([[4, 1, 1, 0, 0, 0], [0.5, 0, 0, 0, 1, 0]]),
]
TAGS = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]


def test_named_features_are_columns_in_the_order_of_their_names():
    named, arrays = ChainCRF(lam=0.1).fit(SENTENCES, TAGS), ChainCRF(lam=0.1).fit(ARRAYS, TAGS)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.trace_.names.features == tuple(NAMES)
    assert named.trace_.names.feature(len(NAMES)) == "intercept"
    np.testing.assert_allclose(named.coef_, arrays.coef_, atol=1e-4)
    assert [tags.tolist() for tags in named.predict(SENTENCES)] == TAGS
    frames = [pd.DataFrame(rows, columns=NAMES) for rows in ARRAYS]
    assert arrays.fit(frames, TAGS).feature_names_in_.tolist() == NAMES
    assert not hasattr(arrays.fit(ARRAYS, TAGS), "feature_names_in_")


def test_lists_and_sets_of_names_are_features_of_weight_one():
    lists = [[["w:the"], ["w:cat", "short"]], [[], ("short",)]]
    sets = [[{"w:the"}, {"w:cat", "short"}], [set(), frozenset({"short"})]]
    dicts = [[{"w": "the"}, {"w": "cat", "short": True}], [{}, {"short": 1}]]
    y = [["a", "b"], ["a", "b"]]
    models = [ChainCRF(lam=0.1).fit(X, y) for X in (lists, sets, dicts)]
    for model in models:
        assert model.feature_names_in_.tolist() == ["short", "w:cat", "w:the"]
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_features_that_training_lacks_are_ignored():
    model = ChainCRF(lam=0.1).fit(SENTENCES, TAGS)
    more = [[token | {"new": "x"} for token in one] for one in SENTENCES]
    assert model.predict_marginals(more) == model.predict_marginals(SENTENCES)
    assert len(model.predict([[[], ["new"]]])[0]) == 2


def test_named_features_take_part_in_a_grid_search():
    search = GridSearchCV(ChainCRF(), {"lam": [0.01, 1e3]}, cv=2).fit(SENTENCES * 2, TAGS * 2)
    assert search.best_params_ == {"lam": 0.01}
    assert clone(search.best_estimator_).lam == 0.01


def test_marginals_are_those_of_all_label_sequences():
    model = ChainCRF(lam=0.05).fit(SENTENCES, TAGS)
    codes = np.arange(3)
    for rows, found in zip(ARRAYS, model.predict_marginals(SENTENCES), strict=True):
        Z, n = rows @ model.coef_.T + model.intercept_, len(rows)
        paths = np.array(list(itertools.product(codes, repeat=n)))
        own = Z[np.arange(n), paths].sum(axis=1)
        p = softmax(own + model.transitions_[paths[:, :-1], paths[:, 1:]].sum(axis=1))
        expected = [[p[paths[:, t] == c].sum() for c in codes] for t in range(n)]
        assert all(list(token) == ["DET", "NOUN", "VERB"] for token in found)
        P = np.array([list(token.values()) for token in found])
        np.testing.assert_allclose(P, expected, atol=1e-12)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


def test_a_label_that_training_lacks_counts_as_wrong(chain):
    assert chain.score([np.eye(2)], [["a", "never seen"]]) == 0.5
