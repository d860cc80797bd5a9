"""A bundle run in a real browser: its model grows with the cursor, and a click on the weights moves it."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow

COLUMNS = """([name, glyph]) => {
  const figures = [...Bokeh.documents[0].all_models].filter((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name) && Bokeh.index.find_one(m))
  return figures.flatMap((figure) => figure.renderers)
    .filter((r) => r.glyph?.type === glyph && r.data_source.data.f?.length)
    .map((r) => [r.glyph.line_color.value, r.data_source.data.f])
    .map(([color, f]) => [color, Array.from(f, (value) => Number.isFinite(value) ? value : null)])
}"""
PLACE = """(name) => {
  const figure = figureOf(name)
  const view = figure && Bokeh.index.find_one(figure)
  view.el.scrollIntoView({block: "center"})
  const {x, y} = view.el.getBoundingClientRect(), {left, top, width, height} = view.frame.bbox
  const {start, end} = figure.x_range
  return {x: x + left, y: y + top, width, height, start, end}
}"""
#: Colours of the function and of its model.
FUNCTION, MODEL = "#0072B2", "#D55E00"


def test_the_model_grows_below_the_function_with_the_cursor(visit):
    tab = visit(story="bundle", speed="full")
    tab.button("Run").click()
    tab.wait_until(lambda: set(tab.states()) == {"finished"}, "both runs")

    def models() -> list[np.ndarray]:
        """The model of each section in sight: that of the tab alone."""
        lines = tab.page.evaluate(COLUMNS, ["cut-section", "Line"])
        return [np.array(f, dtype=float) for color, f in lines if color == MODEL]

    def one() -> bool:
        final[:] = models()
        return len(final) == 1

    final: list[np.ndarray] = []
    tab.wait_until(one, "a section with its model")
    lines = tab.page.evaluate(COLUMNS, ["cut-section", "Line"])
    function = next(np.array(f, dtype=float) for color, f in lines if color == FUNCTION)
    assert (final[0] <= function + 1e-6).all()
    tab.page.keyboard.press("Home")
    one_cut: list[np.ndarray] = []

    def low() -> bool:
        one_cut[:] = models()
        return bool(one_cut) and one_cut[0].min() < final[0].min() - 1.0

    tab.wait_until(low, "the model of one cut")
    assert (one_cut[0] <= final[0] + 1e-9).all()

    place = tab.page.evaluate(PLACE, "cut-weights")
    share = (4 - place["start"]) / (place["end"] - place["start"])
    tab.page.mouse.click(place["x"] + share * place["width"], place["y"] + 0.5 * place["height"])
    tab.page.get_by_text("at iteration 4: 5 cuts").wait_for()
    tab.wait_until(lambda: bool(found := models()) and found[0].min() > -2.0, "the model of five cuts")
