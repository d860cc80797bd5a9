"""A loop of one's own becomes a trace: of the problem's objective, bounded in cost, and honest at its end."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.optimize

from solverscope import datasets, solvers
from solverscope.solvers.runs.own_loop import BUDGET_SHARE, COPY_SECONDS


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)


def descend(problem, run, n, **told):
    """Proximal gradient steps, as somebody might write them."""
    w = np.zeros(problem.size)
    for _ in range(n):
        run.iterate(w=w, **told)
        w = problem.penalty.prox(w - 0.1 * problem.at(w).gradient(), 0.1)


def test_rows_are_those_of_the_same_steps_by_our_solver(problem):
    with solvers.OwnLoop("mine", problem) as run:
        descend(problem, run, 200)
    rows = {int(k): f for k, f in zip(run.trace.iteration, run.trace.objective, strict=True)}
    w = np.zeros(problem.size)
    for k in range(200):
        point = problem.at(w)
        if k in rows:
            assert rows[k] == point.objective
        w = problem.penalty.prox(w - 0.1 * point.gradient(), 0.1)
    assert {0, 199} <= rows.keys()
    assert run.trace.info.problem["key"] == problem.key
    assert run.trace.result["violation"] == problem.at(run.trace.w).violation()
    assert run.trace.status == "stopped"


def test_what_is_computed_at_its_weights_takes_a_small_share_of_its_time(problem, monkeypatch):
    """By a clock that the loop and the products move: the loop takes a tenth of what looking takes."""
    now = 0.0
    monkeypatch.setattr(time, "thread_time", lambda: now)
    with solvers.OwnLoop("mine", problem) as run:
        scores, looked = problem.design.scores, 0

        def slow(w):
            nonlocal now, looked
            now, looked = now + 0.001, looked + 1
            return scores(w)

        monkeypatch.setattr(problem.design, "scores", slow)
        for _ in range(10_000):
            run.iterate(w=np.zeros(problem.size))
            now += 0.0001
    assert 0.001 * (looked - 2) <= BUDGET_SHARE * 10_000 * 0.0001 + 1e-9
    assert looked == len(run.trace) >= 5
    assert run.trace.last["cpu_seconds"] == pytest.approx(9999 * 0.0001)


@pytest.mark.parametrize("of", [None, "the problem"])
def test_weights_are_copied_within_a_small_share_of_its_time(problem, monkeypatch, of):
    """By a clock that the loop and the copies move: ten seconds of the loop, a tenth for each copy."""
    now, copies = 0.0, 0
    monkeypatch.setattr(time, "thread_time", lambda: now)

    class Slow:
        def __array__(self, dtype=None, copy=None):
            nonlocal now, copies
            now, copies = now + 0.1, copies + 1
            return np.zeros(problem.size)

    with solvers.OwnLoop("mine", problem if of else None) as run:
        for _ in range(1000):
            run.iterate(w=Slow(), objective=problem.at().objective)
            now += 0.01
    assert 1 <= copies <= 1 + (BUDGET_SHARE * 10.0 + COPY_SECONDS) / 0.1
    assert len(run.trace) == (copies if of else 1000)
    assert run.trace.last["cpu_seconds"] <= 10.0


def test_without_a_problem_each_iterate_has_the_objective_that_it_tells():
    with solvers.OwnLoop("mine") as run:
        for k in range(5):
            run.iterate(objective=1.0 / (k + 1), step=0.5)
    assert run.trace.objective.tolist() == [1.0 / (k + 1) for k in range(5)]
    assert run.trace.step.tolist() == [0.5] * 5
    assert run.trace.result["iterations"] == 4


def test_weights_are_copied_and_may_be_anything_that_makes_an_array(problem):
    class Tensor:
        def __init__(self, w):
            self.w = w

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.w, dtype=dtype)

    w = np.zeros(problem.size)
    with solvers.OwnLoop("mine", problem) as run:
        run.iterate(w=Tensor(w))
        run.iterate(w=Tensor(w.reshape(2, -1)))
        w += 1.0
    assert not run.trace.w.any()
    assert run.trace.objective.tolist() == [problem.at().objective] * 2


def test_an_objective_that_is_another_is_told_at_the_end(problem):
    with solvers.OwnLoop("mine", problem) as run:
        run.iterate(w=np.zeros(problem.size), objective=problem.at().objective * 569)
    assert "differs from the problem's by 5.7e+02" in run.trace.message
    with solvers.OwnLoop("mine", problem) as run:
        run.iterate(w=np.zeros(problem.size), objective=problem.at().objective)
    assert run.trace.message == "the loop has ended"


def test_a_loop_that_fails_keeps_its_trace_and_its_error(problem):
    run = solvers.OwnLoop("mine", problem)

    def loop():
        with run:
            run.iterate(w=np.zeros(problem.size))
            raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError):
        loop()
    assert run.trace.status == "failed"
    assert run.trace.message.startswith("ZeroDivisionError: division by zero (test_own_loop.py")
    assert len(run.trace) == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "give its weights w, its objective, or other"),
        ({"w": np.zeros(3)}, "w has 3 entries: this problem has 30 weights"),
        ({"objective": 1.0, "radius": "wide"}, "radius is a str: give a number, true or false"),
        ({"objective": 1.0, "label": 1.0}, "'label' cannot be a field of its own: take another name"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(problem, told, said):
    with pytest.raises(ValueError, match=said), solvers.OwnLoop("mine", problem) as run:
        run.iterate(**told)
    assert run.trace.status == "failed"


def test_a_trace_of_a_loop_goes_to_a_file_and_a_table(problem, tmp_path):
    with solvers.OwnLoop("mine", problem) as run:
        descend(problem, run, 3)
    run.trace.save(tmp_path / "run.npz")
    run.trace.save(tmp_path / "run.jsonl")
    ours = solvers.solve(problem, solvers.make_solver("prox-gd"), max_iter=3)
    table = solvers.to_pandas([run.trace, ours])
    assert table["problem"].nunique() == 1
    assert set(table.label) == {"mine", "prox-gd"}


def test_numbers_of_a_loop_without_a_problem_become_fields_of_its_record(tmp_path):
    with solvers.OwnLoop("mine") as run:
        for k in range(3):
            run.iterate(trust_radius=0.5**k, accepted=k != 1, step=float(k))
        run.iterate(found=np.float32(2.0))
    trace = run.trace
    assert trace.trust_radius[:3].tolist() == [1.0, 0.5, 0.25]
    assert trace["accepted"][:3].tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(trace.trust_radius[3])
    assert np.isnan(trace.found[:3]).all()
    assert trace.step[:3].tolist() == [0.0, 1.0, 2.0]
    assert trace.to_pandas()["accepted"].sum() == 2
    for ending in ("jsonl", "npz"):
        trace.save(tmp_path / f"run.{ending}")
        (same,) = solvers.read(tmp_path / f"run.{ending}")
        for name in ("trust_radius", "accepted", "found", "step"):
            np.testing.assert_array_equal(same[name], trace[name])
        assert same.info.problem == {}


def test_fields_of_a_loop_are_beside_what_its_problem_adds(problem):
    with solvers.OwnLoop("mine", problem) as run:
        run.iterate(w=np.zeros(problem.size), trust_radius=2.0)
    assert run.trace.objective[0] == problem.at().objective
    assert run.trace.trust_radius.tolist() == [2.0]


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "TNC"])
def test_a_method_of_scipy_s_reports_by_its_callback(method):
    with solvers.OwnLoop(method) as run:
        found = scipy.optimize.minimize(
            scipy.optimize.rosen, np.zeros(2), method=method, callback=run.callback
        )
    assert run.trace.iteration.tolist() == list(range(found.nit))
    assert run.trace.w.tolist() == found.x.tolist()
    if method != "TNC":  # it passes the weights alone
        assert run.trace.objective[-1] == found.fun


def test_free_seconds_let_a_short_loop_be_seen_whole(problem):
    with solvers.OwnLoop("mine", problem, free_seconds=60.0) as run:
        descend(problem, run, 50)
    assert run.trace.iteration.tolist() == list(range(50))
    assert run.measuring_seconds > 0.0
