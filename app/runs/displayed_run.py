"""The interface of runs to the page, regardless of where they are computed."""

from __future__ import annotations

from solverscope.app.settings.experiment import Experiment
from solverscope.app.ui import run_styles
from solverscope.solvers import Problem, Trace

#: Final statuses of a trace by the page's word; all others are "finished".
UNFINISHED_STATUSES = {"stopped": "stopped", "failed": "failed"}


class DisplayedRun:
    """A run that the page displays.

    Attributes
    ----------
    id : int, str or None
        Its number in the history, or its name in a sweep.
    label, style : str, int
        Its label, and the index of its colour and dash.
    state, word : str
        Its state, and the text to display: the same, or how a finished run ended.
    message : str
        The reason for the state.
    alive : bool
        Whether the state may still change.
    trace : Trace or None
        Its trace, once it has begun.
    experiment : Experiment or None
        The experiment that repeats the run, if known.
    ghost : bool
        Whether it is drawn paler than current runs.
    stays, pinned, passing : bool
        Whether it is kept until it is removed, kept also if others are started, or dropped at the next start.
    outside : bool
        Whether another program computes it. *Run* and *Pause* then ignore it while it is alive.
    silent, outdated : bool
        Whether it does not respond, and whether the plug-in that defines its solver has been edited since.
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
    """A run that the page displays but does not compute; it is kept until it is removed."""

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
        """Return the problem of the run, or None once it has been garbage-collected."""
        return self.trace.problem

    @property
    def message(self) -> str:
        """Return why the run ended."""
        return self.trace.message
