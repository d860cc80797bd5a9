"""Sample weights: a sample of the weight 2 is two samples, one of the weight 0 is none."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from solverscope import solvers
from tests.solvers.helpers import MAKERS

SMOOTH = [
    (kind, loss)
    for kind in MAKERS
    if kind not in ("sequences", "function", "tree")
    for loss in solvers.losses_for(kind)
    if solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
]


def weighted(kind, loss, weights, *, average=True, **given):
    given = {"penalty": "l2", "lam": 0.05, "average": average} | given
    return solvers.make_problem(MAKERS[kind](), loss=loss, sample_weight=weights, **given)


def counts(kind):
    n = MAKERS[kind]().train.X.shape[0]
    return np.random.default_rng(4).integers(0, 4, n)


def repeated(kind, times):
    data = MAKERS[kind]()
    rows = np.repeat(np.arange(times.size), times)
    return replace(data, train=replace(data.train, X=data.train.X[rows], y=data.train.y[rows]))


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
def test_whole_weights_are_repetitions(kind, loss, average):
    times = counts(kind)
    ours = weighted(kind, loss, times, average=average)
    data = repeated(kind, times)
    theirs = solvers.make_problem(data, loss=loss, penalty="l2", lam=0.05, average=average)
    w = np.random.default_rng(1).normal(size=ours.size)
    here, there = ours.at(w), theirs.at(w)
    assert here.objective == pytest.approx(there.objective, rel=1e-12)
    np.testing.assert_allclose(here.gradient(), there.gradient(), rtol=1e-10, atol=1e-12)
    every = ours.design.working_set()
    if solvers.Trait.DIAGONAL_HESSIAN in ours.loss.traits:
        np.testing.assert_allclose(here.hessian_diagonal(every), there.hessian_diagonal(every), rtol=1e-9)
    d = np.random.default_rng(2).normal(size=ours.size)
    products = [
        p.design.adjoint(p.loss.hessian(at.scores, at.residual)(p.design.scores(d))) * p.scale
        for p, at in ((ours, here), (theirs, there))
    ]
    np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-12)
    assert ours.key != theirs.key


@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
def test_all_solvers_that_take_weights_reach_the_optimum_of_the_repetitions(kind, loss):
    times = counts(kind)
    given = {"penalty": "l1", "lam": 0.01, "average": True, "intercept": True}
    ours = weighted(kind, loss, times, **given)
    theirs = solvers.make_problem(repeated(kind, times), loss=loss, **given)
    best = solvers.solve(theirs, solvers.make_solver("prox-qn"), tol=1e-9).result["objective"]
    able = [id for id in ("prox-qn", "newton-cd", "ssn", "sparsa", "owl-qn") if _takes(id, ours)]
    assert {"prox-qn", "sparsa"} <= set(able)
    for id in able:
        found = solvers.solve(ours, solvers.make_solver(id), tol=1e-8, max_seconds=20).result["objective"]
        assert found == pytest.approx(best, rel=1e-8), id


def _takes(id, problem):
    return solvers.why_not_solver_on(id, problem) is None


@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
def test_the_gradient_is_that_of_the_values(kind, loss):
    problem = weighted(kind, loss, np.random.default_rng(3).uniform(0.1, 3.0, counts(kind).size))
    w = 0.3 * np.random.default_rng(5).normal(size=problem.size)
    numeric = approx_fprime(w, lambda w: problem.at(w).objective, 1e-7)
    np.testing.assert_allclose(problem.at(w).gradient(), numeric, atol=2e-5)


def test_zero_weights_leave_samples_out_of_sparse_features_too():
    data = MAKERS["binary"]()
    weights = np.ones(60)
    weights[:20] = 0.0
    problem = solvers.make_problem(
        sp.csr_array(data.train.X), data.train.y, loss="logistic", sample_weight=weights
    )
    part = solvers.make_problem(data.train.X[20:], data.train.y[20:], loss="logistic", lam=problem.lam)
    assert problem.lam_max == pytest.approx(part.lam_max)
    assert problem.describe()["n_samples"] == 40


def test_programs_that_would_not_see_weights_refuse_them():
    problem = weighted("binary", "logistic", np.arange(60.0), penalty="l1")
    for id in ("liblinear", "skglm", "celer", "sgd-l1", "bcd-ls", "sklearn-saga", "dual-cd"):
        assert solvers.why_not_solver_on(id, problem) is not None, id


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(3), "the array sample_weight has the shape (3,): give one for each of 60 samples"),
        (-np.ones(60), "the array sample_weight must be finite, and 0 or more"),
        (np.zeros(60), "the array sample_weight is all 0: at least one sample must count"),
    ],
)
def test_weights_that_cannot_be_are_refused_in_a_sentence(weights, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        weighted("binary", "logistic", weights)


def test_losses_with_kinks_and_of_sequences_take_no_weights():
    with pytest.raises(ValueError, match="loss binary-hinge takes no sample_weight"):
        weighted("binary", "binary-hinge", np.ones(60))
    data = MAKERS["sequences"]()
    with pytest.raises(ValueError, match="loss chain-crf takes no sample_weight"):
        solvers.make_problem(data, lam=1.0, sample_weight=np.ones(data.train.X.shape[0]))
