"""Layout of the page: header, sidebar, main part and foot."""

from __future__ import annotations

from typing import Protocol

import param
from panel.viewable import Viewable, Viewer

from solverscope.app import ui
from solverscope.app.page.frame import frame
from solverscope.app.page.session import Session
from solverscope.app.page.sidebar.optimum import Optimum
from solverscope.app.page.sidebar.problem_panel import ProblemPanel
from solverscope.app.page.sidebar.run_controls import RunControls
from solverscope.app.page.story_card import StoryCard
from solverscope.app.page.theme_toggle import ThemeToggle
from solverscope.app.page.top_views import TopViews
from solverscope.app.page.type_size import PLOTS_VIEW, TypeSize
from solverscope.app.serving.access import Rights
from solverscope.app.ui.material_ui import pmui

#: Objects that Panel can display.
Part = Viewable | Viewer

#: Width of the sidebar in pixels at the normal font size.
SIDEBAR = 300


class PageParts(Protocol):
    """The parts of a page that are laid out."""

    session: Session
    rights: Rights
    story_menu: Part
    question: Part
    teaching: Part
    export_panel: Part
    type_size: TypeSize
    notices: Part
    story_card: StoryCard
    controls: RunControls
    optimum: Optimum
    legend: Part
    top_views: TopViews
    tab_lines: Part
    tab_column: Part
    cursor_bar: Part
    session_restore: Part
    help: Part
    problem: ProblemPanel
    solvers: Part
    own_loops: Part
    pending: Part
    limits: Part
    breaks: Part


def laid_out(page: PageParts, title: str) -> pmui.Page:
    """Arrange the parts of a page in its frame."""
    controls = ui.column(*page.controls.widgets, page.optimum.view, kind="controls needs-server")
    rows = ui.column(page.legend, kind="runs needs-server")
    asked = page.story_card.part("ask")
    main = ui.column(
        page.notices,
        asked,
        controls,
        rows,
        page.top_views.view,
        page.tab_lines,
        page.tab_column,
        kind="main",
    )
    steps = page.story_card.part("steps")
    foot = ui.column(
        steps, page.cursor_bar, page.session.drawn_updates, page.session_restore, page.help, kind="foot"
    )
    sidebar = [
        page.story_card,
        page.problem.view,
        page.controls.again,
        ui.html("<h2>Solvers</h2>", margin=(8, 10, 0, 10)),
        page.solvers,
        *([page.own_loops] if page.rights.own else []),
        page.pending,
        ui.html("<h2>Limits and threads</h2>", margin=(8, 10, 0, 10)),
        page.limits,
        ui.html("<h2>Pause when</h2>", margin=(8, 10, 0, 10)),
        page.breaks,
    ]
    shown = page.story_menu, page.question, page.teaching, page.export_panel, page.type_size
    header = ui.column(*shown, ThemeToggle(), kind="header")
    made = frame(title, header, sidebar, [main, foot], SIDEBAR)

    def fit(*events: param.parameterized.Event) -> None:
        """Adapt the width of the sidebar to the font size, and close it if only the plots are shown."""
        made.sidebar_width = round(SIDEBAR * page.type_size.larger)
        if page.type_size.view == PLOTS_VIEW or PLOTS_VIEW in (event.old for event in events):
            made.sidebar_open = page.type_size.view != PLOTS_VIEW

    fit()
    page.type_size.param.watch(fit, "view")
    return made
