"""A bar a search, and where a click on it leads."""

from __future__ import annotations

import numpy as np

from solverscope.app.views import Cursor
from solverscope.app.views.search import trials as module
from solverscope.app.views.search.trials import Trials, bars
from solverscope.solvers import Trace
from tests.app.helpers import click, drawn


def trace_of(trials: list[int]) -> Trace:
    return Trace.from_records([{"iteration": k, "ls_trials": n} for k, n in enumerate(trials)], label="a")


def test_there_is_a_bar_for_every_search_and_none_where_nothing_was_searched():
    trace = trace_of([-1, 1, 3, -1, 0, 2])
    view = Trials(trace, Cursor(run=trace, iteration=2, follow=False))
    data = drawn(view.figure, "trials").data
    assert data["x"].tolist() == data["iteration"].tolist() == [1, 2, 5]
    assert data["trials"].tolist() == [1, 3, 2]


def test_a_click_moves_the_cursor_to_the_nearest_search():
    trace = trace_of([-1, 1, 3, 1, 1, 2])
    view = Trials(trace, Cursor(run=trace, iteration=0, follow=False))
    click(view.figure, 2.3, 1.0)
    assert view.cursor.iteration == 2
    click(view.figure, 9.0, 1.0)
    assert view.cursor.iteration == 5
    click(view.figure, None, None)
    assert view.cursor.iteration == 5


def test_of_a_long_run_each_bar_is_the_longest_of_several_searches(monkeypatch):
    monkeypatch.setattr(module, "MOST_BARS", 10)
    trials = np.ones(103, dtype=int)
    trials[37] = 9
    made = bars(np.arange(103), trials)
    assert len(made["x"]) <= 10
    assert made["trials"].max() == 9
    assert made["iteration"][np.argmax(made["trials"])] == 37
    assert (np.diff(made["x"]) > 0).all()
    covered = made["width"].sum()
    assert 95 < covered < 103


def test_many_bars_are_drawn_by_their_upper_ends_alone():
    few, many = (bars(np.arange(n), np.ones(n, dtype=int)) for n in (20, 488))
    assert (few["bottom"] == 0.0).all()
    assert (many["bottom"] == many["trials"] - 0.5).all()


def test_a_run_that_goes_on_gets_more_bars():
    trace = trace_of([-1, 1])
    view = Trials([trace], Cursor(run=trace, iteration=0, follow=False))
    assert len(drawn(view.figure, "trials").data["x"]) == 1
    trace.append({"iteration": 2, "ls_trials": 4})
    view.update()
    assert drawn(view.figure, "trials").data["trials"].tolist() == [1, 4]
