"""The ball around the dual's optimum, against minima that another program finds."""

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solverscope import solvers
from solverscope.solvers.declare import Trait
from solverscope.solvers.problems.certificates.sphere import Bends, dual_point, gap_and_radius, why_no_sphere
from tests.solvers.helpers import MAKERS, dense_of, kind_for, problem_of
from tests.solvers.oracles import LOSSES, Oracle
from tests.solvers.smooth_programs import LOSSES as PROGRAMS
from tests.solvers.smooth_programs import minimum

KINDS = {loss: kind_for(loss) for loss in PROGRAMS if solvers.Trait.LIPSCHITZ in solvers.LOSSES[loss].traits}
PENALTIES = ["l1", "elastic-net", "l1-l2", "sparse-group"]
LIMITS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@functools.lru_cache(maxsize=64)
def solved(loss, penalty, seed, ratio, average=True):
    """A small problem, its formula, and w* by another program."""
    data = MAKERS[KINDS[loss]](n=30, d=8, seed=seed, **({"m": 3} if KINDS[loss] == "multiclass" else {}))
    problem = problem_of(data, loss, penalty, lam_ratio=ratio, average=average)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    w = minimum(oracle)
    assert oracle.violation(w) <= 1e-9 * oracle.violation(np.zeros_like(w))
    return problem, oracle, w


def ball(problem, point):
    """The dual point, its gap and radius, and how far the gradient of each weight may move."""
    bends = Bends.of(problem)
    lengths = np.concatenate([np.repeat(bends.columns, problem.design.n_outputs), bends.tail])
    dual = dual_point(point, None, point.gradient(), lengths)
    gap, radius = gap_and_radius(point, dual, bends.largest)
    return dual, gap, radius, problem.scale * lengths * radius


def check(loss, penalty, seed, ratio, where, noise):
    """The ball of a random point holds the gradient of the optimum, column by column, and its gap is one."""
    problem, oracle, best = solved(loss, penalty, seed, ratio)
    rng = np.random.default_rng(seed + 1)
    w = where * best + noise * np.abs(best).max() * rng.normal(size=best.size) * (rng.random(best.size) < 0.5)
    point = problem.at(w)
    dual, gap, _, reach = ball(problem, point)
    assert gap >= oracle.objective(w) - oracle.objective(best) - 1e-11 * oracle.objective(best)
    m = problem.design.n_outputs
    X, data = dense_of(oracle.data.train.X), oracle.data
    G = LOSSES[loss](X @ best.reshape(-1, m), np.zeros(0), data)[1] / X.shape[0]
    moved = np.linalg.norm(dual.gradient.reshape(-1, m) - X.T @ G, axis=1)
    assert np.all(moved <= reach[::m] * (1.0 + 1e-6) + 1e-10 * np.abs(X.T @ G).max())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize(("where", "noise"), [(0.0, 0.0), (1.0, 0.0), (0.9, 0.01), (1.0, 1.0)])
def test_the_gradient_at_the_optimum_is_within_reach(loss, penalty, where, noise):
    check(loss, penalty, 0, 0.2, where, noise)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", KINDS)
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
@pytest.mark.parametrize("loss", KINDS)
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


@pytest.mark.parametrize("loss", KINDS)
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


@functools.lru_cache(maxsize=16)
def solved_chains(penalty, seed, ratio, ends):
    """A small problem of chains with its optimum; where NumPy's formula has no end states, by that too."""
    data = MAKERS["sequences"](n=8, d=6, m=3, seed=seed)
    given = {"loss": "chain-crf", "penalty": penalty, "loss_params": {"ends": ends}}
    problem = solvers.make_problem(data, lam_ratio=ratio, **given)
    grouped = any(problem.penalty.row_norms[1:])
    solver = solvers.make_solver("newton-cd" if grouped else "prox-qn")
    found = solvers.solve(problem, solver, tol=1e-12, max_iter=5_000)
    assert problem.at(found.w).violation() <= 1e-10 * problem.lam_max  # the largest gradient at w = 0
    if not ends:
        oracle = Oracle(data, "chain-crf", penalty, problem.lam, problem.average)
        assert oracle.violation(found.w) <= 1e-10 * problem.lam_max
    return problem, found


def check_chains(penalty, seed, ratio, ends, where, noise):
    """The same for features and transitions of chains."""
    problem, found = solved_chains(penalty, seed, ratio, ends)
    rng, best = np.random.default_rng(seed + 1), found.w
    w = where * best + noise * np.abs(best).max() * rng.normal(size=best.size) * (rng.random(best.size) < 0.5)
    point, at_best = problem.at(w), problem.at(best)
    dual, gap, _, reach = ball(problem, point)
    assert gap >= point.objective - at_best.objective - 1e-11 * at_best.objective
    ridge = problem.penalty.ridge
    moved = np.abs(dual.gradient - (at_best.gradient() - ridge * best))
    assert np.all(moved <= reach * (1.0 + 1e-6) + 1e-9 * np.abs(at_best.gradient()).max())


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize(("where", "noise"), [(0.0, 0.0), (1.0, 0.0), (0.9, 0.01), (1.0, 1.0)])
def test_gradients_of_chains_at_the_optimum_are_within_reach(penalty, ends, where, noise):
    check_chains(penalty, 0, 0.2, ends, where, noise)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@settings(max_examples=25, **LIMITS)
@given(
    seed=st.integers(0, 20),
    ratio=st.sampled_from([0.02, 0.1, 0.3, 0.7, 0.99]),
    where=st.floats(0.0, 1.5),
    noise=st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 1.0]),
)
def test_gradients_of_chains_at_any_optimum_are_within_reach(penalty, ends, seed, ratio, where, noise):
    check_chains(penalty, seed, ratio, ends, where, noise)


def test_chains_bend_no_more_than_is_said_and_where_all_labels_are_the_same_just_as_much():
    """Second differences of NumPy's formula; of two labels that stay the same the variance is (2T - 1)²."""
    data = MAKERS["sequences"](n=6, d=4, m=2)
    bends, rng = problem_of(data, "chain-crf", "l1").loss.bends(), np.random.default_rng(2)
    shape = data.train.y.size, 2

    def share(Z, tail, D, d):
        """The second difference along (D, d), in units of the bound."""
        f = [LOSSES["chain-crf"](Z + t * D, tail + t * d, data)[0] for t in (-1e-3, 0.0, 1e-3)]
        return (f[0] - 2.0 * f[1] + f[2]) / 1e-6 / (np.sum(bends.Z * D * D) + bends.tail @ (d * d))

    anywhere = [share(*(rng.normal(size=size) for size in (shape, 4, shape, 4))) for _ in range(50)]
    assert 0.0 < max(anywhere) < 1.0
    alike = np.array([20.0, -20.0, -20.0, 20.0])
    swap = np.tile([1.0, -1.0], (shape[0], 1)), np.array([1.0, 0.0, 0.0, -1.0])
    assert share(np.zeros(shape), alike, *swap) == pytest.approx(1.0, abs=1e-3)


def test_what_has_no_ball_says_why():
    assert "multiclass-hinge has none" in why_no_sphere(problem_of("multiclass", "multiclass-hinge"))
    assert "l2 does not" in why_no_sphere(problem_of("binary", penalty="l2"))
    for loss, cls in solvers.LOSSES.items():
        if cls.traits & Trait.LIPSCHITZ and cls.traits & Trait.CONJUGATE:
            assert why_no_sphere(problem_of(cls.kinds[0], loss)) is None
