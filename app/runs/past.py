"""A run of the history as the page knows it: over, and drawn beside those that are at work."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from solverscope.app.runs.archive import Kept
from solverscope.app.runs.live import ROUND
from solverscope.app.runs.shown import UNFINISHED, Guest, Shown
from solverscope.app.settings import words
from solverscope.solvers import Problem, Trace

#: Styles of runs of the past, from the last one downwards: whole rounds of colours and dashes, so that they
#: look unlike the first runs of the page, and no run of the page gets that far.
LAST_STYLE = ROUND * 1000 - 1


def free_style(runs: Iterable[Shown]) -> int:
    """Return the first of these styles that none of the runs of a page has."""
    taken = {run.style for run in runs}
    return next(style for style in count(LAST_STYLE, -1) if style not in taken)


class PastRun(Guest):
    """A run that was kept."""

    def __init__(self, kept: Kept, trace: Trace, style: int, problem: Problem | None = None) -> None:
        super().__init__(kept.id, kept.title, style, trace, problem, faint=True)
        self._alive_then = kept.alive

    @property
    def state(self) -> str:
        """Return how it ended, in the page's words for states."""
        if self._alive_then or self.trace.status == "interrupted":
            return "stopped"
        return UNFINISHED.get(self.trace.status, "finished")

    @property
    def word(self) -> str:
        """Return how it ended in a word or two."""
        return "so far" if self._alive_then else words.of_ending(self.trace.status, self.trace.result)

    def forget(self) -> None:
        """Give back the memory of its observations: the page may refer to it for long."""
        self.trace.probes.discard()
