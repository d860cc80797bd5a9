"""Extrapolated block coordinate descent: its passes and its combination, and other programs' optima."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.coordinate.anderson_bcd import extrapolated
from solverscope.solvers.problems.lipschitz import block_constants
from solverscope.solvers.working_sets.rules import RULES
from tests.solvers.helpers import MAKERS, binary, by_scikit_learn, kind_for, problem_of
from tests.solvers.oracles import Oracle
from tests.solvers.smooth_programs import LOSSES, minimum

KINDS = {loss: kind_for(loss) for loss in LOSSES if solvers.Trait.LIPSCHITZ in solvers.LOSSES[loss].traits}


@pytest.mark.parametrize("d", [1, 2, 4])
def test_of_a_linear_map_it_finds_the_fixed_point(d):
    """Differences of d + 2 points of a map in d dimensions are dependent: some combination is no move."""
    rng = np.random.default_rng(d)
    A, b = rng.normal(size=(d, d)), rng.normal(size=d)
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    points = [rng.normal(size=d)]
    for _ in range(d + 1):
        points.append(A @ points[-1] + b)
    fixed = np.linalg.solve(np.eye(d) - A, b)
    found = extrapolated(np.array(points))
    if found is None:  # exactly singular: the fixed point is any solution's
        return
    np.testing.assert_allclose(found, fixed, atol=1e-5 * np.abs(fixed).max())


def test_the_combination_has_the_least_residual_of_all():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 20))
    U, found = np.diff(points, axis=0), extrapolated(points)
    c = np.linalg.lstsq(points[1:].T, found, rcond=None)[0]
    assert c.sum() == pytest.approx(1.0)
    for _ in range(100):
        other = c + 0.1 * rng.normal(size=4)
        other /= other.sum()
        assert np.linalg.norm(c @ U) <= np.linalg.norm(other @ U)


def test_points_that_stand_still_are_not_combined():
    assert extrapolated(np.ones((6, 3))) is None
    moved = np.ones((6, 3))
    moved[0] = 0.0
    assert extrapolated(moved) is None


@pytest.mark.parametrize("penalty", ["elastic-net", "l1-l2", "sparse-group", "l1-linf"])
@pytest.mark.parametrize("loss", KINDS)
def test_an_iterate_without_extrapolation_is_so_many_cyclic_passes(loss, penalty):
    data = MAKERS[KINDS[loss]](n=40, d=6)
    problem = problem_of(data, loss, penalty)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    w, K, m = np.zeros(problem.size), block_constants(problem, "tight"), problem.loss.n_outputs
    for j in 3 * [*range(6)]:
        at = slice(j * m, (j + 1) * m)
        w[at] = problem.penalty.prox(w[at] - oracle.gradient(w)[at] / K[j], 1.0 / K[j])
    solver = solvers.make_solver("anderson-bcd", rule="none", memory=3, extrapolate=False)
    *_, it = itertools.islice(solver.iterate(problem), 2)
    np.testing.assert_allclose(it.w, w, atol=1e-12)
    assert np.count_nonzero(w)


def test_the_extrapolated_point_is_taken_where_f_is_lower_and_there_alone():
    problem = problem_of("binary", n=200, d=30)
    values, taken = [], 0
    for it in itertools.islice(solvers.make_solver("anderson-bcd", rule="none").iterate(problem), 20):
        assert it.objective == pytest.approx(problem.at(it.w).objective, rel=1e-13)
        values.append(it.objective)
        taken += "extrapolated" in it.events
    assert 0 < taken < len(values) - 1
    assert np.all(np.diff(values) <= 1e-15)


def test_extrapolation_saves_most_of_the_passes_where_features_have_much_in_common():
    """Bertrand and Massias 2021, figure 4: several times fewer epochs to a small gap, for ℓ1 logistic."""
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(200, 60))
        @ np.linalg.cholesky(0.95 ** np.abs(np.subtract.outer(*2 * [np.arange(60)]))).T
    )
    y = np.where(X @ (rng.normal(size=60) * (rng.random(60) < 0.2)) + rng.normal(size=200) > 0, 1, -1)
    problem = solvers.make_problem(X, y, loss="logistic", penalty="l1", lam_ratio=0.005)
    best = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-11).result["objective"]
    took = {}
    for extrapolate in (True, False):
        solver = solvers.make_solver("anderson-bcd", rule="none", extrapolate=extrapolate)
        trace = solvers.solve(problem, solver, gap=1e-10, f_star=best, max_iter=5_000)
        took[extrapolate] = len(trace.objective)
        assert solvers.relative_gap(trace.objective[-1], best) <= 1e-10
    assert took[True] <= 0.4 * took[False]


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_and_support_are_those_of_liblinear(rule):
    data, lam = binary(n=150, d=40, seed=1), 0.02
    theirs = by_scikit_learn(data, l1_ratio=1.0, solver="liblinear", C=1 / (lam * 150), tol=1e-12).ravel()
    problem = solvers.make_problem(data, penalty="l1", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("anderson-bcd", rule=rule), tol=1e-10, max_iter=2_000)
    assert trace.status == "converged"
    np.testing.assert_array_equal(trace.w != 0.0, np.abs(theirs) > 1e-9)
    np.testing.assert_allclose(trace.w, theirs, atol=1e-7)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l1-l2", "sparse-group"])
@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("rule", ["growing", "growing-dual", "gap-safe"])
def test_the_minimum_is_that_of_a_convex_program_and_the_gap_proves_it(loss, penalty, rule):
    data = MAKERS[KINDS[loss]](n=30, d=8)
    problem = problem_of(data, loss, penalty)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    best = minimum(oracle)
    trace = solvers.solve(problem, solvers.make_solver("anderson-bcd", rule=rule), tol=1e-10, max_iter=5_000)
    assert oracle.objective(trace.w) == pytest.approx(oracle.objective(best), rel=1e-12)
    np.testing.assert_array_equal(trace.w != 0.0, best != 0.0)
    gaps = trace.dual_gap[~np.isnan(trace.dual_gap)]
    assert (gaps.size > 0) == RULES[rule].needs_safe_ball
    if gaps.size:
        assert gaps[-1] <= 1e-8 * trace.result["objective"]
