"""Where the Tab key leads: soon to Run, and otherwise through the page in the order in which it is read."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.browser.conftest import Visit
from tests.browser.test_page_sizes import boxes as at_rest

pytestmark = pytest.mark.slow

#: Presses of Tab from the beginning of the page to Run, at most.
MOST = 12
#: Stops between the first and the one after the last, at most: there is an end.
ALL = 120

#: What has the focus: its name, the part of the page that it is in, and its place there, wherever that is
#: scrolled to.
FOCUSED = """() => {
  let el = document.activeElement, part = "", scrolled = 0
  while (el.shadowRoot?.activeElement) { el = el.shadowRoot.activeElement }
  if (el === document.body) { return null }
  const PARTS = {header: ".MuiAppBar-root", sidebar: ".MuiDrawer-root", foot: ".foot", main: ".main-content"}
  for (let up = el; up; up = up.parentNode ?? up.host) {
    scrolled += up.scrollTop ?? 0
    const name = up.matches && Object.keys(PARTS).find((name) => up.matches(PARTS[name]))
    if (name) { part = name; break }
  }
  const {left, top, width, height} = el.getBoundingClientRect()
  const name = el.ariaLabel || el.labels?.[0]?.textContent || el.title || el.textContent
  return {name: name.trim(), part, left, top: top + scrolled, width, height}
}"""


def stops(tab: Visit) -> list[dict]:
    """Everything that Tab stops at, from the beginning of the page to its end."""
    found = []
    for _ in range(ALL):
        tab.page.keyboard.press("Tab")
        focused = tab.page.evaluate(FOCUSED)
        if focused is None:
            return found
        found.append(focused)
    raise AssertionError(f"no end after {found[-3:]}")


def test_run_is_few_presses_of_tab_away(visit):
    tab = visit()
    at_rest(tab)  # what comes onto the page meanwhile may take the focus with it
    presses = 0
    while not tab.button("Run").evaluate("(el) => el.getRootNode().activeElement === el"):
        tab.page.keyboard.press("Tab")
        presses += 1
        assert presses <= MOST
        if (tab.page.evaluate(FOCUSED) or {}).get("name") == "Skip to Run":
            tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Enter")
    tab.wait_until(lambda: tab.states() != [], "runs")


def test_tab_goes_through_the_page_in_the_order_of_reading(visit):
    tab = visit()
    at_rest(tab)
    skip, *found = stops(tab)
    assert skip["name"] == "Skip to Run"
    parts = [stop["part"] for stop in found]
    assert list(dict.fromkeys(parts)) == ["header", "sidebar", "main", "foot"]
    assert parts == sorted(parts, key=["header", "sidebar", "main", "foot"].index), "each part is left once"
    for stop in found:
        assert stop["width"] > 0, stop
        assert stop["height"] > 0, stop
    header = [stop["left"] for stop in found if stop["part"] == "header"]
    assert header == sorted(header)
    sidebar = [stop for stop in found if stop["part"] == "sidebar"]
    for one, other in pairwise(sidebar):
        assert other["top"] > one["top"] - one["height"], (one, other)
