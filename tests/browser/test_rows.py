"""The four penalties of a story end as four patterns side by side, and what the pointer is on has a name."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import LONG

pytestmark = pytest.mark.slow

PATTERNS = """() => {
  const figure = figureOf("row-patterns")
  const drawn = figure?.renderers.find((r) => r.glyph?.type === "Image")
  const view = figure && Bokeh.index.find_one(figure)
  if (!view || !drawn.data_source.data.dh.length) return null
  const {x, y} = view.el.getBoundingClientRect(), {left, top, width, height} = view.frame.bbox
  const {dh, features, outputs} = drawn.data_source.data
  return {
    rows: [...dh], features: [...features].map((f) => [...f]), outputs: [...outputs].map((o) => [...o]),
    place: {x: x + left, y: y + top, width, height},
  }
}"""
TOOLTIP = """() => {
  const found = []
  const walk = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (String(el.className).includes("Tooltip")) found.push(el.shadowRoot?.textContent ?? "")
      if (el.shadowRoot) walk(el.shadowRoot)
    }
  }
  walk(document)
  return found.join(" ")
}"""


def tooltip(tab, picture: str, across: float, down: float) -> str:
    """What is said at a share of a picture, whose place is looked up: the page may still move it."""
    found = tab.page.evaluate(picture)
    place = found.get("place", found)
    for aside in (0.0, 0.01):
        x, y = place["x"] + (across + aside) * place["width"], place["y"] + down * place["height"]
        tab.page.mouse.move(x, y)
        tab.frames()
    return tab.page.evaluate(TOOLTIP)


def test_four_penalties_leave_four_patterns_and_the_tooltip_names_feature_and_output(visit):
    tab = visit(width=1440, height=1600, story="four-patterns", tol="1e-3")
    assert tab.page.get_by_role("tab", name="Rows", exact=True).get_attribute("aria-selected") == "true"
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 4, "the end of all runs", LONG)
    tab.wait_until(
        lambda: (seen := tab.page.evaluate(PATTERNS)) is not None and len(seen["rows"]) == 4, "four patterns"
    )
    seen = tab.page.evaluate(PATTERNS)
    ridge, lasso, elastic, group = seen["rows"]
    assert ridge > elastic > lasso > group > 0
    assert [len(names) for names in seen["features"]] == seen["rows"]
    assert seen["outputs"] == [list("0123456789")] * 4

    said = re.compile(r"feature:\s*pixel \(\d, \d\)\s*output:\s*\d\s*weight:\s*-?\d")
    tab.wait_until(lambda: said.search(tooltip(tab, PATTERNS, 0.03, 0.3)) is not None, "a tooltip with names")

    place = tab.page.evaluate(PATTERNS)["place"]
    tab.page.mouse.move(place["x"] + 0.5 * place["width"], place["y"] - 100)
    tab.page.locator('.row.run[data-label="group lasso"] .label').click()
    tab.page.get_by_text(f"{group} of 64 features in use").wait_for()


def test_who_waits_in_vain_is_told_how_each_run_stands_and_why_it_ended(visit):
    tab = visit(
        data="breast-cancer", solvers="prox-qn;capped=prox-gd", lam="0.008", tol="1e-300", max_seconds="0.2"
    )
    tab.button("Run").click()
    tab.wait_until(lambda: set(tab.states()) == {"finished"}, "the end")
    with pytest.raises(
        AssertionError, match=r"waited 0 s for more; prox-qn: finished \(.+\); capped: finished \(.+\)"
    ):
        tab.wait_until(lambda: False, "more", 0.0)
