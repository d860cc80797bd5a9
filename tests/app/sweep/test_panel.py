"""The tab "Sweep" of the page: a scheduler and a worker started by hand, cells opened while they run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app import plugins
from app.page.sweep_panel import OpenCell, SweepPanel, spec_text
from app.settings.setting import ProblemSetting, Setting, SolverSetting
from app.sweep.spec import Spec

ROOT = Path(__file__).resolve().parents[3]
SETTING = Setting(
    ProblemSetting("digits", options={"positive": "3"}, seed=2, loss="logistic", penalty="l1"),
    (SolverSetting("prox-qn", "prox-qn"), SolverSetting("prox-qn", "short", params={"memory": 3})),
    max_seconds=9.0,
)


@pytest.fixture
def panel(session):
    panel = SweepPanel(session, lambda: SETTING, lambda: [])
    session.watchers.append(panel)
    yield panel
    panel.stop()
    if panel._thread is not None:
        panel._thread.join(60)
        assert not panel._thread.is_alive()


def test_the_page_writes_what_is_chosen_as_a_sweep():
    cells = Spec.parse(spec_text(SETTING)).cells
    assert len(cells) == 10
    assert {(cell.data_text, cell.loss, cell.penalty) for cell in cells} == {
        ("digits,positive=3,seed=2", "logistic", "l1")
    }
    assert {(cell.label, cell.params["memory"]) for cell in cells} >= {("short", 3)}
    ridge = Setting(
        ProblemSetting("breast-cancer", loss="logistic", penalty="l2"), (SolverSetting("lbfgs", "lbfgs"),)
    )
    assert len({cell.lam for cell in Spec.parse(spec_text(ridge)).cells}) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data = [", "It is no TOML"),
        (
            'data = "svmlight:/etc/passwd"\nsolvers = "prox-qn"',
            "sweeps of your own files run on the command line",
        ),
        ('data = "digits"\nsolvers = "ocas"', "Solver ocas needs"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(panel, text, said):
    panel.text.value = text
    panel.run()
    panel.update()
    assert said in panel.view.said.object
    assert not panel.alive


def test_cells_on_a_scheduler_started_by_hand_are_watched_live_and_kept_when_it_goes(
    session, panel, by_hand, slow, begun, monkeypatch, wait_until
):
    address, scheduler, _ = by_hand
    monkeypatch.setenv(plugins.VARIABLE, str(slow))
    panel.text.value = (
        'data = "breast-cancer"\nlam = 0.01\n'
        'solvers = ["quick=slow,naps=3,number=1", "long=slow,naps=3000,number=2"]\n'
        "[limits]\nmax_iter = 9999\n"
    )
    panel.scheduler.value = address
    panel.run()
    long = next(watched for watched in panel.sweep.cells.values() if watched.cell.label == "long")
    panel.open(long.cell.key)
    assert "long on breast-cancer · λ 0.01 has not begun: click again once it runs." in panel.view.said.object
    assert session.runs == []

    def ticked(condition):
        wait_until(lambda: (session.tick(), condition())[1])

    ticked(lambda: long.trace is not None and len(long.trace) > 3)
    assert "1 running" in panel.view.said.object
    assert "long on breast-cancer · λ 0.01 has begun: click again to open it." in panel.view.said.object
    panel.open(long.cell.key)
    (run,) = session.runs
    assert isinstance(run, OpenCell)
    assert (run.state, run.label) == ("running", "long · breast-cancer · λ 0.01")
    assert "click again" not in panel.view.said.object
    session.cursor.run = None
    panel.open(long.cell.key)
    assert (session.runs, session.cursor.run) == ([run], run.trace)
    seen = len(session.traces[0])
    ticked(lambda: len(session.traces[0]) > seen)
    assert session.runs == [run], "a tick leaves it where it is"

    panel.pause()
    ticked(lambda: run.state == "paused")
    panel.pause()
    ticked(lambda: run.state == "running")

    os.killpg(scheduler.pid, signal.SIGKILL)
    ticked(lambda: not panel.alive)
    said = re.sub("<.*?>", " ", panel.view.said.object)
    assert f"The scheduler {address} went away: 1 of 2 runs have ended and are kept" in said
    assert run.state == "stopped"
    assert len(run.trace) > seen
    statuses = {record["label"]: record["status"] for record in panel.sweep.store.records().values()}
    assert statuses == {"quick": "stalled", "long": "stopped"}
    assert len(panel.sweep.store.trace(long.cell)) == len(run.trace)


def test_a_sweep_ends_with_its_session(session, panel, place, slow, monkeypatch, wait_until):
    monkeypatch.setenv(plugins.VARIABLE, str(slow))
    panel.text.value = 'data = "breast-cancer"\nlam = 0.01\nsolvers = ["slow,naps=3000,number=3"]\n'
    panel.scheduler.value = place.scheduler
    panel.run()
    (watched,) = panel.sweep.cells.values()
    wait_until(lambda: watched.state == "running")
    session.close()
    wait_until(lambda: not panel.alive, 20)
    assert watched.state == "stopped"


def test_a_page_knows_nothing_of_dask_before_a_sweep_is_run():
    code = "import app.page.page, sys; print('distributed' in sys.modules or 'dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr
