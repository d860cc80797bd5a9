"""The bound of f - f* holds everywhere, and is tight at the optimum."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import solvers
from solvers import duality_gap
from tests.solvers.helpers import MAKERS, chains

KINDS = {
    "logistic": "binary",
    "multiclass-logistic": "multiclass",
    "chain-crf": "sequences",
    "tree-softmax": "tree",
}


@functools.cache
def solved(loss, penalty="l1"):
    """A small problem and its minimum: prox-qn up to rounding, owl-qn from there."""
    data = MAKERS[KINDS[loss]]()
    problem = solvers.make_problem(
        data, loss=loss, penalty=penalty, **({"lam": 0.01} if penalty == "l2" else {"lam_ratio": 0.05})
    )
    near = solvers.solve(problem, solvers.make_solver("prox-qn", memory=30), tol=1e-12, max_seconds=10)
    best = solvers.solve(problem, solvers.make_solver("owl-qn"), tol=1e-13, max_seconds=10, w0=near.w)
    return problem, problem.at(min((near, best), key=lambda trace: trace.result["violation"]).w)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l2"])
@pytest.mark.parametrize("loss", KINDS)
def test_it_closes_at_the_optimum(loss, penalty):
    problem, best = solved(loss, penalty)
    assert 0.0 <= duality_gap(problem, best) <= 1e-11 * best.objective


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l2"])
@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3, 0.1, 3.0])
def test_no_point_is_further_from_the_optimum_than_it_says(loss, penalty, size):
    problem, best = solved(loss, penalty)
    rng = np.random.default_rng(1)
    for w in (size * rng.normal(size=problem.size), best.w * (1 + size * rng.normal(size=problem.size))):
        point = problem.at(w)
        assert duality_gap(problem, point) >= (point.objective - best.objective) * (1 - 1e-9)


@pytest.mark.parametrize("loss", KINDS)
def test_it_comes_down_with_the_objective(loss):
    problem, best = solved(loss)
    rng = np.random.default_rng(0)
    move = rng.normal(size=problem.size)
    gaps = [duality_gap(problem, problem.at(best.w + t * move)) for t in (1e-1, 1e-3, 1e-5, 1e-7)]
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-4 * best.objective


def test_without_a_penalty_there_is_none():
    problem = solvers.make_problem(MAKERS["binary"](), loss="logistic", penalty="none")
    assert duality_gap(problem, problem.at()) is None


def test_chains_far_apart_in_score_do_not_overflow():
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    point = problem.at(1e4 * np.random.default_rng(0).normal(size=problem.size))
    assert np.isfinite(duality_gap(problem, point))
    assert duality_gap(problem, point) >= point.objective - problem.at().objective
