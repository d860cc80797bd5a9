"""What changes while it is put on a page takes its styles from this server."""

from __future__ import annotations

from functools import wraps
from typing import Any

import panel as pn
from bokeh.document import Document
from panel.reactive import Reactive

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Bokeh gives a new model its document when it goes through the page, and a batch puts that off "
    "to its end. For a text that changes before, which has no document, Panel takes the styles of "
    "its theme from cdn.holoviz.org (as in https://github.com/holoviz/panel/issues/7073).",
    without="Without the internet some texts may lack the styles of Panel's theme.",
    knows=("panel.reactive:Reactive._get_properties",),
    digest="3eef4d0a24834caa",
)


@CHANGE.once
def apply() -> None:
    """Make the change."""
    properties = Reactive._get_properties

    @wraps(properties)
    def of_this_page(self: Reactive, document: Document | None) -> dict[str, Any]:
        return properties(self, document if document is not None else pn.state.curdoc)

    Reactive._get_properties = of_this_page
