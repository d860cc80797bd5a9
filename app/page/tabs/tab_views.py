"""The views on tabs, which are built when they are first shown."""

from __future__ import annotations

from solverscope.app.page.protocols import PanelPage
from solverscope.app.page.tabs.path_panel import PathPanel
from solverscope.app.page.tabs.runs_panel import RunsPanel
from solverscope.app.page.tabs.sweep_panel import SweepPanel
from solverscope.app.page.tabs.why_panel import WhyPanel
from solverscope.app.views import TABS, PastRuns, Path, Sweep, View, WhySlow

#: Panels of views that have or start runs of their own.
PANELS = {Path.id: PathPanel, PastRuns.id: RunsPanel, Sweep.id: SweepPanel, WhySlow.id: WhyPanel}


def tab_view(id: str, page: PanelPage) -> View:
    """Build the view of a tab, and add it to the views that the page's session updates."""
    if id in PANELS:
        panel = PANELS[id](page)
        page.session.watchers.append(panel)
        return panel.view
    view = TABS[id]((), page.session.cursor)
    page.session.show_in(view)
    return view
