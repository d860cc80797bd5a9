"""A loop of another process as a run of the page: what it tells goes through the pool as a solver's iterates
do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from solverscope.app.runs.pool import Worker
from solverscope.app.watch import Told
from solverscope.solvers import Ending, Iterate, Point, Problem, Solver
from solverscope.solvers.runs.endings import saying
from solverscope.solvers.runs.own_loop import ENDED, OWN_LOOP, apart_by, disagreement

#: Iterates of a loop that are looked at in a second at most, and the share of a core that this may take.
RATE, SHARE = 20.0, 0.2


class Feed:
    """What a loop tells, one iterate at a time: put in by the page's thread, taken by that of the run.
    ``ask()`` is called there when the next one is wanted."""

    def __init__(self, size: int, ask: Callable[[], None]) -> None:
        self.size, self._ask = size, ask
        #: Of the run, once it has begun.
        self.worker: Worker | None = None
        self._told: Told | None = None
        self._ending: Ending | None = None
        self._before: Told | None = None

    def hear(self, message: str | bytes) -> None:
        """Take a message; ValueError, one sentence, if it is wrong."""
        if isinstance(message, str):
            self.end(self._last_word(message))
            return
        if self._told is not None:
            raise ValueError("an iterate is told once the page has asked for it")
        told, before = Told.parse(message, self.size), self._before
        if before is not None and not (
            told.iteration > before.iteration
            and told.cpu_seconds >= before.cpu_seconds
            and told.wall_seconds >= before.wall_seconds
        ):
            raise ValueError("iterations are told in order, with seconds that do not run backwards")
        self._told = self._before = told
        self._look_again()

    @staticmethod
    def _last_word(message: str) -> Ending:
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            said = None
        match said:
            case {"end": str(error)} if len(said) == 1:
                shown = "".join(c if c.isprintable() else " " for c in error)
                return Ending("failed", shown) if error else Ending("stopped", ENDED)
        raise ValueError('a text says {"end": …}, and nothing else')

    def end(self, ending: Ending) -> None:
        """Let nothing come after what is there; the first one who ends it says how."""
        self._ending = self._ending or ending
        self._look_again()

    def _look_again(self) -> None:
        if self.worker is not None:
            self.worker.look_again()

    def wait(self) -> Told | Ending:
        """Return the iterate that is there, once there is one, or how they end; in the run's thread."""
        self.worker.wait_for(lambda: self._told is not None or self._ending is not None)
        found = self._ending if self._told is None else self._told
        assert found is not None
        return found

    def go_on(self) -> None:
        """Have the next iterate told."""
        self._told = None
        self._ask()


@dataclass(frozen=True)
class Loop(Solver):
    """The solver of such a run: waits for iterates, and measures at their weights."""

    id: ClassVar[str] = OWN_LOOP
    name: ClassVar[str] = "your own loop"
    summary: ClassVar[str] = "a loop of another process"
    takes_start: ClassVar[bool] = False
    counts_passes: ClassVar[bool] = False
    feed: ClassVar[Feed | None] = None

    @classmethod
    def of(cls, feed: Feed) -> Self:
        """Return the one that a feed comes to."""
        return cls()._holding(feed=feed)

    def rehearsal(self) -> Solver:
        return type(self)()

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        if self.feed is None:
            point = problem.at(w0)
            yield Iterate.at(point, 0, violation=point.violation())
            return None
        apart, pace = 0.0, RATE
        while isinstance(one := self.feed.wait(), Told):
            began = time.thread_time()
            point = Point(problem, one.w, problem.design.scores(one.w))
            violation = point.violation()
            apart = max(apart, apart_by(one.objective, point.objective))
            seconds = {"cpu_seconds": one.cpu_seconds, "wall_seconds": one.wall_seconds}
            wanted = min(RATE, SHARE / max(time.thread_time() - began, 1e-9))
            if not pace / 2 <= wanted <= 2 * pace:
                pace = wanted
                self.feed.worker.set_pace(pace)
            yield Iterate.at(point, one.iteration, violation=violation, **seconds)
            self.feed.go_on()
        return saying(one, disagreement(apart))
