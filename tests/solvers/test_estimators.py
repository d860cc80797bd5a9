"""The estimators pass scikit-learn's own checks, agree with its programs, and refuse in a sentence."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    PoissonRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from solverscope import datasets, solvers
from solverscope.solvers.estimators import ChainCRF, SparseLogistic, SparseMulticlass, SparseRegressor

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
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def strings():
    part = datasets.load("digit-strings", n_samples=60, degree=1).train
    ends = part.offsets[1:-1]
    return np.split(part.X, ends), np.split(part.y.astype(str), ends)


@parametrize_with_checks(
    [
        SparseLogistic(),
        SparseMulticlass(),
        SparseRegressor(),
        SparseRegressor(fit_intercept=False),
        SparseRegressor(loss="huber", fit_intercept=False),
    ]
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("check", WITHOUT_DATA, ids=lambda check: check.__name__)
def test_scikit_learn_finds_nothing_wrong_with_the_parameters_of_chains(check):
    check("ChainCRF", ChainCRF())


def test_intercept_is_that_of_liblinear(cancer):
    X, y = cancer
    ours = SparseLogistic(lam=0.02, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(
        C=1.0 / (0.02 * len(y)), l1_ratio=1.0, solver="liblinear", tol=1e-10, max_iter=10_000
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
    params = {"fit_intercept": False, "tol": 1e-10}
    ours = SparseRegressor(loss="poisson", penalty="l2", lam=0.1, **params).fit(X, y)
    theirs = PoissonRegressor(alpha=0.1, **params).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", solvers.losses_for("regression"))
@pytest.mark.parametrize("penalty", solvers.PENALTIES)
def test_every_loss_and_penalty_has_a_solver_by_default(diabetes, loss, penalty):
    X, y = scale(diabetes[0]), diabetes[1]
    y = np.round(y / 50.0) if loss == "poisson" else scale(y)
    lam = None if penalty == "none" else 0.01
    model = SparseRegressor(loss=loss, penalty=penalty, lam=lam, fit_intercept=False, tol=None, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.trace_.objective.min() < model.trace_.objective[0]


def test_a_constant_target_is_all_intercept():
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = SparseRegressor().fit(X, np.full(6, 0.1))
    assert not model.coef_.any()
    assert model.intercept_ == 0.1


def test_sparse_features_are_taken_without_an_intercept(diabetes):
    X, y = diabetes
    model = SparseRegressor(lam=0.5, fit_intercept=False)
    dense = clone(model).fit(X, y).coef_
    np.testing.assert_allclose(model.fit(sp.csr_array(X), y).coef_, dense, atol=1e-4)


@pytest.mark.parametrize("loss", solvers.losses_for("multiclass"))
def test_every_multiclass_loss_learns_irises(loss):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    smooth = solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
    kinks = {"solver": "ls-bmrm", "penalty": "l2", "lam": 1e-3, "tol": 1e-3}
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
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(model, said):
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, 1) if isinstance(model, SparseLogistic) else y
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("params", "X", "y", "said"),
    [
        (
            {},
            sp.eye_array(3),
            [1.0, 2.0, 4.0],
            "an intercept needs a dense X, and this one is sparse: pass fit",
        ),
        ({"loss": "huber"}, np.eye(3), [1.0, 2.0, 4.0], "not known with the loss huber, but with squared"),
        ({"loss": "logistic"}, np.eye(2), [0.0, 1.0], "loss logistic is not one of numeric targets"),
        ({"loss": "none"}, np.eye(2), [0.5, 1.0], "there is no loss 'none'"),
        ({"loss": "poisson", "fit_intercept": False}, np.eye(2), [-1.0, 1.0], "needs targets of at least 0"),
        ({"loss": "huber", "fit_intercept": False}, np.eye(3), np.ones((3, 2)), "should be a 1d array"),
        ({"solver": "bmrm"}, np.eye(3), [1.0, 2.0, 4.0], "solver bmrm needs a ridge penalty"),
    ],
)
def test_regressions_that_do_not_fit_are_refused_in_a_sentence(params, X, y, said):
    with pytest.raises(ValueError, match=said):
        SparseRegressor(**{"lam": 0.1} | params).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.eye(2), [[0], [1]], r"sequence 1 of X has the shape \(2,\)"),
        ([], [], "X holds no sequence: give a list of at least one"),
        ("ab", [[0]], "X holds no sequence"),
        (7, [[0]], "X holds no sequence"),
        ([np.eye(2), np.eye(2)], [["a", "b"]], "X has 2 sequences and y has 1: give labels for each"),
        ([np.eye(2)], None, "y holds no sequence"),
        ([np.eye(2)], ["ab"], r"sequence 1 of y has the shape \(\)"),
        ([np.eye(2), np.zeros((0, 2))], [["a", "b"], []], r"sequence 2 of X has the shape \(0, 2\)"),
        ([np.eye(2), []], [["a", "b"], []], r"sequence 2 of X has the shape \(0,\)"),
        ([np.eye(2)], [[None, "a"]], "sequence 1 of y has labels of type NoneType and str"),
        ([np.eye(2)], [[1, "a"]], "sequence 1 of y has labels of type int and str"),
        ([np.eye(2), np.eye(2)], [[1, 2], ["a", "b"]], "y has labels that are numbers and strings"),
        ([np.eye(2)], [np.array(["2020", "NaT"], "M8[D]")], "NaT"),
        ([np.eye(2)], [np.eye(2)], "give a label for each token"),
        ([np.eye(2)], [[0.5, np.nan]], "sequence 1 of y has entries that are NaN"),
        ([np.eye(2) * 1j], [[0, 1]], "sequence 1 of X is no matrix of numbers: it is complex"),
        ([np.eye(2), np.eye(2) * np.nan], [[0, 1], [0, 1]], "sequence 2 of X has entries that are NaN"),
        ([np.eye(2), np.eye(3)], [[0, 1], [0, 1, 0]], "differ in their numbers of features"),
        ([np.eye(2)], [[0]], "give a label for each token"),
        ([np.eye(2)], [[0, 0]], "all labels are the same"),
    ],
)
def test_sequences_that_make_no_sense_are_refused_in_a_sentence(X, y, said):
    with pytest.raises(ValueError, match=said):
        ChainCRF(lam=0.1).fit(X, y)


@pytest.fixture(scope="module")
def chain():
    return ChainCRF(lam=0.1).fit([np.eye(2), np.eye(2)[[0, 1, 1]]], [["a", "b"], ["a", "b", "b"]])


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1j, "1.0", None, np.datetime64("2020")])
def test_what_chains_refuse_to_learn_from_they_refuse_to_predict(chain, entry):
    with pytest.raises(ValueError, match="sequence 2 of X"):
        chain.predict([np.eye(2), [[entry, 0.0]]])


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([], [], "X holds no sequence"),
        ([np.eye(2)], [["a"]], "give a label for each token"),
        ([np.eye(2)[[0, 1, 1]]], [["a"]], "sequence 1 has 3 tokens and labels of shape"),
        ([np.eye(2)] * 2, [["a", "b"]], "X has 2 sequences and y has 1"),
        ([np.eye(2)], [[0, 1]], "y has labels that are numbers, but ChainCRF was fitted with strings"),
        ([np.eye(2)], [[None, "a"]], "NoneType and str"),
        ([np.eye(3)], [["a", "b", "b"]], "X has 3 features, but ChainCRF is expecting 2"),
    ],
)
def test_scores_of_chains_are_of_labels_that_fit(chain, X, y, said):
    with pytest.raises(ValueError, match=said):
        chain.score(X, y)


def test_a_label_that_training_lacks_counts_as_wrong(chain):
    assert chain.score([np.eye(2)], [["a", "never seen"]]) == 0.5


@pytest.mark.parametrize("model", [SparseLogistic(lam=1.0), SparseMulticlass(lam=10.0)])
def test_ties_are_predicted_as_the_metric_counts_them(model):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat([0, 1], [7, 13])
    model.fit(X, y)
    assert not model.coef_.any()
    assert model.score(X, y) == model.trace_.result["train_metric"]


MALFORMED = sp.csr_matrix((np.ones(3), [50_000_000, 1, 0], [0, 1, 2, 3]), shape=(3, 2))


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


@pytest.mark.parametrize("y", [np.ma.masked_equal([0, 1, 2], 2), np.array(["2020", "2021", "NaT"], "M8[Y]")])
def test_hidden_labels_and_dates_that_are_none_are_no_classes(y):
    with pytest.raises(ValueError, match=r"hidden entries|NaT"):
        SparseMulticlass(lam=0.1).fit(np.eye(3), y)


def test_a_limit_is_a_warning_and_a_failure_an_error(cancer):
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        SparseLogistic(max_iter=1).fit(*cancer)
