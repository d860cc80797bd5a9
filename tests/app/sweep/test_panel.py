"""The tab "Sweep" of the page: a scheduler and a worker started by hand, cells opened while they run."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import panel as pn
import pytest

from solverscope import datasets
from solverscope.app.page.tabs.sweep_panel import OpenCell, SweepPanel, spec_text
from solverscope.app.serving.access import Rights
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import PAGE_LIMITS, Entrant, Recipe, RunLimits
from solverscope.app.sweep.lam_selection import choices
from solverscope.app.sweep.spec import Spec
from solverscope.app.ui.material_ui import pmui
from tests.app.helpers import fake_page

ROOT = Path(__file__).resolve().parents[3]
SETTING = Experiment(
    Recipe("digits", options={"positive": "3"}, seed=2, loss="logistic", penalty="l1"),
    (Entrant("prox-qn", "prox-qn"), Entrant("prox-qn", "short", params={"memory": 3})),
    RunLimits(tol=1e-6, max_seconds=9.0),
)


@pytest.fixture
def made(session, wait_until):
    """``made(rights)`` makes the panel of a visitor; sweeps that are left at the end are stopped."""
    panels = []

    def make(rights):
        panels.append(SweepPanel(fake_page(session, SETTING, rights=rights)))
        session.watchers.append(panels[-1])
        return panels[-1]

    yield make
    for one in panels:
        one.stop()
        wait_until(lambda one=one: not one.alive)


@pytest.fixture
def panel(made):
    """The panel of a visitor of this machine."""
    return made(Rights())


def test_the_page_writes_what_is_chosen_as_a_sweep():
    cells = Spec.parse(spec_text(SETTING)).cells
    assert len(cells) == 10
    assert {(cell.problem.data_text, cell.problem.loss, cell.problem.penalty) for cell in cells} == {
        ("digits,positive=3,seed=2", "logistic", "l1")
    }
    assert {(cell.entrant.label, cell.entrant.make().memory) for cell in cells} >= {("short", 3)}
    ridge = Experiment(
        Recipe("breast-cancer", loss="logistic", penalty="l2"), (Entrant("lbfgs", "lbfgs"),), PAGE_LIMITS
    )
    assert len({cell.problem.lam for cell in Spec.parse(spec_text(ridge)).cells}) == 5


def test_the_choice_is_a_sentence_with_the_one_standard_error_rule(panel):
    run = {"dataset": "breast-cancer", "loss": "logistic", "penalty": "l1", "label": "a", "solver": "prox-qn"}
    cells = [
        run
        | {"options": {"cv": f"{k}/2"}, "lam": lam * k, "lam_ratio": lam}
        | {"test_metric": metric, "metric_name": "accuracy"}
        for lam, metrics in {0.5: (0.8, 0.8), 0.1: (0.7, 1.0)}.items()
        for k, metric in enumerate(metrics, 1)
    ]
    panel.sweep = SimpleNamespace(choices=lambda: choices(cells))
    (one,) = panel.choices()
    panel.sweep = None
    assert "0.1 λmax is chosen, accuracy 0.85 in the mean of 2 parts held out" in one.text, one.text
    assert one.text.endswith("(standard error 0.15); by the one-standard-error rule 0.5 λmax")
    assert (one.lam_1se, one.metric_1se) == (0.5, 0.8)
    assert one.over == ((0.5, 0.8, 0.0), (0.1, 0.85, pytest.approx(0.15)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data = [", "It is no TOML"),
        (
            'data = "svmlight:/etc/passwd"\nsolvers = "prox-qn"',
            "sweeps of your own files run on the command line",
        ),
        ('data = "digits"\nsolvers = "ocas"', "Solver ocas needs"),
        ("data = " + "[" * 30_000, "It is nested too deep"),
        ('{"data": ' + "[" * 30_000, "It is nested too deep"),
        ('data = "digits"\nsolvers = "prox-qn"\nloss = [["a"]]', "Loss = [[&#x27;a&#x27;]] is not possible"),
        (f'data = "digits"\nsolvers = "prox-qn"\nseeds = {"9" * 400}', "Seeds has a number of more than 19"),
        (
            'data = "digits"\nsolvers = "prox-qn"\nlam = {from = 1, to = 0.1, n = 60000000}',
            "more than 10,000 runs",
        ),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(panel, text, said):
    panel.text.value = text
    panel.run()
    panel.update()
    assert said in panel.said.object
    assert not panel.alive


def test_no_field_leads_to_a_scheduler_that_was_not_named_when_the_server_was_started(panel, wait_until):
    """Dask unpickles what a scheduler answers: one of the visitor's own would run code in this process."""
    panel.text.value = 'data = "breast-cancer"\nsolvers = "prox-qn"\n[limits]\nmax_iter = 1'
    with socket.create_server(("127.0.0.1", 0)) as trap:
        address = f"tcp://127.0.0.1:{trap.getsockname()[1]}"
        for field in pn.Column(panel.view).select(
            lambda part: isinstance(part, pmui.TextInput | pmui.Select)
        ):
            if field is not panel.text and not isinstance(field.value, float):
                field.value = address  # a client may send any value, also one that no menu offers
        panel.run()
        wait_until(lambda: not panel.alive)
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):
            trap.accept()
    panel.update()
    assert "is not among the places for sweeps (this machine)" in panel.said.object


