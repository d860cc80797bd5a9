"""Which weights are followed, and what is kept of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import TRAJECTORIES, WEIGHTS
from solverscope.solvers.linalg.working_set import WorkingSet
from solverscope.solvers.methods.iterate import Iterate
from solverscope.solvers.probes import trajectories
from solverscope.solvers.probes.probe import ProbeStore
from tests.solvers.helpers import multiclass


@dataclass(frozen=True)
class Labelled:
    """What a clustering solver tells of its clusters."""

    labels: np.ndarray


def followed(*weights: np.ndarray, **live) -> list[dict[str, np.ndarray]]:
    """What is kept of iterates at these weights."""
    store = ProbeStore([TRAJECTORIES])
    for k, w in enumerate(weights):
        store.observe(Iterate(k, w=w, live=live))
    return [seen for _, seen in store.entries("trajectories")]


def test_all_weights_of_a_small_problem_are_followed_through_the_run():
    problem = solvers.make_problem(multiclass(d=30), loss="multiclass-logistic", penalty="l1", lam_ratio=0.1)
    solver = solvers.make_solver("prox-qn")
    store = solvers.solve(problem, solver, max_iter=8, probes=(TRAJECTORIES, WEIGHTS)).probes
    assert store.iterations("trajectories") == list(range(9))
    for (_, seen), (_, weights) in zip(store.entries("trajectories"), store.entries("weights"), strict=True):
        w = np.zeros(problem.size)
        w[weights["indices"]] = weights["values"]
        np.testing.assert_array_equal(seen["members"], np.arange(problem.size))
        np.testing.assert_array_equal(seen["values"], w.astype(np.float32))
        assert seen["values"].dtype == np.float32
        assert "labels" not in seen


def test_of_many_weights_the_largest_join_a_random_sample_and_nobody_leaves(monkeypatch):
    for name, value in {"MOST": 60, "RANDOM": 20, "MAX_SEARCHED_WEIGHTS": 10}.items():
        monkeypatch.setattr(trajectories, name, value)
    rng = np.random.default_rng(0)
    weights = [np.zeros(10_000), *(rng.normal(size=10_000) for _ in range(40))]
    seen = followed(*weights)
    assert len(seen[0]["members"]) == 20
    first = set(np.argsort(-np.abs(weights[1]))[:10].tolist())
    assert first <= set(seen[1]["members"].tolist()), "the largest of the first iterate that is not zero"
    for before, after in itertools.pairwise(seen):
        np.testing.assert_array_equal(after["members"][: before["members"].size], before["members"])
    for one, w in zip(seen, weights, strict=True):
        np.testing.assert_array_equal(one["values"], w[one["members"]].astype(np.float32))
        assert len(set(one["members"].tolist())) == one["members"].size <= 60
    again = followed(*weights)
    np.testing.assert_array_equal(again[-1]["members"], seen[-1]["members"])


def test_there_is_room_for_the_very_largest_that_comes_late(monkeypatch):
    for name, value in {"MOST": 60, "RANDOM": 20, "MAX_SEARCHED_WEIGHTS": 40}.items():
        monkeypatch.setattr(trajectories, name, value)
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=1000) for _ in range(5)]
    late = int(np.argmin(np.abs(weights[0])))
    weights[-1] = weights[-1].copy()
    weights[-1][late] = 100.0
    assert late in followed(*weights)[-1]["members"]


def test_where_there_is_a_working_set_the_largest_are_looked_for_inside(monkeypatch):
    for name, value in {"MOST": 30, "RANDOM": 10, "MAX_SEARCHED_WEIGHTS": 5, "SEARCHED": 100}.items():
        monkeypatch.setattr(trajectories, name, value)
    w = np.zeros(1000)
    w[[7, 500, 900]] = 3.0, -2.0, 1.0
    active = WorkingSet(np.array([7, 400, 500, 900]), 1000, 1, 1000)
    assert {7, 500, 900} <= set(followed(w, active=active)[0]["members"].tolist())
    assert followed(w)[0]["members"].size <= 10, "a huge w is not searched"


def test_clusters_of_the_solver_are_kept_and_weights_without_one_have_none():
    labels = np.array([2, 0, 0, 1], dtype=np.int32)
    (seen,) = followed(np.arange(6.0), clustering=Labelled(labels))
    np.testing.assert_array_equal(seen["labels"], [2, 0, 0, 1, -1, -1])


def test_phase_and_round_are_kept_with_the_weights():
    store = ProbeStore([TRAJECTORIES])
    store.observe(Iterate(0, w=np.zeros(3), epoch=1, phase="coarse"))
    store.observe(Iterate(1, w=np.zeros(3)))
    (_, first), (_, second) = store.entries("trajectories")
    assert (str(first["phase"]), int(first["epoch"])) == ("coarse", 1)
    assert (str(second["phase"]), int(second["epoch"])) == ("", -1)


def test_two_runs_are_followed_apart():
    """What one run has joined says nothing of another."""
    stores = [ProbeStore([TRAJECTORIES]) for _ in range(2)]
    for size, store in zip((5, 7), stores, strict=True):
        store.observe(Iterate(0, w=np.ones(size)))
    assert [store.last("trajectories", 0)[1]["members"].size for store in stores] == [5, 7]


@pytest.mark.parametrize("most", [3, 50])
def test_the_largest_come_in_falling_order(most, monkeypatch):
    monkeypatch.setattr(trajectories, "GUESSED_BY", 10)
    w = np.random.default_rng(2).normal(size=40)
    w[10:20] = 0.0
    expected = np.argsort(-np.abs(w), kind="stable")[: min(most, 30)]
    np.testing.assert_array_equal(trajectories.largest(w, None, most), expected)
