import threading

import pytest

from solverscope.solvers.compute.team import Team


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_block_is_done_once(threads):
    done, lock = [], threading.Lock()

    def task(block):
        with lock:
            done.append(block)

    Team(threads).each(task, range(10), lambda: None)
    assert sorted(done) == list(range(10))
    if threads == 1:
        assert done == list(range(10))


def test_the_time_of_helpers_is_counted_and_of_the_calling_thread_is_not(clock):
    alone, two, caller = Team(), Team(2), threading.get_ident()
    alone.each(lambda block: clock.work(2.0), range(2), lambda: None)
    assert alone.cpu_seconds == 0.0
    both, helped = threading.Barrier(2), []

    def task(block):
        both.wait(60)  # neither takes two blocks
        helped.append(threading.get_ident() != caller)
        clock.work(2.0)

    two.each(task, range(2), lambda: None)
    assert sorted(helped) == [False, True]
    assert two.cpu_seconds == pytest.approx(2.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failing_block_raises_in_the_caller(threads):
    def task(block):
        raise KeyError(block)

    with pytest.raises(KeyError):
        Team(threads).each(task, range(5), lambda: None)


def test_a_pulse_that_raises_stops_the_helpers_before_the_call_returns():
    started, go_on, caller = [], threading.Event(), threading.get_ident()

    def task(block):
        started.append(block)
        if threading.get_ident() != caller:
            go_on.wait(60)

    def stop():
        go_on.set()
        raise InterruptedError

    team = Team(2)
    with pytest.raises(InterruptedError):
        team.each(task, range(10_000), stop)
    assert 0 < len(started) < 10_000
    team.each(started.append, ["next"], lambda: None)
    assert started[-1] == "next", "no block of the call before comes later"


def test_the_pulse_comes_from_the_calling_thread_while_helpers_work():
    beats, seen, caller = [], threading.Event(), threading.get_ident()

    def pulse():
        beats.append(threading.get_ident())
        if len(beats) == 3:
            seen.set()

    started = threading.Barrier(2)

    def task(block):
        started.wait(60)
        if threading.get_ident() != caller:
            seen.wait(60)

    Team(2).each(task, range(2), pulse)
    assert len(beats) >= 3
    assert set(beats) == {caller}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_task_is_interrupted_between_its_parts(threads):
    parts, both = [], threading.Barrier(threads)

    def task(block):
        both.wait(60)
        for part in range(10_000):
            parts.append(part)
            yield

    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Team(threads).each(task, range(threads), stop)
    assert 0 < len(parts) < 10_000 * threads


def test_less_than_one_thread_is_refused():
    with pytest.raises(ValueError, match="threads is 0: give a whole number from 1"):
        Team(0)
