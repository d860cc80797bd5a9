"""A row that is pinned stays beside the next run, as a ghost."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.page.tabs.tab_views import tab_view
from solverscope.app.views import Race
from solverscope.app.views.base.curves import GHOST_ALPHA
from tests.app.helpers import text

SMALL = {"data": "breast-cancer", "solvers": "prox-qn,memory=3;owl-qn", "tol": "1e-6", "lam": "0.02"}


@pytest.fixture
def raced(visit, wait_until):
    page = visit(**SMALL)
    page.controls.go()
    ended(page, wait_until)
    wait_until(lambda: all(run.id is not None for run in page.session.runs))
    return page


def ended(page, wait_until):
    wait_until(lambda: not page.session.alive)
    page.session.tick()


def press(page, row, action):
    page.legend.receive({"action": action, "key": page.legend.rows[row]["key"]})


def pins(page):
    return {kept.id: kept.pinned for kept in page.session.history.ask(lambda a: a.runs()).result(60)}


def test_a_pinned_run_stays_beside_the_next_one_with_its_lambda_and_options(raced, wait_until):
    old, gone = raced.session.runs
    press(raced, 0, "pin")
    assert [row["pinned"] for row in raced.legend.rows] == [True, False]
    assert pins(raced) == {old.id: True, gone.id: False}, "and the history keeps it"
    raced.problem.lam.value = "0.01"
    raced.controls.go()
    ended(raced, wait_until)
    rows = raced.legend.rows
    assert [row["label"] for row in rows] == ["prox-qn", "owl-qn", f"prox-qn #{old.id}"]
    assert [row["ghost"] for row in rows] == [False, False, True]
    assert rows[2]["note"] == "λ = 0.02, pairs kept m 3"
    assert rows[0]["note"] == ""
    assert len({row["key"] for row in rows}) == 3
    assert (rows[2]["color"], rows[2]["dash"]) == (rows[0]["color"], rows[0]["dash"])
    curves = raced.convergence.figure.y_range.renderers
    drawn = {curve.name: curve.glyph.line_alpha for curve in curves}
    assert drawn == {"prox-qn": 1.0, "owl-qn": 1.0, f"prox-qn #{old.id}": GHOST_ALPHA}
    raced.controls.go()
    ended(raced, wait_until)
    assert [row["label"] for row in raced.legend.rows][2:] == [f"prox-qn #{old.id}"], "its name stays"
    assert raced.session.runs[2] is old


def test_one_that_is_no_longer_pinned_goes_with_the_next_run_and_its_curve_is_strong_for_others(
    raced, wait_until
):
    old = raced.session.runs[0]
    press(raced, 0, "pin")
    raced.controls.go()
    ended(raced, wait_until)
    press(raced, 2, "unpin")
    assert not pins(raced)[old.id]
    raced.controls.go()
    ended(raced, wait_until)
    assert [row["ghost"] for row in raced.legend.rows] == [False, False]
    raced.session.pin(raced.session.runs[0], True)
    press(raced, 0, "remove")
    raced.controls.go()
    ended(raced, wait_until)
    assert len(raced.legend.rows) == 2


def test_a_run_at_work_cannot_be_pinned(visit, wait_until):
    page = visit(**SMALL | {"tol": "1e-300", "speed": "1 a second"})
    page.controls.go()
    page.session.tick()
    press(page, 0, "pin")
    assert not page.legend.rows[0]["pinned"]


def test_the_list_of_runs_and_the_rows_have_one_pin(raced, wait_until):
    tab_view("runs", raced)
    panel = raced.session.watchers[-1]
    run = raced.session.runs[1]
    panel.view.list.receive({"action": "pin", "ids": [run.id], "value": True})
    assert run.pinned
    assert pins(raced)[run.id]
    panel.view.list.receive({"action": "pin", "ids": [run.id], "value": False})
    assert not run.pinned
    assert not pins(raced)[run.id]


def test_the_race_is_told_at_equal_cost_and_by_time_to_gaps(raced, wait_until):
    wait_until(lambda: (raced.session.tick(), raced.session.traces[0].info.f_star)[1])
    view = Race(raced.session.traces)
    tables = text(view)
    assert tables.count("<tr>") == 1 + 2 + 1 + 3
    for gap in ("0.01", "1e−4", "1e−6"):
        assert f"<td>{gap}</td><td>1. " in tables
    a, b = raced.session.traces
    view.cursor.place(a, 3)
    view.cost = "iteration"
    ahead = "prox-qn" if a.objective[3] <= b.objective[3] else "owl-qn"
    assert "iteration 3" in text(view)
    assert f"<td>1</td><td>{ahead}</td>" in text(view)
    assert np.all(np.diff(a.iteration) == 1)


def test_pinned_runs_on_another_problem_are_put_away_with_a_sentence(raced):
    press(raced, 0, "pin")
    raced.problem.loss.value = "binary-hinge"
    assert raced.session.runs == []
    (notice,) = raced.notices
    assert "prox-qn. What was pinned stays in the tab Runs." in notice.objects[0].object
    raced.problem.loss.value = "logistic"
    assert len(raced.notices) == 1, "nothing else was pinned"
