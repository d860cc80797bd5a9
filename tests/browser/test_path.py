"""The λ path in a real browser: traced, drawn, stopped, and gone with its tab."""

from __future__ import annotations

import pytest

QUERY = {
    "data": "digits",
    "loss": "multiclass-squared-hinge",
    "penalty": "l1-l2",
    "solvers": "bcd-ls;fista-ls",
    "tol": "1e-3",
    "tab": "path",
}
POINTS = """(name) => {
  const figures = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name))
  const renderers = figures.at(-1)?.renderers ?? []
  const drawn = renderers.filter((r) => ["Scatter", "MultiLine"].includes(r.glyph?.type))
  return drawn.map(({data_source: {data}}) => [...(data.xs ?? data.x)].length)
}"""


def points(tab, figure):
    """Points, or lines, of each path in a figure."""
    return tab.page.evaluate(POINTS, figure)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1180)])
def test_a_path_is_traced_and_drawn(visit, width, height):
    tab = visit(width=width, height=height, **QUERY)
    tab.wait_until(lambda: tab.button("Trace the path").is_enabled(), "the data")
    tab.button("Trace the path").click()
    tab.page.get_by_text("20 solutions in").wait_for(timeout=120_000)
    for figure in ("path-accuracy", "path-nnz", "path-seconds"):
        tab.wait_until(lambda figure=figure: points(tab, figure) == [10, 10], f"two paths in {figure}")
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
        busy.page.get_by_text("fista-cst: λ 2 of 10").wait_for(timeout=60_000)
        busy.button("Stop tracing").click()
        busy.button("Trace the path").wait_for(timeout=2000)
    busy.button("Trace the path").click()
    busy.page.get_by_text("fista-cst: λ 2 of 10").wait_for(timeout=60_000)
    assert idle.server.computing(1.0) > 0.1
    busy.page.close()
    idle.page.wait_for_timeout(2000)
    assert idle.server.computing(1.0) < 0.05, "nobody computes any more"
