"""How quick the page is, and what it costs: ``pytest -m bench tests/benchmarks/test_page.py -s``."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from solverscope import datasets, solvers
from solverscope.app.page.page import Page
from solverscope.app.runs import problem_cache
from solverscope.app.serving.tick_scheduler import TICK_MS
from solverscope.app.stories import stories
from solverscope.app.views import TABS
from solverscope.solvers import Stopping
from solverscope.solvers.traces.trace import CAPACITY
from tests.benchmarks.report import Report
from tests.browser.conftest import Server, Visit

pytestmark = pytest.mark.bench

#: Clicks a button, then waits for ``done`` in steps of one frame; milliseconds.
CLOCKED = """async ([press, done]) => {
  const began = performance.now()
  const find = (root, path) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.matches(path)) { return el }
      const inside = el.shadowRoot && find(el.shadowRoot, path)
      if (inside) { return inside }
    }
    return null
  }
  const ready = new Function("find", "began", `return ${done}`)
  find(document, press).click()
  while (!ready((path) => find(document, path))) {
    if (performance.now() - began > 20000) { return null }
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
  return performance.now() - began
}"""
LINES = """[...Bokeh.documents[0].all_models].filter((m) => m.type === "Figure")
  .flatMap((figure) => figure.renderers).filter((r) => r.glyph?.type === "Line" && r.glyph.y.field === "y")"""
#: Frames drawn and updates of the curves seen in some seconds.
WATCHED = f"""async (seconds) => {{
  const count = () => {LINES}.reduce((sum, r) => sum + r.data_source.get_length(), 0)
  const began = performance.now()
  let frames = 0, updates = 0, before = count()
  while (performance.now() - began < 1000 * seconds) {{
    await new Promise(requestAnimationFrame)
    frames += 1
    const now = count()
    if (now !== before) {{ updates += 1; before = now }}
  }}
  return [frames / seconds, updates / seconds]
}}"""


#: Clicks an entry of the menu that is open; seconds until the address names the story and Run is possible.
SWITCHED = """async ([name, id]) => {
  const below = (el) => [el, ...(el.shadowRoot ? all(el.shadowRoot) : [])]
  const all = (root) => [...root.querySelectorAll("*")].flatMap(below)
  const found = all(document)
  const entry = found.find((el) => el.matches("[role=listbox] *") && el.textContent.trim() === name)
  const run = found.find((el) => el.matches("button.MuiButton-contained"))
  const began = performance.now()
  entry.click()
  while (!(new URLSearchParams(location.search).get("story") === id && run.isConnected && !run.disabled)) {
    if (performance.now() - began > 20000) { return null }
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
  return (performance.now() - began) / 1000
}"""

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
#: How often a first paint and a first point are measured.
TRIALS = 5


def click_to_answer(tab: Visit, press: str, done: str) -> float:
    """Seconds from a click on the element ``press`` until the expression ``done`` holds in the page."""
    spent = tab.page.evaluate(CLOCKED, [press, done])
    assert spent is not None, f"no answer to {press}"
    return spent / 1000


def clicks(tab: Visit, count: int = 15) -> list[float]:
    """Seconds from a click on a run's name to its row being the chosen one, from run to run."""
    labels = tab.page.locator(".row.run").evaluate_all("rows => rows.map((row) => row.dataset.label)")
    spent = []
    for k in range(count):
        row = f'.row.run[data-label="{labels[(k + 1) % len(labels)]}"]'
        spent.append(click_to_answer(tab, f"{row} .label", f"find('{row}').classList.contains('chosen')"))
        tab.page.wait_for_timeout(150)
    return spent


def received(tab: Visit, seconds: float) -> float:
    """Kilobytes a second that come in over the web socket."""
    client = tab.page.context.new_cdp_session(tab.page)
    total = [0]

    def count(event: dict) -> None:
        frame = event["response"]
        size = len(frame["payloadData"])
        total[0] += size if frame["opcode"] == 1 else 3 * size // 4  # binary frames come in base64

    client.on("Network.webSocketFrameReceived", count)
    client.send("Network.enable")
    tab.page.wait_for_timeout(1000 * seconds)
    client.send("Network.disable")
    client.detach()
    return total[0] / 1000 / seconds


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("The page")
    yield report
    report.write("page.html")


def test_the_page_is_quick(visit, report):
    visit().page.close()  # imports and kernels are paid for before the first visitor who counts
    paints, usable = [], []
    for _ in range(TRIALS):
        tab = visit()
        usable.append(tab.page.evaluate("performance.now()") / 1000)
        paints.append(tab.page.evaluate(PAINTED) / 1000)
        tab.page.close()
        time.sleep(1)
    tab = visit(tol="1e-300", max_seconds="600")  # runs that last until all is measured
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 0, "kernels", 120)
    first = []
    for _ in range(TRIALS):
        tab.button("Clear").click()
        tab.wait_until(lambda: tab.states() == [] and tab.points("convergence") == 0, "an empty page")
        tab.page.wait_for_timeout(1000)
        some = f"{LINES}.some((r) => r.data_source.get_length() > 0)"
        first.append(click_to_answer(tab, "button.MuiButton-contained", some))
    tab.open_tab("Steps")
    tab.page.wait_for_timeout(2000)
    rate, updates = tab.page.evaluate(WATCHED, 6)
    answers = clicks(tab)
    assert "running" in tab.states(), "all of this while runs go on"
    kilobytes = received(tab, 4)
    assert "running" in tab.states()
    figures = [
        ("first paint, median", statistics.median(paints), "s", 2.0, "<"),
        ("first paint, slowest", max(paints), "s", None, ""),
        ("until Run can be pressed, median", statistics.median(usable), "s", None, ""),
        ("click on Run to the first point, median", statistics.median(first), "s", 0.5, "<"),
        ("click on Run to the first point, slowest", max(first), "s", None, ""),
        ("frames a second, three runs", rate, "1/s", 30.0, ">"),
        ("updates a second, three runs", updates, "1/s", 5.0, ">"),
        ("received, three runs, four plots", kilobytes, "kB/s", 200.0, "<"),
        ("click to answer meanwhile, median", statistics.median(answers), "s", 0.3, "<"),
        ("click to answer meanwhile, slowest", max(answers), "s", None, ""),
    ]
    load = os.getloadavg()[0]
    report.table(
        "Quickness (headless Chromium, no GPU)",
        ["what", "measured", "unit", "wanted"],
        [
            (name, value, unit, f"{sign} {limit:g}" if limit else "")
            for name, value, unit, limit, sign in figures
        ],
    )
    report.note(
        f"Load of the machine: {load:.1f} on {os.cpu_count()} cores, of which this benchmark is about 3."
    )
    missed = [f[0] for f in figures if f[3] and not (f[1] < f[3] if f[4] == "<" else f[1] >= f[3])]
    assert missed == []


