"""The tab Sweep in a real browser: cells run, are drawn, opened by pointer and keys, paused and stopped."""

from __future__ import annotations

import os
import signal

import pytest

from tests.browser.conftest import Server, Visit, complaints
from tests.browser.test_axe import wrong

pytest.importorskip("distributed", reason="Dask is not installed")

pytestmark = pytest.mark.slow

SHORT = """
data = "breast-cancer"
lam_ratio = [0.3, 0.03]
solvers = ["prox-qn", "owl-qn"]
[limits]
tol = 1e-4
"""
LONG = """
data = "digits"
lam_ratio = [1e-2, 1e-3]
solvers = ["prox-gd"]
[limits]
tol = 0
max_seconds = 500
"""
#: Of a figure that is shown: points or fields in each source that is drawn; null where there is none.
DRAWN = """(name) => {
  const figure = [...Bokeh.documents[0].all_models].find((m) => m.name === name)
  if (!figure || !Bokeh.index.find_one(figure)) { return null }
  return figure.renderers.map(({data_source: {data}}) =>
    data.xs ? [...data.xs].reduce((n, x) => n + x.length, 0) : [...data.x].length)
}"""
CURVES = ("sweep-profile", "sweep-times", "sweep-accuracy")
#: Where the middle of a field of the heat map is on the screen.
MIDDLE = """([column, row]) => {
  const figure = [...Bokeh.documents[0].all_models].find((m) => m.name === "sweep-heat-map")
  const view = Bokeh.index.find_one(figure), {left, top} = view.el.getBoundingClientRect()
  return [left + view.frame.x_scale.compute(column + 0.5), top + view.frame.y_scale.compute(row + 0.5)]
}"""


#: Bokeh's warnings from here on; those of the page's empty main plots come before.
LISTEN = """() => {
  const {warn} = console
  window.warnings = []
  console.warn = (...said) => { window.warnings.push(said.join(" ")); warn(...said) }
}"""


class SweepTab:
    """The tab, and what it says and draws."""

    def __init__(self, tab: Visit) -> None:
        self.tab = tab

    def run(self, text: str) -> None:
        self.tab.page.get_by_role("textbox", name="What to run").fill(text)
        self.tab.page.evaluate(LISTEN)
        self.tab.button("Run the sweep").click()

    def warnings(self) -> list[str]:
        """What Bokeh has complained of since the sweep began."""
        return [text for text in self.tab.page.evaluate("() => window.warnings") if "[bokeh" in text]

    def said(self, text: str) -> None:
        """Wait until it says this."""
        self.tab.page.get_by_text(text).first.wait_for()

    def drawn(self, name: str) -> list[int] | None:
        return self.tab.page.evaluate(DRAWN, name)

    def cell(self, solver: str, problem: str):
        """The cell of a run in the grid."""
        return self.tab.page.get_by_role("gridcell", name=f"{solver} on {problem}")


@pytest.fixture
def sweep(visit):
    """``sweep()`` opens the page with the tab Sweep in front."""

    def begin() -> SweepTab:
        tab = visit(data="breast-cancer", tab="sweep")
        tab.button("Run the sweep").wait_for()
        return SweepTab(tab)

    return begin


def test_a_sweep_is_run_drawn_and_opened_by_pointer_and_keys(sweep, axe):
    one = sweep()
    tab, page = one.tab, one.tab.page
    one.run(SHORT)
    one.said("4 runs on this machine")
    tab.wait_until(lambda: one.drawn("sweep-heat-map") == [4, 4], "the heat map")
    one.said("4 finished")
    for name in ("sweep-times", "sweep-accuracy"):
        tab.wait_until(lambda name=name: one.drawn(name) == [4, 4], f"all runs in {name}")
    tab.wait_until(lambda: (one.drawn("sweep-profile") or [0])[0] >= 6, "two profiles, each with a step")

    page.mouse.click(*page.evaluate(MIDDLE, [0, 1]))
    first, second = "prox-qn · breast-cancer · 0.3 λmax", "owl-qn · breast-cancer · 0.03 λmax"
    tab.wait_until(lambda: tab.states() == ["finished"], "the run that was clicked on")
    assert tab.rows()[0].startswith(first)

    page.get_by_role("combobox", name="Time to a gap of").focus()
    page.keyboard.press("Tab")
    stop = one.cell("prox-qn", "breast-cancer · 0.3 λmax")
    assert stop.evaluate("(el) => el.getRootNode().activeElement === el"), "the grid is one stop of Tab"
    assert page.get_by_role("grid", name="Runs of the sweep").count() == 1
    ring = page.locator(".focused")
    before = ring.bounding_box()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    last = one.cell("owl-qn", "breast-cancer · 0.03 λmax")
    assert last.evaluate("(el) => el.getRootNode().activeElement === el")
    at, (x, y) = ring.bounding_box(), page.evaluate(MIDDLE, [1, 0])
    assert (at["x"] > before["x"], at["y"] > before["y"]) == (True, True)
    assert at["x"] < x < at["x"] + at["width"]
    assert at["y"] < y < at["y"] + at["height"]
    page.keyboard.press("Enter")
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the run that Enter opens")
    assert tab.rows()[1].startswith(second)

    tab.choose("Time to a gap of", "1e-08")
    tab.wait_until(lambda: one.drawn("sweep-heat-map") == [4, 4], "the heat map at another gap")
    assert one.warnings() == []
    assert wrong(tab, axe, ".tabs", ".view") == []


