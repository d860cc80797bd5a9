"""Semismooth Newton: its Hessian, what its search accepts, other programs' optima, and its rate."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from solverscope import solvers
from solverscope.solvers.methods.proximal import semismooth
from solverscope.solvers.methods.proximal.semismooth import Newton, SemismoothNewton
from solverscope.solvers.methods.working_sets import Selection
from solverscope.solvers.working_sets.rules import RULES
from tests.solvers.helpers import MAKERS, binary, by_scikit_learn, chains, dense_of, multiclass, problem_of
from tests.solvers.oracles import Oracle
from tests.solvers.smooth_programs import minimum

KINDS = ["binary", "multiclass"]
LOSSES = [
    (kind, loss)
    for kind in MAKERS
    for loss in solvers.losses_for(kind)
    if solvers.Trait.HESSIAN in solvers.LOSSES[loss].traits
]
OTHERS = [pair for pair in LOSSES if pair not in [(kind, MAKERS[kind]().loss) for kind in KINDS]]
#: Small enough to be solved as a convex program, chains by a term for each sequence of labels.
SMALL = {
    "binary": {"n": 30, "d": 8},
    "multiclass": {"n": 30, "d": 8},
    "multilabel": {"n": 30, "d": 5},
    "sequences": {"n": 12, "d": 5, "longest": 4},
    "tree": {"n": 40, "d": 4},
    "regression": {"n": 30, "d": 8},
    "multitask": {"n": 30, "d": 8},
}
PENALTIES = ["none", "l2", "l1", "elastic-net"]


def oracle_of(problem, data, penalty):
    return Oracle(data, problem.loss.id, penalty, problem.lam or 0.0, problem.average)


@pytest.mark.parametrize("storage", ["dense", "binary"])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize(("kind", "loss"), LOSSES)
def test_the_hessian_on_some_weights_is_that_of_finite_differences(kind, loss, penalty, storage):
    """Transitions of chains among them."""
    data = MAKERS[kind](n=40, d=6, storage=storage)
    problem = problem_of(data, loss, penalty)
    oracle, rng = oracle_of(problem, data, penalty), np.random.default_rng(0)
    w = 0.3 * rng.normal(size=problem.size)
    some = rng.random(problem.size) < 0.6
    alpha = problem.design.working_set(np.flatnonzero(some))
    times = Newton(SemismoothNewton(), problem).hessian(problem.at(w), alpha)
    u = np.zeros_like(w)
    u[some] = rng.normal(size=int(some.sum()))
    h = 1e-5
    bent = (oracle.gradient(w + h * u) - oracle.gradient(w - h * u)) / (2.0 * h)
    np.testing.assert_allclose(times(u[some]), bent[some], atol=1e-8)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_is_that_of_a_convex_program_and_satisfies_its_conditions(kind, penalty):
    data = MAKERS[kind](n=30, d=8)
    problem = problem_of(data, None, penalty, lam=None if penalty == "none" else 0.02)
    oracle = oracle_of(problem, data, penalty)
    trace = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-10)
    assert oracle.violation(trace.w) <= 1e-8 * oracle.violation(np.zeros_like(trace.w))
    if penalty != "none":  # separable data have no minimum without a penalty
        best = minimum(oracle)
        assert oracle.objective(trace.w) == pytest.approx(oracle.objective(best), rel=1e-12)
        # of an even number of classes ‖W_j‖₁ stays the same while all weights of a row move by a little
        if (kind, penalty) != ("multiclass", "l1"):
            np.testing.assert_array_equal(trace.w != 0.0, best != 0.0)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic-net"])
@pytest.mark.parametrize(("kind", "loss"), OTHERS)
def test_any_loss_with_products_with_its_hessian_is_minimized_as_by_a_convex_program(kind, loss, penalty):
    data = MAKERS[kind](**SMALL[kind])
    problem = problem_of(data, loss, penalty)
    oracle = oracle_of(problem, data, penalty)
    trace = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-10)
    assert trace.status == "converged"
    assert oracle.violation(trace.w) <= 1e-8 * oracle.violation(np.zeros_like(trace.w))
    best, found = oracle.objective(minimum(oracle)), oracle.objective(trace.w)
    assert found == pytest.approx(best, rel=1e-8)
    assert found <= best * (1.0 + 1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_of_chains_is_that_of_other_solvers_by_every_rule(rule):
    """Chains of one token to many, transitions between working sets and beside them."""
    problem = problem_of("sequences", n=60, d=40, m=4, longest=30)
    best = min(
        solvers.solve(problem, solvers.make_solver(id), tol=1e-10).result["objective"]
        for id in ("prox-qn", "newton-cd")
    )
    found = solvers.solve(problem, solvers.make_solver("ssn", rule=rule), tol=1e-9)
    assert found.status == "converged"
    assert found.result["objective"] == pytest.approx(best, rel=1e-11)
    assert 0 < found.result["nnz"] < problem.size
    W, T = problem.unpack(found.w)
    assert W.any()
    assert T.any()


def test_the_optimum_of_chains_is_that_of_crfsuite():
    pytest.importorskip("pycrfsuite")
    data = chains(n=80, d=10, storage="sparse")
    problem = solvers.make_problem(data, penalty="l1", lam=0.5)
    ours, theirs = (
        solvers.solve(problem, solvers.make_solver(id), tol=1e-9, max_seconds=20)
        for id in ("ssn", "crfsuite")
    )
    assert ours.status == "converged"
    assert theirs.result["objective"] == pytest.approx(ours.result["objective"], rel=1e-6)
    assert theirs.result["objective"] >= ours.result["objective"] * (1.0 - 1e-12)


def test_the_optimum_of_squared_hinges_is_that_of_scikit_learn():
    """One against the rest, each by liblinear."""
    data, lam = multiclass(n=150, d=20), 0.02
    problem = solvers.make_problem(data, loss="multitask-squared-hinge", penalty="l1", lam=lam)
    found = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-10)
    model = LinearSVC(
        penalty="l1", loss="squared_hinge", dual=False, fit_intercept=False, C=1 / (lam * 150), tol=1e-10
    )
    theirs = model.fit(dense_of(data.train.X), data.train.y).coef_.T.ravel()
    np.testing.assert_array_equal(found.w != 0.0, np.abs(theirs) > 1e-9)
    np.testing.assert_allclose(found.w, theirs, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_and_support_are_those_of_liblinear(rule):
    data, lam = binary(n=150, d=40, seed=1), 0.02
    theirs = by_scikit_learn(data, l1_ratio=1.0, solver="liblinear", C=1 / (lam * 150), tol=1e-12).ravel()
    problem = solvers.make_problem(data, penalty="l1", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("ssn", rule=rule), tol=1e-10)
    assert trace.status == "converged"
    np.testing.assert_array_equal(trace.w != 0.0, np.abs(theirs) > 1e-9)
    np.testing.assert_allclose(trace.w, theirs, atol=1e-7)


@pytest.mark.parametrize("rule", ["none", "growing", "gap-safe"])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
def test_it_agrees_with_newton_cd_where_there_are_more_weights_than_samples(penalty, rule):
    problem = problem_of("multiclass", penalty=penalty, n=40, d=60, m=3)
    best = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10).result["objective"]
    found = solvers.solve(problem, solvers.make_solver("ssn", rule=rule), tol=1e-9)
    assert found.status == "converged"
    assert found.result["objective"] == pytest.approx(best, rel=1e-11)


def steps(problem, count):
    """(γ, w, g, w⁺) of the first steps with all weights."""
    selection = Selection(RULES["none"](), problem, 1e-12)
    newton, point, found = Newton(SemismoothNewton(), problem), problem.at(), []
    for _ in range(count):
        state = selection.choose(point)
        w, g = point.w.copy(), state.gradient.copy()
        point = newton.step(point, state).point
        found.append((newton.gamma, w, g, point.w.copy()))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_step_falls_below_the_envelope_as_the_paper_asks(kind):
    """By the oracle's f: φ_γ(w⁺) <= f(w⁺) <= φ_γ(w) - σ/γ ‖w - p‖²."""
    data = MAKERS[kind](n=60, d=20)
    problem = problem_of(data, None, "l1", lam=0.005)
    oracle, l1 = oracle_of(problem, data, "l1"), 0.005
    sigma = SemismoothNewton().sigma
    for gamma, w, g, new in steps(problem, 6):
        np.testing.assert_allclose(g, oracle.gradient(w), atol=1e-12)
        p = np.sign(w - gamma * g) * np.maximum(np.abs(w - gamma * g) - gamma * l1, 0.0)
        smooth = oracle.objective(w) - l1 * np.abs(w).sum()
        r = p - w
        envelope = smooth + g @ r + r @ r / (2.0 * gamma) + l1 * np.abs(p).sum()
        assert oracle.objective(new) <= envelope - sigma / gamma * (r @ r) + 1e-14


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_useless_newton_point_it_is_the_proximal_gradient_method(kind, monkeypatch):
    """And so converges from anywhere: each iterate is the proximal step, of a γ that passes the test."""
    monkeypatch.setattr(Newton, "_newton_point", lambda self, point, look, w, y, p: p + 1e6 * (1.0 + p))
    data = MAKERS[kind](n=60, d=6)
    problem = problem_of(data, None, "l1", lam=0.02)
    for gamma, w, g, new in steps(problem, 5):
        p = np.sign(w - gamma * g) * np.maximum(np.abs(w - gamma * g) - gamma * 0.02, 0.0)
        np.testing.assert_allclose(new, p, atol=1e-15)
    solver = solvers.make_solver("ssn")
    run = solvers.solve(problem, solver, tol=1e-5, max_iter=3_000)
    assert run.status == "converged"
    assert all("proximal-step" in events for events in run.events[1:])