def test_the_default_story_is_at_1e_6_in_twenty_seconds(visit, report):
    tab = visit()
    began = time.monotonic()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.curves("convergence").get("prox-qn", [1.0])[-1] <= 1e-6, "a gap of 1e-6", 120)
    wall, cpu = time.monotonic() - began, tab.curves("convergence", "x")["prox-qn"][-1]
    tab.button("Stop").click()
    columns = ["wall seconds", "CPU seconds of prox-qn", "wanted"]
    report.table("prox-qn to a gap of 1e-6 in the default race", columns, [(wall, cpu, "wall < 20")])
    assert wall < 20


def test_a_ticking_page_costs_a_run_at_most_5_percent(report):
    story = stories()["shrinking"]
    setting = story.setting.problem
    problem = problem_cache.problem(problem_cache.load(setting), setting)
    solver = solvers.make_solver("prox-qn")
    upto = 200

    def bare() -> float:
        # as the recorder does: BLAS on one thread, the clock only while the solver runs
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            own, spent = problem.with_pulse(lambda: None), 0.0
            iterates = solver.iterate(own)
            for _ in range(upto + 1):
                began = time.thread_time()
                next(iterates)
                spent += time.thread_time() - began
        return spent

    def watched() -> float:
        page = Page({"solvers": "prox-qn"})
        while not page.problem.ready:
            page.session.tick()
            time.sleep(0.05)
        page.start(False)
        run = page.session.runs[0]
        while run.trace is None or run.trace.last.get("iteration", 0) < upto:
            began = time.perf_counter()
            page.session.tick()
            time.sleep(max(TICK_MS / 1000 - (time.perf_counter() - began), 0.0))
        trace = run.trace
        page.session.close()
        run.worker.join(5)
        return float(trace.cpu_seconds[np.searchsorted(trace.iteration, upto)])

    solvers.Run(problem, solver, stopping=Stopping(max_iter=3)).execute()
    pairs = [(bare(), watched()) for _ in range(5)]
    best = [min(column) for column in zip(*pairs, strict=True)]
    report.table(
        f"What watching costs: CPU seconds of prox-qn to iterate {upto}, default story, best of {len(pairs)}",
        ["bare loop", "ticking page", "ratio", "wanted"],
        [(best[0], best[1], best[1] / best[0], "< 1.05")],
    )
    assert best[1] / best[0] < 1.05


