"""A page does not follow Panel's busy state, which is one for all visitors."""

from __future__ import annotations

import param
from panel.util.parameters import edit_readonly
from panel_material_ui import Page

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="panel_material_ui",
    upstream="Each Page follows panel.state.busy, also without a busy indicator: every event of any visitor "
    "goes through all pages, and the state keeps the pages of those who have left (no issue found; "
    "https://github.com/holoviz/panel/issues/8605 is another such reference).",
    without="Memory of visitors who have left is not given back.",
    knows=("panel_material_ui.template.base:Page.__init__",),
    digest="b03d6b8695242491",
)


class _Quiet(param.Parameterized):
    busy = param.Boolean(default=False)


def apply(page: Page) -> None:
    """Let this page follow a state of its own, which never changes."""
    if CHANGE.fits():
        with edit_readonly(page):
            page.busy = _Quiet().param.busy
