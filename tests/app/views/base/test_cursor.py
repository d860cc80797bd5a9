"""The cursor finds the run to show, and leaves a person's choice alone."""

from __future__ import annotations

from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import Trace


def trace(label: str, iterations: int = 3) -> Trace:
    made = Trace({"label": label})
    for k in range(iterations):
        made.append({"iteration": k, "objective": 1.0})
    return made


def test_the_cursor_goes_to_the_first_run_in_whatever_order_they_start():
    first, second, cursor = trace("first"), trace("second"), Cursor()
    cursor.keep_up([second])
    assert cursor.run is second
    cursor.keep_up([first, second])
    assert cursor.run is first


def test_a_run_that_was_chosen_stays_until_it_is_gone_or_all_begin_anew():
    first, second, cursor = trace("first"), trace("second", 5), Cursor()
    for choose in (lambda: cursor.choose(second, follow=True), lambda: cursor.place(second, 4)):
        choose()
        cursor.keep_up([first, second])
        assert (cursor.run, cursor.iteration) == (second, 4)
        cursor.reset()
        cursor.keep_up([first, second])
        assert (cursor.run, cursor.iteration) == (first, 2)
    cursor.place(second, 1)
    cursor.keep_up([first])
    assert cursor.run is first


def test_while_it_follows_it_is_at_the_head():
    run, cursor = trace("only"), Cursor()
    cursor.keep_up([run])
    run.append({"iteration": 3, "objective": 1.0})
    cursor.keep_up([run])
    assert cursor.iteration == 3
    cursor.place(run, 1)
    run.append({"iteration": 4, "objective": 1.0})
    cursor.keep_up([run])
    assert cursor.iteration == 1


def test_the_row_at_the_cursor_is_the_nearest_of_those_given():
    run, cursor = Trace(), Cursor()
    assert cursor.row(run.since(None)[0]) is None
    for k in (0, 4, 8):
        run.append({"iteration": k})
    rows, _, _ = run.since(None)
    for iteration, row in ((0, 0), (2, 1), (3, 1), (5, 1), (7, 2), (20, 2)):
        cursor.place(run, iteration)
        assert cursor.row(rows) == row


def test_a_run_that_is_chosen_and_followed_is_looked_at_where_it_is():
    first, second, cursor = trace("first"), trace("second", 5), Cursor()
    cursor.choose(first, follow=True)
    cursor.choose(second, follow=True)
    assert (cursor.run, cursor.iteration) == (second, 4)
    cursor.choose(first, follow=False)
    assert cursor.iteration == 4, "the same iterate of another run"
