"""Semismooth Newton: its Hessian, what its search accepts, other programs' optima, and its rate."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import solvers
from solvers.methods import semismooth
from solvers.methods.semismooth import Newton, SemismoothNewton
from solvers.methods.working_sets import Selection
from solvers.parts.rules import RULES
from tests.solvers.helpers import MAKERS, binary, dense_of, problem_of
from tests.solvers.oracles import Oracle
from tests.solvers.smooth_programs import minimum

KINDS = ["binary", "multiclass"]
PENALTIES = ["none", "l2", "l1", "elastic-net"]


def oracle_of(problem, data, penalty):
    return Oracle(data, data.loss, penalty, problem.lam or 0.0, problem.average)


@pytest.mark.parametrize("storage", ["dense", "binary"])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_hessian_on_some_weights_is_that_of_finite_differences(kind, penalty, storage):
    data = MAKERS[kind](n=40, d=6, storage=storage)
    problem = problem_of(data, None, penalty)
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


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_and_support_are_those_of_liblinear(rule):
    data, lam = binary(n=150, d=40, seed=1), 0.02
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(
            **{"fit_intercept": False, "l1_ratio": 1.0, "solver": "liblinear"},
            **{"C": 1 / (lam * 150), "tol": 1e-12, "max_iter": 10_000},
        )
        theirs = model.fit(dense_of(data.train.X), data.train.y).coef_.ravel()
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
        look = selection.look(point)
        w, g = point.w.copy(), look.gradient.copy()
        point = newton.step(point, look).point
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


def test_the_rate_is_superlinear_with_unit_steps_at_the_end():
    """Theorem on local convergence: where H_αα is positive definite at the optimum."""
    problem = problem_of("binary", n=300, d=20)
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


@pytest.mark.parametrize("kind", KINDS)
def test_it_starts_anywhere(kind):
    problem = problem_of(kind, penalty="l1")
    start = 3.0 * np.random.default_rng(0).normal(size=problem.size)
    far = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9, w0=start)
    near = solvers.solve(problem, solvers.make_solver("ssn"), tol=1e-9)
    assert far.result["objective"] == pytest.approx(near.result["objective"], rel=1e-12)
