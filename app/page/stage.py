"""The page, as far as its parts look at it and act on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from solverscope.app.page.session import Session
from solverscope.app.page.sidebar.problem_panel import ProblemPanel
from solverscope.app.page.sidebar.solver_panel import SolverPanel
from solverscope.app.serving.access import Rights
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import Story
from solverscope.app.views import View


class Stage(Protocol):
    """What a visitor has chosen, and what can be done with it."""

    session: Session
    rights: Rights
    story: Story
    problem: ProblemPanel
    solvers: SolverPanel
    #: what the next Run would run, and what was run last
    setting: Experiment
    running: Experiment | None
    #: the solver's label by that of each run that was started last: runs that repeat each other share one
    racing: Mapping[str, str]
    #: why nothing can be started now, in a sentence
    obstacle: str | None

    def take(self, setting: Experiment, look: Mapping[str, str]) -> None:
        """Set controls, as far as they are not so already, and axes, tab and speed."""

    def start(self, step: bool) -> None:
        """Start the chosen solvers."""

    def go_to(self, query: Mapping[str, str]) -> None:
        """Show what another address of this page asks for, which the browser has gone to."""

    def adopt(self, other: Stage) -> None:
        """Take the runs of a page over that the browser has left for this one."""

    def shown(self) -> Iterator[View]:
        """Go through the views that are on the page."""
        ...
