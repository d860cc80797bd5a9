"""The "?" of a plot, by pointer and by keyboard."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "max_seconds": "5"}


def ran(visit, **query: str):
    """A page with two runs at their end."""
    tab = visit(**SMALL | query)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end of the runs")
    return tab


def test_a_question_mark_opens_what_the_plot_shows_and_escape_closes_it(visit):
    tab = ran(visit)
    page, button = tab.page, tab.button("What does this plot show? (convergence)")
    card = page.get_by_role("dialog", name="Distance to f*")
    assert page.locator("math").count() == 0, "nothing is made before it is asked for"
    button.click()
    card.wait_for()
    assert "above f*" in card.inner_text()
    assert card.locator("math mfrac").first.is_visible(), "the equation is drawn by the browser"
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= 1440
    assert box["y"] + box["height"] <= 900
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    tab.wait_until(lambda: page.locator("math").count() == 0, "nothing to be left")
    tab.wait_until(
        lambda: button.evaluate("el => el.getRootNode().activeElement === el"), "the focus is back"
    )
    page.keyboard.press("Enter")
    card.wait_for()
    card.get_by_role("button", name="Close").click()
    card.wait_for(state="hidden")


def test_plots_of_tabs_have_one_each(visit):
    tab = ran(visit, tab="memory")
    page = tab.page
    opened = {
        "Memory": ("memory pairs", "memory bytes", "memory gamma"),
        "Shrinking": ("working set", "shrinking test", "shrinking epochs", "why left"),
        "Line search": ("line search", "line search slope", "trials"),
    }
    for name, figures in opened.items():
        tab.open_tab(name)
        for figure in ("convergence", *figures):
            tab.button(f"What does this plot show? ({figure})").click()
            tab.wait_until(lambda: page.get_by_role("dialog").locator("math").count() >= 1, figure)
            page.keyboard.press("Escape")
            tab.wait_until(lambda: page.locator("math").count() == 0, f"{figure}: closed")
