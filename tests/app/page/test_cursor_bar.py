"""The bar says what happened at an iterate, and marks where something went wrong."""

from __future__ import annotations

import pytest

from solverscope.app.page.cursor_bar import CursorBar, marks, said
from solverscope.app.views.base.run_events import FAILED_SEARCH, TROUBLE
from solverscope.solvers import Trace

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}


@pytest.fixture
def bar(session) -> CursorBar:
    return CursorBar(session, on_space=lambda: None)


def trace(*events: tuple[str, ...]) -> Trace:
    records = [{"iteration": k, "epoch": k, "objective": 1.0, "events": e} for k, e in enumerate(events)]
    return Trace.from_records(records, label="a")


def marked(*events: tuple[str, ...]) -> list[list]:
    return [mark for mark in marks(trace(*events).since(None)[0]) if mark[1] == "trouble"]


def test_steps_gone_wrong_are_marked_in_words():
    assert marked((), ("curvature-skipped",)) == [[1, "trouble", TROUBLE["curvature-skipped"]]]
    assert marked(("stalled-on-working-set",)) == [[0, "trouble", TROUBLE["stalled-on-working-set"]]]


def test_a_memory_cleared_by_a_failed_search_is_trouble_and_one_cleared_by_a_new_epoch_is_not():
    assert marked(("epoch-start",), ("epoch-start", "memory-cleared")) == []
    failed = marked((), ("memory-cleared", "backtracked"))
    assert failed == [[1, "trouble", FAILED_SEARCH]]
    both = ("memory-cleared", "backtracked", "epoch-start", "memory-cleared")
    assert marked(both) == [[0, "trouble", FAILED_SEARCH]]
    kept = ("search-failed", "memory-cleared", "epoch-start")
    assert marked(kept) == [[0, "trouble", FAILED_SEARCH]]


def test_another_run_of_the_same_length_brings_its_own_marks(bar, session):
    cursor = session.cursor
    cursor.choose(trace((), ("curvature-skipped",)), follow=True)
    bar.update()
    assert len(bar.marks) == 1
    cursor.choose(trace((), ()), follow=True)
    bar.update()
    assert bar.marks == []


def test_arrows_move_by_one_recorded_iterate_and_not_beyond_the_ends(bar, session):
    cursor, run = session.cursor, trace((), (), ())
    cursor.place(run, 1)
    places = []
    for by in (1, 1, -1, -1, -1):
        bar.receive({"action": "by", "by": by})
        places.append(cursor.iteration)
    assert places == [2, 2, 1, 0, 0]


def test_home_and_end_move_to_the_first_and_the_newest_recorded_iterate(bar, session):
    cursor, run = session.cursor, trace((), (), (), ())
    cursor.place(run, 2)
    bar.receive({"action": "by", "by": -(2**53) + 1})
    assert cursor.iteration == 0
    bar.receive({"action": "by", "by": 2**53 - 1})
    assert cursor.iteration == 3
    assert not cursor.follow


def test_marks_write_how_many_variables_are_back_with_thin_spaces():
    run = Trace.from_records([{"iteration": 3, "objective": 1.0, "returned": 12345}], label="a")
    assert marks(run.since(None)[0]) == [
        [3, "return", "12\u202f345 weights return that shrinking had missed"]
    ]


def test_the_cursor_scrubs_by_row_and_follows_the_head_again(visit, wait_until):
    page = visit(**(SMALL | {"solvers": "prox-qn"}))
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    cursor, bar = page.session.cursor, page.cursor_bar
    last = int(page.session.traces[0].iteration[-1])
    assert cursor.iteration == last
    bar.receive({"action": "by", "by": -1})
    assert (cursor.iteration, cursor.follow) == (last - 1, False)
    bar.receive({"action": "move", "iteration": 2})
    assert bar.state["iteration"] == 2
    assert bar.state["text"].startswith("iteration 2 ·")
    page.session.tick()
    assert cursor.iteration == 2
    bar.receive({"action": "follow"})
    assert cursor.iteration == last
    assert sorted({mark[1] for mark in bar.marks if mark[0] == 0}) == ["epoch"]


def test_a_trace_is_all_that_a_row_needs():
    records = [
        {"iteration": 0, "objective": 2.0, "events": ("epoch-start",)},
        {
            "iteration": 1,
            "objective": 1.5,
            "nnz": 3,
            "step": 0.5,
            "ls_trials": 2,
            "events": ("curvature-skipped",),
        },
        {"iteration": 2, "objective": 1.4, "returned": 4},
    ]
    trace = Trace.from_records(records, label="a")
    rows, _, _ = trace.since(None)
    assert said(rows, 1) == "iteration 1 · f 1.5 · 3 non-zeros · step 0.5 after 2 trials · curvature skipped"
    assert [mark[:2] for mark in marks(rows)] == [[0, "epoch"], [1, "trouble"], [2, "return"]]
