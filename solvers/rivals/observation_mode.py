"""Modes in which an external program is observed: the ``phase`` of its iterates.

``CALLBACK``: the program shows its iterates while it works. ``RESTART``: it works for one iteration at a
time, each from the state in which the one before ended. ``RERUN``: every point is a separate run from the
start, with more iterations than the one before or a smaller tolerance. Its seconds are those of that run
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

CALLBACK = "callback"
RESTART = "warm restart"
RERUN = "run anew"
#: Iterations and evaluations that a program may take: a run has limits of its own.
NO_LIMIT = 1_000_000_000

#: Factor by which runs anew get longer.
GROWTH = 1.5


def growing_lengths() -> Iterator[int]:
    """Yield the numbers of iterations of runs anew: 1, 2, 3, 5, 8, ..., growing by half."""
    n = 1
    while True:
        yield n
        n = math.ceil(GROWTH * n)
