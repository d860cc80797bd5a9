"""Warm-ups of Prox-QN: what runs first, where it leads, and for which problems."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.proximal import prox_qn_start as module
from solverscope.solvers.methods.proximal.prox_qn import ProxQN
from solverscope.solvers.methods.proximal.prox_qn_start import chosen_start
from tests.solvers.helpers import chains, multiclass


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(chains(n=60, d=40, m=4, density=0.15), lam_ratio=0.1)


@pytest.fixture(scope="module")
def average_problem():
    return solvers.make_problem(multiclass(n=200, d=30), lam_ratio=0.05)


def test_a_warm_up_is_a_pass_of_ftrl_and_leads_to_the_same_optimum(problem):
    solver = solvers.make_solver("prox-qn", start="sgd", seed=5)
    trace = solvers.solve(problem, solver, tol=1e-6)
    one = next(itertools.islice(solvers.make_solver("ftrl", seed=5).iterate(problem), 1, None)).w
    assert trace.objective[0] == problem.at().objective
    assert trace.objective[1] == pytest.approx(problem.at(one.copy()).objective, rel=1e-12)
    assert trace.passes[1] >= 1.0
    assert trace.phase[:3].tolist() == ["ftrl", "ftrl", "shrink"]
    assert trace.iteration.tolist() == list(range(len(trace)))
    assert trace.working_set[1] < problem.size
    alone = solvers.solve(problem, solvers.make_solver("prox-qn", start="none"), tol=1e-6)
    assert trace.status == alone.status == "converged"
    assert trace.objective[-1] == pytest.approx(alone.objective[-1], rel=1e-6)


def test_a_start_on_samples_is_the_relay_of_prox_qn_on_growing_shares(problem, monkeypatch):
    monkeypatch.setattr("solverscope.solvers.methods.handover.SMALLEST_SAMPLE", 2)
    solver = solvers.make_solver("prox-qn", start="samples", seed=5)
    trace = solvers.solve(problem, solver, tol=1e-6)
    legs = [f"prox-qn,start=none of {share} until iteration >= 15" for share in ("1/16", "1/4")]
    relay = solvers.make_solver("relay", legs=" then ".join([*legs, "prox-qn,shrink_first=on"]), seed=5)
    other = solvers.solve(problem, relay, tol=1e-6)
    n = trace.phase.tolist().index("shrink")
    assert trace.phase[[0, n - 1]].tolist() == ["prox-qn of 1/16", "prox-qn of 1/4"]
    np.testing.assert_array_equal(trace.objective, other.objective)
    assert trace.epoch[n - 1] == other.epoch[n - 1] + 1  # shown where the last leg begins
    np.testing.assert_array_equal(np.delete(trace.epoch, n - 1), np.delete(other.epoch, n - 1))
    assert trace.status == "converged"


def test_a_warm_up_is_for_many_sequences_and_where_no_weights_are_given(
    problem, average_problem, monkeypatch
):
    _, first = itertools.islice(ProxQN().iterate(problem), 2)
    assert first.epoch == 0  # of Algorithm 2: a pass of ftrl has no epoch
    monkeypatch.setattr(module, "START_SIZE", problem.size)
    monkeypatch.setattr(module, "START_INSTANCES", problem.loss.n_instances)
    assert chosen_start(ProxQN(), average_problem) == "none"
    assert chosen_start(ProxQN(), problem) == "sgd"
    assert chosen_start(ProxQN(start="none"), problem) == "none"
    first = next(ProxQN().iterate(problem, np.zeros(problem.size)))
    assert first.working_set == problem.size  # the first iterate of a pass has none
    assert next(ProxQN().iterate(problem)).working_set == -1
    monkeypatch.setattr(module, "START_SIZE", problem.size + 1)
    assert chosen_start(ProxQN(), problem) == "none"


def test_a_loss_without_single_instances_has_no_warm_up(problem):
    class Whole:
        traits = solvers.Trait.SMOOTH

    whole = SimpleNamespace(loss=Whole(), size=problem.size)
    assert chosen_start(ProxQN(), whole) == "none"
    assert "choose start=none" in ProxQN(start="sgd").refuses(whole)
