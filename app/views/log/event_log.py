"""The events of a run as a list of links to iterates."""

from __future__ import annotations

import html
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.ui.component import Component
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.run_events import run_events
from solverscope.app.views.base.view import View

#: Maximal number of events in the list.
MAX_EVENTS = 500


class EventList(Component):
    """Clickable rows, drawn by ``assets/events.js``, which sends the iteration of a row that is clicked."""

    entries = param.List(default=[], doc="[iteration, kind, text] each, in their order")
    iteration = param.Integer(default=0, doc="the iteration under the cursor")

    _esm = ui.script("tables.js", "events.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "events.css", "tables.css")]


class EventLog(View):
    """Events of the run under the cursor, such as epochs, returned variables, skipped pairs and failed
    searches.

    A click on a row moves the cursor to its iterate.
    """

    id = "events"
    title = "Events"
    hint = "Run a solver to list its epochs, failed steps, kinks and other events here."
    every = 5

    def build(self) -> None:
        self._title = ui.html(sizing_mode="stretch_width")
        self._list = EventList(sizing_mode="stretch_width")
        self._list.on_message = self._pick
        self._body.extend([self._title, self._list])
        self._found: list[list[Any]] = []

    def _update_hint(self) -> None:
        run = self.chosen
        if run is None or not len(run):
            super()._update_hint()
            return
        said = f"{html.escape(run.info.label)} has had no epoch, failed step, kink or other event so far."
        self._hint.object = f'<p class="hint">{said}</p>'

    def has_content(self) -> bool:
        if self.chosen is None:
            return False
        rows, until, _ = self.chosen.since(None)
        if self._drawn.changed("rows", self.chosen, until):
            self._found = [list(event) for event in run_events(rows)]
        return bool(self._found)

    def draw(self) -> None:
        shown = self._found[-MAX_EVENTS:]
        self._list.entries = shown
        self._list.iteration = self.cursor.iteration
        self.drew(self.cursor.iteration)
        of = (
            f", the newest {MAX_EVENTS} of {ui.number(len(self._found))}"
            if len(self._found) > MAX_EVENTS
            else ""
        )
        self._title.object = f"<h2>Events of {html.escape(self.chosen.info.label)}{of}</h2>"

    def tables(self) -> list[ShownTable]:
        heads = ("iteration", "kind", "event")
        return [ShownTable(f"Events of {self.chosen.info.label}", heads, self._found)]

    def _pick(self, data: dict[str, Any]) -> None:
        if self.chosen is not None and isinstance(data.get("iteration"), int):
            self.cursor.place(self.chosen, data["iteration"])
