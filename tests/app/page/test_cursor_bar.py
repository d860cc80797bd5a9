"""The bar says what happened at an iterate, and marks where something went wrong."""

from __future__ import annotations

import pytest

from app.page.cursor_bar import FAILED_SEARCH, TROUBLE, CursorBar, marks
from app.page.session import Session
from app.runs.pool import RunPool
from solvers import Trace


@pytest.fixture
def bar() -> CursorBar:
    return CursorBar(Session(RunPool(1)), on_space=lambda: None)


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


def test_another_run_of_the_same_length_brings_its_own_marks(bar):
    cursor = bar._session.cursor
    cursor.choose(trace((), ("curvature-skipped",)), follow=True)
    bar.update()
    assert len(bar.marks) == 1
    cursor.choose(trace((), ()), follow=True)
    bar.update()
    assert bar.marks == []


def test_arrows_move_by_one_recorded_iterate_and_not_beyond_the_ends(bar):
    cursor, run = bar._session.cursor, trace((), (), ())
    cursor.place(run, 1)
    places = []
    for by in (1, 1, -1, -1, -1):
        bar._handle_msg({"action": "by", "by": by})
        places.append(cursor.iteration)
    assert places == [2, 2, 1, 0, 0]


def test_home_and_end_move_to_the_first_and_the_newest_recorded_iterate(bar):
    cursor, run = bar._session.cursor, trace((), (), (), ())
    cursor.place(run, 2)
    bar._handle_msg({"action": "first"})
    assert cursor.iteration == 0
    bar._handle_msg({"action": "last"})
    assert cursor.iteration == 3
    assert not cursor.follow


def test_marks_write_how_many_variables_are_back_with_thin_spaces():
    run = Trace.from_records([{"iteration": 3, "objective": 1.0, "returned": 12345}], label="a")
    assert marks(run.since(None)[0]) == [
        [3, "return", "12\u2009345 variables are back that shrinking had missed"]
    ]