@pytest.mark.parametrize(
    ("kind", "size"), [("binary", {"n": 300, "d": 20}), ("sequences", {"n": 150, "d": 20, "longest": 20})]
)
def test_the_rate_is_superlinear_with_unit_steps_at_the_end(kind, size):
    """Theorem on local convergence: where H_αα is positive definite at the optimum."""
    problem = problem_of(kind, **size)
    trace = solvers.solve(problem, solvers.make_solver("ssn", rule="none"), tol=1e-13)
    v = trace.violation[trace.violation > 1e-14 * trace.violation[0]]
    ratios = (v[1:] / v[:-1])[-3:]
    assert np.all(np.diff(ratios) < 0.0)
    assert ratios[-1] <= 1e-3
    assert np.all(trace.step[-3:] == 1.0)


def test_products_of_a_step_are_with_the_columns_of_the_support(monkeypatch):
    """Those of conjugate gradients are: the sets that they multiply have the weights that are not zero."""
    problem, sizes = problem_of("binary", n=200, d=100, penalty="l1"), []
    hessian = semismooth.Newton.hessian
    monkeypatch.setattr(
        semismooth.Newton,
        "hessian",
        lambda self, point, alpha: (sizes.append(len(alpha)), hessian(self, point, alpha))[1],
    )
    nonzero = [it.nnz for it in itertools.islice(solvers.make_solver("ssn").iterate(problem), 6)]
    assert max(sizes) < 100
    assert sizes[-1] <= nonzero[-1] + 5


