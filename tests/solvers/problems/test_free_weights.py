"""Weights that are not penalised, such as an intercept: their best values, λ_max, and degenerate data."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar

from solverscope import solvers
from tests.solvers.helpers import MAKERS, dense_of

ONE_SCORE = ["logistic", "smoothed-binary-hinge", "squared", "huber", "poisson"]
MAKER = {id: MAKERS[solvers.LOSSES[id].kinds[0]] for id in solvers.LOSSES if id != "toy"}


def with_intercept(loss, *, penalty="l1", lam=1.0, data=None, **given):
    return solvers.make_problem(
        data or MAKER[loss](), loss=loss, penalty=penalty, lam=lam, average=True, intercept=True, **given
    )


@pytest.mark.parametrize("loss", ONE_SCORE)
def test_the_intercept_alone_is_the_best_constant(loss):
    problem = with_intercept(loss)
    shifted = problem.at().w

    def f(b):
        return problem.at(np.append(np.zeros(problem.size - 1), b)).loss

    best = minimize_scalar(f, bracket=(-1.0, 1.0), tol=1e-12)
    assert np.flatnonzero(shifted).tolist() == [problem.size - 1]
    assert shifted[-1] == pytest.approx(best.x, abs=1e-6)
    assert f(shifted[-1]) <= best.fun * (1.0 + 1e-15)


def test_known_constants_are_met_to_rounding():
    y = MAKER["squared"]().train.y
    assert with_intercept("squared").at().w[-1] == pytest.approx(y.mean(), rel=1e-14)
    counts = MAKER["poisson"]().train.y
    if counts.min() >= 0.0:
        assert with_intercept("poisson").at().w[-1] == pytest.approx(np.log(counts.mean()), rel=1e-12)
    labels = MAKER["logistic"]().train.y
    share = np.mean(labels > 0)
    assert with_intercept("logistic").at().w[-1] == pytest.approx(np.log(share / (1 - share)), abs=1e-12)


def test_several_outputs_have_the_shares_of_their_classes():
    data = MAKER["multiclass-logistic"]()
    problem = with_intercept("multiclass-logistic", data=data)
    b = problem.unpack(problem.at().w)[0][-1]
    shares = np.bincount(data.train.y) / data.train.y.size
    np.testing.assert_allclose(np.exp(b) / np.exp(b).sum(), shares, atol=1e-12)


@pytest.mark.parametrize("penalty", [id for id, cls in solvers.PENALTIES.items() if cls.sparse])
@pytest.mark.parametrize("loss", [id for id in MAKER if solvers.Trait.SMOOTH in solvers.LOSSES[id].traits])
def test_at_lam_max_all_penalised_weights_are_zero_and_below_they_are_not(loss, penalty):
    data = MAKER[loss]()
    v = np.random.default_rng(3).uniform(0.2, 3.0, data.train.X.shape[1])
    v[2] = 0.0
    problem = with_intercept(loss, penalty=penalty, data=data, penalty_factors=v)
    free = problem.free
    assert set(free) > set(range(problem.size - problem.design.n_tail)[-problem.design.n_outputs :])
    above = problem.at_lam(problem.lam_max * (1.0 + 1e-6))
    below = problem.at_lam(problem.lam_max * (1.0 - 1e-4))
    assert above.violation_at_zero() <= 1e-7 * problem.lam_max
    assert below.violation_at_zero() > 1e-5 * problem.lam_max
    w = solvers.solve(above, solvers.make_solver("sparsa"), tol=1e-9, max_seconds=20).w
    assert set(np.flatnonzero(w)) <= set(free)


def test_a_constant_column_of_the_data_stays_zero_beside_an_intercept():
    data = MAKER["logistic"]()
    X = np.hstack([np.full((data.train.X.shape[0], 1), 3.0), dense_of(data.train.X)])
    problem = solvers.make_problem(X, data.train.y, loss="logistic", lam_ratio=0.1, intercept=True)
    for id in ("newton-cd", "prox-qn", "owl-qn"):
        w = solvers.solve(problem, solvers.make_solver(id), tol=1e-9).w
        assert w[0] == 0.0 != w[-1]


def test_targets_that_are_all_the_same_are_met_by_the_intercept_alone():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.full(20, 7.5)
    problem = solvers.make_problem(X, y, loss="squared", lam=0.1, intercept=True)
    assert problem.at().w.tolist() == [0.0, 0.0, 0.0, 7.5]
    assert problem.at().objective == 0.0
    with pytest.raises(ValueError, match="λ_max is 0"):
        solvers.make_problem(X, y, loss="squared", lam_ratio=0.1, intercept=True)


def test_a_label_that_no_sample_has_is_no_endless_search():
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.zeros((30, 2), dtype=int)
    y[::3, 1] = 1
    problem = solvers.make_problem(
        X, y, loss="multitask-squared-hinge", penalty="l1", lam=0.1, intercept=True
    )
    assert np.isfinite(problem.at().w).all()
    assert np.abs(problem.at().gradient()[problem.free]).max() <= 1e-12


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary", "lazy"])
def test_whatever_holds_the_features_the_optimum_is_the_same(storage):
    X = (np.random.default_rng(5).random((80, 6)) < 0.4).astype(float)
    y = X @ [2.0, -1.0, 0.0, 0.0, 1.0, 0.0] + np.random.default_rng(6).normal(size=80) + 4.0
    given = {"dense": X, "sparse": sp.csr_array(X * 1.0), "binary": sp.csr_matrix(X), "lazy": sp.csc_array(X)}
    problem = solvers.make_problem(given[storage], y, loss="squared", lam=0.05, intercept=True)
    w = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10).w

    def f(u):
        r = X @ u[:6] + u[6] - y
        return 0.5 * np.mean(r * r) + 0.05 * np.abs(u[:6]).sum()

    best = minimize(f, w, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000})
    assert f(w) == pytest.approx(problem.at(w).objective, rel=1e-13)
    assert f(w) <= best.fun + 1e-12


def test_an_intercept_is_named_and_so_is_its_problem():
    problem = with_intercept("logistic")
    d = problem.design.n_features
    assert problem.names.weight(d - 1, d, 1) == "intercept"
    assert problem.describe()["intercept"] is True
    assert with_intercept("logistic").key == problem.key
    plain = solvers.make_problem(MAKER["logistic"](), lam=1.0, average=True)
    assert plain.describe()["intercept"] is False
    assert plain.key != problem.key


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ([1.0, 2.0], "the array penalty_factors has the shape (2,): give one for each of 12 features"),
        ([-1.0] * 12, "the array penalty_factors must be finite, and 0 or more"),
        ([np.nan] * 12, "the array penalty_factors must be finite, and 0 or more"),
        ([0.0] * 12, "the array penalty_factors is all 0: at least one feature must count"),
        (["a"] * 12, "the array penalty_factors holds no numbers: give one for each feature"),
    ],
)
def test_factors_that_cannot_be_are_refused_in_a_sentence(factors, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        solvers.make_problem(MAKER["logistic"](), lam=0.1, penalty_factors=factors)


@pytest.mark.parametrize("average", [True, False])
def test_adaptive_factors_are_the_inverse_weights_of_a_ridge(average):
    X = np.random.default_rng(2).standard_normal((30, 5)) * (1.0, 2.0, 1.0, 0.0, 3.0)
    y = X @ [1.0, -0.5, 0.01, 0.0, 2.0] + 1.0
    how = {"loss": "squared", "lam": 0.1, "average": average, "intercept": True}
    problem = solvers.make_problem(X, y, penalty_factors="adaptive", **how)
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + 30 * 1e-4 * np.eye(5), centred.T @ (y - y.mean()))
    assert w[3] == 0.0
    expected = 1.0 / np.maximum(np.abs(w), 1e-6 * np.abs(w).max())
    np.testing.assert_allclose(problem.factors[:5], expected, rtol=1e-3)
    assert problem.factors[5] == 0.0
    assert problem.describe()["penalty_factors"] == "adaptive"


def test_a_row_of_weights_has_the_inverse_of_its_length():
    data = MAKER["multiclass-logistic"]()
    problem = solvers.make_problem(data, penalty="l1-l2", lam=0.1, average=True, penalty_factors="adaptive")
    ridge = solvers.make_problem(data, penalty="l2", lam=1e-4, average=True)
    W, _ = ridge.unpack(solvers.solve(ridge, solvers.make_solver("lbfgs"), tol=1e-8).w)
    sizes = np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(problem.factors.reshape(W.shape) * sizes, np.ones(W.shape), rtol=1e-3)


def test_factors_by_name_are_those_of_the_features():
    X = np.random.default_rng(2).standard_normal((9, 3))
    table = pd.DataFrame(X, columns=["age", "pixel (1, 2)", "a=b"])
    how = {"loss": "squared", "lam": 0.1}
    given = solvers.make_problem(table, X[:, 0], penalty_factors=[1.0, 0.5, 0.0], **how)
    for same in ("pixel (1, 2)=0.5, a=b=0", "2=0.5,3=0", {"pixel (1, 2)": 0.5, "a=b": 0}):
        named = solvers.make_problem(table, X[:, 0], penalty_factors=same, **how)
        assert named.key == given.key
        assert "given" == given.describe()["penalty_factors"] != named.describe()["penalty_factors"]
    assert solvers.make_problem(table, X[:, 0], penalty_factors=" ", **how).factors is None


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ("adaptiv", "penalty factors 'adaptiv': write adaptive, or NAME=FACTOR,..."),
        ("=3", "penalty factors '=3': write adaptive"),
        ("1=3,", "penalty factors '1=3,': write adaptive"),
        ("1=-3", "penalty factor of 1 must be a number from 0"),
        ("99=3", "there is no feature '99', by name or by number from 1"),
        ({"tall": 3.0}, "there is no feature 'tall'"),
    ],
)
def test_texts_that_are_no_factors_are_refused_in_a_sentence(factors, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        solvers.make_problem(MAKER["logistic"](), lam=0.1, penalty_factors=factors)


def test_adaptive_factors_need_a_smooth_loss():
    with pytest.raises(ValueError, match="quantile has kinks"):
        solvers.make_problem(MAKER["quantile"](), loss="quantile", lam=0.1, penalty_factors="adaptive")


def test_solvers_that_know_one_strength_alone_say_so():
    problem = with_intercept("logistic", penalty="l2")
    for id in ("dual-cd", "bmrm", "sklearn-lbfgs", "sgd-l1"):
        assert "no intercept, no penalty factors" in solvers.why_not_solver_on(id, problem)
    assert solvers.why_not_solver_on("lbfgs", problem) is None
    with pytest.raises(ValueError, match="same strength for all weights"):
        solvers.solve(problem, solvers.make_solver("dual-cd"), max_iter=1)


@pytest.mark.usefixtures("registries")
def test_losses_and_penalties_that_allow_no_free_weights_are_refused_in_a_sentence():
    @solvers.register
    @dataclass(frozen=True)
    class Norm(solvers.Penalty):
        id, name, summary, sparse = "whole-norm", "Norm", "λ‖w‖", True
        traits = solvers.Trait.PROX

    data = MAKER["logistic"]()
    with pytest.raises(ValueError, match="penalty whole-norm is no sum over weights or rows"):
        solvers.make_problem(data, penalty="whole-norm", lam=0.1, intercept=True)
    shard = solvers.Shard(data.train.X, solvers.LOSSES["logistic"]().bind(data.train, 2))
    pool = solvers.LocalWorkerPool([shard])
    with pytest.raises(ValueError, match="shards take no intercept"):
        solvers.make_problem(data, penalty="l1", lam=0.1, intercept=True, workers=pool)
