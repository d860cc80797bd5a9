"""A second window draws the runs of the first, has its cursor, and harms nothing when it is closed."""

from __future__ import annotations

import gc

import pytest

from solverscope.app.page.following.plot_window import GONE, PlotWindow
from solverscope.app.page.session import by_token


@pytest.fixture
def opened(visit, wait_until):
    opened = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-4", x="passes", x_scale="log")
    opened.controls.go()
    wait_until(lambda: (opened.session.tick(), not opened.session.alive)[1])
    opened.session.tick()
    return opened


@pytest.fixture
def beside(opened):
    alone = PlotWindow("sparsity", opened.session.token)
    alone.session.tick()
    yield alone
    alone.close()


def test_it_draws_the_same_runs_on_the_same_axes(opened, beside):
    assert beside.plot is not opened.sparsity
    assert beside.plot.figure is not opened.sparsity.figure
    assert beside.plot.traces == opened.sparsity.traces
    assert (beside.plot.x, beside.plot.x_scale) == ("passes", "log")
    opened.session.toggle(opened.session.runs[0])
    opened.session.tick()
    beside.session.tick()
    assert beside.plot.traces == opened.sparsity.traces == [opened.session.runs[1].trace]
    beside.session.toggle(opened.session.runs[0])
    opened.session.tick()
    assert len(opened.sparsity.traces) == 2


def test_both_have_one_cursor_and_each_page_is_changed_in_its_own_tick(opened, beside):
    first, second = (run.trace for run in opened.session.runs)
    opened.session.cursor.place(second, 3)
    beside.session.tick()
    assert (beside.session.cursor.run, beside.session.cursor.iteration) == (second, 3)
    beside.session.cursor.place(first, 5)
    assert opened.session.cursor.iteration == 3, "it is not for another window to change this page"
    opened.session.tick()
    assert (opened.session.cursor.run, opened.session.cursor.iteration) == (first, 5)
    beside.session.tick()
    assert (beside.session.cursor.run, beside.session.cursor.iteration) == (first, 5)


def test_to_close_it_leaves_runs_and_page_as_they_are(opened, beside):
    before = list(opened.session.runs)
    beside.close()
    assert opened.session.runs == before
    assert all(run.trace.probes.everything() for run in before)
    opened.session.tick()
    assert opened.sparsity.traces == [run.trace for run in before]


def test_it_says_when_the_page_is_closed(opened, beside):
    opened.close()
    with pytest.raises(ValueError, match="is closed"):
        PlotWindow("sparsity", opened.session.token)
    beside.session.tick()
    assert (beside.session.runs, beside.session.traces, beside.legend.rows) == ([], [], [])
    assert GONE in beside.notice.object


def test_only_who_has_the_token_of_an_open_page_sees_its_runs(opened):
    secret = opened.session.token
    assert by_token.get(secret) is opened.session
    assert len(secret) >= 32
    for other in ("", "x", secret[:-1], secret.lower() + "x"):
        with pytest.raises(ValueError, match="is closed"):
            PlotWindow("convergence", other)
    with pytest.raises(ValueError, match="has no plot 'nothing'"):
        PlotWindow("nothing", secret)
    opened.close()
    assert by_token.get(secret) is None
    gc.collect()
