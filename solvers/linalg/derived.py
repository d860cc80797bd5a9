"""Arrays derived from the data once, at their first use, and shared by all runs."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any, Self

from ..compute.jit import compile_clock


class Derived:
    """Arrays derived from the data at their first use.

    Each run that uses an array counts its CPU time as set-up, whether it computed the array or not.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[Any, float]] = {}
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.setup_seconds, self.spent = 0.0, (0.0, 0.0)
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Return whether the array called ``name`` has been computed."""
        return name in self._made

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the derived arrays that this user has used."""
        return frozenset(self._used)

    def attached(self) -> Self:
        """Return a copy that shares the arrays, with its own record of those it used."""
        other = copy.copy(self)
        other._forget()
        return other

    def __call__(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the array called ``name``, computed by ``make`` if it is missing.

        ``make`` must not pulse: a run that is paused in it would block all others.
        """
        if name not in self._used:
            began = compile_clock.net()
            with self._lock:
                if name not in self._made:
                    thing = make()
                    self._made[name] = thing, max(compile_clock.net()[1] - began[1], 0.0)
            self._used.add(name)
            self.setup_seconds += self._made[name][1]
            clocks = zip(self.spent, began, compile_clock.net(), strict=True)
            self.spent = tuple(spent + now - then for spent, then, now in clocks)
        return self._made[name][0]
