"""The rows say how each run ended, in the field's words, and show the numbers of runs so that they can be
compared."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from solverscope.app.page.legend import LegendRows, row
from solverscope.app.page.session import Session
from solverscope.app.runs.live import LiveRun
from solverscope.app.settings.columns import LEGEND_TABLE
from solverscope.solvers import FIELDS, Trace

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}


def ended(status: str, *objectives: float, style: int = 0, **result: object) -> LiveRun:
    """A run that is over, as a row needs it."""
    trace = Trace.from_records(
        [{"iteration": k, "objective": f, "nnz": 3} for k, f in enumerate(objectives)], label="a"
    )
    trace.result = result
    trace.finish(status, f"the sentence of {status}")
    return Ended(trace, style)


class Ended(LiveRun):
    """A run that is over and was never begun."""

    problem = None

    def __init__(self, trace: Trace, style: int) -> None:
        self.label, self.style, self.trace = "a", style, trace
        over = SimpleNamespace(is_set=lambda: True)
        self.worker = SimpleNamespace(done=over, error=None, paused=False, stop=lambda: None)


@pytest.fixture
def legend(session: Session) -> LegendRows:
    return LegendRows(session)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("converged", "converged"),
        ("stalled", "stalled"),
        ("max-seconds", "out of time"),
        ("max-iter", "iteration limit"),
        ("unbounded", "unbounded"),
        ("stopped", "stopped"),
        ("failed", "failed"),
    ],
)
def test_a_row_says_how_its_run_ended_and_why(session, status, word):
    shown = row(ended(status, 1.0), session)
    assert shown["word"] == word
    assert shown["message"] == f"the sentence of {status}"


def test_columns_are_called_as_the_record_calls_its_fields_and_a_dash_stands_for_the_unknown(legend, session):
    assert [key for key, *_ in legend.columns] == list(LEGEND_TABLE)
    for key, heading, tip in legend.columns:
        assert (heading, tip) == (FIELDS[key].title, FIELDS[key].label)
    shown = row(ended("converged", 1.0), session)
    assert {key: shown[key] for key in LEGEND_TABLE if key != "objective"} == {
        "iteration": "0",
        "epoch": "–",
        "nnz": "3",
        "working_set": "–",
        "cpu_seconds": "–",
    }


def test_objectives_stand_with_their_decimal_points_below_each_other(legend, session):
    session.runs = [ended("converged", f) for f in (12.5, 12.4375, 120.0)]
    legend.update()
    assert [r["objective"] for r in legend.rows] == ["12.5000", "12.4375", "120.0000"]


def test_a_certified_bound_is_shown_where_it_is_known(session):
    known = row(ended("converged", 2.0, dual_gap=0.034), session)
    assert known["bound"] == "≤ 0.034 above f*"
    assert known["proof"] == "A dual point proves that f is at most 0.034 above the optimum, 1.7 % of it."
    exact = row(ended("converged", 2.0, dual_gap=0.0), session)
    assert exact["bound"] == "f = f*, proved"
    assert exact["proof"] == "A dual point proves that f is the optimum up to rounding."
    for unknown in ({}, {"dual_gap": None}):
        assert row(ended("converged", 2.0, **unknown), session)["bound"] == ""


def test_the_legend_row_steers_its_run(visit, wait_until):
    page = visit(**(SMALL | {"tol": "1e-14", "speed": "5 a second"}))
    page.controls.go()
    session, legend = page.session, page.legend
    wait_until(lambda: (session.tick(), len(session.traces) == 2)[1])
    first, second = session.runs
    legend.receive({"action": "pause", "key": 0})
    assert first.worker.paused
    assert not second.worker.paused
    legend.receive({"action": "hide", "key": 1})
    assert session.traces == [first.trace]
    assert page.convergence.traces == [first.trace]
    legend.receive({"action": "isolate", "key": 1})
    assert session.traces == [second.trace]
    legend.receive({"action": "isolate", "key": 1})
    assert len(session.traces) == 2
    legend.receive({"action": "choose", "key": 1})
    assert session.cursor.run is second.trace
    legend.receive({"action": "stop", "key": 1})
    wait_until(lambda: second.state == "stopped")
    legend.receive({"action": "remove", "key": 1})
    assert session.runs == [first]
    assert legend.rows[0]["label"] == "prox-qn"


def test_a_click_on_a_run_draws_what_shows_it_once(visit, wait_until, monkeypatch):
    page = visit(**SMALL)
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    drawn = []
    monkeypatch.setattr(page.convergence, "draw", lambda: drawn.append(page.session.cursor.run))
    page.legend.receive({"action": "choose", "key": 1})
    assert drawn == [page.session.runs[1].trace]
    assert [row["chosen"] for row in page.legend.rows] == [False, True]


def test_the_stop_button_of_a_row_stops_or_abandons_its_run(legend, session, monkeypatch):
    run, calls = ended("running", 1.0), []
    monkeypatch.setattr(Ended, "alive", True)
    monkeypatch.setattr(Ended, "silent", True)
    monkeypatch.setattr(Ended, "message", "has not answered")
    monkeypatch.setattr(Ended, "stop", lambda run: calls.append(run))
    session.runs.append(run)
    assert row(run, session)["silent"]
    legend.receive({"key": run.style, "action": "stop"})
    assert calls == [run]
    session.runs.remove(run)
