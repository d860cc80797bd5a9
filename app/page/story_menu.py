"""The menu of stories in the header, by topic."""

from __future__ import annotations

import json

from solverscope.app import ui
from solverscope.app.stories import FREE, FREE_NAME, by_topic
from solverscope.app.ui.menu import Menu


class StoryMenu(Menu):
    """The menu that selects a story by its id (``value``).

    Topics are disabled entries, as the elements of Material's own groups are not permitted in a list of
    options.
    """

    def __init__(self, story: str) -> None:
        lines = {FREE_NAME: FREE}
        for topic, group in by_topic().items():
            lines |= {topic: f"topic: {topic}", **group}
        topics = [id for id in lines.values() if id.startswith("topic: ")]
        looks = {"size": "small", "margin": 0, "sizing_mode": "stretch_width", "css_classes": ["story"]}
        super().__init__(
            label="Story",
            options=lines,
            disabled_options=topics,
            value=story,
            **looks,
        )
        self._mark()
        self.param.watch(lambda event: self._mark(), "value")

    def _mark(self) -> None:
        # the list has no mark of its own for the line that is chosen
        name = next(name for name, id in self.options.items() if id == self.value)
        current = f"li[value={json.dumps(name, ensure_ascii=False)}]"
        mark = (
            f'{current} {{ background: rgb(0 0 0 / 30%) !important; }} {current}::after {{ content: "✓"; }}'
        )
        self.stylesheets = [ui.asset("story_menu.css"), mark]
