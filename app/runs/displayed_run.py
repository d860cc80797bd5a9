"""The interface of a run to the page, wherever it is computed."""

from __future__ import annotations

from solverscope.app.settings.experiment import Experiment
from solverscope.app.ui import run_styles
from solverscope.solvers import Problem, Trace

#: Final statuses of a trace by the page's word; all others are "finished".
UNFINISHED_STATUSES = {"stopped": "stopped", "failed": "failed"}


class DisplayedRun:
    """A run that the page draws.

    ``state`` is the page's word for its state, and ``word`` the same or, of a finished run, its ending.
    ``message`` is the reason, and ``alive`` whether it may still change. Its ``trace`` exists once it has
    begun, and ``style`` numbers its colour and dash.

    A ``ghost`` is set apart from current runs. A run that ``stays`` is kept until it is removed; a ``pinned``
    one also when others are started, and a ``passing`` one until the next start. A run ``outside`` is
    computed by another program: it is not started with the others, and Run and Pause ignore it while it is
    alive. A ``silent`` one does not answer, an ``outdated`` one has code of a plug-in that was saved since.
    ``experiment`` repeats the run, if it is known, and ``id`` is its number in the history or its name in a
    sweep.
    """

    id: int | str | None = None
    ghost = stays = pinned = passing = outside = silent = outdated = False
    experiment: Experiment | None = None
    trace: Trace | None = None
    label: str
    style: int
    alive: bool
    state: str
    word: str
    message: str


class ExternalRun(DisplayedRun):
    """A run that the page draws but does not compute, and keeps until it is removed."""

    alive = False
    ghost = stays = True

    def __init__(
        self,
        id: int | str,
        label: str,
        style: int,
        trace: Trace,
        problem: Problem | None = None,
        *,
        faint: bool = False,
    ) -> None:
        self.id, self.label, self.style, self.trace = id, label, style, trace
        trace.tell(label=label)
        run_styles.set_style(trace, style, ghost=faint)
        if problem is not None:
            trace.problem, trace.names = problem, problem.names

    @property
    def problem(self) -> Problem | None:
        """Return its problem, while something else refers to it."""
        return self.trace.problem

    @property
    def message(self) -> str:
        """Return why it ended."""
        return self.trace.message
