"""In the browser: λ is turned while a run goes on, and the working set refills before one's eyes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

UNDER_WAY = {
    "data": "digits",
    "solvers": "prox-qn;owl-qn",
    "lam": "0.01",
    "tol": "1e-12",
    "speed": "10 a second",
    "x": "iteration",
    "tab": "events",
}

MARKS = """(name) => {
  const figure = figureOf(name)
  const found = figure?.center.find((m) => m.type === "LabelSet")?.source.data ?? {x: [], said: []}
  return {x: Array.from(found.x), said: Array.from(found.said)}
}"""


def test_lambda_changed_on_the_way_refills_the_working_set_and_is_marked_on_the_plots(visit):
    tab = visit(**UNDER_WAY)
    box = tab.page.get_by_role("checkbox", name="apply λ to running solvers")
    assert not box.is_checked()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.iteration("prox-qn") >= 12, "some iterates")
    tab.enter("λ", "0.0005")
    tab.page.get_by_text("λ takes effect on the next Run").wait_for()
    box.check()
    tab.page.get_by_text("λ takes effect on the next Run").wait_for(state="detached")
    line = tab.page.locator(".events button.turn")
    line.first.wait_for()
    assert line.first.locator("span").last.text_content() == "λ = 5e−4"
    turn = int(line.first.get_attribute("data-iteration"))
    tab.wait_until(lambda: tab.iteration("prox-qn") >= turn + 4, "iterates after the change")
    tab.wait_until(lambda: tab.query().get("dial") == "live", "the dial in the address")
    tab.button("Pause").click()
    tab.wait_until(lambda: tab.states() == ["paused"] * 2, "the pause, of the two runs that there were")
    sizes = dict(tab.table("sparsity", "x", "working_set")["prox-qn"])
    assert sizes[turn - 1] < sizes[turn] == max(sizes.values())
    for figure in ("convergence", "sparsity"):
        marks = tab.page.evaluate(MARKS, figure)
        assert turn in marks["x"]
        assert "λ = 5e−4" in marks["said"]
    line.first.click()
    slider = tab.page.get_by_label("Iteration under the cursor")
    tab.wait_until(lambda: slider.input_value() == str(turn), "a click on the event to move the cursor")
    tab.open_tab("Shrinking")
    tab.wait_until(lambda: len(tab.page.evaluate(MARKS, "working-set")["x"]) == 1, "the mark on the map")
