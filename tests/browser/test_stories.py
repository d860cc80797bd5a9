"""Stories follow each other on one page, whatever is open and whatever runs."""

from __future__ import annotations

import pytest

from app.stories import stories
from app.views import TABS
from tests.browser.conftest import LONG, complaints

pytestmark = pytest.mark.slow


def test_stories_follow_each_other_and_the_first_comes_again_with_all_tabs_opened(visit, server):
    said = len(server.log.read_text())
    tab = visit()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", LONG)
    tab.button("Stop").click()
    for view in TABS.values():
        tab.open_tab(view.title)
    figures = tab.figures()
    first, *others = list(stories().values())[1:5]
    for story in (first, *others, first):
        tab.choose("Story", story.name)
        tab.wait_until(lambda story=story: tab.query().get("story") == story.id, story.name)
        tab.wait_until(lambda: tab.button("Run").is_enabled(), f"Run of {story.name}")
        tab.button("Run").click()
        labels = {solver.label for solver in story.setting.entrants}
        tab.wait_until(
            lambda labels=labels: set(tab.curves("convergence")) == labels, f"curves of {story.name}", LONG
        )
        early = {"compiling", "queued", "loading"}
        tab.wait_until(lambda early=early: not early & set(tab.states()), f"{story.name}: rows that say so")
        assert tab.errors == []
        assert figures <= tab.figures(), "no figure was made anew"
    assert tab.page.get_by_text("cannot be drawn").count() == 0
    log = server.log.read_text()[said:]
    assert complaints(log) == [], log
