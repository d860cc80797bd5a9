"""The run of a loop in another process, whose iterates are handled in the pool like those of a solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solverscope.app.loops.client import MAX_ERROR_LENGTH, LoopIterate
from solverscope.app.runs.pool import PoolWorker
from solverscope.solvers import Ending, Iterate, Point, Problem, Solver
from solverscope.solvers.runs.endings import with_messages
from solverscope.solvers.runs.own_loop import ENDED, OWN_LOOP, disagreement, relative_difference

#: Maximal number of iterates of a loop that are read per second, and fraction of a core that this may use.
MAX_RATE, MAX_CORE_SHARE = 20.0, 0.2


class IterateChannel:
    """A channel that passes iterates of a loop, one at a time, from the page's thread to the run's.

    ``ask_next()`` is called in the run's thread when it is ready for the next one.
    """

    def __init__(self, size: int, ask_next: Callable[[], None]) -> None:
        self.size, self._ask_next = size, ask_next
        #: The worker of the run, once it has begun.
        self.worker: PoolWorker | None = None
        self._iterate: LoopIterate | None = None
        self._ending: Ending | None = None
        self._previous: LoopIterate | None = None

    def receive(self, message: bytes) -> None:
        """Accept an iterate. Raises ValueError if it is invalid."""
        if self._iterate is not None:
            raise ValueError("an iterate is sent once the page has asked for it")
        new, previous = LoopIterate.parse(message, self.size), self._previous
        if previous is not None and not (
            new.iteration > previous.iteration
            and new.cpu_seconds >= previous.cpu_seconds
            and new.wall_seconds >= previous.wall_seconds
        ):
            raise ValueError("iterations are sent in order, with seconds that do not run backwards")
        self._iterate = self._previous = new
        self._wake()

    def end(self, error: str) -> None:
        """End the run after the current iterate; ``error`` is that of the loop, or empty."""
        shown = "".join(c if c.isprintable() else " " for c in error[:MAX_ERROR_LENGTH])
        self._end(Ending("failed", shown) if error else Ending("stopped", ENDED))

    def fail(self, reason: str) -> None:
        """End the run as failed after the current iterate, unless it is ending already."""
        self._end(Ending("failed", reason))

    def _end(self, ending: Ending) -> None:
        self._ending = self._ending or ending
        self._wake()

    def _wake(self) -> None:
        if self.worker is not None:
            self.worker.wake()

    # in the run's thread

    def wait(self) -> LoopIterate | Ending:
        """Wait for the next iterate and return it; after the last one, return how the run ended."""
        self.worker.wait_for(lambda: self._iterate is not None or self._ending is not None)
        found = self._ending if self._iterate is None else self._iterate
        assert found is not None
        return found

    def next(self) -> None:
        """Discard the iterate that was read, and request the next one."""
        self._iterate = None
        self._ask_next()


@dataclass(frozen=True)
class RemoteLoop(Solver):
    """The solver of a run whose loop is in another process.

    It waits for iterates of the loop, and evaluates f and the violation at their weights.
    """

    id: ClassVar[str] = OWN_LOOP
    name: ClassVar[str] = "your own loop"
    summary: ClassVar[str] = "a loop of another process"
    takes_start: ClassVar[bool] = False
    counts_passes: ClassVar[bool] = False
    channel: ClassVar[IterateChannel | None] = None

    @classmethod
    def of(cls, channel: IterateChannel) -> Self:
        """Return the solver that reads its iterates from a channel."""
        return cls()._holding(channel=channel)

    def warm_up_solver(self) -> Solver:
        return type(self)()

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        if self.channel is None:
            point = problem.at(w0)
            yield Iterate.at(point, 0, violation=point.violation())
            return None
        apart, pace = 0.0, MAX_RATE
        while isinstance(one := self.channel.wait(), LoopIterate):
            began = time.thread_time()
            point = Point(problem, one.w, problem.design.scores(one.w))
            violation = point.violation()
            apart = max(apart, relative_difference(one.objective, point.objective))
            seconds = {"cpu_seconds": one.cpu_seconds, "wall_seconds": one.wall_seconds}
            wanted = min(MAX_RATE, MAX_CORE_SHARE / max(time.thread_time() - began, 1e-9))
            if not pace / 2 <= wanted <= 2 * pace:
                pace = wanted
                self.channel.worker.set_pace(pace)
            yield Iterate.at(point, one.iteration, violation=violation, own=one.own, **seconds)
            self.channel.next()
        return with_messages(one, disagreement(apart))
