"""A run in the pool goes through its states, and is steered from outside."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import pool
from solverscope.app.runs.live import LiveRun
from solverscope.app.ui import run_styles
from solverscope.solvers import Stopping


def live(share, problem, id="prox-qn", **how):
    how = {"stopping": lambda problem: Stopping(max_iter=10_000, max_seconds=60)} | how
    return LiveRun(share, lambda worker: problem, solvers.make_solver(id), label=id, **how)


def test_a_run_ends_finished_with_a_whole_trace(share, small_problem):
    run = live(share, small_problem, stopping=lambda problem: Stopping(tol=1e-6))
    assert run.worker.join(60)
    assert run.state == "finished"
    assert run.trace.status == "converged"
    assert run_styles.style_of(run.trace).number == 0
    assert np.all(np.diff(run.trace.iteration) == 1)


@dataclass(frozen=True)
class Deaf(solvers.Solver):
    """Does not come back after two iterates: as in a compiled loop, no exception reaches it."""

    id, name, summary = "deaf", "Deaf", "for tests"
    free: ClassVar = threading.Event()

    def warm_up_solver(self):
        return solvers.make_solver("prox-gd")

    def iterate(self, problem, w0=None):
        for n in range(2):
            yield solvers.Iterate.at(problem.at(w0), n)
        self.free.wait()
        yield solvers.Iterate.at(problem.at(w0), 2)


@pytest.fixture
def deaf(monkeypatch):
    monkeypatch.setattr(pool, "SILENT_SECONDS", 0.1)
    Deaf.free.clear()
    yield Deaf()
    Deaf.free.set()


def test_a_run_that_does_not_answer_is_abandoned_and_its_slot_serves_another(small_problem, deaf, wait_until):
    share = pool.RunPool(1).share()
    run = LiveRun(share, lambda worker: small_problem, deaf, label="deaf")
    wait_until(lambda: run.silent)
    waiting = live(share, small_problem)
    assert (run.alive, waiting.state) == (True, "queued")
    assert "has not answered for 0 s: it computes at test_live.py, line " in run.message
    thread = run.worker.thread
    run.stop()
    assert (run.state, run.trace.iteration.tolist(), run.trace.result["iterations"]) == ("failed", [0, 1], 1)
    assert "deaf did not answer for 0.1 s, and was given up at test_live.py, line " in run.message
    assert waiting.worker.join(60)
    assert waiting.state == "finished"
    Deaf.free.set()
    thread.join(60)
    assert (run.trace.status, run.trace.iteration.tolist()) == ("failed", [0, 1])
    assert share.pool.workers == []


def test_a_run_that_answers_is_stopped_and_not_abandoned(share, chain_problem, wait_until):
    run = live(share, chain_problem)
    wait_until(lambda: run.state == "running")
    assert not run.silent
    run.stop()
    assert run.worker.join(60)
    assert (run.state, run.worker.abandoned) == ("stopped", False)


def test_the_states_come_in_order(share, chain_problem, wait_until):
    release = []

    def slow(worker):
        wait_until(lambda: bool(release))
        return chain_problem

    run = LiveRun(share, slow, solvers.make_solver("prox-gd"), label="slow")
    wait_until(lambda: run.state == "loading")
    release.append(True)
    wait_until(lambda: run.state == "running")
    run.worker.pause()
    wait_until(lambda: run.state == "paused")
    run.worker.stop()
    wait_until(lambda: run.state == "stopped")
    assert run.trace.status == "stopped"
    assert not run.alive


def test_a_run_that_is_stopped_while_its_state_is_read_is_never_finished(
    share, chain_problem, wait_until, monkeypatch
):
    run = live(share, chain_problem)
    wait_until(lambda: run.state == "running")

    def stopped_meanwhile():  # as the pool's thread may be at any moment
        run.worker.stop()
        return run.worker.done.wait(60)

    monkeypatch.setattr(run.worker.done, "is_set", stopped_meanwhile)
    assert run.state == "stopped"


def test_a_run_that_waits_for_its_first_slice_is_queued(share, chain_problem, wait_until):
    runs = [live(share, chain_problem, "prox-gd") for _ in range(2)]
    wait_until(lambda: all(run.state == "running" for run in runs))
    with share.pool.lock:
        third = live(share, chain_problem, "prox-gd")
        assert third.state == "queued"
    wait_until(lambda: third.state == "running")


def test_pausing_adds_no_iterates_and_step_adds_exactly_one(share, chain_problem, wait_until):
    run = live(share, chain_problem)
    wait_until(lambda: run.trace is not None and len(run.trace) > 3)
    run.worker.pause()
    wait_until(lambda: run.state == "paused")
    n = len(run.trace)
    for k in (1, 2):
        run.worker.step_once()
        wait_until(lambda: run.state == "paused")
        assert len(run.trace) == n + k
    run.worker.resume()
    wait_until(lambda: len(run.trace) > n + 4)


def test_a_run_started_by_step_shows_its_starting_point_and_waits(share, chain_problem, wait_until):
    run = live(share, chain_problem, step=True)
    wait_until(lambda: run.state == "paused" and run.trace is not None and len(run.trace) == 1)
    assert list(run.trace.iteration) == [0]


def test_a_run_started_by_step_waits_also_where_its_thread_is_ahead_of_the_page(
    share, small_problem, monkeypatch, wait_until
):
    class Ahead(threading.Thread):
        def __init__(self, target, **how):
            super().__init__(target=target, **how)
            self.worker = target.__self__

        def start(self):
            super().start()
            # as on a busy machine, where the thread that started it is the slower one
            wait_until(lambda: self.worker.at_rest or self.worker.done.is_set())

    monkeypatch.setattr(pool, "threading", SimpleNamespace(**vars(threading) | {"Thread": Ahead}))
    run = live(share, small_problem, step=True)
    wait_until(lambda: run.state == "paused")
    assert run.trace.iteration.tolist() == [0]


def test_the_speed_limits_iterates_a_second(share, small_problem, wait_until, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(
        pool, "time", SimpleNamespace(perf_counter=lambda: now[0], thread_time=time.thread_time)
    )
    run = live(share, small_problem, "prox-gd", pace=20.0)
    for n in range(1, 8):
        wait_until(lambda n=n: run.trace is not None and len(run.trace) >= n and not run.worker.has_slot)
        assert len(run.trace) == n, "one in a twentieth of a second"
        now[0] += 0.0501
    run.worker.set_pace(0.0)
    wait_until(lambda: not run.alive or len(run.trace) > 60)


@pytest.mark.bench
def test_racing_runs_keep_the_same_clock(share, chain_problem, wait_until):
    ids = ("sgd-l1", "owl-qn", "prox-gd")  # at work for longer than that
    for id in ids:  # compiling counts in the pool, and is not on the clock
        solvers.solve(chain_problem, solvers.make_solver(id), max_iter=2)
    runs = [live(share, chain_problem, id) for id in ids]
    clock = lambda run: run.trace.last["cpu_seconds"] if run.trace and run.trace.last else 0.0  # noqa: E731
    wait_until(lambda: min(map(clock, runs)) > 0.5)
    clocks = [clock(run) for run in runs]
    assert max(clocks) - min(clocks) < 0.25


def test_bad_input_becomes_a_failed_run_with_one_sentence(share):
    def refuse(worker):
        raise ValueError("the file is empty: give one with samples")

    run = LiveRun(share, refuse, solvers.make_solver("prox-qn"), label="bad")
    assert run.worker.join(60)
    assert (run.state, run.message) == ("failed", "the file is empty: give one with samples")


def test_a_failing_solver_fails_its_own_run_alone(share, small_problem, registries):
    from dataclasses import dataclass

    @solvers.register
    @dataclass(frozen=True)
    class Breaks(solvers.Solver):
        id = "breaks"
        name = "Breaks"
        summary = "fails at once"

        def iterate(self, problem, w0=None):
            raise RuntimeError("no good")
            yield

    run = live(share, small_problem, "breaks")
    other = live(share, small_problem, stopping=lambda problem: Stopping(tol=1e-4))
    assert run.worker.join(60)
    assert other.worker.join(60)
    assert run.state == "failed"
    assert "RuntimeError: no good" in run.message
    assert other.state == "finished"


ENDINGS = {
    "converged": ("finished", "converged"),
    "max-iter": ("finished", "iteration limit"),
    "max-seconds": ("finished", "out of time"),
    "stalled": ("finished", "stalled"),
    "unbounded": ("finished", "unbounded"),
    "stopped": ("stopped", "stopped"),
    "failed": ("failed", "failed"),
}


@pytest.mark.parametrize("status", ENDINGS)
def test_an_ending_is_worded_as_what_it_is(status, share, small_problem):
    run = live(share, small_problem, stopping=lambda problem: Stopping(max_iter=1))
    assert run.worker.join(60)
    run.trace.finish(status)
    assert (run.state, run.word) == ENDINGS[status]


def test_a_branch_says_how_far_its_replay_is_and_stops_in_it(share, chain_problem, wait_until):
    old = live(share, chain_problem, "prox-gd", stopping=lambda problem: Stopping(max_iter=200))
    assert old.worker.join(60)
    origin = solvers.origin_of(old.trace, 200)
    branch = live(share, chain_problem, "prox-gd", origin=origin)
    wait_until(lambda: branch.state == "replaying" and "iteration 0 is" not in branch.message)
    assert "prox-gd is replayed up to iteration 200, some" in branch.message
    branch.worker.pause()
    wait_until(lambda: branch.state == "paused")
    assert len(branch.trace) == 0
    branch.worker.resume()
    wait_until(lambda: branch.state == "replaying")
    branch.worker.stop()
    assert branch.worker.join(60)
    assert (branch.state, len(branch.trace)) == ("stopped", 0)


@pytest.mark.parametrize(
    ("loss", "penalty", "solver"),
    [
        ("binary-hinge", "l2", solvers.make_solver("sublbfgs")),
        ("logistic", "l1", solvers.make_solver("anderson-bcd", rule="gap-safe")),
    ],
    ids=lambda value: getattr(value, "id", value),
)
def test_no_run_stands_still_where_each_pulse_gives_the_only_slot_to_another(
    monkeypatch, loss, penalty, solver
):
    monkeypatch.setattr(pool, "SLICE_SECONDS", 0.0)
    share = pool.RunPool(1).share()
    problem = solvers.make_problem(datasets.load("breast-cancer"), loss=loss, penalty=penalty)
    how = {"label": solver.id, "stopping": lambda problem: Stopping(max_iter=5)}
    runs = [LiveRun(share, lambda worker: problem, solver, **how) for _ in range(3)]
    ended = [run.worker.join(60) for run in runs]
    share.stop()
    assert all(ended), [run.state for run in runs]
    assert [len(run.trace) for run in runs] == [6] * 3
