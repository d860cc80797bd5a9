"""The views on tabs, made when they are first looked at."""

from __future__ import annotations

from app.page.stage import Stage
from app.page.tabs.path_panel import PathPanel
from app.page.tabs.runs_panel import RunsPanel
from app.page.tabs.sweep_panel import SweepPanel
from app.views import TABS, PastRuns, Path, Sweep, View

#: Views that have runs of their own come with a panel.
PANELS = {Path.id: PathPanel, PastRuns.id: RunsPanel, Sweep.id: SweepPanel}


def tab_view(id: str, page: Stage) -> View:
    """Make the view of a tab of a page, whose session draws it from here on."""
    if id in PANELS:
        panel = PANELS[id](page)
        page.session.watchers.append(panel)
        return panel.view
    view = TABS[id]((), page.session.cursor)
    page.session.show_in(view)
    return view
