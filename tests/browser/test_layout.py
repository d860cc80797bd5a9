"""The page is laid out once a frame: Bokeh's way to do so is the one that is changed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from solverscope.app.views import TABS
from tests.browser.conftest import LONG, Visit
from tests.browser.test_page_sizes import boxes

COUNT = """() => {
  const root = Bokeh.index.roots[0], plots = []
  const visit = (view) => { if (view.canvas_view) { plots.push(view) } view.child_views?.forEach(visit) }
  visit(root)
  const count = (object, name, key) => {
    const own = object[name]
    object[name] = function (...args) { counts[key] += 1; return own.apply(this, args) }
  }
  window.counts = {layouts: 0, plots: plots.length, written: 0}
  count(root, "after_layout", "layouts")
  new MutationObserver((changes) => { counts.written += changes.length }).observe(
    plots.find((plot) => plot.is_displayed).shadow_el, {childList: true, characterData: true, subtree: true})
}"""
CHANGE = """(times) => new Promise((done) => {
  for (let k = 0; k < times; k++) { Bokeh.index.roots[0].invalidate_layout() }
  const told = {...counts}
  requestAnimationFrame(() => requestAnimationFrame(() => done([told, {...counts}])))
})"""
WIDTHS = """() => {
  const plots = []
  const visit = (view) => {
    if (view.canvas_view && view.el.offsetParent !== null) { plots.push(view) }
    view.child_views?.forEach(visit)
  }
  visit(Bokeh.index.roots[0])
  return plots.map((plot) =>
    [plot.bbox.width, plot.el.getBoundingClientRect().width, plot.canvas_view.bbox.width])
}"""

#: Paints all plots that are seen; the sizes of type in them, as they are painted and as they should be.
PAINT = """() => {
  const plots = []
  const visit = (view) => {
    if (view.canvas_view && view.is_displayed) { plots.push(view) }
    view.child_views?.forEach(visit)
  }
  visit(Bokeh.index.roots[0])
  for (const plot of plots) { plot.paint() }
  return {
    plots: plots.length,
    sizes: plots.map((plot) => plot.base_font_size),
    titles: plots.map((plot) => {
      const {font_size} = plot.axis_views[0].visuals.axis_label_text.values()
      const [, size, unit] = /([\\d.]+)(em|px)/.exec(font_size)
      return Number(size) * (unit === "em" ? 13 : 1)
    }),
    seen: plots.map((plot) => parseFloat(getComputedStyle(plot.el).fontSize)),
  }
}"""


def at_rest_with_two_tabs_opened(visit: Callable[..., Visit]) -> Visit:
    tab = visit()
    tab.button("Run").click()
    for id in ("memory", "rate"):
        tab.open_tab(TABS[id].title)
    tab.wait_until(lambda: tab.points("convergence") > 3, "points")
    tab.button("Stop").click()
    tab.wait_until(lambda: not {"running", "compiling", "queued"} & set(tab.states()), "rest")
    boxes(tab)
    return tab


@pytest.mark.slow
def test_many_changes_in_a_frame_are_one_layout(visit):
    tab = at_rest_with_two_tabs_opened(visit)
    tab.page.evaluate(COUNT)
    before, after = tab.page.evaluate(CHANGE, 20)
    assert before["layouts"] == 0, "not at once"
    assert 1 <= after["layouts"] <= 2
    assert after["plots"] > 2
    assert after["written"] == 0, "a style sheet that stays the same is not written"


@pytest.mark.slow
def test_what_was_hidden_while_the_page_changed_its_width_fits_when_it_is_shown(visit):
    tab = at_rest_with_two_tabs_opened(visit)
    tab.page.set_viewport_size({"width": 1000, "height": 900})
    tab.open_tab(TABS["memory"].title)

    def fit() -> bool:
        widths = tab.page.evaluate(WIDTHS)
        return len(widths) > 2 and all(
            abs(laid_out - seen) <= 1 and abs(drawn - seen) <= 1 for laid_out, seen, drawn in widths
        )

    tab.wait_until(fit, "the figures of the tab to fit")


#: How far the last button of a row reaches beyond it, of every run.
BEYOND = """() => [...document.querySelectorAll("*")].flatMap(function find({shadowRoot}) {
  const right = (el) => el.getBoundingClientRect().right
  const rows = [...shadowRoot?.querySelectorAll(".row.run") ?? []]
  const beyond = rows.map((row) => right(row.querySelector(".acts").lastElementChild) - right(row))
  return [...beyond, ...[...shadowRoot?.querySelectorAll("*") ?? []].flatMap(find)]
})"""


@pytest.mark.slow
def test_the_buttons_of_a_row_lie_inside_it_however_wide_the_window_and_large_the_type(visit):
    tab = at_rest_with_two_tabs_opened(visit)
    for larger in (False, True):
        tab.page.set_viewport_size({"width": 1440, "height": 900})
        if larger:
            tab.button("Larger type, for a projector").click()
        for width in (1440, 1280, 1100, 960, 820, 700, 600, 480, 390, 360):
            tab.page.set_viewport_size({"width": width, "height": 800})
            beyond = tab.settled(lambda: tab.page.evaluate(BEYOND), "the rows", frames=3)
            assert beyond, width
            assert max(beyond) <= 0, (larger, width)


def test_a_screen_reader_is_told_the_numbers_of_a_run_and_what_a_plot_draws(visit):
    tab = visit(data="breast-cancer", solvers="prox-qn;owl-qn", lam="0.005")
    tab.button("Run").click()
    tab.wait_until(lambda: set(tab.states()) == {"finished"}, "both runs")
    row = tab.page.get_by_role("group", name="prox-qn, ")
    told = row.get_attribute("aria-label")
    for field, heading in {"iteration": "iterations", "nnz": "non-zeros", "objective": "objective"}.items():
        assert f"{heading} {tab.row('prox-qn')[field]}" in told
    plot = tab.page.get_by_role("figure", name="Plot convergence")
    assert plot.get_attribute("aria-label").endswith("against CPU time of the run (s): owl-qn, prox-qn")


@pytest.mark.slow
def test_plots_are_painted_in_the_size_of_type_that_the_page_has(visit):
    tab = at_rest_with_two_tabs_opened(visit)
    asked = tab.page.evaluate(PAINT)
    assert asked["plots"] >= 2
    assert asked["titles"] == asked["sizes"] == asked["seen"]
    tab.button("Larger type, for a projector").click()

    def larger() -> bool:
        painted = tab.page.evaluate(PAINT)
        larger = painted["seen"][0] > asked["seen"][0]
        return larger and painted["titles"] == painted["sizes"] == painted["seen"]

    tab.wait_until(larger, "larger type, also in plots")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768)])
def test_plots_that_stand_alone_have_the_room_between_rows_and_cursor(visit, width, height):
    tab = visit(data="breast-cancer", solvers="prox-qn;owl-qn", lam="0.005", view="plots", max_seconds="2")
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end")
    assert tab.page.get_by_role("tablist").count() == 0
    plots = tab.page.locator(".bk-Figure").filter(visible=True)
    tab.wait_until(lambda: plots.count() == 2, "two plots")
    foot = tab.page.get_by_role("group", name="Cursor")

    def filled() -> bool:
        boxes, end = [plots.nth(k).bounding_box() for k in range(2)], foot.bounding_box()["y"]
        large = all(box["height"] > 0.45 * height and box["width"] > 0.4 * width for box in boxes)
        return large and all(box["y"] + box["height"] <= end + 1 for box in boxes)

    tab.wait_until(filled, "plots that take the room")
    tab.button("The plots and the cursor alone, for a projector").click()
    tab.page.get_by_role("tablist").first.wait_for()
    tab.wait_until(lambda: tab.query().get("view", "normal") == "normal", "the address of the whole page")


@pytest.mark.slow
def test_a_click_on_a_run_is_answered_by_its_row_and_then_by_all_views_in_one_message(visit):
    tab = visit(data="breast-cancer", loss="logistic", solvers="prox-qn;owl-qn", tab="memory")
    received = []
    tab.page.on(
        "websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(str(frame)))
    )

    def changes(frames: list[str]) -> list[str]:
        return [frame for frame in frames if '"events"' in frame]

    def quiet() -> None:
        tab.settled(lambda: len(changes(received)), "the count of messages")

    tab.page.reload()
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "Run to be possible")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end of both runs", LONG)
    tab.page.get_by_text(re.compile("^f\\* = ")).wait_for()  # it is solved for, and changes the plots
    quiet()
    received.clear()
    tab.page.locator('.row.run[data-label="owl-qn"] .label').click()
    tab.wait_until(lambda: tab.page.locator('.row.run.chosen[data-label="owl-qn"]').count() == 1, "its row")
    tab.wait_until(lambda: len(changes(received)) > 1, "all views")
    quiet()
    assert len(changes(received)) == 2, f"{len(changes(received))} messages"
    assert '"attr":"rows"' in changes(received)[0]
    assert "ColumnDataChanged" not in changes(received)[0]
