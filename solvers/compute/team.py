"""Parallel work over blocks of rows, on the calling thread and helper threads whose CPU time is counted."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any


def no_pulse() -> None:
    """Do nothing: the pulse of work that is never paused or stopped."""


class Team:
    """A team of ``threads`` threads, including the calling one, that run ``task(block)`` for many blocks.

    Kernels release the GIL, so threads run in parallel; each task must write to its own memory. Any thread
    may take any block. So if results depend on the blocks only, they are bitwise the same for any number of
    threads. ``cpu_seconds`` are those of the helper threads, and those added by :meth:`book`.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}: give a whole number from 1")
        self.threads = threads
        self.cpu_seconds = 0.0
        self._lock = threading.Lock()
        self._helpers = ThreadPoolExecutor(threads - 1, "row-blocks") if threads > 1 else None

    def attached(self) -> Team:
        """Return a copy that shares the threads, with its own count of CPU seconds, for another run."""
        other = copy.copy(self)
        other.cpu_seconds = 0.0
        return other

    def book(self, seconds: float) -> None:
        """Add CPU seconds that another thread or process has used for the run."""
        with self._lock:
            self.cpu_seconds += seconds

    def each(self, task: Callable[[Any], object], blocks: Iterable[Any], pulse: Callable[[], None]) -> None:
        """Call ``task`` once for every block; without helpers, in order.

        This thread calls ``pulse`` after each of its own blocks, and while it waits for the others, but at
        least once. A long task should be a generator: at each ``yield`` it may be paused for the pulse, or
        closed.
        """
        if self._helpers is None:
            for block in blocks:
                for _ in _steps(task(block)):
                    pulse()
                pulse()
            return
        left, stop, ended = deque(blocks), threading.Event(), SimpleQueue()
        running = min(self.threads, len(left)) - 1
        for _ in range(running):
            self._helpers.submit(self._help, task, left, stop, ended)
        try:
            while (block := _taken(left.popleft)) is not None:
                for _ in _steps(task(block[0])):
                    pulse()
                pulse()
            pulse()  # helpers may have taken all blocks
            while running > 0:
                try:
                    error = ended.get(timeout=0.05)
                except Empty:
                    pulse()
                    continue
                running -= 1
                if error is not None:
                    raise error
        finally:
            stop.set()
            for _ in range(running):
                ended.get()

    def _help(
        self, task: Callable[[Any], object], left: deque, stop: threading.Event, ended: SimpleQueue
    ) -> None:
        """Process remaining blocks, from the end, until there are none or the call ends.

        Put the error, or None, into ``ended``. The calling thread begins at the other end. So in repeated
        calls a thread mostly has the same blocks, whose data are in its cache.
        """
        began, error = time.thread_time(), None
        try:
            while not stop.is_set() and (block := _taken(left.pop)) is not None:
                for _ in _steps(task(block[0])):
                    if stop.is_set():
                        break
        except BaseException as raised:
            error = raised
            left.clear()
        self.book(time.thread_time() - began)
        ended.put(error)


def _steps(result: Any) -> Iterable[Any]:
    """Return the steps of a task that is a generator; () for any other task, which has already ended."""
    return result if isinstance(result, Generator) else ()


def _taken(take: Callable[[], Any]) -> tuple[Any] | None:
    """Remove one of the remaining blocks and return it in a tuple; return None if there is none."""
    try:
        return (take(),)
    except IndexError:
        return None
