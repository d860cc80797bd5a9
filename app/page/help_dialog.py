"""The card that explains a plot when a visitor clicks its "?"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component
from solverscope.app.views import View
from solverscope.app.views.base.help import Help


class HelpDialog(Component):
    """The help card of all plots, whose content is created on demand.

    ``find(id)`` returns the help on the figure with this id, or None if the figure no longer exists.
    ``assets/plots.js`` adds the "?" to figures. A browser shows help in ``texts`` without a request.
    """

    texts = param.Dict(default={}, doc="what is said of figures, by their ids")

    _esm = ui.page_script("help_dialog.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("help_dialog.css")]

    def __init__(self, find: Callable[[str], Help | None]) -> None:
        super().__init__()
        self._find = find

    def receive(self, data: dict[str, Any]) -> None:
        found = self._find(str(data.get("figure")))
        if found is not None:
            self.answer(_said(found))

    def tell(self, views: Iterable[View]) -> None:
        """Send browsers the help on all figures of these views, as visitors of a shared page cannot request
        it."""
        found = {drawn.id: view.explain(drawn.name) for view in views for view, drawn in view.shown_figures()}
        if found.keys() != self.texts.keys():
            self.texts = {id: _said(help) for id, help in found.items() if help is not None}


def explanation(views: Iterable[View], id: str) -> Help | None:
    """Return the help on the figure with this id, or None if there is no such figure or help."""
    found = (pair for view in views for pair in view.shown_figures())
    return next((view.explain(drawn.name) for view, drawn in found if drawn.id == id), None)


def _said(help: Help) -> dict[str, str]:
    return {"title": help.title, "html": help.html()}
