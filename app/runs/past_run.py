"""Runs of the history that the page displays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from solverscope.app.runs.archive import ArchivedRun
from solverscope.app.runs.displayed_run import UNFINISHED_STATUSES, DisplayedRun, ExternalRun
from solverscope.app.runs.live import STYLE_PERIOD
from solverscope.app.settings import wording
from solverscope.solvers import Problem, Trace

#: The first style of past runs, which count down from it. It is a whole number of periods of colours and
#: dashes, less one. So past runs differ from the first runs of the page, whose styles never get that far.
LAST_STYLE = STYLE_PERIOD * 1000 - 1


def free_style(runs: Iterable[DisplayedRun]) -> int:
    """Return the highest style reserved for past runs that none of ``runs`` uses."""
    taken = {run.style for run in runs}
    return next(style for style in count(LAST_STYLE, -1) if style not in taken)


class PastRun(ExternalRun):
    """A run of the history that the page displays."""

    def __init__(self, kept: ArchivedRun, trace: Trace, style: int, problem: Problem | None = None) -> None:
        super().__init__(kept.id, kept.title, style, trace, problem, faint=True)
        self._alive_then = kept.alive

    @property
    def state(self) -> str:
        """Return the final state of the run as the page displays it."""
        if self._alive_then or self.trace.status == "interrupted":
            return "stopped"
        return UNFINISHED_STATUSES.get(self.trace.status, "finished")

    @property
    def word(self) -> str:
        """Return in a word or two how the run ended, or "so far" if it was still running when it
        was loaded."""
        return "so far" if self._alive_then else wording.of_ending(self.trace.status, self.trace.result)

    def forget(self) -> None:
        """Release the observations of the run, as the page may still refer to it."""
        self.trace.probes.discard()
