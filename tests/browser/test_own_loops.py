"""A program of the visitor's, in a process of its own, appears in the page, and is stopped there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator

import pytest

from tests.browser.conftest import DEADLINE, ROOT, Visit
from tests.browser.test_axe import wrong

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "lam": "0.01", "tol": "1e-8"}
#: Proximal gradient steps, as somebody might write them, below the line that the page shows.
LOOP = """
import time
import numpy as np
from solverscope import datasets, solvers

problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
assert run.problem["key"] == problem.key
w = np.zeros(run.size)
while run.iterate(w=w, objective=problem.at(w).objective):
    w = problem.penalty.prox(w - 0.3 * problem.at(w).gradient(), 0.3)
    time.sleep(0.005)
print("stopped")
"""


@pytest.fixture
def start() -> Generator:
    """``start(line)`` runs the loop in a process of its own."""
    started: list[subprocess.Popen] = []

    def start(line: str) -> subprocess.Popen:
        command = [sys.executable, "-c", f"{line}\n{LOOP}"]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(tab: Visit) -> str:
    """Unfold the line, and read it."""
    tab.page.get_by_text("Watch your own loop").click()
    line = tab.page.get_by_label("Line that connects your program")
    tab.wait_until(lambda: "#" in line.inner_text(), "the line")
    return line.inner_text()


def test_a_loop_appears_beside_a_solver_is_stopped_in_the_page_and_fails_when_it_is_killed(visit, start, axe):
    tab = visit(**SMALL)
    line = line_of(tab)
    assert line.startswith("from solverscope.app.loops.client import solverscope_run; run = solverscope_run(")
    process = start(line)
    tab.wait_until(lambda: tab.rows() != [] and tab.iteration("mine") > 20, "its iterates")
    assert tab.row("mine")["state"] == "running"
    tab.button("Run").click()
    tab.wait_until(lambda: "finished" in tab.states(), "a solver to finish beside it")
    assert tab.row("mine")["state"] == "running"
    assert set(tab.curves("convergence")) == {"mine", "prox-qn"}
    before = tab.iteration("mine")
    tab.wait_until(lambda: tab.iteration("mine") > before + 20, "the loop to go on")
    mine, ours = (float(tab.row(label)["objective"].replace("\u202f", "")) for label in ("mine", "prox-qn"))
    assert mine == pytest.approx(ours, rel=0.2)
    assert wrong(tab, axe) == []

    tab.button("Stop mine").click()
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (0, "stopped\n", "")
    tab.wait_until(lambda: tab.row("mine")["state"] == "stopped", "the run to be stopped")

    other = start(line)
    tab.wait_until(lambda: any("mine (2)" in row for row in tab.rows()), "a second loop")
    tab.wait_until(lambda: tab.iteration("mine (2)") > 5, "its iterates")
    other.kill()
    tab.wait_until(lambda: tab.row("mine (2)")["state"] == "failed", "the run to fail")
    assert tab.iteration("mine (2)") > 5, "its trace is kept"
    assert any("the connection to the loop is lost" in row for row in tab.rows())


def test_a_loop_whose_page_is_closed_goes_on_and_says_so(visit, start):
    tab = visit(**SMALL)
    process = start(line_of(tab))
    tab.wait_until(lambda: tab.rows() != [] and tab.iteration("mine") > 5, "its iterates")
    tab.page.close()
    assert "the loop goes on unwatched" in process.stderr.readline()
    assert process.poll() is None
