"""A run whose rows are on the workers of a cluster."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from distributed import Client

from solverscope import datasets, solvers
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.shard_crew import hired

LOSS = "multiclass-squared-hinge"
HOW = {"loss": LOSS, "penalty": "l1-l2", "lam": 0.01}
RECIPE = Recipe("digits", loss=LOSS)


@pytest.fixture(scope="module")
def data():
    return datasets.load("digits")


def run(problem: solvers.Problem, **limits) -> solvers.Run:
    return solvers.Run(problem, solvers.make_solver("sparsa"), stopping=solvers.Stopping(**limits))


def test_objective_and_gradient_are_those_of_one_process_and_rows_stay_where_they_are(place, data):
    whole = solvers.make_problem(data, **HOW)
    with hired(place, RECIPE, 2) as crew:
        problem = solvers.make_problem(data, workers=crew, **HOW)
        w = 0.1 * np.random.default_rng(0).standard_normal(whole.size)
        crew.moved = crew.at_root = 0
        one, other = whole.at(w), problem.at(w)
        g = one.gradient()
        assert other.objective == pytest.approx(one.objective, rel=1e-10)
        assert np.abs(other.gradient() - g).max() <= 1e-10 * np.abs(g).max()
        assert crew.moved <= 2 * 2 * 8 * problem.size + 1000, "weights to both shards, gradients back"
        assert crew.at_root <= 2 * 8 * problem.size + 1000, "the tree ends in one wire"


def test_a_run_is_bit_for_bit_that_of_shards_in_this_process(place, data):
    bare = solvers.make_loss(data, LOSS, {})
    here = solvers.LocalWorkerPool([solvers.Shard.of(data, bare, k, 2) for k in range(2)])
    with hired(place, RECIPE, 2) as there:
        crews = here, there
        problems = [solvers.make_problem(data, workers=crew, **HOW) for crew in crews]
        local, remote = (run(problem, max_iter=30).execute() for problem in problems)
        moved = [(crew.moved, crew.at_root) for crew in crews]
    assert remote.status == local.status == "max-iter", remote.message
    assert list(remote.objective) == list(local.objective)
    assert np.array_equal(remote.w, local.w)
    assert moved[0] == pytest.approx(moved[1], rel=1e-3), "bytes on the wires, but for what is forgotten when"


@pytest.mark.slow
def test_a_run_ends_with_a_sentence_where_a_worker_is_gone(place, data):
    with hired(place, RECIPE, 2) as crew:
        steps = (going := run(solvers.make_problem(data, workers=crew, **HOW), max_iter=10**6)).steps()
        for _ in range(3):
            next(steps)
        crew.client.run(signal.raise_signal, signal.SIGKILL, on_error="ignore", workers=[crew.workers[1]])
        for _ in steps:
            pass
    assert going.trace.status == "failed"
    assert going.trace.message.startswith("a worker that held a shard is gone")
    assert "Error" not in going.trace.message
    assert len(going.trace) >= 3, "what came before is kept"


@pytest.mark.slow
def test_workers_forget_shards_whose_run_is_over(place, data, wait_until):
    with Client(place.scheduler, set_as_default=False) as client:
        with hired(place, RECIPE, 2) as crew:
            solvers.make_problem(data, workers=crew, **HOW)
            assert sum(client.run(_actors).values()) >= 2, "each shard is held by its worker"
        wait_until(lambda: list(client.run(_actors).values()) == [0, 0])


def _actors(dask_worker) -> int:
    return len(dask_worker.state.actors)


def test_more_shards_than_workers_are_refused(place, monkeypatch):
    monkeypatch.setattr("solverscope.app.sweep.shard_crew.CONNECT", 0.5)
    refused = pytest.raises(ValueError, match=r"has 2 workers, and 3 shards take one each.*give --shards 2")
    with refused, hired(place, RECIPE, 3):
        pass
