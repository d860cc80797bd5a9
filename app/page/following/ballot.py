"""What the teacher's story asks, put to those who follow; their answers are counted, and nobody is named."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import param

from app import theme
from app.component import Component
from app.page.prediction import Prediction, verdict, worded

#: Answers that are counted for a question at most: nothing else bounds what one visitor sends.
MOST = 1000


class Poll:
    """The answers to the question of a ``prediction`` that is open, one for each browser tab."""

    def __init__(self, prediction: Prediction) -> None:
        self._prediction, self._asked = prediction, None
        self._answers: dict[str, str | float] = {}

    @property
    def state(self) -> dict[str, Any]:
        """Return what a ballot shows; empty where nothing is asked."""
        told = self._prediction.state
        if (ask := self._prediction.ask) is not self._asked:
            self._asked = ask
            self._answers.clear()
        if not told:
            return {}
        truth = self._prediction.truth
        said = "" if truth is None or not told["said"] else verdict(ask, None, truth)
        shown = ("text", "kind", "choices", "open", "low", "high", "range", "unit", "why")
        return {name: told[name] for name in shown} | {"said": said}

    @property
    def counts(self) -> list[list[Any]]:
        """Return how many gave each answer, the most frequent first."""
        state = self.state
        if not state:
            return []
        found = Counter(worded(self._asked, answer) for answer in self._answers.values())
        return [[answer, number] for answer, number in found.most_common(12)]

    def take(self, who: object, given: object) -> None:
        """Count the first answer of a browser tab, while answers are taken."""
        state = self.state
        if not (state and state["open"] and isinstance(who, str)):
            return
        answer = self._asked.answer(given, state["choices"])
        if answer is not None and len(self._answers) < MOST:
            self._answers.setdefault(who[:40], answer)


class Ballot(Component):
    """The question on a page that follows. A watcher of the session."""

    state = param.Dict(default={}, doc="question, choices and, after the runs, what it was; empty for none")

    _esm = theme.asset("elements.js", "ballot.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("component.css", "ballot.css")]

    def __init__(self, poll: Poll) -> None:
        super().__init__(sizing_mode="stretch_width")
        self._poll = poll

    def update(self) -> None:
        """Ask what is asked now."""
        self.state = self._poll.state

    def receive(self, data: dict[str, Any]) -> None:
        self._poll.take(data.get("who"), data.get("answer"))
