"""How a foreign program is watched: the ``phase`` of its iterates.

``CALLBACK``: the program shows its iterates while it works. ``RESTART``: it works for one iteration at a
time, each from the state in which the one before ended. ``ANEW``: every point is a run of its own from the
start, with more iterations than the one before or a smaller tolerance, and its seconds are those of that run
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

CALLBACK = "callback"
RESTART = "warm restart"
ANEW = "run anew"

#: Factor by which runs anew get longer.
FACTOR = 1.5


def growing() -> Iterator[int]:
    """Yield numbers of iterations of runs anew: 1, 2, 3, 5, 8, each half as large again as the one before."""
    n = 1
    while True:
        yield n
        n = math.ceil(FACTOR * n)
