"""Protocols of the page, which the constructors of its panels take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

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


class WithSession(Protocol):
    """A page with runs."""

    session: Session


class WithProblem(WithSession, Protocol):
    """A page with a problem."""

    problem: ChosenProblem


class WithObstacle(Protocol):
    """A page on which nothing can be started while it has an ``obstacle``, a sentence."""

    obstacle: str | None


class WithSetting(Protocol):
    """A page with the ``setting`` that the next Run would run."""

    setting: Experiment


class WithSolvers(Protocol):
    """The interface of a page with a list of solvers."""

    solvers: ChosenSolvers


class WithRights(Protocol):
    """A page whose visitor has rights."""

    rights: Rights


class WithStory(WithProblem, WithSetting, Protocol):
    """A page with a story, and the experiment that was run last."""

    story: Story
    running: Experiment | None


class ControlledPage(WithProblem, WithSetting, WithObstacle, Protocol):
    """The page of the buttons that start runs; ``running`` is the experiment that was run last."""

    running: Experiment | None

    def start(self, step: bool) -> None:
        """Start the chosen solvers."""


class GuidedPage(WithStory, Protocol):
    """The page of a guided story."""

    def take(self, setting: Experiment, look: Mapping[str, str]) -> None:
        """Set controls that differ, and axes, tab and speed."""

    def start(self, step: bool) -> None:
        """Start the chosen solvers."""

    def shown(self) -> Iterator[View]:
        """Yield the views that are on the page."""
        ...


class AskingPage(WithStory, Protocol):
    """The page of the question of a story."""

    #: The solver's label by that of each run that was started last: repeated runs share one.
    racing: Mapping[str, str]


class BranchingPage(WithProblem, WithSetting, WithSolvers, Protocol):
    """The interface of the page to the panel of branches."""


class PathPage(WithProblem, WithSetting, WithObstacle, WithSolvers, Protocol):
    """The page of the panel of λ paths."""


class HistoryPage(WithProblem, WithRights, Protocol):
    """The interface of the page to the panel of past runs."""


class SweepPage(WithProblem, WithSetting, WithObstacle, WithRights, Protocol):
    """The page of the panel of sweeps."""


class TabsPage(PathPage, WithRights, Protocol):
    """The page of all panels of tabs."""


class LoopPage(WithProblem, WithSolvers, WithRights, Protocol):
    """The page of programs that report their iterates to it."""

    story: Story


class ReturningPage(WithProblem, Protocol):
    """The page that a browser loads again."""

    def go_to(self, query: Mapping[str, str]) -> None:
        """Apply another address of this page."""

    def adopt(self, other: Any) -> None:
        """Take over the runs of a page that the browser has left for this one."""
