"""The frame of the page: header, sidebar and main part, in the page's theme and without Panel's extras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.util import edit_readonly

from app import theme

#: Styles of the frame's own parts: the header is one line, however long the question in it.
FRAME = {
    "& .MuiAppBar-root .MuiToolbar-root > .MuiBox-root:last-of-type": {"minWidth": 0, "marginLeft": "16px"},
    "& .MuiAppBar-root .title": {"fontSize": "1.25rem"},
}


class Quiet(param.Parameterized):
    """Stands in for Panel's own busy state, which is one for all visitors: it makes Panel go through all of
    every page at each event of anybody, and keeps the pages of those who have left."""

    busy = param.Boolean(default=False)


def frame(title: str, header: Any, sidebar: Sequence[Any], main: Sequence[Any], width: int) -> pmui.Page:
    """Put the parts of the page into its frame, the sidebar ``width`` pixels wide."""
    page = pmui.Page(
        title=title,
        sidebar=list(sidebar),
        main=list(main),
        sidebar_width=width,
        sidebar_resizable=False,  # by a handle of four pixels, which has no role and which no key reaches
        favicon=theme.ASSETS / "favicon.svg",
        raw_css=[theme.asset("page.css")],
        theme_config={"light": theme.mui("light"), "dark": theme.mui("dark")},
        busy_indicator=None,
        template=theme.ASSETS / "page.html",
        theme_toggle=False,
        header=[header],
        sx=FRAME,
    )
    with edit_readonly(page):
        page.busy = Quiet().param.busy
    return page


def material() -> str:
    """Return the address of the script that draws all of Material's components."""
    return pmui.Page._render_esm(not pn.config.autoreload, server=True)
