"""The line-search lab in a real browser: the cursor and a slider change what it shows."""

from __future__ import annotations

import time

import numpy as np

from tests.browser.conftest import PATIENCE

QUERY = {
    "data": "breast-cancer",
    "loss": "logistic",
    "penalty": "l1",
    "lam": "0.005",
    "solvers": "prox-qn,gamma=ys/ss",
    "tab": "line-search",
}
#: Seconds from a turn of a slider to its answer while nothing else takes the machine: the quickest of a few.
ANSWERED = 0.3

DRAWN = """([figure, glyph]) => {
  const found = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === figure)).at(-1)
  const source = found?.renderers.find((r) => r.name === glyph)?.data_source
  return source ? Object.fromEntries(Object.entries(source.data).map(([k, v]) => [k, [...v]])) : {}
}"""
PLACE = """([figure, x, y]) => {
  const found = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === figure)).at(-1)
  const view = Bokeh.index.find_one(found), {left, top} = view.el.getBoundingClientRect()
  return {x: left + view.frame.x_scale.compute(x), y: top + view.frame.y_scale.compute(y)}
}"""


def test_a_click_on_a_bar_and_a_turn_of_sigma_change_the_accepted_trial(visit):
    tab = visit(height=1400, **QUERY)
    page = tab.page

    def drawn(glyph: str, column: str = "t", figure: str = "line-search") -> np.ndarray:
        return np.array(page.evaluate(DRAWN, [figure, glyph]).get(column, []), dtype=float)

    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the end of the run", 60)
    tab.wait_until(lambda: drawn("curve").size > 30, "φ of the last search")

    bars = {name: drawn("bars", name, "trials") for name in ("iteration", "trials")}
    longest = int(np.argmax(bars["trials"]))
    assert bars["trials"][longest] > 2
    before = drawn("curve", "phi")
    places = [{}]

    def still() -> bool:
        page.wait_for_timeout(300)
        places.append(page.evaluate(PLACE, ["trials", float(bars["iteration"][longest]), 1.0]))
        return places[-1] == places[-2]

    tab.wait_until(still, "the bar to stay where it is")
    page.mouse.click(places[-1]["x"], places[-1]["y"])
    tab.wait_until(lambda: drawn("trials").size == bars["trials"][longest], "the trials of that search")
    tab.wait_until(lambda: not np.array_equal(drawn("curve", "phi"), before), "its φ")
    said = f"the step to iteration {int(bars['iteration'][longest])}: "
    tab.wait_until(lambda: page.get_by_text(said).is_visible(), "a sentence about it")

    tab.wait_until(
        lambda: drawn("by_armijo").tolist() == drawn("trials")[-1:].tolist() != [],
        "the rule to take with its own σ what it took",
    )
    taken = drawn("by_armijo")
    sigma = page.get_by_role("slider", name="σ")
    sigma.focus()
    turns = []
    for key in ("End", "Home") * 2 + ("End",):
        before = drawn("by_armijo").tolist()
        turned = time.monotonic()
        page.keyboard.press(key)
        tab.wait_until(lambda before=before: drawn("by_armijo").tolist() != before, "another step", 5)
        turns.append(time.monotonic() - turned)
    t, rule = drawn("by_armijo"), {name: drawn("rule", name) for name in ("t", "phi")}
    phi = drawn("by_armijo", "phi")
    assert t[0] < taken[0]
    assert phi[0] <= rule["phi"][-1] / rule["t"][-1] * t[0] + 1e-12
    assert min(turns) < (ANSWERED + 0.1) * PATIENCE, "and the test looks ten times a second"
