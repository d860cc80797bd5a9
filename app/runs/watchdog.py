"""A watchdog for a run in a thread: it abandons a run that ignores its time limit or *Stop*."""

from __future__ import annotations

import contextlib
import ctypes
import linecache
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from solverscope.solvers import Run, Trace
from solverscope.solvers.compute.threads import is_compiling, user_places

#: Seconds without a heartbeat, after its limit and after Stop, until a run is given up: it neither yields nor
#: calls ``problem.pulse()``.
AFTER_LIMIT, AFTER_STOP = 10.0, 2.0
#: Seconds between two looks.
WATCHDOG_SECONDS = 0.1
#: Statuses in which a limit counts.
WATCHED = ("compiling", "running")
#: Share of its wall time that a thread uses at least if it computes.
AWAKE = 0.01


class Heartbeat(NamedTuple):
    """The time of the last sign of life of a run, by ``time.monotonic``, and whether it has been asked to
    stop."""

    last: float
    stopping: bool


def execute(
    run: Run,
    heartbeat: Callable[[], Heartbeat],
    *,
    advance: Callable[[], object] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Trace:
    """Execute a run in a thread and return its trace; if the run was abandoned, its message says so.

    ``advance()`` executes the run, by default ``run.execute()``; exceptions are raised again here. ``say``
    receives the stack trace of an abandoned run, line by line. Processes that the run has forked are killed.
    """
    _end_forks_with_their_thread()
    thread = _Computing(run, advance or run.execute)
    thread.start()
    seen, cpu, stopped = 0.0, 0.0, None
    try:
        while not thread.over.wait(WATCHDOG_SECONDS):
            now, beat, used = time.monotonic(), heartbeat(), thread.cpu_seconds()
            if is_compiling(run.stack):
                seen, cpu = now, used
            elif beat.last > seen:
                seen, cpu = beat.last, used
            if beat.stopping:
                stopped = stopped or now
            if stopped is not None and now - max(stopped, beat.last) > AFTER_STOP:
                return _given_up(run, thread, "stopped", "Stop", say)
            if run.trace.status in WATCHED and _is_overdue(run, now - seen, used - cpu):
                limit = f"its limit of {run.stopping.max_seconds:g} CPU seconds"
                return _given_up(run, thread, "failed", limit, say)
    except KeyboardInterrupt:
        _given_up(run, thread, "stopped", "Stop", say)
        raise
    if thread.error is not None:
        raise thread.error
    return run.trace


def _is_overdue(run: Run, silent: float, computed: float) -> bool:
    """Return whether a run has far exceeded its limit of CPU seconds.

    ``silent`` and ``computed`` are the wall and CPU seconds since its last heartbeat.
    """
    if run.stopping.max_seconds is None:
        return False
    left = max(run.stopping.max_seconds - run.trace.last.get("cpu_seconds", 0.0), 0.0) + AFTER_LIMIT
    return computed > left or (silent > left and computed < AWAKE * silent)


def _given_up(run: Run, thread: _Computing, status: str, what: str, say: Callable[[str], None]) -> Trace:
    if not thread.over.is_set():
        places = user_places(run.stack)
        run.abandon(status, what)
        thread.over.wait(WATCHDOG_SECONDS)
        for place in places:
            say(f"  {place}: {linecache.getline(place.file, place.line).strip()}")
    return run.trace


class _Computing(threading.Thread):
    """The thread of a run, with CPU seconds that other threads may read."""

    def __init__(self, run: Run, advance: Callable[[], object]) -> None:
        super().__init__(name=f"run of {run.label}", daemon=True)
        self._advance, self._clock, self._used = advance, None, 0.0
        self.error: BaseException | None = None
        #: An interrupted ``join`` takes a thread that is alive for one that has ended (Python 3.11).
        self.over = threading.Event()

    def run(self) -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            self._advance()
        except BaseException as error:  # raised again by the thread that waits
            self.error = error
        finally:
            self.over.set()

    def cpu_seconds(self) -> float:
        """Return the CPU seconds used so far, or 0 if they cannot be read."""
        if self._clock is not None:
            with contextlib.suppress(OSError):  # it has just ended
                self._used = time.clock_gettime(self._clock)
        return self._used


@cache
def _end_forks_with_their_thread() -> None:
    """Arrange that a process forked by a thread of this process is killed when the thread ends.

    It would keep connections open, and whoever waits for this process to end would wait for it, too.
    """
    if sys.platform != "linux":
        return
    death_signal = 1  # PR_SET_PDEATHSIG
    libc, links = ctypes.CDLL(None), threading.local()

    def before() -> None:
        links.ends = os.pipe()

    def in_child() -> None:
        libc.prctl(death_signal, signal.SIGKILL)
        os.write(links.ends[1], b".")

    def in_parent() -> None:
        # a thread that ended before the child has asked for the signal would leave it alive
        os.read(links.ends[0], 1)
        for end in links.ends:
            os.close(end)

    os.register_at_fork(before=before, after_in_child=in_child, after_in_parent=in_parent)
