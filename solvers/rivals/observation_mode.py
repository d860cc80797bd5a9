"""Modes in which an external program is observed; they are the ``phase`` of its iterates.

``CALLBACK``: the program reports its iterates while it works. ``RESTART``: it runs for one iteration at a
time, each from the state in which the previous one ended. ``RERUN``: every iterate is a separate run from the
start, with more iterations or a smaller tolerance than the previous one. Its seconds are those of that run
only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

CALLBACK = "callback"
RESTART = "warm restart"
RERUN = "run anew"
#: Limit on a program's iterations and evaluations: none in effect, as runs have their own limits.
NO_LIMIT = 1_000_000_000

#: Factor by which reruns get longer.
GROWTH = 1.5


def growing_lengths() -> Iterator[int]:
    """Yield the numbers of iterations of successive reruns: 1, 2, 3, 5, 8, ..., growing by half."""
    n = 1
    while True:
        yield n
        n = math.ceil(GROWTH * n)
