"""Stories follow each other on one page, whatever is open and whatever runs, and no other page feels it."""

from __future__ import annotations

from app.stories import stories
from app.views import TABS
from tests.browser.conftest import complaints
from tests.browser.test_path import QUERY, points

#: Seconds between two stories.
APART = 1.5


def test_stories_follow_each_other_three_times_with_all_tabs_opened_and_another_visitor_traces_a_path(
    visit, server
):
    before = len(server.log.read_text())
    tab = visit()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", 60)
    tab.button("Stop").click()
    for id, view in TABS.items():
        tab.page.get_by_role("tab", name=view.title, exact=True).click()
        tab.wait_until(lambda id=id: tab.query().get("tab") == id, f"the tab {view.title}")
    figures = tab.figures()
    for story in 3 * list(stories().values())[1:5]:
        tab.choose("Story", story.name)
        tab.wait_until(lambda story=story: tab.query().get("story") == story.id, story.name)
        tab.wait_until(lambda: tab.button("Run").is_enabled(), f"Run of {story.name}")
        tab.button("Run").click()
        tab.page.wait_for_timeout(1000 * APART)
        labels = {solver.label for solver in story.setting.solvers}
        tab.wait_until(
            lambda labels=labels: set(tab.curves("convergence")) == labels, f"curves of {story.name}"
        )
        early = {"compiling", "queued", "loading"}
        tab.wait_until(lambda early=early: not early & set(tab.states()), f"{story.name}: rows that say so")
        assert tab.errors == []
        assert figures <= tab.figures(), "no figure was made anew"

    other = visit(**QUERY)
    other.wait_until(lambda: other.button("Trace the path").is_enabled(), "the data", 60)
    other.button("Trace the path").click()
    other.page.get_by_text("20 solutions in").wait_for(timeout=120_000)
    for figure in ("path-accuracy", "path-nnz", "path-seconds"):
        other.wait_until(lambda figure=figure: points(other, figure) == [10, 10], f"two paths in {figure}")
    assert other.page.get_by_text("cannot be drawn").count() == 0
    assert complaints(server.log.read_text()[before:]) == [], server.log.read_text()[before:]
