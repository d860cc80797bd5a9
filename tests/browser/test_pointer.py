"""What is said of the runs below the pointer, in a real browser."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import LONG
from tests.browser.test_page import SMALL, finished

pytestmark = pytest.mark.slow

SPOT = """([name, run, share]) => {
  const figure = figureOf(name)
  const view = Bokeh.index.find_one(figure), {x, y} = view.el.getBoundingClientRect()
  const line = figure.renderers.find((r) => r.name === run && r.glyph.type === "Line")
  const {data} = line.data_source, k = Math.floor(share * data.x.length)
  return {x: x + view.frame.x_scale.compute(data.x[k]), y: y + view.frame.y_scale.compute(data.y[k])}
}"""


def test_the_pointer_on_a_curve_gets_one_line_a_run_with_the_iteration_and_exponents(visit):
    tab = visit(**SMALL | {"solvers": "prox-qn;owl-qn;prox-gd"})
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and len(tab.curves("convergence")) == 3, "the end")
    box, lines = tab.page.locator(".pointed.box"), tab.page.locator(".pointed.box .line")
    for figure in ("convergence", "sparsity"):
        said: list[str] = []

        def pointed(figure: str = figure, said: list[str] = said) -> bool:
            # the curve moves once f* is known
            place = tab.page.evaluate(SPOT, [figure, "prox-gd", 0.5])
            tab.page.mouse.move(place["x"] - 3, place["y"])
            tab.page.mouse.move(place["x"], place["y"])
            tab.frames()
            said[:] = lines.all_inner_texts()
            return any(text.startswith("prox-gd") for text in said)

        tab.wait_until(pointed, f"a box with prox-gd in {figure}")
        runs = [name for text in said for name in ("prox-qn", "owl-qn", "prox-gd") if text.startswith(name)]
        assert len(runs) == len(said) == len(set(runs)), "one line a run"
        assert all(re.search(r"iteration \d+ · CPU seconds \d", text) for text in said)
        if figure == "convergence":
            assert re.search(r"e−\d", said[runs.index("prox-gd")]), "small numbers have exponents"
    tab.page.mouse.move(10, 10)
    tab.wait_until(lambda: box.count() == 0, "nothing said once the pointer is elsewhere")


MAP = """() => {
  const view = Bokeh.index.find_one(figureOf("working-set")), {x, y} = view.el.getBoundingClientRect()
  const {left, right, top, bottom} = view.frame.bbox
  return {left: x + left, right: x + right, top: y + top, bottom: y + bottom}
}"""


def test_the_tooltip_of_the_shrinking_map_leaves_its_legend_and_most_of_it_to_be_seen(visit):
    tab = visit(solvers="prox-qn", tab="shrinking")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end", LONG)
    tab.wait_until(lambda: tab.page.evaluate(f"({MAP})().bottom") > 0, "the map")
    tip = tab.page.locator(".bk-Tooltip")
    place = tab.settled(lambda: tab.page.evaluate(MAP), "the map")
    height = place["bottom"] - place["top"]
    for share in (0.1, 0.4, 0.7):

        def pointed(share: float = share) -> bool:
            for across in (99, 100):
                tab.page.mouse.move(place["left"] + across, place["top"] + share * height)
            tab.frames()
            return tip.count() == 1 and tip.is_visible()

        tab.wait_until(pointed, f"the tooltip at {share}")
        box = tab.settled(tip.bounding_box, "the tooltip")
        assert box["y"] >= place["top"], share
        assert box["height"] < height / 2, share
