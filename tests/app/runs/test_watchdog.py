"""Runs that answer neither a limit nor Stop are given up, and what they forked ends with them."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
from dataclasses import dataclass
from typing import ClassVar

import psutil
import pytest

from solverscope import solvers
from solverscope.app.runs import watchdog
from solverscope.app.runs.watchdog import Heartbeat
from tests.solvers.helpers import binary


@dataclass(frozen=True)
class Stuck(solvers.Solver):
    """Yields its start, and then does not come back before it is let go."""

    id, name, summary = "stuck", "Stuck", "for tests"

    how: str = "sleep"
    free: ClassVar = threading.Event()

    def warm_up_solver(self):
        return solvers.make_solver("prox-gd")

    def iterate(self, problem, w0=None):
        yield solvers.Iterate.at(problem.at(w0), 0)
        if self.how == "sleep":
            self.free.wait()
        while not self.free.is_set():
            pass


@pytest.fixture
def free():
    Stuck.free.clear()
    yield Stuck.free
    Stuck.free.set()


@pytest.fixture
def run_of(free):
    problem = solvers.make_problem(binary(n=40), penalty="l2", lam=0.1)

    def make(how, **limits):
        return solvers.Run(problem, Stuck(how), stopping=solvers.Stopping(**limits))

    return make


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_a_run_that_is_silent_beyond_its_limit_is_given_up(monkeypatch, run_of, how):
    monkeypatch.setattr(watchdog, "AFTER_LIMIT", 0.1)
    trace = watchdog.execute(run_of(how, max_seconds=0.1), lambda: Heartbeat(0.0, False))
    assert trace.status == "failed"
    assert "stuck did not answer its limit of 0.1 CPU seconds" in trace.message


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_a_run_that_is_silent_after_stop_is_given_up(monkeypatch, run_of, how):
    monkeypatch.setattr(watchdog, "AFTER_STOP", 0.1)
    trace = watchdog.execute(run_of(how), lambda: Heartbeat(0.0, True))
    assert trace.status == "stopped"
    assert "stuck did not answer Stop" in trace.message


def test_a_run_that_gives_signs_of_life_is_left_alone_and_ends_as_ever(monkeypatch, run_of, free):
    monkeypatch.setattr(watchdog, "AFTER_LIMIT", 0.0)
    looks = []

    def heartbeat():
        looks.append(True)
        if len(looks) == 5:
            free.set()
        return Heartbeat(math.inf, False)

    trace = watchdog.execute(run_of("sleep", max_seconds=100.0), heartbeat)
    assert trace.status == "stalled"


@pytest.mark.skipif(sys.platform != "linux", reason="a signal of Linux")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_a_solver_forks_ends_with_its_run():
    children = []

    @dataclass(frozen=True)
    class Forking(solvers.Solver):
        id, name, summary = "forking", "Forking", "for tests"

        def warm_up_solver(self):
            return solvers.make_solver("prox-gd")

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0)
            if (child := os.fork()) == 0:
                signal.pause()
            children.append(child)

    problem = solvers.make_problem(binary(n=40), penalty="l2", lam=0.1)
    run = solvers.Run(problem, Forking())
    watchdog.execute(run, lambda: Heartbeat(math.inf, False))
    (child,) = children
    assert os.waitpid(child, 0)[1] == 9
    assert not psutil.pid_exists(child)
