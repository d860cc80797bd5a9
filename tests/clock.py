"""Time that passes only where a test says so."""

from __future__ import annotations

import threading
import time

import pytest


class Clock:
    """Stands in for the clocks that a run reads: seconds on the wall, and CPU seconds of each thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = 0.0
        self._lock, self._own = threading.Lock(), threading.local()
        monkeypatch.setattr(time, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(time, "thread_time", self.cpu)

    def cpu(self) -> float:
        """CPU seconds of the calling thread."""
        return getattr(self._own, "cpu", 0.0)

    def work(self, seconds: float) -> None:
        """Let the calling thread work for so long."""
        self._own.cpu = self.cpu() + seconds
        self.idle(seconds)

    def idle(self, seconds: float) -> None:
        """Let time pass in which no thread works."""
        with self._lock:
            self.wall += seconds
