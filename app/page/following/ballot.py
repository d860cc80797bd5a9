"""What the teacher's story asks, put to those who follow."""

from __future__ import annotations

from typing import Any, ClassVar

import param

from solverscope.app import theme
from solverscope.app.component import Component
from solverscope.app.page.prediction import Prediction


class Ballot(Component):
    """The question on a page that follows. A watcher of the session."""

    state = param.Dict(default={}, doc="question, choices and, after the runs, what it was; empty for none")

    _esm = theme.asset("elements.js", "ask.js", "ballot.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("component.css", "ask.css", "ballot.css")]

    def __init__(self, prediction: Prediction) -> None:
        super().__init__(sizing_mode="stretch_width")
        self._prediction = prediction

    def update(self) -> None:
        """Ask what is asked now."""
        self.state = self._prediction.ballot

    def receive(self, data: dict[str, Any]) -> None:
        self._prediction.count(data.get("who"), data.get("answer"))
