import threading
import time

import pytest

from solvers.compute.team import Team


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


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


def test_the_time_of_helpers_is_counted_and_of_the_calling_thread_is_not():
    alone, two = Team(), Team(2)
    alone.each(lambda block: burn(0.02), range(2), lambda: None)
    two.each(lambda block: burn(0.02), range(4), lambda: None)
    assert alone.cpu_seconds == 0.0
    assert two.cpu_seconds == pytest.approx(0.08, rel=0.3)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failing_block_raises_in_the_caller(threads):
    def task(block):
        raise KeyError(block)

    with pytest.raises(KeyError):
        Team(threads).each(task, range(5), lambda: None)


def test_a_pulse_that_raises_stops_the_helpers_before_the_call_returns():
    started = []

    def task(block):
        started.append(block)
        time.sleep(0.02)

    def stop():
        raise InterruptedError

    team = Team(2)
    with pytest.raises(InterruptedError):
        team.each(task, range(200), stop)
    n = len(started)
    assert n < 20
    time.sleep(0.1)
    assert len(started) == n


def test_the_pulse_comes_from_the_calling_thread_while_helpers_work():
    beats = []
    Team(2).each(lambda block: time.sleep(0.15), range(2), lambda: beats.append(threading.get_ident()))
    assert len(beats) >= 2
    assert set(beats) == {threading.get_ident()}


def test_less_than_one_thread_is_refused():
    with pytest.raises(ValueError, match="threads is 0: give a whole number from 1"):
        Team(0)
