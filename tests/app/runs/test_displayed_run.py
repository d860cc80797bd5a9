"""Runs of the page, of the history and of sweeps are one thing to those who draw them."""

from __future__ import annotations

import json

from solverscope import solvers
from solverscope.app.page.tabs.sweep_panel import OpenCell
from solverscope.app.runs.archive import ArchivedRun
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.past_run import PastRun
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.spec import Spec
from solverscope.app.ui import run_styles
from solverscope.solvers import Stopping, Trace


def watched():
    (cell,) = Spec.of({"data": "breast-cancer", "solvers": ["prox-qn"], "lam": 0.1}).cells
    found = CellProgress(cell)
    about = json.dumps({"label": "prox-qn", "solver": "prox-qn", "params": {}})
    found.take({"cell": cell.key, "attempt": "a", "state": "running", "worker": "", "about": about})
    return found


def test_every_run_that_is_drawn_has_its_label_and_style(share, small_problem):
    live = LiveRun(
        share,
        lambda worker: small_problem,
        solvers.make_solver("prox-qn"),
        label="live",
        stopping=lambda problem: Stopping(tol=1e-6),
    )
    assert live.worker.join(60)
    past = PastRun(ArchivedRun(id=3, label="old"), Trace(), style=9)
    for run in (live, past, OpenCell(watched(), 4, None)):
        assert run.trace.info.label == run.label
        assert run_styles.style_of(run.trace).number == run.style
    assert [run.stays for run in (live, past)] == [False, True]


def test_a_cell_of_a_sweep_is_observed_as_a_run_is():
    cell = watched()
    assert (cell.state, cell.word, cell.message, cell.alive) == ("running", "running", "", True)
