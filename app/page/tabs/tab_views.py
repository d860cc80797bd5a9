"""The views on tabs, made when they are first looked at."""

from __future__ import annotations

from collections.abc import Sequence

from app.page.stage import Stage
from app.page.tabs.path_panel import PathPanel
from app.page.tabs.runs_panel import RunsPanel
from app.page.tabs.sweep_panel import SweepPanel
from app.settings.experiment import Experiment
from app.views import TABS, PastRuns, Path, Sweep, View
from solvers import Problem


def tab_view(id: str, page: Stage) -> View:
    """Make the view of a tab of a page, whose session draws it from here on. A view that has runs of its own
    comes with a panel."""
    session = page.session

    def for_path() -> tuple[Problem, Experiment, Sequence[int]] | None:
        if page.obstacle is not None:
            return None
        return page.problem.problem, page.setting, page.solvers.run_styles

    def for_sweep() -> Experiment | None:
        """Return the setting also while its data are on their way: a sweep loads its own."""
        return None if page.obstacle is not None and not page.problem.loading else page.setting

    def known(key: str | None) -> Problem | None:
        """Return the problem with a key, if the page has it: of a run on it views then draw more."""
        found = (page.problem.problem, *(run.problem for run in session.runs))
        return next((problem for problem in found if problem is not None and problem.key == key), None)

    panels = {
        Path.id: lambda: PathPanel(session, for_path),
        PastRuns.id: lambda: RunsPanel(session, known, page.rights),
        Sweep.id: lambda: SweepPanel(session, for_sweep, known, page.rights),
    }
    if id in panels:
        panel = panels[id]()
        session.watchers.append(panel)
        return panel.view
    view = TABS[id]((), session.cursor)
    session.show_in(view)
    return view
