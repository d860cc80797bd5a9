"""The views of the l1 family draw in a real browser what a run has left."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import LONG
from tests.browser.test_rows import tooltip

pytestmark = pytest.mark.slow

COLUMN = """([name, glyph, column]) => {
  const drawn = figureOf(name)?.renderers.find((r) => r.glyph?.type === glyph)
  return drawn ? [...drawn.data_source.data[column]].length : 0
}"""
MAP = """() => {
  const figure = figureOf("working-set")
  const view = Bokeh.index.find_one(figure)
  const {x, y} = view.el.getBoundingClientRect(), {left, top, width, height} = view.frame.bbox
  return {x: x + left, y: y + top, width, height}
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
    page.open_tab(tab)
    page.button("Run").click()
    page.wait_until(
        lambda: page.page.evaluate(COLUMN, [figure, glyph, column]) > 0, f"something in {figure}", 60
    )


def test_the_map_says_which_weight_is_below_the_pointer_and_when_it_moved(visit):
    tab = visit(height=1600, story="shrinking", solvers="prox-qn")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the end of the run", LONG)
    tab.wait_until(lambda: tab.page.evaluate(COLUMN, ["working-set", "Image", "names"]) == 1, "a map")
    said = re.compile(
        r"iteration:\s*\d+\s*weight:\s*pixel \(\d, \d\).* for \d and \d+ more\s*"
        r"state:\s*shrunk\s*moved:\s*left at \d"
    )
    tab.wait_until(lambda: said.search(tooltip(tab, MAP, 0.2, 0.12)) is not None, "its story")
