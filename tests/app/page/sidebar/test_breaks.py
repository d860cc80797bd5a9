"""Pause when: a condition over the record holds a run, and the page says which and where."""

from __future__ import annotations

import pytest

from solverscope.app.page.page import Page
from solverscope.solvers import FIELDS

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;prox-gd", "lam": "0.005", "tol": "1e-6"}


def type_in(page: Page, text: str) -> None:
    page.breaks.receive({"name": "condition", "value": text})


def error_of(page: Page) -> str:
    (field,) = page.breaks.fields
    return field["error"]


def held(page: Page, wait_until) -> None:
    wait_until(lambda: page.session.alive and all(run.state == "paused" for run in page.session.alive))
    page.session.tick()


def test_a_run_is_held_where_a_condition_begins_to_hold_and_the_cursor_is_there(visit, wait_until):
    page = visit(**SMALL | {"solvers": "prox-qn"})
    type_in(page, "nnz >= 5; iteration >= 12")
    page.controls.go()
    held(page, wait_until)
    (run,) = page.session.runs
    first = int(run.trace.iteration[-1])
    assert run.trace.nnz[-1] >= 5
    assert all(run.trace.nnz[:-1] < 5)
    assert run.message == f"paused at iteration {first}, where nnz >= 5"
    assert page.legend.rows[0]["message"] == run.message
    cursor = page.session.cursor
    assert (cursor.run, cursor.iteration, cursor.follow) == (run.trace, first, False)

    # it goes on past iterates where the condition still holds, to where the next one begins to
    page.controls.go()
    wait_until(lambda: run.state == "paused" and len(run.trace) > first + 1)
    page.session.tick()
    assert run.message == "paused at iteration 12, where iteration >= 12"
    assert cursor.iteration == 12


def test_conditions_may_change_while_runs_go_on(visit, wait_until):
    page = visit(**SMALL | {"tol": "1e-14", "speed": "10 a second"})
    page.controls.go()
    wait_until(lambda: all(run.trace and len(run.trace) for run in page.session.runs))
    type_in(page, "step > 0")
    held(page, wait_until)
    assert [run.hit.condition for run in page.session.runs] == ["step > 0", "step > 0"]
    type_in(page, "")
    lengths = [len(run.trace) for run in page.session.runs]
    page.controls.go()
    wait_until(lambda: all(len(r.trace) > n for r, n in zip(page.session.runs, lengths, strict=True)))
    assert page.session.state == "running"
    page.controls.stop.clicks += 1


def test_a_run_that_is_paused_by_hand_is_not_said_to_be_held(visit, wait_until):
    page = visit(
        **SMALL | {"tol": "1e-14", "speed": "100 a second", "solvers": "prox-gd", "break": "iteration == 3"}
    )
    page.controls.go()
    held(page, wait_until)
    (run,) = page.session.runs
    assert "iteration == 3" in run.message
    page.controls.go()
    wait_until(lambda: len(run.trace) > 6)
    page.session.pause()
    held(page, wait_until)
    assert run.message == ""
    page.controls.stop.clicks += 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("nzn > 1", "nzn is no field"), ("nnz > 1; nnz", "true or false"), ("open('x')", "not understood")],
)
def test_what_is_no_condition_is_told_and_the_last_one_stays(visit, text, said):
    page = visit(**SMALL)
    type_in(page, "nnz > 3")
    type_in(page, text)
    assert said in error_of(page)
    assert [condition.text for condition in page.session.breaks] == ["nnz > 3"]
    assert page.obstacle is None or "condition" not in page.obstacle


def test_conditions_are_in_the_address_and_a_story_begins_without(visit):
    page = visit(**SMALL | {"break": '"kink" in events ;step<1'})
    assert page.query()["break"] == '"kink" in events; step<1'
    assert visit(**page.query()).query()["break"] == page.query()["break"]
    assert len(page.notices) == 0
    page.load_story(page.story)
    assert page.query()["break"] == ""
    assert page.session.breaks == ()


def test_a_bad_condition_in_the_address_is_left_out_with_a_notice(visit):
    page = visit(**SMALL | {"break": "nnz ** 9"})
    assert page.session.breaks == ()
    assert "was left out" in page.notices[0].objects[0].object


def test_suggestions_are_conditions_that_can_be_taken_as_they_are(visit):
    page = visit(**SMALL)
    (field,) = page.breaks.fields
    assert len(field["suggestions"]) == 9
    for text, title in field["suggestions"]:
        type_in(page, text)
        assert error_of(page) == ""
        assert any(name in text for name in FIELDS)
        assert "{" not in title


def test_a_condition_that_is_true_at_the_start_is_offered_from_iterate_1(visit, wait_until):
    page = visit(**SMALL | {"break": "nnz < 3 or step < 0; iteration >= 9", "tol": "1e-14"})
    page.controls.go()
    held(page, wait_until)
    assert [run.hit.iteration for run in page.session.runs] == [0, 0]
    (field,) = page.breaks.fields
    assert field["note"] == "nnz < 3 or step < 0 is true at iterate 0, where runs begin."
    assert field["offer"] == "from iterate 1"
    page.breaks.receive({"name": "condition", "value": field["offer"], "offered": True})
    assert page.query()["break"] == "iteration > 0 and (nnz < 3 or step < 0); iteration >= 9"
    wait_until(lambda: all(run.state == "paused" and len(run.trace) > 1 for run in page.session.runs))
    page.session.tick()
    assert all(run.hit.iteration > 0 for run in page.session.runs)
    assert page.breaks.fields[0]["note"] == ""
