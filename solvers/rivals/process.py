"""Processes of external programs, and the protocol that drives them.

A process that has finished is reused for the next task, since it has imported and compiled what that needs.
Messages are frames over pipes: a line of JSON, then the bytes of the arrays that it announces.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, NamedTuple, cast

import numpy as np
import psutil

#: Seconds between two pulses while a program works.
PULSE_SECONDS = 0.05
#: Seconds that a process gets to cancel the program that waits at an iterate.
CANCEL_SECONDS = 0.3
#: Maximal number of idle processes for next programs.
MOST_IDLE = os.cpu_count() or 1
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


#: A message: numbers, strings and arrays by name.
Frame = dict[str, Any]


class ProgramFailed(Exception):
    """Raised if a program has failed, or its process has ended; the message has the reason."""


class ReportedIterate(NamedTuple):
    """An iterate of an external program: its index, its weights, and the seconds since the previous
    iterate."""

    iteration: int
    w: np.ndarray
    cpu: float
    wall: float


def write(file: IO[bytes] | io.BufferedIOBase, **frame: Any) -> None:
    """Write a frame with these fields to a file; arrays are written as bytes."""
    arrays = {name: np.ascontiguousarray(v) for name, v in frame.items() if isinstance(v, np.ndarray)}
    about = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    record = {name: value for name, value in frame.items() if name not in arrays}
    file.write(json.dumps([record, about]).encode() + b"\n")
    for array in arrays.values():
        file.write(array.data.cast("B") if array.size else b"")
    file.flush()


def read(file: io.BufferedIOBase) -> Frame:
    """Read a frame from a file; raise EOFError at its end."""
    line = file.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    frame, about = json.loads(line)
    for name, dtype, shape in about:
        array = frame[name] = np.empty(shape, dtype)
        if array.size and file.readinto(array.data.cast("B")) < array.nbytes:
            raise EOFError
    return frame


class Process:
    """A process that runs one program after another."""

    def __init__(self) -> None:
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # it finds what is found here
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "solverscope.solvers.rivals.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        #: orders to the process, and its answers
        self._orders = cast(io.BufferedIOBase, self._popen.stdin)
        self._answers = cast(io.BufferedIOBase, self._popen.stdout)
        #: The process, and the one in which its program works, if that is another.
        self._seen = [psutil.Process(self._popen.pid)]
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self.suspended_seconds = 0.0  # seconds in which it suspended_seconds still
        threading.Thread(target=self._listen, name="external process", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def _listen(self) -> None:
        with suppress(EOFError, OSError, ValueError):
            while True:
                self._frames.put(read(self._answers))
        self._frames.put(None)

    def send(self, **frame: Any) -> None:
        """Send a frame. If the process has ended, only :meth:`answer` reports it."""
        with suppress(OSError):
            write(self._orders, **frame)

    def answer(self, pulse: Callable[[], None]) -> Frame:
        """Wait for a frame, calling the pulse from time to time; the process is suspended during a pulse.

        Raises ProgramFailed if the process has ended.
        """
        while True:
            try:
                frame = self._frames.get(timeout=PULSE_SECONDS)
            except queue.Empty:
                with self._suspended():
                    pulse()
                continue
            if frame is None:
                raise ProgramFailed(f"its process {_ended(self._popen.wait())}")
            if "started" not in frame:
                return frame
            with suppress(psutil.Error):
                self._seen[1:] = [psutil.Process(frame["started"])]

    @contextmanager
    def _suspended(self) -> Iterator[None]:
        began = time.perf_counter()
        for process in self._seen:
            with suppress(psutil.Error):
                process.suspend()
        try:
            yield
        finally:
            for process in self._seen:
                with suppress(psutil.Error):
                    process.resume()
            self.suspended_seconds += time.perf_counter() - began

    def cancels(self) -> bool:
        """Cancel the program that waits at an iterate; return whether its process confirms this in time."""
        self.send(do="cancel")
        with suppress(queue.Empty):
            frame = self._frames.get(timeout=CANCEL_SECONDS)
            return frame is not None and "ended" in frame
        return False

    def kill(self) -> None:
        """Kill the process and its child processes."""
        for process in self._seen[1:]:
            with suppress(psutil.Error):
                process.kill()
        self._popen.kill()
        self._popen.wait()
        with suppress(OSError):
            self._orders.close()


#: Processes without a program.
idle: list[Process] = []
_lock = threading.Lock()


@atexit.register
def _end_all() -> None:
    with _lock:
        while idle:
            idle.pop().kill()


def program_iterates(
    order: Mapping[str, Any], pulse: Callable[[], None]
) -> Generator[ReportedIterate, None, str]:
    """Yield the iterates that a program reports, each requested when the generator is advanced.

    Return why the program ended by itself. Raises ProgramFailed if it fails. Its process is reused for the
    next program if it is idle then, and killed otherwise.
    """
    with _lock:
        idle[:] = [process for process in idle if process.alive]
        process = idle.pop() if idle else None
    process, free = process or Process(), False
    try:
        process.send(do="solve", **order)
        while True:
            process.suspended_seconds = 0.0
            frame = process.answer(pulse)
            free = "iteration" not in frame
            if "failed" in frame:
                raise ProgramFailed(frame["failed"])
            if "ended" in frame:
                return frame["ended"]
            try:
                yield ReportedIterate(
                    frame["iteration"], frame["w"], frame["cpu"], frame["wall"] - process.suspended_seconds
                )
            except GeneratorExit:
                free = process.cancels()
                raise
            process.send(do="go on")
    finally:
        with _lock:
            if keep := free and process.alive and len(idle) < MOST_IDLE:
                idle.append(process)
        if not keep:
            process.kill()


def _ended(status: int) -> str:
    """Return a phrase for the exit status of a process."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"was ended by signal {name}"
