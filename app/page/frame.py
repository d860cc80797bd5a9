"""The frame of the page: header, sidebar and main part, in the page's theme and without Panel's extras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import panel_material_ui as pmui

from solverscope.app import theme
from solverscope.app.compat import panel_busy
from solverscope.app.component import Component

#: Styles of the frame's own parts: the header is one line, however long the question in it.
FRAME = {
    "& .MuiAppBar-root .MuiToolbar-root > .MuiBox-root:last-of-type": {"minWidth": 0, "marginLeft": "16px"},
    "& .MuiAppBar-root .title": {"fontSize": "1.25rem"},
    "@media (max-width: 599.95px)": {  # a phone: room for the menu of stories
        "& .MuiAppBar-root .title": {"position": "absolute", "clipPath": "inset(50%)"},
    },
}


class Fit(Component):
    """Suits the page to the browser before it is drawn: its theme, and whether the sidebar is open."""

    _esm = theme.asset("fit.js")


class SidebarClose(Component):
    """A button above all settings on a phone, where the sidebar covers Run and the button that opened it."""

    _esm = theme.asset("elements.js", "sidebar_close.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("sidebar_close.css")]


def frame(title: str, header: Any, sidebar: Sequence[Any], main: Sequence[Any], width: int) -> pmui.Page:
    """Put the parts of the page into its frame, the sidebar ``width`` pixels wide."""
    page = pmui.Page(
        title=title,
        sidebar=[SidebarClose(sizing_mode="stretch_width"), *sidebar] if sidebar else [],
        main=list(main),
        sidebar_width=width,
        sidebar_resizable=False,  # by a handle of four pixels, which has no role and which no key reaches
        favicon=theme.ASSETS / "favicon.svg",
        raw_css=[theme.asset("page.css")],
        theme_config={"light": theme.mui("light"), "dark": theme.mui("dark")},
        busy_indicator=None,
        template=theme.ASSETS / "page.html",
        theme_toggle=False,
        header=[header, Fit()],
        sx=FRAME,
    )
    panel_busy.apply(page)
    return page
