"""Processes in which foreign programs work, as seen from here.

A process that has ended its work is kept for the next one: it has imported, and compiled, what that needs.
The two speak in frames over pipes: a line of JSON, then the bytes of the arrays that it announces.
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
LOOK = 0.05
#: Seconds that a process gets to leave the program that it shows an iterate of.
PATIENCE = 0.3
#: Processes kept for the next program.
KEPT = os.cpu_count() or 1
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


#: What is sent: numbers, texts and arrays by name.
Frame = dict[str, Any]


class Lost(Exception):
    """A program has failed, or its process has ended: the message says how."""


class Told(NamedTuple):
    """An iterate of a foreign program: its number, its weights, and the seconds since the one before."""

    iteration: int
    w: np.ndarray
    cpu: float
    wall: float


def write(file: IO[bytes] | io.BufferedIOBase, **frame: Any) -> None:
    """Write a frame."""
    arrays = {name: np.ascontiguousarray(v) for name, v in frame.items() if isinstance(v, np.ndarray)}
    about = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    record = {name: value for name, value in frame.items() if name not in arrays}
    file.write(json.dumps([record, about]).encode() + b"\n")
    for array in arrays.values():
        file.write(array.data.cast("B") if array.size else b"")
    file.flush()


def read(file: io.BufferedIOBase) -> Frame:
    """Read a frame; EOFError at the end of the file."""
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
    """A process for one program after another."""

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
        #: what it is sent, and what it answers
        self._orders = cast(io.BufferedIOBase, self._popen.stdin)
        self._answers = cast(io.BufferedIOBase, self._popen.stdout)
        #: The process, and the one in which its program works, if that is another.
        self._seen = [psutil.Process(self._popen.pid)]
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self.stood = 0.0  # seconds in which it stood still
        threading.Thread(target=self._listen, name="foreign process", daemon=True).start()

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
        """Send a frame; a process that is gone is noticed by whoever waits for its answer."""
        with suppress(OSError):
            write(self._orders, **frame)

    def answer(self, pulse: Callable[[], None]) -> Frame:
        """Wait for a frame, with a pulse now and then, during which the process stands still; Lost if none
        comes any more."""
        while True:
            try:
                frame = self._frames.get(timeout=LOOK)
            except queue.Empty:
                with self._standing_still():
                    pulse()
                continue
            if frame is None:
                raise Lost(f"its process {_ended(self._popen.wait())}")
            if "started" not in frame:
                return frame
            with suppress(psutil.Error):
                self._seen[1:] = [psutil.Process(frame["started"])]

    @contextmanager
    def _standing_still(self) -> Iterator[None]:
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
            self.stood += time.perf_counter() - began

    def leaves(self) -> bool:
        """Let the process leave the program that it shows an iterate of; tell whether it does."""
        self.send(do="leave")
        with suppress(queue.Empty):
            frame = self._frames.get(timeout=PATIENCE)
            return frame is not None and "ended" in frame
        return False

    def kill(self) -> None:
        """End the process, whatever it does."""
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


def advanced(order: Mapping[str, Any], pulse: Callable[[], None]) -> Generator[Told, None, str]:
    """Yield what a program that is ordered tells of its iterates, each asked for when the generator is
    advanced; return why it ended by itself. Raises Lost where it fails. Its process is kept for the next one
    if it is free then, and killed otherwise."""
    with _lock:
        idle[:] = [process for process in idle if process.alive]
        process = idle.pop() if idle else None
    process, free = process or Process(), False
    try:
        process.send(do="solve", **order)
        while True:
            process.stood = 0.0
            frame = process.answer(pulse)
            free = "iteration" not in frame
            if "failed" in frame:
                raise Lost(frame["failed"])
            if "ended" in frame:
                return frame["ended"]
            try:
                yield Told(frame["iteration"], frame["w"], frame["cpu"], frame["wall"] - process.stood)
            except GeneratorExit:
                free = process.leaves()
                raise
            process.send(do="go on")
    finally:
        with _lock:
            if keep := free and process.alive and len(idle) < KEPT:
                idle.append(process)
        if not keep:
            process.kill()


def _ended(status: int) -> str:
    """Say how a process has ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"was ended by signal {name}"
