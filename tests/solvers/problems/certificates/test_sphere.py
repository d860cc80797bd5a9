"""The ball around the dual's optimum, against minima that another program finds."""

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solvers
from solvers.declare import Trait
from solvers.problems.certificates.sphere import dual_point, gap_and_radius, why_no_sphere
from tests.solvers.helpers import MAKERS, dense_of, problem_of
from tests.solvers.oracles import LOSSES, Oracle
from tests.solvers.smooth_programs import LOSSES as PROGRAMS
from tests.solvers.smooth_programs import minimum

KINDS = {loss: "multiclass" if "multiclass" in solvers.LOSSES[loss].kinds else "binary" for loss in PROGRAMS}
PENALTIES = ["l1", "elastic-net", "l1-l2", "sparse-group"]
LIMITS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@functools.lru_cache(maxsize=64)
def solved(loss, penalty, seed, ratio, average=True):
    """A small problem, its formula, and w* by another program."""
    data = MAKERS[KINDS[loss]](n=30, d=8, seed=seed, **({} if KINDS[loss] == "binary" else {"m": 3}))
    problem = problem_of(data, loss, penalty, lam_ratio=ratio, average=average)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    w = minimum(oracle)
    assert oracle.violation(w) <= 1e-9 * oracle.violation(np.zeros_like(w))
    return problem, oracle, w


def ball(problem, point):
    lengths = np.repeat(problem.design.column_lengths(), problem.design.n_outputs)
    dual = dual_point(point, None, point.gradient(), lengths)
    kappa = float(problem.loss.curvature(True).max())
    return dual, *gap_and_radius(point, dual, kappa), kappa


def check(loss, penalty, seed, ratio, where, noise):
    """The ball of a random point holds the gradient of the optimum, column by column, and its gap is one."""
    problem, oracle, best = solved(loss, penalty, seed, ratio)
    rng = np.random.default_rng(seed + 1)
    w = where * best + noise * np.abs(best).max() * rng.normal(size=best.size) * (rng.random(best.size) < 0.5)
    point = problem.at(w)
    dual, gap, radius, _ = ball(problem, point)
    assert gap >= oracle.objective(w) - oracle.objective(best) - 1e-11 * oracle.objective(best)
    m = problem.design.n_outputs
    X, data = dense_of(oracle.data.train.X), oracle.data
    G = LOSSES[loss](X @ best.reshape(-1, m), np.zeros(0), data)[1] / X.shape[0]
    moved = np.linalg.norm(dual.gradient.reshape(-1, m) - X.T @ G, axis=1)
    reach = problem.scale * problem.design.column_lengths() * radius
    assert np.all(moved <= reach * (1.0 + 1e-6) + 1e-10 * np.abs(X.T @ G).max())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", PROGRAMS)
@pytest.mark.parametrize(("where", "noise"), [(0.0, 0.0), (1.0, 0.0), (0.9, 0.01), (1.0, 1.0)])
def test_the_gradient_at_the_optimum_is_within_reach(loss, penalty, where, noise):
    check(loss, penalty, 0, 0.2, where, noise)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", PROGRAMS)
@settings(max_examples=25, **LIMITS)
@given(
    seed=st.integers(0, 200),
    ratio=st.sampled_from([0.02, 0.1, 0.3, 0.7, 0.99]),
    where=st.floats(0.0, 1.5),
    noise=st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 1.0]),
)
def test_the_gradient_at_any_optimum_is_within_reach(loss, penalty, seed, ratio, where, noise):
    check(loss, penalty, seed, ratio, where, noise)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", PROGRAMS)
@pytest.mark.parametrize("factor", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_the_dual_is_feasible_and_below_f_at_every_scale(loss, penalty, factor):
    """X times a factor with λ times it is the same problem in other units; with a ridge it is another."""
    data = MAKERS[KINDS[loss]](n=30, d=8)
    scaled = type(data.train)(factor * dense_of(data.train.X), data.train.y)
    problem = solvers.make_problem(scaled.X, scaled.y, loss=loss, penalty=penalty, lam_ratio=0.2)
    found = solvers.solve(problem, solvers.make_solver("bcd-ls"), tol=1e-9, max_iter=3_000)
    rng = np.random.default_rng(0)
    for w in (np.zeros(problem.size), 0.5 * found.w, found.w, found.w + np.abs(found.w).max() * rng.normal()):
        dual, gap, radius, _ = ball(problem, problem.at(w))
        if problem.penalty.ridge == 0.0:
            assert problem.penalty.lam_max(dual.gradient) <= problem.lam * (1.0 + 1e-15)
        assert dual.value <= found.result["objective"]
        assert 0.0 <= gap < np.inf
        assert radius > 0.0
    if problem.penalty.ridge == 0.0 or factor == 1.0:
        assert ball(problem, problem.at(found.w))[1] <= 1e-6 * found.result["objective"]


@pytest.mark.parametrize("loss", PROGRAMS)
def test_curvature_bounds_what_the_loss_bends(loss):
    """κ against finite differences of the residual in NumPy: without it the ball would be too small."""
    data = MAKERS[KINDS[loss]](n=20, d=4)
    problem = problem_of(data, loss, "l1")
    kappa, m, rng = (
        float(problem.loss.curvature(True).max()),
        problem.design.n_outputs,
        np.random.default_rng(2),
    )
    largest = 0.0
    for _ in range(200):
        Z, D = 0.5 * rng.normal(size=(20, m)), rng.normal(size=(20, m))
        D *= 1e-5 / np.linalg.norm(D)
        bent = (LOSSES[loss](Z + D, np.zeros(0), data)[1] - LOSSES[loss](Z, np.zeros(0), data)[1]) / 1e-5
        largest = max(largest, np.linalg.norm(bent))
    assert 0.1 * kappa <= largest <= kappa * (1.0 + 1e-6)


def test_what_has_no_ball_says_why():
    assert "chain-crf has none" in why_no_sphere(problem_of("sequences"))
    assert "l2 does not" in why_no_sphere(problem_of("binary", penalty="l2"))
    for loss, cls in solvers.LOSSES.items():
        if cls.traits & Trait.LIPSCHITZ and cls.traits & Trait.CONJUGATE:
            assert why_no_sphere(problem_of(cls.kinds[0], loss)) is None
