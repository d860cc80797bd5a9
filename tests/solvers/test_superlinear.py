"""Theorem 1 of Zhong et al. 2014: with all pairs and the inner problem solved well, the distance to z* falls
superlinearly in the space of the scores, where the loss is not flat."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import SCORES


@pytest.fixture(scope="module")
def ratios():
    """``ratios(memory)``: ‖z_{t+1} - z*‖/‖z_t - z*‖ and the steps t, as long as z* is known far better than
    z_{t+1} is near."""
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.02
    )
    near = solvers.solve(problem, solvers.make_solver("prox-qn", memory=50), tol=1e-13, max_seconds=10)
    best = solvers.solve(problem, solvers.make_solver("owl-qn"), tol=1e-15, max_seconds=5, w0=near.w)
    star = problem.at(min((near, best), key=lambda t: t.result["violation"]).w).scores.Z.ravel()

    def of(memory):
        solver = solvers.make_solver(
            "prox-qn",
            preset="paper",
            memory=memory,
            gamma0=0.0,
            shrinking=False,
            balance="off",
            max_inner=2000,
            tol=1e-15,
        )
        trace = solvers.solve(problem, solver, max_iter=400, max_seconds=20, probes=(SCORES,))
        z = [trace.probes.last("scores", k)[1]["z"] for k in trace.probes.iterations("scores")]
        away = np.array([np.linalg.norm(v - star) for v in z])
        known = np.flatnonzero(away < 1e-7 * np.linalg.norm(star))
        end = known[0] + 1 if known.size else away.size
        return away[1:end] / away[: end - 1], trace.step[1:end]

    return of


def test_with_all_pairs_the_ratios_fall_to_zero_at_unit_steps(ratios):
    found, steps = ratios("full")
    assert (np.diff(found[-5:]) < 0).all()
    assert found[-1] < 0.1
    assert (steps[-5:] == 1.0).all()


def test_with_ten_pairs_there_is_no_such_trend(ratios):
    found, _ = ratios(10)
    assert not (np.diff(found[-5:]) < 0).all()
    assert found[-5:].min() > 0.1
    assert np.median(found[-20:]) > 0.3
