"""Work over blocks of rows: in the calling thread, or split over helper threads whose time is counted."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any


def no_pulse() -> None:
    """Do nothing: the pulse of what nobody pauses or stops."""


class Team:
    """Runs ``task(block)`` for many blocks with ``threads`` threads, calling a pulse in between.

    Kernels release the GIL, so threads run side by side; each task writes where no other one does.
    ``cpu_seconds`` is what the helper threads have used, and what was booked besides.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}: give a whole number from 1")
        self.threads = threads
        self.cpu_seconds = 0.0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, "row-blocks") if threads > 1 else None

    def attached(self) -> Team:
        """Share the threads with another run, which gets a count of its own."""
        other = copy.copy(self)
        other.cpu_seconds = 0.0
        return other

    def book(self, seconds: float) -> None:
        """Add CPU seconds that another thread or process has used for the run."""
        with self._lock:
            self.cpu_seconds += seconds

    def each(self, task: Callable[[Any], object], blocks: Iterable[Any], pulse: Callable[[], None]) -> None:
        """Call ``task`` once for every block, in order when alone; ``pulse`` is called by this thread."""
        if self._pool is None:
            for block in blocks:
                task(block)
                pulse()
            return
        blocks = list(blocks)
        stop = threading.Event()

        def work(share: list[Any]) -> None:
            began = time.thread_time()
            try:
                for block in share:
                    if stop.is_set():
                        return
                    task(block)
            finally:
                self.book(time.thread_time() - began)

        pending = {self._pool.submit(work, blocks[k :: self.threads]) for k in range(self.threads)}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                pulse()
        finally:
            stop.set()
            wait(pending)
