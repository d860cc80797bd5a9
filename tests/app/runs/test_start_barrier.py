"""A race has one start: nobody computes before all have loaded and compiled."""

from __future__ import annotations

import threading

import pytest

from solverscope import solvers
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.start_barrier import StartBarrier
from solverscope.solvers import Stopping


def racer(share, problem, line, before=lambda: None, **how):
    def make(worker):
        before()
        return problem

    stopping = lambda problem: Stopping(max_iter=3)  # noqa: E731
    solver = solvers.make_solver("prox-gd")
    return LiveRun(share, make, solver, label="gd", stopping=stopping, line=line, **how)


@pytest.fixture
def gates():
    """Holds back what is loaded until it is let go."""
    return threading.Event()


def test_none_begins_before_the_last_one_is_ready(share, small_problem, gates, wait_until):
    line = StartBarrier()
    quick = [racer(share, small_problem, line) for _ in range(3)]
    slow = racer(share, small_problem, line, before=lambda: gates.wait(60))
    line.close()
    wait_until(lambda: all(run.state == "ready" for run in quick))
    assert quick[0].message == "waits for 1 of the others to load or compile"
    assert [len(run.trace) for run in quick] == [0] * 3
    wait_until(lambda: not any(run.worker.has_slot for run in quick))  # they take no core meanwhile
    gates.set()
    assert all(run.worker.join(60) for run in [*quick, slow])
    assert {run.state for run in [*quick, slow]} == {"finished"}
    assert all(run.trace.iteration[0] == 0 for run in [*quick, slow])


def test_the_line_stays_shut_until_all_have_joined(share, small_problem, wait_until):
    line = StartBarrier()
    first = racer(share, small_problem, line)
    wait_until(lambda: first.state == "ready" and not first.worker.has_slot)
    first.worker.wake()
    assert (first.state, len(first.trace)) == ("ready", 0)
    second = racer(share, small_problem, line)
    line.close()
    assert first.worker.join(60)
    assert second.worker.join(60)


def fails():
    raise ValueError("there are no data")


@pytest.mark.parametrize("how", ["fails", "stopped"])
def test_one_that_drops_out_before_the_start_does_not_hold_up_the_others(
    share, small_problem, gates, wait_until, how
):
    line = StartBarrier()
    one = racer(share, small_problem, line)
    before = fails if how == "fails" else lambda: gates.wait(60)
    other = racer(share, small_problem, line, before=before)
    line.close()
    if how == "stopped":
        wait_until(lambda: one.state == "ready")
        other.worker.stop()
    assert one.worker.join(60)
    assert one.state == "finished"
    gates.set()
    assert other.worker.join(60)


def test_one_that_waits_at_the_line_can_be_stopped(share, small_problem, wait_until):
    run = racer(share, small_problem, StartBarrier())
    wait_until(lambda: run.state == "ready")
    run.worker.stop()
    assert run.worker.join(60)
    assert run.state == "stopped"


def test_a_step_from_the_line_is_one_iterate_of_each(share, small_problem, wait_until):
    line = StartBarrier()
    runs = [racer(share, small_problem, line, step=True) for _ in range(2)]
    line.close()
    wait_until(lambda: all(run.state == "paused" for run in runs))
    assert [len(run.trace) for run in runs] == [1, 1]
    assert all(run.worker.stop() is None for run in runs)