def test_six_runs_of_10_000_iterates_stay_smooth(visit, report):
    solvers_ = ";".join(f"run {k}=sgd-l1,seed={k}" for k in range(1, 7))  # which do not come to an end
    tab = visit(data="breast-cancer", solvers=solvers_, tol="1e-300", max_seconds="600", x="iteration")
    tab.button("Run").click()
    tab.wait_until(
        lambda: min(tab.iteration(f"run {k}") for k in range(1, 7)) > 10_000, "10,000 iterates", 300
    )
    rate, _ = tab.page.evaluate(WATCHED, 6)
    answers = clicks(tab)
    report.table(
        "Six runs beyond 10,000 iterates, full speed, all plots live",
        ["frames a second", "click to answer, median (s)", "slowest (s)", "points in a plot"],
        [(rate, statistics.median(answers), max(answers), tab.points("convergence"))],
    )
    tab.button("Stop").click()
    assert rate > 30
    assert statistics.median(answers) < 0.3


#: Problems of millions of weights, by their number: the address, and the tabs that are opened while they run.
LARGE = {
    1_917_168: ({"data": "conll2000", "lam": "1"}, "prox-qn;growing=prox-qn,rule=growing"),
    121_866_804: ({"data": "synthetic-tree", "options": "preset=paper", "lam": "1"}, "prox-qn"),
}
LARGE_TABS = ("Shrinking", "Rules", "Memory", "Line search", "Trajectories")


