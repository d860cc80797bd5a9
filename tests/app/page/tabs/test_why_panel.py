"""The tab "Why slow?" has the findings on the run under the cursor, and starts their experiments."""

from __future__ import annotations

import pytest

from solverscope import datasets, solvers
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views import WhySlow
from tests.app.helpers import text

SLOW = {"data": "breast-cancer", "penalty": "l2", "lam": "1e-4", "tol": "1e-6", "tab": "why-slow"}


@pytest.fixture
def raced(visit, wait_until):
    """A page with the findings on a run that has ended."""
    page = visit(**SLOW, solvers="lbfgs,memory=1")
    page.controls.go()
    view = page.tabs["why-slow"]
    found(page, view, wait_until, lambda: view.findings and not page.session.alive)
    return page


def found(page, view, wait_until, holds):
    def updated():
        page.session.tick()
        return holds()

    wait_until(updated)


def buttons(view):
    return view.cards.select(pmui.Button)


def test_findings_stand_below_each_other_with_a_button_for_each_experiment(raced):
    view = raced.tabs["why-slow"]
    assert "Why lbfgs is slow, after" in text(view)
    assert "1. memory too short <small>about 80% of the cost</small>" in text(view)
    assert "held 1 pair (s, y) in" in text(view)
    assert buttons(view)[0].label == "Try memory=20"


def test_a_click_starts_the_second_run_next_to_the_first(raced, wait_until):
    view, session = raced.tabs["why-slow"], raced.session
    first = session.runs[0]
    buttons(view)[0].clicks += 1
    assert [run.label for run in session.runs] == ["lbfgs", "lbfgs memory 20"]
    assert session.runs[1].style != first.style
    assert session.cursor.run is first.trace, "the cursor stays where it was"
    found(raced, view, wait_until, lambda: "onfirmed: memory=20: " in text(view))
    second = session.runs[1]
    assert second.trace.objective[-1] <= first.trace.objective[-1] * 1.001
    assert second.solver.memory == 20
    assert "memory%3D20" in second.setting


def test_an_experiment_on_other_data_loads_them(visit, wait_until):
    page = visit(**SLOW, options="scale=none", solvers="lbfgs", max_iter="300")
    page.controls.go()
    view = page.tabs["why-slow"]
    found(page, view, wait_until, lambda: view.findings and not page.session.alive)
    button = next(one for one in buttons(view) if one.label == "Try scale=standard")
    button.clicks += 1
    found(page, view, wait_until, lambda: "onfirmed: scale=standard: " in text(view))
    assert page.session.runs[1].problem.describe()["options"]["scale"] == "standard"


def test_in_a_notebook_findings_have_no_buttons():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=1e-4)
    trace = solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), tol=1e-6)
    view = WhySlow(trace)
    assert "1. memory too short" in text(view)
    assert buttons(view) == []
    (table,) = view.tables()
    assert table.rows[0][0] == "memory-too-short"


def test_an_answer_that_comes_too_late_is_not_shown():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=1e-4)
    trace = solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), tol=1e-6)
    asked = []
    view = WhySlow(trace, later=lambda work, then: asked.append((work, then)))
    trace.result = {}
    view.update()
    (_, first), (late, last) = asked
    last(late(lambda: None))
    first([])
    assert "1. memory too short" in text(view)


def test_a_run_without_its_problem_says_so():
    trace = solvers.Trace.from_records([{"iteration": 0, "objective": 1.0}], label="mine")
    assert "The problem of mine is not in memory" in text(WhySlow(trace))
