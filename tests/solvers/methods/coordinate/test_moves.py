"""The best combination of moves: where it lies on a quadratic, that weights at zero stay, when moves go."""

import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.methods.coordinate.moves import RecentMoves, least
from solverscope.solvers.problems.losses.feature_columns import ColumnData
from tests.solvers.helpers import MAKERS, problem_of


def moves_for(problem, most):
    design, loss = problem.design, problem.loss
    columns = design.starts, design.edges, design.rows, design.values
    return RecentMoves(problem, ColumnData(loss.term, loss.labels, *columns), most)


def taken(moves, point, w):
    """The point after a move from ``point`` to w, by which its scores go along, and the best combination."""
    moved = point.problem.line(point, w - point.w).move(1.0)
    before = moved.objective
    return moves.combine(moved, np.arange(point.problem.design.n_features)), before


def test_as_many_moves_as_weights_lead_to_the_minimum_of_a_quadratic():
    """With so strong a ridge all squared hinges stay active, so that f is quadratic."""
    problem = problem_of(MAKERS["multiclass"](n=60, d=4), "multitask-squared-hinge", "l2", lam=30.0)
    rng, point = np.random.default_rng(0), problem.at()
    moves = moves_for(problem, problem.size)
    for _ in range(problem.size + 1):
        point, _ = taken(moves, point, point.w + 1e-3 * rng.normal(size=problem.size))
    here = problem.at(point.w.copy())
    assert np.abs(here.scores.Z).max() < 1.0
    assert here.violation() <= 1e-7 * problem.violation_at_zero()


@pytest.mark.parametrize("penalty", ["l1-l2", "sparse-group", "elastic-net", "l1-linf"])
def test_f_never_rises_zeros_stay_and_the_scores_are_those_of_the_weights(penalty):
    problem = problem_of(
        MAKERS["multiclass"](n=80, d=12), "multiclass-squared-hinge", penalty, lam_ratio=0.05
    )
    rng, moves, point, lower = np.random.default_rng(1), moves_for(problem, 3), problem.at(), 0
    for _ in range(40):
        w = problem.prox_step(point.w, point.gradient(), rng.uniform(0.05, 0.3))
        point, before = taken(moves, point, w)
        fresh = problem.at(point.w.copy())
        np.testing.assert_allclose(point.scores.Z, fresh.scores.Z, rtol=0.0, atol=1e-12)
        assert point.objective == pytest.approx(fresh.objective, rel=1e-12)
        assert point.objective <= before * (1.0 + 1e-14)
        assert not point.w[w == 0.0].any()
        lower += point.objective < before
    assert lower


def test_least_solves_and_gives_zero_where_nothing_is_known():
    H, g = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    np.testing.assert_allclose(least(H, g), -np.linalg.solve(H, g), rtol=1e-8)
    for broken in (np.zeros((2, 2)), np.full((2, 2), np.nan), np.diag([1.0, -1.0])):
        assert not least(broken, g).any()


def test_combinations_halve_the_passes_on_pictures():
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss="multiclass-squared-hinge", penalty="l1-l2", lam=0.001)

    def passes_to(f, **params):
        iterates = solvers.make_solver("bcd-ls", **params).iterate(problem)
        return next(it.iteration for it in itertools.islice(iterates, 1000) if it.objective <= f)

    f_star = 0.088923912745871  # to a violation of 1e-8 of that at w = 0
    assert passes_to(f_star * (1.0 + 1e-4)) < 0.5 * passes_to(f_star * (1.0 + 1e-4), moves=0)
