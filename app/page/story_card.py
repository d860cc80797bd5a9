"""The card of the story at the top of the sidebar: summary, question, points to look for, and
guided steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.page.guide import Guide
from solverscope.app.page.prediction import Prediction
from solverscope.app.stories import Story
from solverscope.app.ui.component import Component


class StoryCard(Component):
    """The card of the story, drawn by ``assets/story_card.js`` and updated at each tick of the session.

    It is open at first, and once collapsed stays so for the rest of the visit. ``on_back()`` is called when a
    visitor wants to restore the story's settings.
    """

    text = param.Dict(default={}, doc="question and points of the story, and how many steps it has")
    changed = param.Boolean(default=False, doc="whether the settings are no longer those of the story")
    holds = param.Boolean(default=True, doc="whether its sentences are about what is set, or shown")
    step = param.Dict(default={}, doc="the step of a guided story: its number, its text, and a note")

    ask = param.Dict(default={}, doc="what is asked before the run, the answer, and what it was")

    _esm = ui.page_script("ask.js", "glossary.js", "story_card.js", render="storyCard")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "ask.css", "story_card.css")]

    def __init__(self, guide: Guide, prediction: Prediction, on_back: Callable[[], None]) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10, 8, 10))
        self._guide, self._prediction, self._on_back = guide, prediction, on_back

    def part(self, name: str) -> StoryPart:
        """Return a part of the card, "ask" or "steps", for the layout on phones."""
        shown = ("text", "ask", "step")
        made = StoryPart(part=name, **{param: getattr(self, param) for param in shown})
        made.on_message = self.receive
        self.link(made, **dict(zip(shown, shown, strict=True)))
        return made

    def show(self, story: Story) -> None:
        """Show the question and the points to look for of a story."""
        points = list(story.look_for)
        self.text = {"question": story.question, "points": points, "steps": len(story.steps)}
        self.update()

    def update(self) -> None:
        """Show the current step and question."""
        self._prediction.update()
        self.ask = self._prediction.state
        guide = self._guide
        guide.update()
        self.step = (
            {} if guide.step is None else {"at": guide.at, "text": guide.step.text, "note": guide.note}
        )

    def receive(self, data: dict[str, Any]) -> None:
        match data.get("action"):
            case "back":
                self._on_back()
            case "answer":
                self._prediction.take(data.get("value"))
                self.update()
            case "skip":
                self._prediction.skip()
                self.update()
            case "go":
                k = data.get("step")
                self._guide.go(k if isinstance(k, int) and self.text["steps"] else None)
                self.update()


class StoryPart(Component):
    """The question, or the steps of the guide, for the layout on phones, where the card covers the plots.

    Wider pages do not show it.
    """

    part = param.Selector(default="ask", objects=["ask", "steps"], constant=True, doc="what is shown")
    text = param.Dict(default={}, doc="as of the card")
    step = param.Dict(default={}, doc="as of the card")
    ask = param.Dict(default={}, doc="as of the card")

    css_classes = param.List(default=["part"])
    sizing_mode = "stretch_width"

    _esm = ui.page_script("ask.js", "glossary.js", "story_card.js", render="storyPart")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "ask.css", "story_card.css")]
