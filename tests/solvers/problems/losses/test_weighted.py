"""Sample weights: a sample of the weight 2 is two samples, one of the weight 0 is none."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.svm import LinearSVC, LinearSVR

from solverscope import solvers
from solverscope.solvers.problems.certificates.certificate import duality_gap
from solverscope.solvers.problems.losses.instances import weighted_residual
from tests.solvers.helpers import MAKERS

LOSSES = [(kind, loss) for kind in MAKERS if kind != "sequences" for loss in solvers.losses_for(kind)]
SMOOTH = [pair for pair in LOSSES if solvers.Trait.SMOOTH in solvers.LOSSES[pair[1]].traits]
KINKED = [pair for pair in LOSSES if pair not in SMOOTH]


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


@pytest.mark.parametrize(("kind", "loss"), [pair for pair in SMOOTH if pair[0] != "tree"])
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


@pytest.mark.parametrize(("kind", "loss"), LOSSES)
def test_one_instance_has_its_weight_in_kernels(kind, loss):
    ours = weighted(kind, loss, np.random.default_rng(4).uniform(0.5, 2.0, counts(kind).size)).loss
    instances, m = ours.instances(), ours.n_outputs
    Z = np.random.default_rng(5).normal(size=(ours.n_instances, m))
    expected = ours.residual(solvers.Scores(Z.copy(), np.zeros(0))).Z
    values = ours.values(solvers.Scores(Z.copy(), np.zeros(0)))
    for i in range(10):
        G = np.empty((1, m))
        value = weighted_residual(instances, i, Z[i : i + 1].copy(), np.zeros(0), G, np.zeros(0))
        assert value == pytest.approx(values[i], rel=1e-12, abs=1e-14)
        np.testing.assert_allclose(G[0], expected[i], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("id", ["sgd-l1", "ftrl", "fobos"])
def test_stochastic_solvers_draw_near_to_the_weighted_optimum(id):
    times = 9.0 * (np.arange(counts("binary").size) % 3 == 0) + 0.5
    plain, ours = (
        solvers.make_problem(MAKERS["binary"](), loss="logistic", penalty="l1", lam=0.01, sample_weight=s)
        for s in (None, times)
    )
    best, other = (solvers.solve(p, solvers.make_solver("prox-qn"), tol=1e-9) for p in (ours, plain))
    f, trace = best.result["objective"], solvers.solve(ours, solvers.make_solver(id), max_iter=300)
    away = ours.at(other.w).objective / f - 1.0
    assert trace.result["objective"] / f - 1.0 < 0.1 * away


def merged(marks):
    """Breakpoints, those at one step as one, and their jumps."""
    t, place = np.unique(marks.t.round(12), return_inverse=True)
    return t, np.bincount(place, marks.jump)


@pytest.mark.parametrize(("kind", "loss"), KINKED)
def test_whole_weights_are_repetitions_along_lines_with_kinks(kind, loss):
    times = counts(kind)
    problems = weighted(kind, loss, times), solvers.make_problem(repeated(kind, times), loss=loss, lam=0.05)
    problems = [problem.with_penalty(problems[0].penalty) for problem in problems]
    rng = np.random.default_rng(6)
    w, d = rng.normal(size=(2, problems[0].size))
    here, there = (problem.line(problem.at(w), d) for problem in problems)
    marks, others = here.breakpoints(), there.breakpoints()
    assert marks.slope == pytest.approx(others.slope, rel=1e-12)
    for one, other in zip(merged(marks), merged(others), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    assert here.exact().t == pytest.approx(there.exact().t, rel=1e-9)
    tied = [problem.at(np.zeros(problem.size)) for problem in problems]
    sups = [p.problem.scale * p.problem.loss.slope(p.scores, p.problem.design.scores(d)) for p in tied]
    assert sups[0] == pytest.approx(sups[1], rel=1e-12)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic-net"])
@pytest.mark.parametrize(("kind", "loss"), LOSSES)
def test_a_proved_gap_is_that_of_the_repetitions(kind, loss, penalty):
    times = counts(kind)
    given = {"penalty": penalty, "lam": 0.02, "average": True, "intercept": penalty == "elastic-net"}
    if given["intercept"] and solvers.Trait.HESSIAN not in solvers.LOSSES[loss].traits:
        given["intercept"] = solvers.Trait.SMOOTH not in solvers.LOSSES[loss].traits
    problems = (
        weighted(kind, loss, times, **given),
        solvers.make_problem(repeated(kind, times), loss=loss, **given),
    )
    for size in (0.0, 0.05, 1.0):
        w = size * np.random.default_rng(8).normal(size=problems[0].size)
        ours, theirs = (duality_gap(problem, problem.at(w)) for problem in problems)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("kind", "loss"), KINKED)
def test_solvers_of_kinks_reach_the_optimum_of_the_repetitions(kind, loss):
    times = counts(kind)
    ours = weighted(kind, loss, times)
    theirs = solvers.make_problem(repeated(kind, times), loss=loss, penalty="l2", lam=0.05, average=True)
    best = solvers.solve(theirs, solvers.make_solver("ls-bmrm"), tol=1e-6, max_seconds=20).result
    for id in ("ls-bmrm", "subbfgs"):
        found = solvers.solve(ours, solvers.make_solver(id), tol=1e-6, max_seconds=20).result
        assert found["objective"] == pytest.approx(best["objective"], rel=1e-5), id
        if id == "ls-bmrm":
            assert found["status"] == "converged"
            assert found["objective"] - found["dual_gap"] <= best["objective"] * (1.0 + 1e-14)


def test_weighted_hinges_have_the_optimum_of_scikit_learn_s_support_vector_machines():
    binary, s = MAKERS["binary"]().train, np.random.default_rng(9).uniform(0.2, 3.0, 60)
    numbers, t = MAKERS["regression"]().train, np.random.default_rng(9).uniform(0.2, 3.0, 60)
    options = {"fit_intercept": False, "tol": 1e-10, "max_iter": 10**6, "random_state": 0}
    svc = LinearSVC(loss="hinge", **options).fit(binary.X, binary.y, sample_weight=s)
    svr = LinearSVR(epsilon=0.3, **options).fit(numbers.X, numbers.y, sample_weight=t)
    given = {"penalty": "l2", "lam": 1.0, "average": False}
    tube = {"loss": "epsilon-insensitive", "loss_params": {"epsilon": 0.3}}
    for problem, theirs in (
        (solvers.make_problem(binary.X, binary.y, loss="binary-hinge", sample_weight=s, **given), svc),
        (solvers.make_problem(numbers.X, numbers.y, sample_weight=t, **tube, **given), svr),
    ):
        found = solvers.solve(problem, solvers.make_solver("ls-bmrm"), tol=1e-7, max_seconds=20).result
        assert found["objective"] == pytest.approx(problem.at(theirs.coef_.ravel()).objective, rel=1e-6)
        assert found["dual_gap"] <= 1e-5 * found["objective"]


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
    for id in ("liblinear", "skglm", "celer", "bcd-ls", "sklearn-saga", "dual-cd"):
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


def test_losses_of_sequences_take_no_weights():
    data = MAKERS["sequences"]()
    with pytest.raises(ValueError, match="loss chain-crf takes no sample_weight"):
        solvers.make_problem(data, lam=1.0, sample_weight=np.ones(data.train.X.shape[0]))
