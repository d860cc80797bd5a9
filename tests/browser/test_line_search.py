"""The line-search lab in a real browser: the cursor and a slider change what it shows."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow

QUERY = {
    "data": "breast-cancer",
    "loss": "logistic",
    "penalty": "l1",
    "lam": "0.005",
    "solvers": "prox-qn,gamma=ys/ss,keep_pairs=false",
    "tab": "line-search",
}

DRAWN = """([figure, glyph]) => {
  const found = figureOf(figure)
  const source = found?.renderers.find((r) => r.name === glyph)?.data_source
  return source ? Object.fromEntries(Object.entries(source.data).map(([k, v]) => [k, [...v]])) : {}
}"""
PLACE = """([figure, x, y]) => {
  const found = figureOf(figure)
  const view = Bokeh.index.find_one(found), {left, top} = view.el.getBoundingClientRect()
  return {x: left + view.frame.x_scale.compute(x), y: top + view.frame.y_scale.compute(y)}
}"""


def test_a_click_on_a_bar_and_a_turn_of_sigma_change_the_accepted_trial(visit):
    tab = visit(height=1400, **QUERY)
    page = tab.page

    def drawn(glyph: str, column: str = "t", figure: str = "line-search") -> np.ndarray:
        return np.array(page.evaluate(DRAWN, [figure, glyph]).get(column, []), dtype=float)

    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the end of the run")
    tab.wait_until(lambda: drawn("curve").size > 30, "φ of the last search")

    bars = {name: drawn("bars", name, "trials") for name in ("iteration", "trials")}
    longest = int(np.argmax(bars["trials"]))
    assert bars["trials"][longest] > 2
    before = drawn("curve", "phi")
    where = ["trials", float(bars["iteration"][longest]), 1.0]
    place = tab.settled(lambda: page.evaluate(PLACE, where), "the bar")
    page.mouse.click(place["x"], place["y"])
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
    for key in ("End", "Home", "End"):
        before = drawn("by_armijo").tolist()
        page.keyboard.press(key)
        tab.wait_until(lambda before=before: drawn("by_armijo").tolist() != before, "another step")
    t, rule = drawn("by_armijo"), {name: drawn("rule", name) for name in ("t", "phi")}
    phi = drawn("by_armijo", "phi")
    assert t[0] < taken[0]
    assert phi[0] <= rule["phi"][-1] / rule["t"][-1] * t[0] + 1e-12
