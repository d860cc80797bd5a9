"""From the iterate under the cursor a run goes on beside the old one, with what the visitor chooses."""

from __future__ import annotations

import html
from types import SimpleNamespace

import numpy as np
import pytest

from solverscope.app.page.tabs.branches import SAME_SOLVER
from solverscope.app.runs.past_run import PastRun
from solverscope.solvers import Trace

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}


@pytest.fixture
def raced(visit, wait_until):
    """A page on which two solvers have come to their ends, the cursor on iteration 5 of the first."""
    page = visit(**SMALL)
    page.controls.go()
    ended(page, wait_until)
    page.session.cursor.place(page.session.runs[0].trace, 5)
    return page


def ended(page, wait_until):
    wait_until(lambda: not page.session.alive)
    page.session.tick()


def press(page, name):
    page.cursor_bar.receive({"action": "branch", "name": name})


def test_a_run_goes_on_as_it_was_beside_the_old_one(raced, wait_until):
    assert raced.cursor_bar.offer["choices"][0] == SAME_SOLVER
    assert "to iteration 5 (about" in raced.cursor_bar.offer["note"]
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    old, other, branch = raced.session.runs
    assert branch.label == "prox-qn from 5"
    assert branch.style not in {old.style, other.style}
    np.testing.assert_array_equal(branch.trace.objective, old.trace.objective[5:])
    np.testing.assert_array_equal(branch.trace.w, old.trace.w)
    assert (branch.state, branch.message) == (old.state, old.message)
    assert branch.trace.cpu_seconds[0] == old.trace.cpu_seconds[5]
    assert [row["label"] for row in raced.legend.rows] == ["prox-qn", "owl-qn", "prox-qn from 5"]
    assert raced.session.cursor.run is old.trace, "the cursor stays where it was put"


def test_as_it_was_is_with_the_tolerance_that_it_had(raced, wait_until):
    raced.limits.receive({"name": "tol", "value": "1e-12"})
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    old, _, branch = raced.session.runs
    np.testing.assert_array_equal(branch.trace.objective, old.trace.objective[5:])
    assert (branch.state, branch.message) == (old.state, old.message)
    assert "tol=1e-12" not in branch.setting


def test_what_the_list_says_of_a_solver_is_what_goes_on(raced, wait_until):
    key = next(line["key"] for line in raced.solvers.entries if line["label"] == "prox-qn")
    raced.solvers.receive({"action": "set", "key": key, "name": "memory", "value": "2"})
    raced.session.tick()
    choices = raced.cursor_bar.offer["choices"]
    assert choices[:3] == [SAME_SOLVER, "prox-qn, memory=2", "owl-qn"]
    assert "dual-cd" not in choices, "it does not take the problem"
    assert "fista-ls" in choices, "it need not race"
    for name in choices[1:3]:
        press(raced, name)
    ended(raced, wait_until)
    old, _, memory, owl = raced.session.runs
    assert [memory.label, owl.label] == ["prox-qn from 5", "owl-qn from 5"]
    assert memory.trace.info.params["memory"] == 2
    for branch in (memory, owl):
        assert branch.trace.objective[0] == old.trace.objective[5]
        assert branch.trace.iteration[0] == 5
        assert branch.state == "finished"
    assert memory.trace.objective[3] != old.trace.objective[8]


def test_branches_of_branches_and_several_from_one_iterate_have_labels_and_styles_of_their_own(
    raced, wait_until
):
    press(raced, SAME_SOLVER)
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    branch = raced.session.runs[2]
    raced.session.cursor.place(branch.trace, 7)
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    labels = [run.label for run in raced.session.runs]
    assert labels[2:] == ["prox-qn from 5", "prox-qn from 5 (2)", "prox-qn from 5 from 7"]
    assert len({run.style for run in raced.session.runs}) == 5
    np.testing.assert_array_equal(raced.session.runs[4].trace.objective, branch.trace.objective[2:])


def test_a_paused_run_has_branches_and_stays_paused(visit, wait_until):
    page = visit(**SMALL | {"tol": "1e-12", "speed": "30 a second"})
    page.controls.go()
    old = page.session.runs[0]
    wait_until(lambda: old.trace is not None and len(old.trace) > 4)
    page.session.pause()
    wait_until(lambda: page.session.state == "paused")
    page.session.cursor.place(old.trace, 3)
    page.session.set_pace(0.0)
    press(page, SAME_SOLVER)
    branch = page.session.runs[2]
    wait_until(lambda: not branch.alive)
    assert branch.trace.iteration[0] == 3
    assert len(branch.trace) > len(old.trace)
    assert old.state == "paused"


def test_a_breakpoint_at_which_the_old_run_was_held_does_not_hold_its_branch_there(raced, wait_until):
    raced.breaks.show("iteration >= 5")
    press(raced, SAME_SOLVER)
    wait_until(lambda: not raced.session.alive)
    assert raced.session.runs[2].state == "finished"


def test_there_is_no_branch_before_there_is_an_iterate(visit):
    page = visit(**SMALL)
    assert page.cursor_bar.offer == {}
    press(page, SAME_SOLVER)
    assert page.session.runs == []


def test_what_is_not_offered_starts_nothing(raced):
    press(raced, "dual-cd")
    assert len(raced.session.runs) == 2


def test_a_run_that_cannot_be_replayed_is_told_in_a_sentence(raced):
    raced.session.runs[0].trace.tell(warm=True)
    press(raced, SAME_SOLVER)
    assert len(raced.session.runs) == 2
    said = " ".join(html.unescape(alert.objects[0].object) for alert in raced.notices)
    assert "prox-qn did not start where its problem does" in said


def test_a_branch_keeps_the_problem_of_its_run_when_the_page_has_another_lambda(raced, wait_until):
    old = raced.session.runs[0]
    raced.problem.lam.value = "0.05"
    wait_until(lambda: (raced.session.tick(), raced.problem.ready)[1])
    assert raced.setting.problem.lam == 0.05
    raced.session.cursor.place(old.trace, 5)
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    assert raced.session.runs[2].trace.info.problem["key"] == old.trace.info.problem["key"]


def test_a_run_of_the_past_goes_on_once_its_problem_is_there(raced, wait_until):
    old = raced.session.runs[0]
    kept = Trace.from_records(list(old.trace.records()), **old.trace.info.record())
    problem = raced.problem.problem
    past = PastRun(SimpleNamespace(id=1, title="yesterday", alive=False), kept, 999, problem)
    raced.session.add(past)
    raced.session.cursor.place(kept, 5)
    press(raced, SAME_SOLVER)
    ended(raced, wait_until)
    branch = raced.session.runs[-1]
    assert branch.label == "yesterday from 5"
    np.testing.assert_array_equal(branch.trace.objective, old.trace.objective[5:])
