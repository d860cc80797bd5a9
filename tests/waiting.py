"""Waiting until something is there: for a minute, and looking for it all the time."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds for which a test waits, however busy the machine.
PATIENCE = 60.0
#: Seconds between two looks.
PERIOD = 0.01


def wait_until(
    condition: Callable[[], object],
    what: str = "what is waited for",
    seconds: float = PATIENCE,
    pause: Callable[[float], object] = time.sleep,
    period: float = PERIOD,
) -> None:
    """Return once ``condition()`` is true, with ``pause(period)`` between two looks; fail after so many
    seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds:g} s for {what}"
        pause(period)
