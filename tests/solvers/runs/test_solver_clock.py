"""A run's clock alone: what it counts as the solver's, as compiling and as set-up."""

import math
from types import SimpleNamespace

import pytest

from solverscope.solvers.runs.gate import RunPulse
from solverscope.solvers.runs.solver_clock import SolverClock


@pytest.fixture
def problem():
    """The accounts of a problem that the clock reads."""
    derived = SimpleNamespace(spent=(0.0, 0.0))
    return SimpleNamespace(team=SimpleNamespace(cpu_seconds=0.0), design=SimpleNamespace(derived=derived))


def test_helper_threads_count_and_what_is_derived_or_waited_for_does_not(clock, problem):
    pulse = RunPulse(None)
    seconds = SolverClock(pulse)

    def iterates():
        clock.work(1.0)
        yield "first"
        clock.work(10.0)
        problem.team.cpu_seconds += 2.0
        problem.design.derived.spent = (4.0, 4.0)
        clock.idle(32.0)
        pulse.waited += 32.0
        yield "second"

    advanced = iterates()
    assert seconds.advance(advanced, problem) == "first"
    assert seconds.seconds == (1.0, 1.0)
    assert seconds.advance(advanced, problem) == "second"
    assert seconds.seconds == (1.0 + 10.0 + 2.0 - 4.0, 1.0 + 10.0 - 4.0)
    with pytest.raises(StopIteration):
        seconds.advance(advanced, problem)


def test_what_a_solver_needs_to_fail_counts_too(clock, problem):
    def iterates():
        clock.work(3.0)
        raise ZeroDivisionError
        yield

    seconds = SolverClock(RunPulse(None))
    with pytest.raises(ZeroDivisionError):
        seconds.advance(iterates(), problem)
    assert seconds.seconds == (3.0, 3.0)


def test_an_iterate_with_seconds_of_its_own_sets_the_clock():
    seconds = SolverClock(RunPulse(None))
    seconds.adopt(SimpleNamespace(cpu_seconds=math.nan, wall_seconds=math.nan))
    assert seconds.seconds == (0.0, 0.0)
    seconds.adopt(SimpleNamespace(cpu_seconds=2.0, wall_seconds=3.0))
    assert seconds.seconds == (2.0, 3.0)


def test_a_replay_is_booked_apart(clock, problem):
    seconds = SolverClock(RunPulse(None))
    seconds.advance((clock.work(5.0) for _ in range(1)), problem)
    seconds.end_replay((1.5, 2.5))
    assert (seconds.replay_seconds, seconds.seconds) == (5.0, (1.5, 2.5))


def test_compiling_is_wall_time_and_set_up_is_cpu_time(clock, problem):
    seconds = SolverClock(RunPulse(None))
    with seconds.compiling():
        clock.work(1.0)
        clock.idle(2.0)
    with seconds.setting_up(problem):
        clock.work(8.0)
        clock.idle(16.0)
        problem.design.derived.spent = (3.0, 3.0)
    assert (seconds.compile_seconds, seconds.setup_seconds, seconds.cpu) == (3.0, 5.0, 0.0)
