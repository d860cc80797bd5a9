"""The trajectories in a real browser: names below the pointer, clusters by a click, pieces that join."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

QUERY = {
    "data": "synthetic-text",
    "options": "n_classes=2,n_features=300,n_samples=400",
    "loss": "logistic",
    "penalty": "l2",
    "tab": "trajectories",
}
#: What is drawn: of each colour its alpha, its points, and how many weights they belong to.
LINES = """() => {
  const figure = figureOf("trajectories")
  const lines = (figure?.renderers ?? []).filter((r) => r.glyph.type === "Line" && r.glyph.y.field === "y")
  const colours = Map.groupBy(lines, ({glyph}) => glyph.line_color.value ?? glyph.line_color)
  return [...colours.values()].map((pair) => {
    const all = (name) => pair.flatMap((line) => [...line.data_source.data[name]])
    return {
      alpha: pair[0].glyph.line_alpha.value ?? pair[0].glyph.line_alpha,
      weights: new Set(all("of")).size,
      points: all("y").filter(Number.isFinite).length,
      last: all("x").filter(Number.isFinite).reduce((a, b) => Math.max(a, b), -1),
    }
  }).filter((line) => line.points > 0)
}"""
#: Where the end of the highest line of a figure is on the screen.
END = """() => {
  const figure = figureOf("trajectories")
  const view = Bokeh.index.find_one(figure), box = view.el.getBoundingClientRect()
  let best = {y: -Infinity}
  for (const {glyph, data_source: {data}} of figure.renderers) {
    if (glyph.type !== "Line" || glyph.y.field !== "y") { continue }
    data.y.forEach((y, k) => { if (y > best.y) { best = {x: data.x[k], y, of: data.of[k]} } })
  }
  return {x: box.x + view.frame.x_scale.compute(best.x), y: box.y + view.frame.y_scale.compute(best.y)}
}"""


def lines(tab) -> list[dict]:
    return tab.page.evaluate(LINES)


def one_stands_out(alphas: list[float]) -> bool:
    *others, most = sorted(alphas)
    return most == 1.0 and max(others) < 0.2


def finished(tab) -> bool:
    states = tab.states()
    return bool(states) and set(states) == {"finished"}


def test_trajectories_stream_in_pieces_and_end_with_the_run(visit):
    tab = visit(height=1400, solvers="gd", speed="30 a second", tol="1e-15", **QUERY)
    tab.button("Run").click()
    tab.wait_until(lambda: sum(line["weights"] for line in lines(tab)) == 100, "a hundred weights")
    before = max(line["last"] for line in lines(tab))
    tab.wait_until(lambda: max(line["last"] for line in lines(tab)) > before + 40, "new pieces")
    tab.button("Pause").click()
    tab.wait_until(lambda: set(tab.states()) == {"paused"}, "a pause")
    at = tab.iteration("gd")
    tab.wait_until(lambda: max(line["last"] for line in lines(tab)) == at, "the newest iterate")
    assert len(lines(tab)) > 3, "in several colours"
    assert all(line["points"] >= line["weights"] * (at + 1) for line in lines(tab))


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1180)])
def test_a_weight_says_its_name_and_a_click_isolates_its_cluster(visit, width, height):
    tab = visit(width=width, height=height, solvers="lbfgs", **QUERY)
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and len(lines(tab)) > 3, "the end of the run")
    tab.page.get_by_role("tab", name="Trajectories").evaluate("el => el.scrollIntoView({block: 'start'})")
    tab.settled(lambda: lines(tab), "clusters at the end", 90)  # which follow the cursor once a second
    box = tab.page.locator(".pointed.box .line")

    def said() -> list[str]:
        place = tab.page.evaluate(END)
        tab.page.mouse.move(place["x"] - 3, place["y"] + 1)
        tab.page.mouse.move(place["x"], place["y"])
        told.append(box.all_inner_texts())
        return told[-1]

    told: list[list[str]] = []
    tab.wait_until(lambda: len(said()) == 1, "one line of one weight")
    (text,) = told[-1]
    assert text.startswith("word ")
    assert "· β " in text
    assert "iteration" in text
    place = tab.page.evaluate(END)
    tab.page.mouse.click(place["x"], place["y"])
    tab.wait_until(lambda: one_stands_out([line["alpha"] for line in lines(tab)]), "one cluster alone")
    tab.page.mouse.click(place["x"], place["y"])
    tab.wait_until(lambda: max(line["alpha"] for line in lines(tab)) < 1.0, "all clusters again")
    assert tab.page.evaluate("document.scrollingElement.scrollWidth") <= width
