"""External programs in processes of their own: their clock, Stop, Pause, and what is left when one dies."""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import dataclass

import psutil
import pytest

from solverscope import solvers
from solverscope.solvers import Run, Stopping
from solverscope.solvers.rivals import process
from solverscope.solvers.rivals.external_solver import ExternalSolver
from solverscope.solvers.rivals.observation_mode import RERUN, RESTART
from tests.solvers.helpers import binary
from tests.waiting import wait_until


@dataclass(frozen=True)
class Program(ExternalSolver):
    """A program for these tests, which the process imports from here."""

    id, name, summary, program, observation_mode = "program", "Program", "for tests", "the program", RESTART
    does: str = solvers.param(
        "count", "what it does after three iterates", choices=("count", "work", "die", "exit", "raise")
    )

    def advance(self, task, report):
        w = task.w0 if task.w0.size else 0.0 * task.X[0]
        for n in range(1, 4):
            w = w + 0.01
            report(n, w)
        if self.does == "work":
            while True:
                sum(range(10_000))
        if self.does == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "exit":
            sys.exit(7)
        if self.does == "raise":
            raise ArithmeticError("no more\nnumbers")
        return "it has counted to three"


@dataclass(frozen=True)
class Anew(Program):
    observation_mode = RERUN

    def advance(self, task, report):
        for n in (1, 2, 4):
            sum(range(n * 400_000))
            report(n, 0.01 * n + 0.0 * task.X[0])
        return "it has counted to four"


@pytest.fixture
def problem():
    return solvers.make_problem(binary(), penalty="l2", lam=0.1)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The process finds this file as a module of that name."""
    monkeypatch.setattr(Program, "__module__", "tests.solvers.rivals.test_process")
    monkeypatch.setattr(Anew, "__module__", "tests.solvers.rivals.test_process")


class Gate(solvers.Gate):
    """A gate that holds a run at the first pulse inside the program once three iterates are there."""

    def __init__(self):
        self.at, self.go = threading.Event(), threading.Event()

    def pulse(self):
        if len(self.run.trace) == 4 and self.run.trace.status == "running":
            self.at.set()
            assert self.go.wait(60)


def test_a_program_that_ends_says_why_and_its_process_is_kept_for_the_next(problem):
    trace = solvers.solve(problem, Program(), max_iter=9)
    assert trace.iteration.tolist() == [0, 1, 2, 3]
    assert set(trace.phase) == {RESTART}
    assert trace.status == "stalled"
    assert trace.message.startswith("the program: it has counted to three; ")
    assert trace.objective[3] == pytest.approx(problem.at(trace.w).objective, rel=1e-15)
    kept = [p.pid for p in process.idle]
    assert kept
    solvers.solve(problem, Program(), max_iter=2)
    assert [p.pid for p in process.idle] == kept


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("die", "the program: its process was ended by signal SIGKILL"),
        ("exit", "the program: SystemExit: 7"),
        ("raise", "the program: ArithmeticError: no more numbers"),
    ],
)
def test_a_program_that_fails_ends_its_run_alone_which_keeps_its_trace(problem, does, said):
    trace = solvers.solve(problem, Program(does=does), max_iter=9, on_error="keep")
    assert (trace.status, trace.message) == ("failed", said)
    assert trace.iteration.tolist() == [0, 1, 2, 3]
    assert trace.w == pytest.approx(0.03)
    assert solvers.solve(problem, Program(), max_iter=9).status == "stalled"


def test_a_process_that_is_killed_from_outside_is_a_failed_run(problem):
    gate = Gate()
    run = gate.run = Run(problem, Program(does="work"), stopping=Stopping(max_iter=9), gate=gate)
    thread = threading.Thread(target=run.execute)
    thread.start()
    assert gate.at.wait(60)
    for child in psutil.Process().children():
        idle = {waiting.pid for waiting in process.idle}
        if "solverscope.solvers.rivals.child" in child.cmdline() and child.pid not in idle:
            child.kill()
    gate.go.set()
    thread.join(60)
    assert run.trace.status == "failed"
    assert "SIGKILL" in run.trace.message
    assert len(run.trace) == 4


def test_a_program_stands_still_while_its_run_is_paused_and_is_ended_by_stop(problem):
    """It computes without end, and says nothing meanwhile."""
    gate = Gate()
    run = gate.run = Run(problem, Program(does="work"), stopping=Stopping(max_iter=9), gate=gate)
    thread = threading.Thread(target=run.execute)
    thread.start()
    assert gate.at.wait(60)
    kept = {p.pid for p in process.idle}
    (working,) = [
        child
        for child in psutil.Process().children()
        if "solverscope.solvers.rivals.child" in child.cmdline() and child.pid not in kept
    ]
    wait_until(lambda: working.status() == psutil.STATUS_STOPPED, "the process to stand still")
    run.interrupt()
    gate.go.set()
    thread.join(60)
    assert run.trace.status == "stopped"
    assert len(run.trace) == 4
    wait_until(lambda: not working.is_running(), "the process to end")


def test_seconds_of_runs_anew_are_those_of_each_alone(problem):
    trace = solvers.solve(problem, Anew(), max_iter=9)
    assert trace.iteration.tolist() == [0, 1, 2, 4]
    assert trace.cpu_seconds[0] == 0.0
    spent = trace.cpu_seconds[1:]
    assert (spent[1:] >= spent[:-1]).all()
    assert spent[-1] < spent.sum() / 1.2, "they are not summed up"
    assert trace.result["passes"] is None, "nobody counts them"


def test_a_program_that_starts_from_zero_alone_says_so(problem, monkeypatch):
    monkeypatch.setattr(Program, "takes_start", False)
    trace = Run(problem, Program(), w0=problem.at().w).execute()
    assert (trace.status, trace.message) == (
        "failed",
        "the program starts from zero alone: leave the start out",
    )
    with pytest.raises(ValueError, match="program starts from zero alone: it cannot go on at another λ"):
        Run(problem, Program()).set_lam(0.2)
