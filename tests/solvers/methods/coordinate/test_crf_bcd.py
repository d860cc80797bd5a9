"""Blockwise coordinate descent: its bookkeeping, and what its options promise."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import solvers
from solverscope.solvers import ACTIVE
from solverscope.solvers.methods.coordinate import crf_bcd as module
from tests.solvers.helpers import MAKERS, problem_of

KINDS = ["binary", "multiclass", "sequences", "tree"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_up_to_date_block_by_block_is_what_the_weights_give(kind):
    """Scores and losses of single instances are never those of older weights."""
    problem = problem_of(kind, storage="sparse", lam_ratio=0.05)
    for it in solvers.make_solver("crf-bcd").iterate(problem):
        fresh = problem.at(it.w)
        assert it.objective == pytest.approx(fresh.objective, rel=1e-11)
        np.testing.assert_allclose(it.point.scores.Z, fresh.scores.Z, atol=1e-9)
        if it.iteration == 10:
            break


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_rises(kind):
    trace = solvers.solve(
        problem_of(kind, storage="sparse", lam_ratio=0.05), solvers.make_solver("crf-bcd"), max_iter=30
    )
    assert (np.diff(trace.objective) <= 1e-10 * trace.objective[:-1]).all()


@pytest.mark.parametrize("kind", ["sequences", "tree"])
def test_a_long_sweep_is_shown_in_parts_that_change_no_step(kind, monkeypatch):
    problem = problem_of(kind, storage="sparse", lam_ratio=0.05)
    whole = list(iterates(problem, 2))
    monkeypatch.setattr(module, "SCORES_PER_ITERATE", whole[0].size // 2)
    parts = list(iterates(problem, 60))
    assert len(parts) > len(whole)
    place = 0
    for w in whole:
        matches = [k for k in range(place, len(parts)) if np.array_equal(parts[k], w)]
        assert matches, "the end of every sweep is among the parts"
        place = matches[0] + 1


def iterates(problem, most):
    """Weights of the first iterates after the start."""
    for it in solvers.make_solver("crf-bcd").iterate(problem):
        if it.iteration > 0:
            yield it.w.copy()
        if it.iteration == most:
            return


@pytest.mark.parametrize("params", [{"shrinking": False}, {"damping": True}])
def test_options_lead_to_the_same_optimum(params):
    problem = problem_of("sequences", storage="sparse", lam_ratio=0.05)
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-9).objective[-1]
    solver = solvers.make_solver("crf-bcd", **params)
    trace = solvers.solve(problem, solver, gap=1e-6, f_star=best, max_iter=500)
    assert trace.status == "converged"


@pytest.mark.parametrize("shrinking", [True, False])
def test_a_feature_without_data_does_not_keep_it_from_ending(shrinking):
    data = MAKERS["binary"](storage="sparse")
    X = data.train.X.tolil()
    X[:, 3] = 0.0
    data = replace(data, train=replace(data.train, X=sp.csr_array(X)))
    problem = solvers.make_problem(data, penalty="l1", lam_ratio=0.05)
    solver = solvers.make_solver("crf-bcd", shrinking=shrinking)
    w0 = np.zeros(problem.size)
    w0[3] = 1.0
    trace = solvers.solve(problem, solver, tol=1e-6, max_iter=200, w0=w0)
    assert trace.status == "converged"
    assert trace.w[3] == 0.0


def test_the_working_set_that_is_observed_is_the_one_that_is_counted():
    trace = solvers.solve(
        problem_of("binary", storage="sparse", lam_ratio=0.05),
        solvers.make_solver("crf-bcd"),
        tol=1e-6,
        probes=(ACTIVE,),
    )
    seen = [int(active["inside_count"]) for _, active in trace.probes.entries("active")]
    np.testing.assert_array_equal(seen, trace.working_set)


def test_scores_are_computed_afresh_now_and_then(monkeypatch):
    monkeypatch.setattr(module, "REFRESH", 3)
    solver = solvers.make_solver("crf-bcd", shrinking=False)
    for k, it in enumerate(solver.iterate(problem_of("sequences", storage="sparse", lam_ratio=0.05))):
        drift = np.abs(it.point.scores.Z - it.point.problem.at(it.w).scores.Z).max()
        if k < 6:
            it.point.scores.Z[:] += 1e-9  # what a long run's rounding might add up to
        elif k == 9:
            assert drift < 1e-12
            break


def test_shrinking_leaves_weights_out_and_brings_them_back():
    trace = solvers.solve(
        problem_of("binary", storage="sparse", lam_ratio=0.05),
        solvers.make_solver("crf-bcd"),
        tol=1e-6,
        max_iter=500,
    )
    assert trace.status == "converged"
    assert trace.working_set.min() < trace.working_set[0]
    assert trace.working_set[-1] == trace.working_set[0]
    assert trace.epoch[-1] > 0
