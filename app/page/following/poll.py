"""The poll of a lesson: followers answer the question of the teacher's story."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.page.prediction import Prediction
from solverscope.app.ui.component import Component

#: Maximal number of receipts shown at a time; more answers are not expected between two updates.
MAX_RECEIPTS = 200


class Poll(Component):
    """The question on a follower's page, updated at each tick of the session.

    A browser adds a random number to each answer, and finds it among the ``receipts`` once the answer is
    counted. All followers see the receipts, which reveal neither author nor answer.
    """

    state = param.Dict(default={}, doc="question, choices and, after the runs, what it was; empty for none")
    receipts = param.List(default=[], item_type=int, doc="numbers of the answers that were counted last")

    _esm = ui.page_script("ask.js", "poll.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "ask.css")]

    def __init__(self, prediction: Prediction) -> None:
        super().__init__(sizing_mode="stretch_width")
        self._prediction = prediction
        self._receipts: deque[int] = deque(maxlen=MAX_RECEIPTS)

    def update(self) -> None:
        """Show the current question, and the receipts of counted answers."""
        self.state = self._prediction.poll
        self.receipts = list(self._receipts)

    def receive(self, data: dict[str, Any]) -> None:
        counted = self._prediction.count(data.get("who"), data.get("answer"))
        receipt = data.get("receipt")
        if counted and isinstance(receipt, int) and 0 <= receipt < 2**32:
            self._receipts.append(receipt)
