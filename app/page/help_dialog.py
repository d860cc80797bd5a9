"""The card that says what a plot shows, when a visitor asks by the plot's "?"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from app import theme
from app.component import Component
from app.views.base.help import Help


class HelpDialog(Component):
    """One card for all plots, made of nothing before it is asked for: ``find(id)`` returns what is to be said
    of the figure with this id, None for one that is gone. ``assets/plot_buttons.js`` puts the "?" on
    figures."""

    _esm = theme.asset("elements.js", "help_dialog.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("help_dialog.css")]

    def __init__(self, find: Callable[[str], Help | None]) -> None:
        super().__init__()
        self._find = find

    def receive(self, data: dict[str, Any]) -> None:
        found = self._find(str(data.get("figure")))
        if found is not None:
            self.answer({"title": found.title, "html": found.html()})
