"""The frame of the page: header, sidebar and main part, in the page's theme and without Panel's additions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import param
from panel.util.parameters import edit_readonly

from solverscope.app import ui
from solverscope.app.ui.component import Component
from solverscope.app.ui.material_ui import pmui

#: Styles of the frame: the header is a single line, however long its question is.
FRAME_STYLES = {
    "& .MuiAppBar-root .MuiToolbar-root > .MuiBox-root:last-of-type": {"minWidth": 0, "marginLeft": "16px"},
    "& .MuiAppBar-root .title": {"fontSize": "1.25rem"},
    "@media (max-width: 599.95px)": {  # a phone: room for the menu of stories
        "& .MuiAppBar-root .title": {"position": "absolute", "clipPath": "inset(50%)"},
    },
}


class Fit(Component):
    """A component that adapts the page to the browser before it is drawn: theme, and whether the sidebar is
    open."""

    _esm = ui.page_script("frame.js", initialize="fitToBrowser", render="nothing")


class SidebarClose(Component):
    """A button above the settings on a phone, whose sidebar covers *Run* and the button that opened it."""

    _esm = ui.page_script("frame.js", render="sidebarClose")
    _stylesheets: ClassVar[list[str]] = [ui.asset("frame.css")]


class Idle(param.Parameterized):
    """A busy indicator that is never busy; Panel's own is shared by all visitors."""

    busy = param.Boolean(default=False)


def frame(title: str, header: Any, sidebar: Sequence[Any], main: Sequence[Any], width: int) -> pmui.Page:
    """Arrange the parts of the page in its frame; the sidebar is ``width`` pixels wide."""
    page = pmui.Page(
        title=title,
        sidebar=[SidebarClose(sizing_mode="stretch_width"), *sidebar] if sidebar else [],
        main=list(main),
        sidebar_width=width,
        sidebar_resizable=False,  # by a handle of four pixels, which has no role and which no key reaches
        favicon=ui.ASSETS / "favicon.svg",
        raw_css=[ui.asset("page.css")],
        theme_config={"light": ui.mui("light"), "dark": ui.mui("dark")},
        busy_indicator=None,
        template=ui.ASSETS / "page.html",
        theme_toggle=False,
        header=[header, Fit()],
        sx=FRAME_STYLES,
    )
    with edit_readonly(page):
        page.busy = Idle().param.busy  # else Panel's state keeps the page after its visitor has left
    return page
