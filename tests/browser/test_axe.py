"""Names, roles and contrast of all controls, as axe-core judges them: at rest, while runs go on, on each
tab, in lists and cards that open, light and dark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from solverscope.app.views import TABS
from tests.browser.conftest import LONG, Visit
from tests.browser.test_controls import SHADE

pytestmark = pytest.mark.slow

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

#: What axe finds wrong in the first element that is seen of a selector, in the first of the one before and
#: so on, in any shadow root; or on the whole page. Null if it is not there, or was judged by these rules.
JUDGE = """async ([path, tags]) => {
  const seen = (root, selector) => [...root.querySelectorAll("*")].flatMap((el) => [
    ...(el.matches(selector) && el.getClientRects().length ? [el] : []),
    ...(el.shadowRoot ? seen(el.shadowRoot, selector) : []),
  ])
  const rules = tags.join()
  let place = document
  for (const selector of path) {
    [place] = seen(place.shadowRoot ?? place, selector)
    if (!place || place.judgedBy === rules) { return null }
  }
  // axe goes through the whole document each time, also through what is hidden
  const away = [...place.parentNode?.children ?? []].filter((el) => el.matches(path.at(-1)) && el !== place)
  const marks = away.map(() => document.createComment(""))
  away.forEach((el, k) => el.replaceWith(marks[k]))
  const {violations} = await axe.run(place, {resultTypes: ["violations"], runOnly: tags, preload: false})
  marks.forEach((mark, k) => mark.replaceWith(away[k]))
  place.judgedBy = path.length ? rules : null
  return violations.flatMap((found) => found.nodes.map((node) =>
    `${found.id}: ${node.html.slice(0, 200)}: ${node.failureSummary.replaceAll("\\n", " ")}`))
}"""

#: How many controls are still drawn in the light theme.
LIGHT = """() => {
  const count = (root) => [...root.querySelectorAll("*")].reduce((sum, el) =>
    sum + el.classList.contains("mui-light") + (el.shadowRoot ? count(el.shadowRoot) : 0), 0)
  return count(document)
}"""

#: The colours of all buttons as they are drawn.
COLOURS = """() => {
  const drawn = (root) => [...root.querySelectorAll("*")].flatMap((el) => [
    ...(el.matches("button") ? [getComputedStyle(el).color, getComputedStyle(el).backgroundColor] : []),
    ...(el.shadowRoot ? drawn(el.shadowRoot) : []),
  ])
  return drawn(document)
}"""


def wrong(tab: Visit, axe: str, *path: str, rules: Sequence[str] = RULES) -> list[str]:
    """What is wrong on the page, or in the part of it that selectors lead to, as soon as it is there."""
    if not tab.page.evaluate("() => 'axe' in window"):
        tab.page.evaluate(axe)
    found: list[list[str] | None] = []

    def judged() -> bool:
        tab.faded()
        found.append(tab.page.evaluate(JUDGE, [path, rules]))
        return found[-1] is not None

    tab.wait_until(judged, f"{path} to be seen")
    return found[-1] or []


def everywhere(tab: Visit, axe: str, rules: Sequence[str]) -> dict[str, list[str]]:
    """What is wrong on the page, in its longest list, in the card that explains a plot, and in each tab."""
    found = {"the page": wrong(tab, axe, rules=rules)}
    tab.page.get_by_role("combobox", name="Story").click()
    tab.page.get_by_role("listbox").wait_for()
    found["the list of stories"] = wrong(tab, axe, "[role=listbox]", rules=rules)
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("listbox").wait_for(state="detached")
    tab.page.locator("button.help").first.click()
    tab.page.get_by_role("dialog").wait_for()
    found["what a plot shows"] = wrong(tab, axe, "[role=dialog]", rules=rules)
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("dialog").wait_for(state="hidden")
    for id, view in TABS.items():
        tab.open_tab(view.title)
        found[id] = wrong(tab, axe, ".tabs", ".view", rules=rules)
    return {place: errors for place, errors in found.items() if errors}


def test_everything_has_names_roles_and_contrast_light_and_dark(visit, axe):
    tab = visit(speed="10 a second")
    assert wrong(tab, axe) == [], "at rest"
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["running"] * 3 and tab.iteration("prox-qn") > 20, "runs", LONG)
    assert wrong(tab, axe) == [], "while three runs go on"
    tab.button("Stop").click()
    tab.wait_until(lambda: tab.states() == ["stopped"] * 3, "the end")
    assert everywhere(tab, axe, RULES) == {}
    tab.button("Toggle theme").click()
    tab.wait_until(lambda: tab.page.evaluate(SHADE) == "rgb(18, 20, 22)", "a dark page")
    tab.wait_until(lambda: tab.page.evaluate(LIGHT) == 0, "controls that are dark as well")
    tab.settled(lambda: tab.page.evaluate(COLOURS), "the colours of buttons")
    assert everywhere(tab, axe, ["color-contrast"]) == {}, "dark"