def test_cells_at_work_are_seen_paused_and_stopped(sweep):
    one = sweep()
    tab = one.tab
    one.run(LONG)
    one.said("1 running")
    one.said("No run on these data has reached the gap yet")
    assert [one.drawn(name) for name in CURVES] == [None] * 3, "nothing to draw yet"
    tab.button("Pause").last.click()
    one.said("1 paused")
    tab.button("Go on").click()
    one.said("1 running")
    tab.button("Stop").last.click()
    one.said("2 stopped")
    tab.wait_until(tab.button("Run the sweep").is_enabled, "the end of the sweep")
    assert one.warnings() == []


@pytest.fixture
def own_server(browser, tmp_path):
    """``own_server(argument, ...)`` opens the tab on a server of its own; what its log complains of fails."""
    servers, contexts = [], []

    def start(*arguments: str) -> SweepTab:
        servers.append(Server(tmp_path / "log", tmp_path / "home", arguments=arguments))
        contexts.append(browser.new_context(viewport={"width": 1440, "height": 900}))
        tab = Visit(contexts[-1].new_page(), servers[-1]).open(data="breast-cancer", tab="sweep")
        tab.button("Run the sweep").wait_for()
        return SweepTab(tab)

    yield start
    logs = [server.stop() for server in servers]  # while its visitor is still there
    for context in contexts:
        context.close()
    assert [complaints(log) for log in logs] == [[]] * len(logs), logs


def test_a_scheduler_named_at_the_start_is_watched_and_its_end_is_told(own_server, by_hand):
    one = own_server("--args", "--scheduler", by_hand.address)
    tab = one.tab
    tab.choose("Where it runs", by_hand.address)
    one.run(LONG)
    one.said("1 running")
    one.said("1 worker")
    tab.page.get_by_role("gridcell", name="running").press("Enter")
    tab.wait_until(lambda: tab.states() == ["running"], "the run to be open")
    seen = tab.iteration(tab.rows()[0].partition(":")[0])
    tab.wait_until(lambda: tab.iteration(tab.rows()[0].partition(":")[0]) > seen, "its iterates to come")
    os.killpg(by_hand.scheduler.pid, signal.SIGKILL)
    tab.alert(f"The scheduler {by_hand.address} went away: 0 of 2 runs have ended and are kept").wait_for()
    tab.wait_until(lambda: tab.states() == ["stopped"], "the run to be stopped")
    assert tab.iteration(tab.rows()[0].partition(":")[0]) > seen, "what arrived is kept"


def test_a_server_that_is_told_to_end_ends_its_sweep_first(own_server):
    one = own_server()
    one.run(LONG)
    one.said("1 running")


def test_a_figure_of_a_paper_is_chosen_run_and_judged(sweep, axe):
    one = sweep()
    tab, page = one.tab, one.tab.page
    tab.choose("From a paper", "Yu, Vishwanathan, Günter and Schraudolph 2010")
    tab.choose("Figure or table", "Figure 24: Steepest subgradient descent and subBFGS on (113)")
    one.said("In the paper: subGD oscillates")
    tab.button("Run the sweep").click()
    one.said("Figure 24: what its runs say")
    one.said("2 finished")
    tab.wait_until(lambda: one.drawn("sweep-heat-map") == [2, 2], "the heat map")
    assert page.locator(".verdicts li").count() == 2
    assert wrong(tab, axe, ".tabs", ".view") == []
    one.cell("subbfgs", "toy-hull").focus()
    page.keyboard.press("Enter")
    tab.wait_until(lambda: tab.states() == ["finished"], "the run that was opened")
    assert tab.rows()[0].startswith("subbfgs · toy-hull")
