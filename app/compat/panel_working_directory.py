"""No page names the folder that the server runs in."""

from __future__ import annotations

from panel_material_ui import FileSelector

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel_material_ui",
    upstream="FileSelector shows the working directory unless it is given another. Bokeh writes the defaults "
    "of all kinds of components into each document, also of those that it has none of (no issue found).",
    without="Each page and each file made of one tells visitors the folder that the server was started in.",
    knows=(
        "bokeh.core.has_props:_HasProps_to_serializable",
        "panel.custom:ReactiveESMMetaclass.__init__",
    ),
    digest="c69dbad258a4f8c2",
)


@CHANGE.once
def apply() -> None:
    """Make the change: a page that had a selector would have to give it a folder."""
    FileSelector._data_model.lookup("directory").property._default = ""
