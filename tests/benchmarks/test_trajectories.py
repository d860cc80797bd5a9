"""What streaming trajectories costs: ``pytest -m bench tests/benchmarks/test_trajectories.py -s``."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import TRAJECTORIES
from tests.benchmarks.report import Report
from tests.benchmarks.test_page import clicks, received
from tests.browser.conftest import Visit
from tests.browser.test_trajectories import END, lines

pytestmark = pytest.mark.bench

#: Trajectories and iterates that stream, and iterates a second.
WEIGHTS, ITERATES, PACE = 500, 300, 10
#: Clicks on the picture.
CLICKS = 10

#: Frames drawn, and updates of the picture, a second.
WATCHED = """async (seconds) => {
  const figure = figureOf("trajectories")
  const lines = figure.renderers.filter((r) => r.glyph.type === "Line" && r.glyph.y.field === "y")
  const count = () => lines.reduce((sum, r) => sum + r.data_source.get_length(), 0)
  const began = performance.now()
  let frames = 0, updates = 0, before = count()
  while (performance.now() - began < 1000 * seconds) {
    await new Promise(requestAnimationFrame)
    frames += 1
    const now = count()
    if (now !== before) { updates += 1; before = now }
  }
  return [frames / seconds, updates / seconds]
}"""
#: Milliseconds from the next press of the pointer until the lines have other alphas.
ANSWERED = """() => {
  const figure = figureOf("trajectories")
  const lines = figure.renderers.filter((r) => r.glyph.type === "Line" && r.glyph.y.field === "y")
  const alphas = () => lines.map(({glyph}) => glyph.line_alpha.value ?? glyph.line_alpha).join()
  window.answered = new Promise((resolve) => {
    document.addEventListener("pointerdown", async () => {
      const began = performance.now(), before = alphas()
      while (alphas() === before && performance.now() - began < 20000) {
        await new Promise((next) => setTimeout(next, 4))
      }
      resolve(performance.now() - began)
    }, {capture: true, once: true})
  })
}"""


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("Trajectories")
    yield report
    report.write("trajectories.html")


def answered(tab: Visit) -> float:
    """Seconds from a click on the highest line until its cluster stands out, or all do again."""
    place = tab.page.evaluate(END)
    tab.page.evaluate(ANSWERED)
    tab.page.mouse.click(place["x"], place["y"])
    return tab.page.evaluate("window.answered") / 1000


def test_500_trajectories_stream_smoothly(visit, report):
    tab = visit(
        height=1400,
        data="synthetic-text",
        options="n_classes=2,n_features=2000",
        loss="logistic",
        penalty="l2",
        solvers="gd;other=gd,c1=0.01",
        lam="1e-7",
        tol="1e-15",
        max_seconds="6000",
        speed=f"{PACE} a second",
        tab="trajectories",
    )
    tab.choose("Lines", str(WEIGHTS))
    tab.button("Run").click()
    tab.wait_until(lambda: sum(line["weights"] for line in lines(tab)) == WEIGHTS, "all lines", 120)
    tab.wait_until(lambda: tab.iteration("gd") > ITERATES // 3, "iterates", 120)
    kilobytes = received(tab, 6)
    rate, updates = tab.page.evaluate(WATCHED, 6)
    on_lines = [answered(tab) for _ in range(CLICKS)]
    reached = max(line["last"] for line in lines(tab))
    on_runs = clicks(tab, 6)
    assert "running" in tab.states(), "all of this while runs go on"
    assert sum(line["weights"] for line in lines(tab)) == WEIGHTS
    tab.button("Stop").click()
    figures = [
        ("frames a second", rate, "1/s", 30.0, ">"),
        ("updates a second", updates, "1/s", 4.0, ">"),
        ("received", kilobytes, "kB/s", 3000.0, "<"),
        ("click on a line to its cluster alone, median", statistics.median(on_lines), "s", 0.3, "<"),
        ("the same, slowest", max(on_lines), "s", None, ""),
        ("click on another run to its row, median", statistics.median(on_runs), "s", 0.3, "<"),
        ("the same, slowest", max(on_runs), "s", None, ""),
    ]
    report.table(
        f"{WEIGHTS} trajectories of two runs, {PACE} iterates a second, up to iterate {reached:.0f}",
        ["what", "measured", "unit", "wanted"],
        [
            (name, value, unit, f"{sign} {most:g}" if most else "")
            for name, value, unit, most, sign in figures
        ],
    )
    report.note(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    missed = [f[0] for f in figures if f[3] and not (f[1] < f[3] if f[4] == "<" else f[1] >= f[3])]
    assert missed == []


def test_what_is_kept_of_trajectories_takes_little_of_a_run(report):
    problem = solvers.make_problem(datasets.load("synthetic-text", preset="text20"), penalty="l2", lam=1e-4)
    run = solvers.Run(
        problem,
        solvers.make_solver("lbfgs"),
        stopping=solvers.Stopping(max_iter=60),
        probes=(TRAJECTORIES,),
    )
    spent, observe = [], run.trace.probes.observe

    def timed(iterate):
        began = time.thread_time()
        observe(iterate)
        spent.append(time.thread_time() - began)

    run.trace.probes.observe = timed
    trace = run.execute()
    share = sum(spent) / trace.cpu_seconds[-1]
    columns = ["weights", "iterates", "CPU s of the run", "ms an iterate, median", "share", "wanted"]
    row = (problem.size, len(trace), trace.cpu_seconds[-1], 1000 * float(np.median(spent)), share, "< 0.015")
    report.table("Keeping trajectories, text20", columns, [row])
    assert share < 0.015
