"""All estimators pass scikit-learn's own checks, keep their record, and refuse in a sentence."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from solverscope.solvers.estimators import (
    SparseLogistic,
    SparseMulticlass,
    SparseMultilabel,
    SparseRegressor,
)

#: A sparse matrix with an index beyond its columns.
MALFORMED = sp.csr_matrix((np.ones(3), [50_000_000, 1, 0], [0, 1, 2, 3]), shape=(3, 2))


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


#: For checks that compare models to 1e-7.
EXACT = 1e-10


@pytest.mark.quick("SparseLogistic", "SparseRegressor(tol")
@parametrize_with_checks(
    [
        SparseLogistic(tol=EXACT),
        SparseMulticlass(tol=EXACT),
        SparseMultilabel(tol=EXACT),
        SparseRegressor(tol=EXACT),
        SparseRegressor(fit_intercept=False, tol=EXACT),
        SparseRegressor(loss="huber", tol=EXACT),
    ]
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def test_what_watches_a_fit_sees_each_iterate_and_the_end(cancer):
    seen = []
    SparseLogistic(lam=0.1, scope=lambda trace: seen.append((len(trace), trace.status))).fit(*cancer)
    assert [n for n, _ in seen[:-1]] == list(range(1, len(seen)))
    assert seen[-1] == (len(seen) - 1, "converged")


def test_a_fitted_model_goes_to_another_process_with_its_trace(cancer):
    X, y = cancer
    model = SparseLogistic(lam=0.1).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.trace_.objective.tolist() == model.trace_.objective.tolist()
    assert copy.trace_.problem is None
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    copy.trace_.append({"iteration": 1000})
    assert len(copy.trace_) == len(model.trace_) + 1
    assert not hasattr(clone(model), "trace_")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SparseLogistic("lbfgs"), "solver lbfgs needs"),
        (SparseLogistic("none"), "there is no solver 'none'"),
        (SparseLogistic(solver_params={"memery": 3}), "has no parameter 'memery'"),
        (SparseLogistic(lam=0.1, lam_ratio=0.1), "both lam and lam_ratio"),
        (SparseMulticlass(loss="logistic"), "loss logistic needs binary"),
        (SparseMultilabel(loss="logistic"), "loss logistic is not one of sets of labels: take one of multi"),
        (SparseMultilabel(loss="multilabel-hinge"), "loss multilabel-hinge needs multilabel"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(model, said):
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, 1) if isinstance(model, SparseLogistic) else y
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (MALFORMED, r"X is no sparse matrix of shape \(3, 2\): indices must be < 2"),
        (np.full((3, 2), "1.0"), "it holds text"),
        ([["1", "2"]] * 3, "it holds text"),
        (np.full((3, 2), "1.0", dtype=object), "it has entries of type str"),
        (np.full((3, 2), b"1.0"), "it holds bytes"),
        (np.full((3, 2), np.datetime64("2020")), "it holds dates"),
        (np.full((3, 2), np.timedelta64(1, "D")), "it holds time spans"),
        (np.ma.masked_equal(np.eye(3, 2), 0.0), "masked array with hidden entries"),
    ],
)
def test_what_is_no_number_is_refused_by_fit_and_by_predict(X, said):
    fitted = SparseLogistic(lam=0.1).fit(np.eye(3, 2), [0, 1, 1])
    for refuses in (lambda: SparseLogistic(lam=0.1).fit(X, [0, 1, 1]), lambda: fitted.predict(X)):
        with pytest.raises(ValueError, match=said):
            refuses()


def test_a_limit_is_a_warning_and_a_failure_an_error(cancer):
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        SparseLogistic(max_iter=1).fit(*cancer)


@pytest.mark.parametrize(("intercept", "last"), [(True, "intercept"), (False, "b")])
def test_names_of_columns_are_kept_by_the_model_and_its_record(intercept, last):
    X, y = pd.DataFrame(np.eye(3)[:, :2], columns=["a", "b"]), [0, 1, 1]
    model = SparseLogistic(lam=0.1, fit_intercept=intercept).fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    names = model.trace_.names
    assert [names.feature(0), names.feature(2 if intercept else 1)] == ["a", last]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["b", "a"]])
    assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")
