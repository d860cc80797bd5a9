"""A CPU budget for measurements, relative to the solver's own CPU time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


class CpuBudget:
    """Budget for work off the solver's clock: ``free`` CPU seconds, plus a fraction (``share``) of the
    solver's."""

    def __init__(self, share: float, free: float = 0.0) -> None:
        self._share, self._free = share, free
        self.spent = self._last = 0.0

    def allows(self, cpu: float) -> bool:
        """Return whether the budget allows the work once more after ``cpu`` seconds of the solver."""
        return self.spent + self._last <= self._share * cpu + self._free

    @contextlib.contextmanager
    def charged(self) -> Iterator[None]:
        """Charge the CPU seconds of the block to the budget."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._last = time.thread_time() - began
            self.spent += self._last
