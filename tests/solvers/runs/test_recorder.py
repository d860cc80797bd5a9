"""Recording alone, without a run: what is filled in, and what a trace gets."""

import math

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Iterate
from solverscope.solvers.problems.certificates.certificate import KnownMinimum
from solverscope.solvers.problems.certificates.optimality import Knows
from solverscope.solvers.runs.gate import RunPulse
from solverscope.solvers.runs.observer import Observer
from solverscope.solvers.runs.recorder import Recorder
from solverscope.solvers.runs.solver_clock import SolverClock
from solverscope.solvers.traces.trace import Trace
from tests.solvers.helpers import binary


class Ignorant(solvers.Solver):
    """A solver that knows no measure of optimality."""

    knows = Knows(violation=False, dual_gap=False)
    counts_passes = False


@pytest.fixture
def problem():
    return solvers.make_problem(binary(), loss="logistic", penalty="l2", lam=0.1)


@pytest.fixture
def recorder(problem):
    pulse = RunPulse(None)
    clock = SolverClock(pulse)
    clock.cpu, clock.wall = 3.0, 4.0
    return Recorder(Trace({"label": "run", "solver": "ignorant"}), clock, Observer(problem, pulse))


def test_weights_alone_are_completed_by_what_they_say(problem, recorder):
    w = np.linspace(-1.0, 1.0, problem.size)
    w[0] = 0.0
    iterate = Iterate(iteration=0, objective=math.nan, w=w)
    recorder.complete(iterate, Ignorant(), KnownMinimum(math.inf))
    point = problem.at(w)
    assert iterate.objective == point.objective
    assert iterate.violation == pytest.approx(point.violation())
    assert iterate.nnz == problem.size - 1
    assert (iterate.cpu_seconds, iterate.wall_seconds) == (3.0, 4.0)
    assert math.isnan(iterate.passes), "nobody saw its products"


def test_the_last_whole_iterate_stays_when_the_solver_works_on_its_array(problem, recorder):
    w = np.linspace(-1.0, 1.0, problem.size)
    before = w.copy()
    iterate = Iterate(iteration=0, objective=math.nan, w=w)
    recorder.complete(iterate, Ignorant(), KnownMinimum(math.inf))
    recorder.append(iterate)
    w[:] = np.nan
    np.testing.assert_array_equal(recorder.weights(), before)
    assert recorder.trace.iteration.tolist() == [0]


def test_without_weights_there_are_none(recorder):
    iterate = Iterate(iteration=0, objective=1.0)
    recorder.complete(iterate, Ignorant(), KnownMinimum(math.inf))
    recorder.append(iterate)
    assert recorder.weights() is None
    assert recorder.trace.last["objective"] == 1.0
