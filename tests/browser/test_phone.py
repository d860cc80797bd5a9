"""The page in a window as narrow as a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from solverscope.app.stories import stories
from tests.browser.conftest import DEADLINE, Visit
from tests.browser.test_axe import wrong
from tests.browser.test_guide import RING

pytestmark = pytest.mark.slow

expect.set_options(timeout=1000 * DEADLINE)
PHONE = {"width": 390, "height": 844}
SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "max_iter": "20"}


def sidebar(tab: Visit):
    return tab.page.locator(".MuiDrawer-paper")


def test_the_sidebar_is_closed_and_opened_by_hand_and_run_can_be_pressed(visit, axe):
    tab = visit(**PHONE, **SMALL)
    expect(sidebar(tab)).to_be_hidden()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end")
    for button in tab.page.locator(".row.run .acts button:visible").all():
        box = button.bounding_box()
        assert box["x"] + box["width"] <= PHONE["width"], "the buttons of a run are on the page"
    tab.button("Open drawer").click()
    expect(tab.page.get_by_role("dialog", name="Settings")).to_be_visible()
    assert wrong(tab, axe) == []


@pytest.mark.parametrize("scrolled", [0, 10_000], ids=["top", "bottom"])
def test_one_press_on_what_is_in_sight_closes_the_sidebar_and_run_is_there_again(visit, scrolled):
    tab = visit(**PHONE, **SMALL)
    tab.button("Open drawer").click()
    expect(sidebar(tab)).to_be_visible()
    tab.faded()
    sidebar(tab).evaluate("(el, top) => el.scrollTo(0, top)", scrolled)
    close = tab.button("Close settings")
    box = close.bounding_box()
    assert 0 <= box["y"] < 1
    assert box["height"] >= 44, "a finger's width"
    close.click()
    expect(sidebar(tab)).to_be_hidden()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end")


def test_a_wide_page_has_no_button_that_closes_the_sidebar_but_that_of_its_header(visit):
    tab = visit(**SMALL)
    assert tab.button("Close settings").count() == 0
    expect(tab.button("Close drawer")).to_be_visible()


def test_a_window_that_becomes_narrow_closes_the_sidebar(visit):
    tab = visit(**SMALL)
    expect(sidebar(tab)).to_be_visible()
    tab.page.set_viewport_size(PHONE)
    expect(sidebar(tab)).to_be_hidden()


def test_the_menu_of_stories_has_half_of_the_header_and_nothing_lies_on_it(visit):
    tab = visit(**PHONE, **SMALL)
    menu = tab.page.get_by_role("combobox", name="Story").bounding_box()
    assert menu["width"] >= PHONE["width"] / 2
    for name in ("Toggle theme", "Export"):
        button = tab.button(name).bounding_box()
        assert button["x"] >= menu["x"] + menu["width"]


def test_the_question_stands_above_run_and_the_guide_below_what_it_points_at(visit):
    tab = visit(**PHONE, story="kink", speed="full")
    asked = tab.page.get_by_role("group", name=stories()["kink"].ask.text)
    choice = asked.get_by_role("radio", name="exact", exact=True)
    assert choice.bounding_box()["y"] < tab.button("Run").bounding_box()["y"]
    choice.click()
    tab.page.get_by_text("Your answer: exact").wait_for()
    tab.button("Open drawer").click()
    tab.button("Guide me through it").click()
    expect(sidebar(tab)).to_be_hidden()
    sheet = tab.page.get_by_role("group", name="Guided story")
    sheet.get_by_text("Step 1 of").wait_for()

    def seen() -> bool:
        rings, top = tab.page.evaluate(RING), sheet.bounding_box()["y"]
        return len(rings) == 1 and 0 < rings[0]["top"] < top - 200

    tab.wait_until(seen, "the plot that the step points at, above the sheet")
    tab.button("Next").click()
    sheet.get_by_text("Step 2 of").wait_for()
    tab.wait_until(seen, "that of the next step")
    box = sheet.bounding_box()
    assert box["y"] + box["height"] <= PHONE["height"]
    tab.button("End").click()
    expect(sheet).to_be_hidden()


def test_a_swipe_that_begins_on_a_plot_scrolls_the_page_and_zooms_in_on_nothing(visit):
    tab = visit(**PHONE, touch=True, **SMALL)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end")
    tab.settled(lambda: tab.reach("convergence"), "the axis")
    box = tab.page.locator(".bk-events:visible").first.bounding_box()
    x, y, before = box["x"] + 150, box["y"] + 150, tab.reach("convergence")
    touched = tab.page.context.new_cdp_session(tab.page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        places = [{"x": x, "y": y} for x, y in points]
        touched.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    send("touchStart", (x, y))
    for k in range(1, 11):
        send("touchMove", (x, y - 15.0 * k))
        tab.frames(1)
    send("touchEnd")
    tab.wait_until(
        lambda: tab.page.locator(".main-content").evaluate("(el) => el.scrollTop") > 50, "a scroll"
    )
    assert tab.reach("convergence") == before, "nothing is zoomed in on"
