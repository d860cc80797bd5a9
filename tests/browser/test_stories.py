"""Stories follow each other on one page, whatever is open and whatever runs."""

from __future__ import annotations

import pytest

from solverscope.app.stories import stories
from solverscope.app.views import TABS
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
    # from chains to classes, to two labels, and back: each with another number of runs
    first, other = (stories()[id] for id in ("memory", "superlinear"))
    for story in (first, other, first):
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


def test_a_story_chosen_far_down_the_sidebar_is_brought_into_view(visit):
    tab = visit(width=1280, height=720)
    tab.page.get_by_text("Limits and threads").scroll_into_view_if_needed()
    card = tab.page.get_by_role("region", name="Story")
    in_view = "el => el.getBoundingClientRect().top >= 0 && el.getBoundingClientRect().top < innerHeight"
    tab.page.get_by_role("textbox", name="relative violation ε").last.evaluate(
        "el => el.scrollIntoView({block: 'start'})"
    )
    tab.wait_until(lambda: not card.evaluate(in_view), "the card to be out of view")
    tab.choose("Story", "How much memory is enough?")
    tab.wait_until(lambda: card.evaluate(in_view), "the card in view")


def test_back_and_forward_change_the_page_as_the_address(visit):
    tab = visit()
    lam = tab.page.get_by_role("textbox", name="λ", exact=True)
    story = tab.page.get_by_role("combobox", name="Story")
    first = lam.input_value()
    tab.choose("Story", "How much memory is enough?")
    tab.wait_until(lambda: lam.input_value() == "0.003", "λ of the story")
    tab.enter("λ", "0.01")
    tab.wait_until(lambda: tab.query().get("lam") == "0.01", "the address")
    entries = tab.page.evaluate("history.length")

    def shows(name: str, value: str) -> bool:
        return name in story.inner_text() and lam.input_value() == value

    memory, shrinking = "How much memory is enough?", "Watch shrinking forget and remember"
    for go, name, value in (
        (tab.page.go_back, memory, "0.003"),
        (tab.page.go_back, shrinking, first),
        (tab.page.go_forward, memory, "0.003"),
        (tab.page.go_forward, memory, "0.01"),
    ):
        go()
        tab.wait_until(lambda name=name, value=value: shows(name, value), f"{name} at λ = {value}")
    assert tab.page.evaluate("history.length") == entries


def test_a_technical_word_says_what_it_means_to_pointer_press_and_keyboard(visit):
    tab = visit(story="shrinking")
    tab.page.locator("summary").filter(has_text="What to look for").click()
    terms = tab.page.locator("button.term")
    tab.wait_until(lambda: terms.count() > 2 and terms.nth(1).is_visible(), "words with a meaning")
    names = [name.lower() for name in terms.all_inner_texts()]
    assert len(set(names)) == len(names), "each is told once"
    shown = tab.page.locator(".meaning:popover-open")
    terms.nth(0).hover()
    tab.wait_until(lambda: shown.count() == 1, "the meaning at the pointer")
    assert "may change" in shown.inner_text()
    tab.page.mouse.move(700, 400)
    tab.wait_until(lambda: shown.count() == 0, "no meaning")
    terms.nth(1).focus()
    tab.wait_until(lambda: shown.count() == 1, "the meaning at the focus")
    terms.nth(1).press("Enter")
    tab.page.mouse.move(700, 400)
    assert shown.count() == 1, "it was pressed"
    tab.page.keyboard.press("Escape")
    tab.wait_until(lambda: shown.count() == 0, "no meaning after Escape")
    assert tab.errors == []
