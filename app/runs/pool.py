"""The run pool: many live computations on few cores, in time slices that are fair between and within
sessions.

Every computation has a thread, but computes only while it holds one of the pool's slots. There is a slot for
each core, and one fewer while the page's thread is busy. A worker releases its slot at the end of a slice,
while it is paused or slowed down, and when it has ended. The slot then goes to the session that has used the
least CPU time, and within the session to the worker that has.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from solverscope.solvers import Interrupted

#: Seconds a worker computes before others get a chance.
SLICE_SECONDS = 0.05
#: Seconds after which a worker that waits for something checks it, if nothing wakes it.
WORKER_POLL_SECONDS = 0.1
#: Seconds without a pulse after which a worker that has a slot does not answer.
SILENT_SECONDS = 5.0
#: Seconds a thread may keep the interpreter to itself (Python's default is 5 ms).
SWITCH_INTERVAL = 0.0005
#: Threads of the process and of one session: more are refused with a sentence.
MAX_WORKERS = 64
MAX_PER_SHARE = 16


class PoolFull(ValueError):
    """An error: there are too many threads. The message explains the remedy."""


class PoolShare:
    """The workers of one session (or notebook, or test) in a pool, and the CPU seconds that they
    have used."""

    def __init__(self, pool: RunPool) -> None:
        self.pool = pool
        self.used = 0.0  # CPU seconds, raised to the others' level after idle times
        self.workers: set[PoolWorker] = set()

    def start(
        self,
        task: Callable[[PoolWorker], Any],
        name: str = "solverscope",
        *,
        pace: float = 0.0,
        step: bool = False,
    ) -> PoolWorker:
        """Start ``task(worker)`` in a new thread, and return the worker.

        The worker takes at most ``pace`` iterates per second (0: no limit). With ``step`` it pauses after the
        first iterate. Raises PoolFull if there are too many threads.
        """
        pool, worker = self.pool, PoolWorker(self, task, name)
        with pool.lock:
            if len(self.workers) >= MAX_PER_SHARE:
                raise PoolFull(f"{MAX_PER_SHARE} runs are alive: stop some before you start another")
            if len(pool.workers) >= MAX_WORKERS:
                raise PoolFull("the server is busy with other visitors' runs: try again in a minute")
            pool.shares = [s for s in pool.shares if s.workers and s is not self] + [self]
            self.workers.add(worker)
        worker.set_pace(pace)
        if step:
            worker.step_once()
        worker.thread.start()
        return worker

    def take(self, workers: Iterable[PoolWorker]) -> None:
        """Move workers from other shares of the pool to this one."""
        with self.pool.lock:
            for worker in workers:
                if worker in worker.share.workers:
                    worker.share.workers.discard(worker)
                    self.used = max(self.used, worker.share.used)
                    worker.share = self
                    self.workers.add(worker)
            self.pool.shares = [s for s in self.pool.shares if s.workers and s is not self] + [self]

    def stop(self) -> None:
        """Stop all workers."""
        for worker in list(self.workers):
            worker.stop()


class PoolWorker:
    """A thread of the pool, which is also the gate of a run.

    ``pulse`` and ``step`` may block, and raise :class:`solvers.Interrupted` after ``stop``.
    """

    def __init__(self, share: PoolShare, task: Callable[[PoolWorker], Any], name: str) -> None:
        self.share, self.pool = share, share.pool
        self.cpu_seconds = 0.0
        self.started = False  # its first slice has come
        self.has_slot = False
        self.waiting = False
        self.abandoned = False
        self.done = threading.Event()
        self.error: BaseException | None = None
        #: what its task returned; None if it was stopped, or failed
        self.result: Any = None
        self._task: Callable[[PoolWorker], Any] | None = task
        self._held = False
        self._stopped = False
        self._allowance = 0
        self._pace = 0.0
        self._due = 0.0
        self._barred: Callable[[], bool] = lambda: False
        self.slice_end = self._heard = 0.0
        self._cpu_began = 0.0
        self.turn = threading.Condition(self.pool.lock)
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    # what the page calls, from its own thread

    def pause(self) -> None:
        """Pause the worker: it blocks at its next pulse."""
        self._set(held=True)

    def resume(self) -> None:
        """Resume the worker."""
        self._set(held=False)

    def step_once(self) -> None:
        """Resume the worker for exactly one iterate."""
        self._set(held=True, more=1)

    def stop(self) -> None:
        """Stop the worker at its next pulse, even if it is paused; abandon it if it does not respond."""
        with self.pool.lock:
            self._stopped = True
            self.turn.notify()
            if self.silent:
                self._abandon()

    @property
    def silence(self) -> float:
        """Return the seconds since the last pulse, or 0 if the worker has no slot."""
        return time.perf_counter() - self._heard if self.has_slot else 0.0

    @property
    def silent(self) -> bool:
        """Return whether the worker has not responded for several seconds."""
        return self.silence > SILENT_SECONDS

    def _abandon(self) -> None:
        """Pass its slot on. The thread cannot be killed, and ends at its next pulse."""
        self.abandoned = True
        self.pool.take_back(self)
        self.share.workers.discard(self)
        self.done.set()

    def set_pace(self, per_second: float) -> None:
        """Limit the worker to this many iterates per second; 0 is no limit."""
        with self.pool.lock:
            self._pace, self._due = per_second, 0.0
            self.turn.notify()

    def _set(self, held: bool, more: int = 0) -> None:
        with self.pool.lock:
            self._held = held
            self._allowance = self._allowance + more if held else 0
            if more:
                self._due = 0.0
            self.turn.notify()

    @property
    def paused(self) -> bool:
        """Return whether the worker is to pause, with no single step outstanding; it may still compute."""
        return self._held and not self._allowance and not self._stopped and not self.done.is_set()

    @property
    def at_rest(self) -> bool:
        """Return whether the worker is paused and has stopped computing."""
        return self.paused and not self.has_slot

    @property
    def over(self) -> bool:
        """Return whether the worker has ended, or will end at its next pulse."""
        return self._stopped or self.done.is_set()

    def wake(self) -> None:
        """Wake the worker's thread, so that it checks its condition again."""
        with self.pool.lock:
            self.turn.notify()

    # what the thread itself calls

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Release the slot until ``holds()`` is true. Raises Interrupted if the worker is stopped."""
        if not holds():
            self._barred = lambda: not holds()
            self._yield_slot()
            self._barred = lambda: False

    def pulse(self) -> None:
        """Yield the slot if the slice has ended or the page's thread needs the core.

        Blocks while the worker is paused, and raises Interrupted once it is stopped.
        """
        if self._stopped:
            raise Interrupted
        self._heard = time.perf_counter()
        if self.paused or (self.has_slot and (self.pool.crowded or time.perf_counter() >= self.slice_end)):
            self._yield_slot()

    def step(self, run: object, iterate: object) -> None:
        """Count an iterate: use up a single step if one was requested, keep the pace, and call ``pulse``."""
        with self.pool.lock:
            self._allowance = max(self._allowance - 1, 0)
            if self._pace:
                self._due = max(time.perf_counter(), self._due + 1.0 / self._pace)
        if self._due > time.perf_counter():
            self._yield_slot()
        self.pulse()

    def _yield_slot(self) -> None:
        with self.pool.lock:
            self.waiting = not (self.paused or self._barred()) and self._due <= time.perf_counter()
            self.pool.release(self)
            self._wait_for_slot()
        if self._stopped:
            raise Interrupted

    def _wait_for_slot(self) -> None:
        """Wait until the worker may run and has a slot; called with the pool's lock held."""
        while not self._stopped:
            wait = self._due - time.perf_counter()
            if self._barred():
                self.waiting = False
                self.turn.wait(WORKER_POLL_SECONDS)
                continue
            if self.paused or wait > 0.0:
                self.waiting = False
                self.turn.wait(None if self.paused else wait)
                continue
            if not (self.waiting or self.has_slot):
                self.pool.ask(self)
            while not (self.has_slot or self._stopped or self.paused):
                self.turn.wait()
            if self.has_slot and not self.paused:
                self.started = True
                return
            self.pool.release(self)
        self.waiting = False

    def _run(self) -> None:
        self._cpu_began = time.thread_time()
        try:
            with self.pool.lock:
                self._wait_for_slot()
            if not self._stopped:
                assert self._task is not None  # it is run once
                self.result = self._task(self)
        except Interrupted:
            pass
        except BaseException as error:  # kept for the thread that started it
            self.error = error
        finally:
            with self.pool.lock:
                self.pool.release(self)
                self.share.workers.discard(self)
            self._task = None  # it may know this worker: what it holds is freed at once, without a cycle
            self.done.set()

    def account(self) -> None:
        """Charge the CPU time since the slot was taken to worker and session; called in the
        worker's thread."""
        now = time.thread_time()
        spent, self._cpu_began = now - self._cpu_began, now
        self.cpu_seconds += spent
        self.share.used += spent

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the worker has ended; return False after a timeout."""
        return self.done.wait(timeout)


class RunPool:
    """The slots, and the workers that wait for them. There is one pool per process, see :func:`shared`."""

    def __init__(self, slots: int | None = None) -> None:
        self.slots = slots or os.cpu_count() or 1
        self.lock = threading.RLock()
        self._free = self.slots
        self._pages = 0  # at work in the page's thread
        #: those that have workers
        self.shares: list[PoolShare] = []

    def share(self) -> PoolShare:
        """Return a share for a new session."""
        return PoolShare(self)

    @contextmanager
    def page_first(self) -> Iterator[None]:
        """Reserve a core for the page's thread during the block.

        If a run used each core, the page would often wait for a core and for Python's global lock. If there
        is only one slot, the runs keep it.
        """
        with self.lock:
            self._pages += 1
        try:
            yield
        finally:
            with self.lock:
                self._pages -= 1
                self._hand_out()

    @property
    def _kept_free(self) -> int:
        """Return the number of slots that are reserved for the page."""
        return 1 if self._pages and self.slots > 1 else 0

    @property
    def crowded(self) -> bool:
        """Return whether a run holds a slot that is reserved for the page."""
        return self._free < self._kept_free

    @property
    def workers(self) -> list[PoolWorker]:
        """Return all workers that have not ended."""
        with self.lock:
            return [worker for share in self.shares for worker in share.workers]

    def ask(self, worker: PoolWorker) -> None:
        """Queue a worker for a slot; called with the lock held.

        A session that was idle gets no credit for that: its CPU time is raised to the least of the active
        sessions.
        """
        if not any(w.waiting or w.has_slot for w in worker.share.workers):
            busy = {w.share for w in self.workers if w.waiting or w.has_slot}
            worker.share.used = max([worker.share.used, *([min(s.used for s in busy)] if busy else [])])
        worker.waiting = True
        self._hand_out()

    def release(self, worker: PoolWorker) -> None:
        """Release the slot of a worker, if it has one; called in the worker's thread with the lock held."""
        if worker.has_slot:
            worker.account()
            self.take_back(worker)

    def take_back(self, worker: PoolWorker) -> None:
        """Take the slot of a worker away, if it has one, and assign it again; called with the lock held."""
        if worker.has_slot:
            worker.has_slot = False
            self._free += 1
            self._hand_out()

    def _hand_out(self) -> None:
        while self._free > self._kept_free:
            waiting = [w for w in self.workers if w.waiting and not w.has_slot]
            if not waiting:
                return
            chosen = min(waiting, key=lambda w: (w.share.used, w.cpu_seconds))
            chosen.waiting = False
            chosen.has_slot = True
            self._free -= 1
            chosen._heard = time.perf_counter()
            chosen.slice_end = chosen._heard + SLICE_SECONDS
            chosen.turn.notify()


_shared = RunPool()


def shared() -> RunPool:
    """Return the pool of this process."""
    # the page's thread waits so long for each Python step between two kernels of a run
    sys.setswitchinterval(SWITCH_INTERVAL)
    return _shared
