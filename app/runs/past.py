"""A run of the history as the page knows it: over, and drawn beside those that are at work."""

from __future__ import annotations

from app.runs.archive import Kept
from app.runs.live import ENDINGS, ROUND, UNFINISHED
from solvers import Problem, Trace

#: Styles of runs of the past, from the last one downwards: whole rounds of colours and dashes, so that they
#: look unlike the first runs of the page, and no run of the page gets that far.
LAST_STYLE = ROUND * 1000 - 1


class PastRun:
    """A run that was kept, with the part of :class:`.live.LiveRun` that goes without a worker. It stays when
    other runs are started, until it is removed."""

    alive = False
    ghost = True
    hit = None

    def __init__(self, kept: Kept, trace: Trace, style: int, problem: Problem | None = None) -> None:
        self.id, self.label, self.style = kept.id, kept.title, style
        self.trace = trace
        self._alive_then = kept.alive
        trace.info |= {"label": self.label, "style": style, "ghost": True}
        if problem is not None:
            trace.problem, trace.names = problem, problem.names

    @property
    def problem(self) -> Problem | None:
        """Return its problem, as long as somebody else has it."""
        return self.trace.problem

    @property
    def state(self) -> str:
        """Return how it ended, in the page's words for states."""
        if self._alive_then or self.trace.status == "interrupted":
            return "stopped"
        return UNFINISHED.get(self.trace.status, "finished")

    @property
    def word(self) -> str:
        """Return how it ended in a word or two."""
        return "so far" if self._alive_then else ENDINGS.get(self.trace.status, self.trace.status)

    @property
    def message(self) -> str:
        """Say why it ended."""
        return self.trace.message

    def new_hit(self) -> None:
        """Return None: it is held nowhere."""

    def forget(self) -> None:
        """Give back the memory of its observations: the page may refer to it for long."""
        self.trace.probes.discard()
