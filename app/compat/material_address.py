"""The address of the script that draws all of Material's components, for the browser to read it early."""

from __future__ import annotations

import panel as pn
from panel_material_ui import Page

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel_material_ui",
    upstream="Panel asks for this script of 1.5 MB when it has read what is on the page, and offers no way "
    "to ask before (no issue found).",
    without="The first paint comes later, as this script is asked for last.",
    knows=(
        "panel_material_ui.base:MaterialComponent._render_esm",
        "panel.custom:ReactiveESM._render_esm",
    ),
    digest="92ecec24578b8184",
)


def address() -> str:
    """Return the script's address relative to the page; "" if it is not known."""
    if not CHANGE.fits():
        return ""
    return Page._render_esm(not pn.config.autoreload, server=True)
