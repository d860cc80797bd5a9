"""The interface that the page offers to its panels."""

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
    """The selected problem; it is None while its data are being loaded."""

    setting: Recipe
    problem: Problem | None

    @property
    def loading(self) -> str:
        """Return a sentence on the data that are being loaded, or ""."""
        ...

    def known(self, key: str | None) -> Problem | None:
        """Return the problem with this key if the page or one of its runs has it, else None."""

    def reload(self) -> None:
        """Rebuild the problem after its code has changed."""


class ChosenSolvers(Protocol):
    """The list of solvers; ``run_styles`` are the styles of the selected ones."""

    @property
    def run_styles(self) -> Sequence[int]:
        """Return the styles of the selected solvers, which are indices of colours and dashes."""
        ...

    @property
    def settings(self) -> Sequence[Entrant]:
        """Return all solvers of the list that have no invalid field."""
        ...

    def new_style(self, taken: Collection[int]) -> int:
        """Return a style that is not ``taken`` and that no solver in the list will get."""
        ...

    def refresh(self) -> None:
        """Update the list after the code of solvers has changed."""


class PanelPage(Protocol):
    """The page as the constructors of its panels receive it."""

    session: Session
    problem: ChosenProblem
    solvers: ChosenSolvers
    story: Story
    #: The rights of the visitor.
    rights: Rights
    #: The experiment that the next Run would start, and why it cannot be started, a sentence.
    setting: Experiment
    obstacle: str | None
    #: The experiment that was run last.
    running: Experiment | None
    #: The solver's label by that of each run that was started last: repeated runs share one.
    racing: Mapping[str, str]
    #: Notices at the top of the page.
    notices: pn.Column

    def start(self, step: bool) -> None:
        """Start the selected solvers."""

    def take(self, setting: Experiment, look: Mapping[str, str]) -> None:
        """Set all controls that differ, and axes, tab and speed."""

    def shown(self) -> Iterator[View]:
        """Yield the views that are on the page."""
        ...

    def go_to(self, query: Mapping[str, str]) -> None:
        """Apply another URL of this page."""

    def adopt(self, other: Any) -> None:
        """Take over the runs of a page that the browser has left for this one."""