def test_visitors_from_elsewhere_find_no_form_and_run_no_sweeps(made):
    panel = made(Rights(own=False, no_sweeps="sweeps are run by visitors of this machine only"))
    fields = pn.Column(panel.view).select(lambda part: isinstance(part, pmui.TextAreaInput | pmui.TextInput))
    assert list(fields) == []
    panel.run()
    panel.update()
    assert not panel.alive
    assert panel.sweep is None
    assert "Sweeps are run by visitors of this machine only" in panel.said.object


def test_a_file_that_the_server_offers_leads_to_no_other_file(panel, registries, tmp_path):
    offered, secret = tmp_path / "offered.svm", tmp_path / "secret"
    offered.write_text("1 1:1\n-1 2:1\n")
    secret.write_text("1 1:1\n-1 3:1\n")
    id = datasets.offer(str(offered)).id
    panel.text.value = f'data = {{id = "{id}", test = "{secret}"}}\nsolvers = "prox-qn"'
    panel.run()
    panel.update()
    assert "has no option &#x27;test&#x27;" in panel.said.object
    assert panel.sweep is None


@pytest.mark.slow
def test_cells_on_a_scheduler_started_by_hand_are_watched_live_and_kept_when_it_goes(
    session, made, by_hand, slow, begun, monkeypatch, wait_until
):
    address, scheduler, _ = by_hand
    panel = made(Rights(schedulers=(address,)))
    panel.text.value = (
        'data = "breast-cancer"\nlam = 0.01\n'
        'solvers = ["quick=slow,naps=3,number=1", "long=slow,naps=3000,number=2"]\n'
        "[limits]\nmax_iter = 9999\n"
    )
    panel.place.value = address
    panel.run()
    long = next(watched for watched in panel.sweep.cells.values() if watched.cell.entrant.label == "long")
    panel.open(long.cell.key)
    assert "long on breast-cancer · λ 0.01 has not started: click again once it runs." in panel.said.object
    assert session.runs == []

    def ticked(condition):
        wait_until(lambda: (session.tick(), condition())[1])

    ticked(lambda: long.trace is not None and len(long.trace) > 3 and "1 running" in panel.said.object)
    assert "long on breast-cancer · λ 0.01 has started: click again to open it." in panel.said.object
    panel.open(long.cell.key)
    (run,) = session.runs
    assert isinstance(run, OpenCell)
    assert (run.state, run.label) == ("running", "long · breast-cancer · λ 0.01")
    assert "click again" not in panel.said.object
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
    ticked(lambda: not panel.button.disabled)  # the end is shown, not only there
    said = re.sub("<.*?>", " ", panel.said.object)
    assert f"The scheduler {address} went away: 1 of 2 runs have ended and are kept" in said
    assert run.state == "stopped"
    assert len(run.trace) > seen
    statuses = {record["label"]: record["status"] for record in panel.sweep.store.records().values()}
    assert statuses == {"quick": "stalled", "long": "stopped"}
    assert len(panel.sweep.store.trace(long.cell)) == len(run.trace)


def test_a_sweep_ends_with_its_session(session, made, place, slow, monkeypatch, wait_until):
    panel = made(Rights(schedulers=(place.scheduler,)))
    panel.text.value = 'data = "breast-cancer"\nlam = 0.01\nsolvers = ["slow,naps=3000,number=3"]\n'
    panel.place.value = place.scheduler
    panel.run()
    (watched,) = panel.sweep.cells.values()
    wait_until(lambda: watched.state == "running")
    session.close()
    wait_until(lambda: not panel.alive, 20)
    assert watched.state == "stopped"
    panel.update()
    folder = panel.sweep.store.folder
    assert f"results in sweeps/{folder.name}" in panel.said.object
    assert str(folder) not in panel.said.object, "a visitor sees names, never paths"


def test_a_page_knows_nothing_of_dask_before_a_sweep_is_run():
    code = (
        "import solverscope.app.page.page, sys; print('distributed' in sys.modules or 'dask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr
