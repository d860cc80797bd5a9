"""Slots are shared fairly, pausing uses no CPU, stopping is felt at once."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from solverscope.app.runs import pool
from solverscope.app.runs.pool import MAX_PER_SHARE, SLICE_SECONDS, PoolFull, RunPool
from tests.clock import Clock

#: Seconds on a clock of the test's own: of a piece of work, and by which workers that take turns may differ.
PIECE, TURN = 0.01, SLICE_SECONDS + 0.02


@pytest.fixture
def busy(clock: Clock) -> Callable[[pool.PoolWorker], None]:
    """Computes in small pieces, as solvers do, until stopped."""

    def task(worker: pool.PoolWorker) -> None:
        while True:
            clock.work(PIECE)
            worker.pulse()

    return task


def test_no_more_workers_compute_at_once_than_there_are_slots():
    run_pool = RunPool(2)
    share = run_pool.share()
    inside, most, lock, both = [0], [0], threading.Lock(), threading.Barrier(2, timeout=60.0)

    def task(worker: pool.PoolWorker) -> None:
        for _ in range(20):
            with lock:
                inside[0] += 1
                first, most[0] = most[0] < 2, max(most[0], inside[0])
            if first:  # it waits for the other one
                both.wait()
            with lock:
                inside[0] -= 1
            worker.pulse()

    workers = [share.start(task) for _ in range(5)]
    assert all(worker.join(60) for worker in workers)
    assert most[0] == 2


def test_runs_of_one_session_get_the_same_cpu_time(busy, wait_until):
    share = RunPool(1).share()
    workers = [share.start(busy) for _ in range(3)]

    def spent() -> list[float]:
        with share.pool.lock:
            return [worker.cpu_seconds for worker in workers]

    # the first one was alone for a while, and the others make up for it
    wait_until(lambda: min(spent()) and max(spent()) - min(spent()) <= TURN)
    before = min(spent())
    while min(now := spent()) < before + 20 * SLICE_SECONDS:
        assert max(now) - min(now) <= TURN
    share.stop()


def test_a_session_with_many_runs_gets_no_more_than_one_with_a_single_run(busy, wait_until):
    run_pool = RunPool(1)
    crowd, single = run_pool.share(), run_pool.share()
    for _ in range(4):
        crowd.start(busy)
    alone = single.start(busy)
    wait_until(lambda: alone.cpu_seconds > 15 * SLICE_SECONDS)  # its thread may begin long after the crowd's
    with run_pool.lock:
        apart = crowd.used - single.used
    crowd.stop()
    single.stop()
    assert abs(apart) <= TURN


def test_a_session_that_was_idle_does_not_take_over_the_pool(busy, wait_until):
    run_pool = RunPool(1)
    old, new = run_pool.share(), run_pool.share()
    first = old.start(busy)
    wait_until(lambda: first.cpu_seconds > 10 * SLICE_SECONDS)
    with run_pool.lock:
        before = old.used
        second = new.start(busy)
    wait_until(lambda: second.cpu_seconds > 10 * SLICE_SECONDS)
    with run_pool.lock:
        gained = old.used - before
        spent = second.cpu_seconds
    old.stop()
    new.stop()
    assert gained >= spent - TURN, "the older session went on beside the newcomer"


def test_a_paused_worker_uses_no_cpu_and_leaves_its_slot_to_others(busy, wait_until):
    share = RunPool(1).share()
    held, free = share.start(busy), share.start(busy)
    wait_until(lambda: held.cpu_seconds > 0 and free.cpu_seconds > 0)
    held.pause()
    wait_until(lambda: held.paused and not held.has_slot)
    before = held.cpu_seconds, free.cpu_seconds
    wait_until(lambda: free.cpu_seconds > before[1] + 5 * SLICE_SECONDS)
    assert held.cpu_seconds == before[0]
    held.resume()
    wait_until(lambda: held.cpu_seconds > before[0])
    share.stop()


def test_a_worker_is_at_rest_once_what_it_was_at_is_done_and_not_as_soon_as_it_is_paused(wait_until):
    at_work, go_on, done = threading.Event(), threading.Event(), []

    def task(worker: pool.PoolWorker) -> None:
        at_work.set()
        go_on.wait(60)
        done.append(True)
        worker.pulse()

    worker = RunPool(1).share().start(task)
    assert at_work.wait(60)
    worker.pause()
    assert worker.paused
    assert not worker.at_rest
    go_on.set()
    wait_until(lambda: worker.at_rest)
    assert done
    worker.stop()
    assert worker.join(60)
    assert not worker.at_rest


@pytest.mark.parametrize("paused", [False, True])
def test_stopping_is_felt_at_the_next_pulse_also_while_paused(paused, wait_until):
    pulses = []

    def task(worker: pool.PoolWorker) -> None:
        while True:
            pulses.append(True)
            worker.pulse()

    worker = RunPool(1).share().start(task)
    wait_until(lambda: pulses)
    if paused:
        worker.pause()
        wait_until(lambda: worker.paused)
    worker.stop()
    before = len(pulses)
    assert worker.join(60)
    assert len(pulses) <= before + 1
    assert worker.error is None


def test_an_error_is_kept_for_whoever_started_the_work():
    worker = RunPool(1).share().start(lambda worker: 1 / 0)
    assert worker.join(60)
    assert isinstance(worker.error, ZeroDivisionError)


def test_a_worker_that_is_done_keeps_nothing_of_its_work_alive():
    class Work:
        def do(self, worker: pool.PoolWorker) -> None:
            self.worker = worker

    work = Work()
    worker = RunPool(1).share().start(work.do)
    assert worker.join(60)
    gone = weakref.ref(work)
    gc.disable()
    try:
        del work
        assert gone() is None
    finally:
        gc.enable()


def test_too_many_workers_are_refused_with_a_sentence(busy):
    share = RunPool(1).share()
    for _ in range(MAX_PER_SHARE):
        share.start(busy)
    with pytest.raises(PoolFull, match="stop some"):
        share.start(busy)
    share.stop()


def test_one_pool_serves_the_whole_process():
    assert pool.shared() is pool.shared()


def test_a_core_is_left_to_the_page_while_it_is_at_work(busy, wait_until):
    run_pool = RunPool(2)
    share = run_pool.share()
    workers = [share.start(busy) for _ in range(3)]

    def computing() -> int:
        with run_pool.lock:
            return sum(worker.has_slot for worker in workers)

    wait_until(lambda: computing() == 2)
    with run_pool.page_first():
        wait_until(lambda: computing() == 1)
        before = [worker.cpu_seconds for worker in workers]
        wait_until(lambda: all(w.cpu_seconds > b for w, b in zip(workers, before, strict=True)))
        assert computing() == 1, "in turn"
    wait_until(lambda: computing() == 2)
    share.stop()


def test_runs_go_on_beside_the_page_where_there_is_one_slot_alone(busy, wait_until):
    run_pool = RunPool(1)
    share = run_pool.share()
    worker = share.start(busy)
    wait_until(lambda: worker.cpu_seconds > 0.0)
    with run_pool.page_first():
        before = worker.cpu_seconds
        wait_until(lambda: worker.cpu_seconds > before + 4 * SLICE_SECONDS)
    share.stop()
