"""A watchdog over a run in a thread, which abandons it if it ignores its limit and Stop."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from solverscope.solvers import Interrupted, Run, Trace

#: Seconds without a heartbeat, after its limit and after Stop, until a run is given up: it neither yields nor
#: calls ``problem.pulse()``.
AFTER_LIMIT, AFTER_STOP = 10.0, 2.0
#: Seconds between two looks.
WATCHDOG_SECONDS = 0.1
#: Share of its wall time that a thread uses at least if it computes.
AWAKE = 0.01


class Heartbeat(NamedTuple):
    """The time of the last sign of life of a run, by ``time.monotonic``, and whether it was told to stop."""

    last: float
    stopping: bool


def execute(run: Run, heartbeat: Callable[[], Heartbeat]) -> Trace:
    """Execute a run and return its trace; if the run was abandoned, its message says so.

    A thread cannot be killed. An exception is raised in that of an abandoned run, which ends loops in Python
    but no others. Its forks are killed.
    """
    _end_forks_with_their_thread()
    thread = _Computing(run)
    thread.start()
    seen, cpu, stopped = 0.0, 0.0, None
    while thread.is_alive():
        thread.join(WATCHDOG_SECONDS)
        now, beat, used = time.monotonic(), heartbeat(), thread.cpu_seconds()
        if beat.last > seen:
            seen, cpu = beat.last, used
        if beat.stopping:
            stopped = stopped or now
        if stopped is not None and now - stopped > AFTER_STOP and now - seen > AFTER_STOP:
            return _given_up(run, thread, "stopped", "Stop")
        if run.trace.status == "running" and _is_overdue(run, now - seen, used - cpu):
            return _given_up(run, thread, "failed", f"its limit of {run.stopping.max_seconds:g} CPU seconds")
    return run.trace


def _is_overdue(run: Run, silent: float, computed: float) -> bool:
    """Return whether a run is well beyond its limit, from its seconds since the last heartbeat and the CPU
    seconds in them."""
    if run.stopping.max_seconds is None:
        return False
    left = max(run.stopping.max_seconds - run.trace.last.get("cpu_seconds", 0.0), 0.0) + AFTER_LIMIT
    return computed > left or (silent > left and computed < AWAKE * silent)


def _given_up(run: Run, thread: threading.Thread, status: str, what: str) -> Trace:
    run.interrupt()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupted))
    thread.join(WATCHDOG_SECONDS)
    said = (
        f"{run.solver.id} did not answer {what}, and was given up: it should yield, or call problem.pulse()"
    )
    if run.trace.result:  # the exception has reached it
        run.trace.result |= {"status": status, "message": said}
    run.trace.finish(status, said)
    return run.trace


class _Computing(threading.Thread):
    """The thread of a run, with CPU seconds that other threads may read."""

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"run of {run.label}", daemon=True)
        self._execute, self._clock, self._used = run.execute, None, 0.0

    def run(self) -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._execute()

    def cpu_seconds(self) -> float:
        """Return the CPU seconds so far; return 0 if they cannot be read."""
        if self._clock is not None:
            with contextlib.suppress(OSError):  # it has just ended
                self._used = time.clock_gettime(self._clock)
        return self._used


@cache
def _end_forks_with_their_thread() -> None:
    """Kill processes that a thread of this one has forked when the thread ends: they hold its connections
    open, and whoever waits for the end of this process would wait for theirs."""
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
