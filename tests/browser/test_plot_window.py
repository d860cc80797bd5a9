"""A plot in a window of its own follows the page that it was opened from."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

POINTS = """() => {
  const figures = [...Bokeh.documents[0].all_models].filter((m) => m.type === "Figure")
  return figures.map((f) => Math.max(...f.renderers.map((r) => r.data_source?.length ?? 0)))
}"""


def test_a_plot_is_live_in_a_second_window_whose_end_harms_nothing(visit):
    first = visit(data="digit-strings", solvers="prox-gd", tol="1e-300", speed="10 a second")
    first.button("Run").click()
    first.wait_until(lambda: first.points("convergence") > 2, "first points")
    with first.page.expect_popup() as found:
        first.button("Open this plot in a window of its own (convergence)").click()
    second, wrong = found.value, []
    second.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    second.on("pageerror", lambda error: wrong.append(str(error)))
    second.get_by_text("Distance to f*").first.wait_for()
    second.wait_for_function(f"() => Math.max(...({POINTS})()) > 3")
    assert len(second.evaluate(POINTS)) == 1
    before = max(second.evaluate(POINTS))
    second.wait_for_function(f"() => Math.max(...({POINTS})()) > {before}")
    second.locator('.row.run[data-label="prox-gd"]').wait_for()
    third = visit(data="digit-strings", solvers="prox-gd").page
    kind = "performance.getEntriesByType('navigation')[0].type"
    assert third.evaluate(kind) == "navigate", "the window's head is not taken for that of a page"
    third.close()
    second.close()
    at = first.iteration("prox-gd")
    first.wait_until(lambda: first.iteration("prox-gd") > at, "the run to go on")
    first.wait_until(first.button("Stop").is_enabled, "a run that can be stopped")
    first.button("Stop").click()
    first.wait_until(lambda: first.states() == ["stopped"], "the run to be stopped")
    assert wrong == []


def test_a_window_that_follows_nothing_says_so(visit, server):
    page = visit(data="breast-cancer", solvers="prox-gd").page
    page.goto(server.address(view="convergence", follow="guessed"))
    page.get_by_text("The page of this window is closed").wait_for()
