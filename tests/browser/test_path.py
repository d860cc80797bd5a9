"""The λ path in a real browser: traced, drawn, stopped, and gone with its tab."""

from __future__ import annotations

import pytest

from tests.browser.conftest import LONG

pytestmark = pytest.mark.slow

QUERY = {
    "data": "digits",
    "loss": "multiclass-squared-hinge",
    "penalty": "l1-l2",
    "solvers": "bcd-ls;fista-ls",
    "tol": "1e-3",
    "tab": "path",
}
POINTS = """(name) => {
  const renderers = figureOf(name)?.renderers ?? []
  const drawn = renderers.filter((r) => ["Scatter", "MultiLine"].includes(r.glyph?.type))
  return drawn.map(({data_source: {data}}) => [...(data.xs ?? data.x)].length)
}"""


def points(tab, figure):
    """Points, or lines, of each path in a figure."""
    return tab.page.evaluate(POINTS, figure)


def traced(tab):
    """Wait until both paths are there, and drawn."""
    tab.wait_until(lambda: tab.page.get_by_text("20 solutions in").count() == 1, "both paths", LONG)
    for figure in ("path-accuracy", "path-nnz", "path-seconds"):
        tab.wait_until(lambda figure=figure: points(tab, figure) == [10, 10], f"two paths in {figure}")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1180)])
def test_a_path_is_traced_and_drawn(visit, width, height):
    tab = visit(width=width, height=height, **QUERY)
    tab.wait_until(lambda: tab.button("Trace the path").is_enabled(), "the data")
    tab.button("Trace the path").click()
    traced(tab)
    tab.wait_until(lambda: [n > 10 for n in points(tab, "path-weights")] == [True], "the weights")
    cells = tab.page.get_by_role("cell", name="fista-ls")
    tab.wait_until(lambda: cells.count() == 10, "the table")
    assert tab.states() == [], "a path is no run"
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_long_path_can_be_stopped_and_ends_when_its_tab_is_closed(visit):
    long = QUERY | {"solvers": "fista-cst", "tol": "1e-12", "max_seconds": "1000"}
    busy, idle = visit(**long), visit(**QUERY)
    for _ in range(2):
        busy.wait_until(lambda: busy.button("Trace the path").is_enabled(), "the data")
        busy.button("Trace the path").click()
        busy.page.get_by_text("fista-cst: λ 2 of 10").wait_for()
        busy.button("Stop tracing").click()
        busy.button("Trace the path").wait_for()
    busy.button("Trace the path").click()
    busy.page.get_by_text("fista-cst: λ 2 of 10").wait_for()
    before = idle.server.threads()
    busy.frames(60)
    gains = {name: spent - before.get(name, 0.0) for name, spent in idle.server.threads().items()}
    del gains[idle.server.page_thread]
    path = max(gains, key=gains.get)
    assert gains[path] > 0
    busy.page.close()
    idle.wait_until(lambda: path not in idle.server.threads(), "the thread that computes the path to end")