@pytest.mark.parametrize("kind", MAKERS)
def test_it_starts_anywhere(kind):
    problem = problem_of(kind, penalty="l1")
    start = 3.0 * np.random.default_rng(0).normal(size=problem.size)
    far = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9, w0=start)
    near = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9)
    assert far.result["objective"] == pytest.approx(near.result["objective"], rel=1e-12)


def test_weights_that_change_nothing_do_not_hinder_the_others():
    """Those of the root of a tree: rounding is all that is in their gradient, and nothing is in H."""
    problem = problem_of("tree", penalty="none")
    trace = solvers.solve(problem, solvers.make_solver("ssn", rule="none"), tol=1e-10)
    assert trace.status == "converged"
    assert trace.iteration[-1] <= 8


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_where_the_loss_is_straight_around_the_start_the_unit_of_x_does_not_matter(unit):
    """A hinge with a parabola is, at w = 0: no curvature there says how long a step may be."""
    data = binary()
    data = replace(data, train=replace(data.train, X=unit * data.train.X))
    problem = problem_of(data, "smoothed-binary-hinge", "l1")
    assert problem.line(problem.at(), -problem.at().gradient()).curvature() == 0.0
    trace = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9)
    assert trace.status == "converged"
    assert trace.iteration[-1] <= 20


def test_after_steps_that_fell_short_newton_points_are_still_tried():
    """Where nothing bends but the parabola, damping grows with each such step; it ends at 1/γ."""
    X = np.repeat(np.random.default_rng(0).normal(size=(24, 3))[:6], 4, axis=0)
    y = np.where(np.arange(24) // 4 % 2, 1, -1)
    problem = solvers.make_problem(X, y, loss="smoothed-binary-hinge", penalty="l1", lam=0.01)
    trace = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9)
    assert trace.status == "converged"
    assert trace.iteration[-1] <= 60
