"""The views of the l1 family draw in a real browser what a run has left."""

from __future__ import annotations

import pytest

COLUMN = """([name, glyph, column]) => {
  const figures = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name))
  const drawn = figures.at(-1)?.renderers.find((r) => r.glyph?.type === glyph)
  return drawn ? [...drawn.data_source.data[column]].length : 0
}"""


@pytest.mark.parametrize(
    ("story", "tab", "figure", "glyph", "column"),
    [
        ("superlinear", "Rate", "rate", "Line", "y"),
        ("superlinear", "Memory", "memory-cosines", "Scatter", "cosine"),
        ("shrinking", "Shrinking", "working-set", "Image", "image"),
    ],
)
def test_a_view_draws_a_run(visit, story, tab, figure, glyph, column):
    page = visit(story=story)
    page.page.get_by_role("tab", name=tab, exact=True).click()
    page.button("Run").click()
    page.wait_until(
        lambda: page.page.evaluate(COLUMN, [figure, glyph, column]) > 0, f"something in {figure}", 60
    )
    page.button("Stop").click()
