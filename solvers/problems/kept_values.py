"""Values of a problem that are computed once, at their first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple


class AtZero(NamedTuple):
    """Quantities at the null point: the violation, its rounding error, and λ_max."""

    violation: float
    noise: float
    lam_max: float | None


class Shared:
    """A value that all copies of a problem share once one of them has computed it, and the CPU seconds that
    took.

    Two runs that need the value at the same time both compute it. With a lock, a paused run would block the
    other.
    """

    def __init__(self) -> None:
        self.value: Any = None
        self.seconds = 0.0


class Once:
    """A value computed at its first use, in the thread that uses it first."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._value: Any = None

    def __call__(self) -> Any:
        with self._lock:
            if self._value is None:
                self._value = self._make()
            return self._value
