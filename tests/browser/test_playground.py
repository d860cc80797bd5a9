"""The playground in a real browser: a start is clicked, runs go from there, and all fits the screen."""

from __future__ import annotations

import pytest

PLACE = """(name) => {
  const figure = figureOf(name)
  const view = figure && Bokeh.index.find_one(figure)
  if (!view) { return null }
  const {x, y} = view.el.getBoundingClientRect(), {left, top, width, height} = view.frame.bbox
  const {x_range, y_range} = figure
  return {x: x + left, y: y + top, width, height,
          start: [x_range.start, y_range.start], end: [x_range.end, y_range.end]}
}"""
PATHS = """(name) => {
  const figure = figureOf(name)
  const lines = (figure?.renderers ?? []).filter((r) => r.glyph?.type === "Line" && r.glyph.y.field === "y")
  const paths = lines.map((r) => [r.name, Array.from(r.data_source.data.x, (x, k) =>
    [x, r.data_source.data.y[k]])])
  return Object.fromEntries(paths.filter(([, path]) => path.length > 0))
}"""
POINTED = """() => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((el) =>
    [el, ...(el.shadowRoot ? inside(el.shadowRoot) : [])])
  return inside(document).filter((el) => el.matches(".pointed.box")).map((el) => el.textContent).join()
}"""


def frame(tab) -> dict:
    """Where the plane is and what it shows, once both stay so."""
    tab.wait_until(lambda: tab.page.evaluate(PLACE, "playground") is not None, "the playground")
    return tab.settled(lambda: tab.page.evaluate(PLACE, "playground"), "the playground")


def pixel(tab, x: float, y: float) -> tuple[float, float]:
    """Where a place of the plane is on the screen."""
    found = frame(tab)
    across, up = ((v - a) / (b - a) for v, a, b in zip((x, y), found["start"], found["end"], strict=True))
    return found["x"] + across * found["width"], found["y"] + (1.0 - up) * found["height"]


def paths(tab) -> dict[str, list[tuple[float, float]]]:
    """Where each run went, both coordinates read at one moment."""
    found = tab.page.evaluate(PATHS, "playground")
    return {label: [tuple(place) for place in path] for label, path in found.items()}


def ends(tab, label: str, place: tuple[float, float]) -> bool:
    """Tell whether the drawn way of a run ends at a place; the plots follow the rows by a tick."""
    return paths(tab)[label][-1] == pytest.approx(place, abs=1e-9)


def finished(tab) -> bool:
    states = tab.states()
    return bool(states) and set(states) == {"finished"}


@pytest.mark.slow
def test_a_start_is_clicked_and_the_runs_go_from_there(visit):
    tab = visit(story="kink", speed="full")
    tab.page.get_by_text("Click to choose the start").wait_for()
    found = frame(tab)
    spans = (b - a for a, b in zip(found["start"], found["end"], strict=True))
    scale = [span / found[size] for span, size in zip(spans, ("width", "height"), strict=True)]
    assert scale[0] == pytest.approx(scale[1], rel=0.02), "both axes have the same scale"
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and len(paths(tab)) == 3, "three trajectories")
    assert {path[0] for path in paths(tab).values()} == {(1.0, 1.0)}
    tab.wait_until(lambda: ends(tab, "exact", (0.0, 0.9)), "where the exact search gets stuck")

    tab.page.mouse.click(*pixel(tab, -0.6, 0.5))
    tab.wait_until(lambda: tab.query().get("options", "").startswith("start="), "the option in the address")
    x, y = map(float, tab.query()["options"].removeprefix("start=").split(","))
    assert (x, y) == pytest.approx((-0.6, 0.5), abs=0.02)
    tab.wait_until(lambda: paths(tab) == {} and tab.button("Run").is_enabled(), "an empty plane")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and len(paths(tab)) == 3, "three trajectories")
    assert {path[0] for path in paths(tab).values()} == {(x, y)}
    tab.wait_until(lambda: ends(tab, "subbfgs", (0.0, 0.0)), "the minimum")

    said = [""]

    def pointed() -> str:
        tab.page.mouse.move(*pixel(tab, x, y))
        tab.page.mouse.move(*pixel(tab, x + 0.005, y))
        tab.frames()
        said.append(tab.page.evaluate(POINTED))
        return said[-1]

    tab.wait_until(lambda: "iteration 0" in pointed(), "what is below the pointer")
    assert f"x {x:g}".replace("-", "−") in said[-1]
    assert said[-1].count("iteration") == 3, "one line a run"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "least"), [(1440, 900, 200), (820, 1180, 300)])
def test_the_plane_the_buttons_and_the_cursor_bar_are_in_sight_together(visit, width, height, least):
    tab = visit(width=width, height=height, story="kink", speed="full")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and len(paths(tab)) == 3, "three trajectories")
    found = frame(tab)
    assert found["width"] > 300
    assert found["height"] > least
    foot = tab.page.get_by_text("follow", exact=True).bounding_box()
    assert found["y"] + found["height"] + 40 < foot["y"]
    if width > 1200:  # the tab below is in sight too, and its figures can be read
        search = tab.page.evaluate(PLACE, "line-search")
        assert search["height"] > 100
        assert search["y"] + search["height"] + 40 < foot["y"]
    assert tab.button("Run").bounding_box()["y"] > 0
    assert tab.page.evaluate("document.scrollingElement.scrollTop") == 0
    assert tab.page.evaluate("document.scrollingElement.scrollWidth") <= width


@pytest.mark.slow
def test_steps_are_single_iterates(visit):
    tab = visit(story="kink")
    frame(tab)  # a click before the function is there would be lost
    tab.wait_until(lambda: tab.button("Step").is_enabled(), "a first step to be possible")
    for k in (1, 2):
        tab.button("Step").click()
        tab.wait_until(
            lambda k=k: [len(path) for path in paths(tab).values()] == [k] * 3, f"{k} iterates", 60
        )


@pytest.mark.slow
def test_how_a_run_ended_is_said_in_a_whole_word_on_a_narrow_page(visit):
    tab = visit(width=820, height=1180, story="steepest", speed="full")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end")
    words = tab.page.locator(".row.run .state")
    assert set(words.all_text_contents()) == {"stalled", "unbounded"}
    assert words.evaluate_all("all => all.every((el) => el.scrollWidth <= el.clientWidth)")
