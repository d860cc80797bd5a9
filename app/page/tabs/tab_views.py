"""The views on tabs, made when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.page.session import Session
from app.page.sidebar.problem_panel import ProblemPanel
from app.page.tabs.path_panel import PathPanel
from app.page.tabs.runs_panel import RunsPanel
from app.page.tabs.sweep_panel import SweepPanel
from app.serving.access import Rights
from app.settings.experiment import Experiment
from app.views import TABS, PastRuns, Path, Sweep, View
from solvers import Problem


class TabViews:
    """Makes views of the session's runs, and those that have runs of their own, each with its panel.

    ``setting()`` is what is chosen on the page, ``styles()`` are the styles of its solvers, ``obstacle()``
    says why it cannot be run, if so, and ``rights`` what the visitor may reach.
    """

    def __init__(
        self,
        session: Session,
        problem: ProblemPanel,
        setting: Callable[[], Experiment],
        styles: Callable[[], Sequence[int]],
        obstacle: Callable[[], str | None],
        rights: Rights,
    ) -> None:
        self._rights, self._styles = rights, styles
        self._session, self._problem, self._setting, self._obstacle = session, problem, setting, obstacle

    def make(self, id: str) -> View:
        """Make the view of a tab; the session draws it from here on."""
        panels = {
            Path.id: lambda: PathPanel(self._session, self._for_path),
            PastRuns.id: lambda: RunsPanel(self._session, self._known),
            Sweep.id: lambda: SweepPanel(self._session, self._for_sweep, self._known, self._rights),
        }
        if id in panels:
            panel = panels[id]()
            self._session.watchers.append(panel)
            return panel.view
        view = TABS[id]((), self._session.cursor)
        self._session.show_in(view)
        return view

    def _for_path(self) -> tuple[Problem, Experiment, Sequence[int]] | None:
        if self._obstacle() is not None:
            return None
        return self._problem.problem, self._setting(), self._styles()

    def _for_sweep(self) -> Experiment | None:
        """Return the setting also while its data are on their way: a sweep loads its own."""
        return None if self._obstacle() is not None and not self._problem.loading else self._setting()

    def _known(self) -> list[Problem]:
        found = (self._problem.problem, *(run.problem for run in self._session.runs))
        return [problem for problem in found if problem is not None]
