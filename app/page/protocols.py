"""The interface of the page to its panels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import panel as pn

from solverscope.app.page.session import Session
from solverscope.app.serving.access import Rights
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, Recipe
from solverscope.app.stories import Story
from solverscope.app.views import View
from solverscope.solvers import Problem


class ChosenProblem(Protocol):
    """The problem that is chosen: None while ``loading`` names the data that are loaded for it."""

    setting: Recipe
    problem: Problem | None

    @property
    def loading(self) -> str:
        """Return a sentence on the data being loaded, or ""."""
        ...

    def known(self, key: str | None) -> Problem | None:
        """Return the problem with a key, if the page or one of its runs has it."""

    def reload(self) -> None:
        """Make the problem again, of code that has changed."""


class ChosenSolvers(Protocol):
    """The solvers of the list; ``run_styles`` has the style of each chosen one."""

    @property
    def run_styles(self) -> Sequence[int]:
        """Return the numbers of the colours and dashes of the chosen solvers."""
        ...

    @property
    def settings(self) -> Sequence[Entrant]:
        """Return all solvers of the list without errors."""
        ...

    def new_style(self, taken: Collection[int]) -> int:
        """Return the number of a style that no run has."""
        ...

    def refresh(self) -> None:
        """Offer the solvers again, of code that has changed."""


class PanelPage(Protocol):
    """The page as the constructors of its panels take it."""

    session: Session
    problem: ChosenProblem
    solvers: ChosenSolvers
    story: Story
    #: What the visitor may reach.
    rights: Rights
    #: The experiment that the next Run would start, and why it cannot be started, a sentence.
    setting: Experiment
    obstacle: str | None
    #: The experiment that was run last.
    running: Experiment | None
    #: The solver's label by that of each run that was started last: repeated runs share one.
    racing: Mapping[str, str]
    #: What is said above everything else.
    notices: pn.Column

    def start(self, step: bool) -> None:
        """Start the chosen solvers."""

    def take(self, setting: Experiment, look: Mapping[str, str]) -> None:
        """Set controls that differ, and axes, tab and speed."""

    def shown(self) -> Iterator[View]:
        """Yield the views that are on the page."""
        ...

    def go_to(self, query: Mapping[str, str]) -> None:
        """Apply another address of this page."""

    def adopt(self, other: Any) -> None:
        """Take over the runs of a page that the browser has left for this one."""
