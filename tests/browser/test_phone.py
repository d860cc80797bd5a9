"""The page in a window as narrow as a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DEADLINE, Visit
from tests.browser.test_axe import wrong

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
