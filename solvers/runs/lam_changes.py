"""Changes of λ that have been requested from a run and not been made yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..declare import number
from ..methods.solver import Solver
from ..problems.problem import Problem
from ..traces.trace import Trace
from .stopping import Stopping

#: Returns the limits of a run, given the problem at its new λ.
LimitsAt = Callable[[Problem], Stopping]


def checked_lam(problem: Problem, solver: Solver, trace: Trace, lam: float, kept: Stopping | None) -> float:
    """Return the new λ of a run as a float; raise ValueError if λ cannot be changed.

    ``kept`` are the limits that the run keeps at the new λ; None if it gets new ones there.
    """
    if not problem.penalty.takes_lam:
        raise ValueError(f"the penalty {problem.penalty.id} has no λ to change")
    lam = number("lam", lam, open_low=True)
    if kept is not None and kept.gap is not None:
        raise ValueError("a gap is measured against f* of one λ: give the limits at the new one too")
    if not solver.takes_start:
        raise ValueError(f"{solver.id} starts from zero alone: it cannot go on at another λ")
    if len(trace) and trace.w is None:
        raise ValueError(f"{solver.id} does not show its weights: it cannot go on from them at another λ")
    return lam


class LamChanges:
    """The queue of requested values of λ, each with the limits at that λ; any thread may add to it."""

    def __init__(self) -> None:
        self._queue: deque[tuple[float, LimitsAt]] = deque()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def request(self, lam: float, limits: LimitsAt) -> None:
        """Add a λ to the queue."""
        self._queue.append((lam, limits))

    def take_newest(self) -> tuple[float, LimitsAt]:
        """Empty the queue, which must not be empty, and return its newest λ and limits."""
        newest = self._queue.popleft()
        while self._queue:
            newest = self._queue.popleft()
        return newest