@pytest.mark.parametrize("weights", LARGE)
def test_views_of_millions_of_weights_are_smooth(visit, report, weights):
    address, chosen = LARGE[weights]
    if not datasets.DATASETS[address["data"]].available()[0]:
        pytest.skip(f"{address['data']} is not available")
    tab = visit(**address, solvers=chosen, tol="1e-15", max_seconds="600", tab="shrinking")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.iteration("prox-qn") > 2, "iterates", 300)
    rates = []
    for title in LARGE_TABS:
        tab.open_tab(title)
        rates.append(tab.page.evaluate(WATCHED, 5)[0])
    assert "running" in tab.states(), "all of this while a run goes on"
    tab.button("Stop").click()
    report.table(f"{weights:,} weights, live: frames a second", LARGE_TABS, [rates])
    report.note(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    assert min(rates) > 30


def test_a_story_is_there_within_a_second_with_all_tabs_opened(visit, report):
    tab = visit()
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", 120)
    tab.button("Stop").click()
    for view in TABS.values():
        tab.open_tab(view.title)
        tab.page.wait_for_timeout(300)
    spent = []
    for story in 2 * list(stories().values())[1:5]:
        tab.page.get_by_role("combobox", name="Story").click()
        tab.page.get_by_role("listbox").wait_for()
        tab.page.wait_for_timeout(500)  # until it lies still
        seconds = tab.page.evaluate(SWITCHED, [story.name, story.id])
        assert seconds is not None, story.name
        spent.append((story.name, seconds))
        tab.page.wait_for_timeout(1000)
    report.table("A story is chosen: seconds until address and Run follow", ["story", "seconds"], spent)
    again = [seconds for _, seconds in spent[len(spent) // 2 :]]  # whose data are in memory
    assert max(again) < 1.0


#: A run that does not come to an end, a few iterates a second.
ENDLESS = {"data": "digits", "solvers": "prox-gd", "tol": "1e-300", "max_seconds": "600", "lam": "0.001"}
SLOWLY = ENDLESS | {"speed": "10 a second"}


def busy(server: Server) -> float:
    """CPU seconds of the server so far."""
    spent = psutil.Process(server.process.pid).cpu_times()
    return spent.user + spent.system


def test_a_paused_page_costs_less_than_a_twentieth_of_a_core(visit, report):
    tab = visit(**SLOWLY)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", 120)
    tab.button("Pause").click()
    tab.wait_until(lambda: tab.states() == ["paused"], "the pause")
    tab.page.wait_for_timeout(3000)
    before, began = busy(tab.server), time.monotonic()
    tab.page.wait_for_timeout(10_000)
    share = (busy(tab.server) - before) / (time.monotonic() - began)
    report.table("A paused page", ["CPU seconds of the server a second", "wanted"], [(share, "< 0.05")])
    assert share < 0.05


def working(server: Server, seconds: float) -> bool:
    """Tell whether any thread but the page's does something within some seconds."""
    before = server.threads()
    time.sleep(seconds)
    after = server.threads()
    return any(spent > before.get(id, 0.0) for id, spent in after.items() if id != server.page_thread)


def test_the_runs_of_a_closed_page_end_within_two_seconds(visit, report):
    tab = visit(**ENDLESS)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", 120)
    assert working(tab.server, 1.0), "a run that is under way"
    tab.page.close()
    began = looked = time.monotonic()
    while working(tab.server, 0.25) and looked - began < 20:
        looked = time.monotonic()
    report.table("A closed page", ["seconds until its runs have ended", "wanted"], [(looked - began, "< 2")])
    assert looked - began < 2


def test_a_dead_server_is_told_within_three_seconds(browser, tmp_path, own_home, report):
    server = Server(tmp_path / "log", own_home)
    context = browser.new_context()
    tab = Visit(context.new_page(), server).open(**SLOWLY)
    server.process.kill()
    began = time.monotonic()
    tab.alert("The server is gone").wait_for()
    spent = time.monotonic() - began
    context.close()
    report.table("A dead server", ["seconds until the page tells", "wanted"], [(spent, "< 3")])
    assert spent < 3


def test_the_slider_answers_within_0_3_seconds(visit, report):
    tab = visit(**SLOWLY, x="iteration")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.iteration("prox-gd") > 20, "iterates", 120)
    tab.button("Pause").click()
    tab.wait_until(lambda: tab.states() == ["paused"], "the pause")
    tab.page.keyboard.press("Home")
    tab.wait_until(lambda: tab.cursor("convergence") == 0, "the first iterate")
    spent = []
    for wanted in range(1, 16):
        began = time.monotonic()
        tab.page.keyboard.press("ArrowRight")
        while tab.cursor("convergence") != wanted and time.monotonic() - began < 20:
            time.sleep(0.005)
        spent.append(time.monotonic() - began)
        tab.page.wait_for_timeout(150)
    median = statistics.median(spent)
    rows = [(median, max(spent), "median < 0.3")]
    report.table(
        "A key that moves the slider: seconds until the line follows", ["median", "slowest", "wanted"], rows
    )
    assert median < 0.3


def test_memory_is_flat_while_streaming(visit, report):
    """For SOLVERSCOPE_MINUTES (10 where not set; an hour takes 60), by runs that do not come to an end."""
    minutes = float(os.environ.get("SOLVERSCOPE_MINUTES", "10"))
    tab = visit(
        data="breast-cancer",
        solvers="sgd-l1;a=sgd-l1,seed=1;b=sgd-l1,seed=2",
        tol="1e-300",
        max_seconds="1e6",
        speed="100 a second",
    )
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 0, "points", 60)
    client = tab.page.context.new_cdp_session(tab.page)
    client.send("HeapProfiler.enable")

    def heap() -> float:
        client.send("HeapProfiler.collectGarbage")
        return tab.page.evaluate("performance.memory.usedJSHeapSize") / 2**20

    rows, began = [], time.monotonic()
    while (passed := time.monotonic() - began) < 60 * minutes:
        rows.append((passed / 60, tab.server.memory(), heap(), tab.iteration("sgd-l1")))
        tab.page.wait_for_timeout(min(30_000, max(60_000 * minutes - 1000 * passed, 1)))
    rows.append((minutes, tab.server.memory(), heap(), tab.iteration("sgd-l1")))
    assert tab.states() == ["running"] * 3, "all of this while runs go on"
    report.table(
        "Memory while three runs stream 100 iterates a second",
        ["minute", "server MiB", "page heap MiB", "iterate"],
        rows,
    )
    settled = next(row for row in rows if row[3] > 1.2 * CAPACITY)  # from where on a trace is full
    assert rows[-1][3] > settled[3]
    assert rows[-1][1] < 1.1 * settled[1]
    assert rows[-1][2] < 1.2 * settled[2]
