"""Names, roles and contrast of all controls, as axe-core judges them: at rest, while runs go on, on each
tab, in lists and cards that open, light and dark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.views import TABS
from tests.browser.conftest import Visit
from tests.browser.test_controls import SHADE
from tests.browser.test_page_sizes import ended

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

#: What axe finds wrong in the first element that is seen of a selector, in the first of the one before and
#: so on, in any shadow root; or on the whole page. Null if it is not there, or was judged by these rules.
#: Colours are judged when they have ended to fade.
JUDGE = """async ([path, tags]) => {
  const fading = (root) => [root, ...root.querySelectorAll("*")].flatMap((el) => [
    ...(el === root ? root.getAnimations() : []), ...(el.shadowRoot ? fading(el.shadowRoot) : []),
  ])
  const ending = fading(document).filter((one) =>
    one.playState === "running" && Number.isFinite(one.effect?.getComputedTiming().endTime))
  await Promise.allSettled(ending.map((one) => one.finished))
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


def wrong(tab: Visit, axe: str, *path: str, rules: Sequence[str] = RULES) -> list[str]:
    """What is wrong on the page, or in the part of it that selectors lead to, as soon as it is there."""
    if not tab.page.evaluate("() => 'axe' in window"):
        tab.page.evaluate(axe)
    found: list[list[str] | None] = []

    def judged() -> bool:
        found.append(tab.page.evaluate(JUDGE, [path, rules]))
        return found[-1] is not None

    tab.wait_until(judged, f"{path} to be seen")
    return found[-1] or []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_that_is_there_at_rest_and_while_runs_go_on_has_names_roles_and_contrast(visit, axe, theme):
    tab = visit(color_scheme=theme, speed="2 a second")
    assert wrong(tab, axe) == [], "at rest"
    tab.page.get_by_role("combobox", name="Story").click()
    tab.page.get_by_role("listbox").wait_for()
    assert wrong(tab, axe, "[role=listbox]") == [], "the list of stories"
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("listbox").wait_for(state="detached")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["running"] * 3, "three runs", 60)
    assert wrong(tab, axe) == [], "while three runs go on"
    tab.page.locator("button.help").first.click()
    tab.page.get_by_role("dialog").wait_for()
    assert wrong(tab, axe, "[role=dialog]") == [], "what a plot shows"


def test_the_view_of_each_tab_has_names_roles_and_contrast_light_and_dark(visit, axe):
    tab = ended(visit(max_seconds="1", speed="full"))

    def judged(rules: Sequence[str]) -> dict[str, list[str]]:
        found = {}
        for id, view in TABS.items():
            tab.page.get_by_role("tab", name=view.title, exact=True).click()
            tab.wait_until(lambda id=id: tab.query().get("tab") == id, id)
            found[id] = wrong(tab, axe, ".tabs", ".view", rules=rules)
        return {id: errors for id, errors in found.items() if errors}

    assert judged(RULES) == {}
    tab.button("Toggle theme").click()
    tab.wait_until(lambda: tab.page.evaluate(SHADE) == "rgb(18, 20, 22)", "a dark page")
    assert judged(["color-contrast"]) == {}
