"""What the page, a sweep and the history know of a run, wherever it is computed."""

from __future__ import annotations

from solverscope.app import looks
from solverscope.app.settings.experiment import Experiment
from solverscope.solvers import Problem, Trace

#: The trace's final words that the page calls "stopped" and "failed"; all others are "finished".
UNFINISHED = {"stopped": "stopped", "failed": "failed"}


class Shown:
    """A run that the page draws.

    ``state`` is the page's word for what it does, ``word`` the same or, of a finished run, how it ended;
    ``message`` says why, and ``alive`` tells whether it may still change. It has a ``trace`` before long, and
    a ``label``, and ``style`` numbers its colour and its dash. A ``ghost`` stands apart from the runs of now,
    one that ``stays`` is there until it is removed, one that is ``pinned`` also when others are started. One
    that is computed ``outside``, by another program, is not started with the others, and Run and Pause leave
    it alone while it is alive. ``experiment`` is what leads back to it, where that is known, and ``id`` its
    number in the history, or what a sweep calls it.
    """

    id: int | str | None = None
    ghost = stays = pinned = outside = False
    experiment: Experiment | None = None
    trace: Trace | None = None
    label: str
    style: int
    alive: bool
    state: str
    word: str
    message: str


class Guest(Shown):
    """A run that is drawn beside those that the page computes, and stays until it is removed."""

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
        looks.give(trace, style, ghost=faint)
        if problem is not None:
            trace.problem, trace.names = problem, problem.names

    @property
    def problem(self) -> Problem | None:
        """Return its problem, as long as somebody else has it."""
        return self.trace.problem

    @property
    def message(self) -> str:
        """Say why it ended."""
        return self.trace.message
