"""What is said of the runs below the pointer, in a real browser."""

from __future__ import annotations

import re

from tests.browser.test_page import SMALL, finished

SPOT = """([name, run, share]) => {
  const figure = [...Bokeh.documents[0]._all_models.values()].find((m) =>
    m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name))
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
            tab.page.wait_for_timeout(200)
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
