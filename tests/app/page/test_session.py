"""A visitor's session: its timer, what it gives back, and what becomes of it without a browser."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.model import Model

from solverscope.app.page.following.following_session import FollowingSession
from solverscope.app.page.presence import CLOSED_SECONDS
from solverscope.app.page.session import Session
from solverscope.app.runs.pool import PoolFull, RunPool
from solverscope.app.serving.tick_scheduler import (
    EAGER_TICK_MS,
    IDLE_TICK_MS,
    MAX_TICK_MS,
    TICK_MS,
    TickScheduler,
)
from solverscope.app.views import View
from tests.app.helpers import Browser, curves, note

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}
SLOW = SMALL | {"tol": "1e-14", "speed": "1 a second"}


def ended(page, wait_until):
    wait_until(lambda: not page.session.alive)
    page.session.tick()


def test_nothing_is_sent_to_nobody(visit, monkeypatch):
    page = visit(**SMALL)
    browser = Browser(page.session)
    ticks = []
    monkeypatch.setattr(page.session, "tick", lambda: ticks.append(True))
    browser.away(CLOSED_SECONDS / 2)
    assert not ticks
    browser.back()
    assert len(ticks) == 1


def test_a_browser_that_comes_back_finds_what_was_computed_and_runs_again(visit, wait_until):
    page = visit(**SLOW)
    page.controls.go()
    session, runs = page.session, list(page.session.runs)
    wait_until(lambda: all(run.trace and len(run.trace) > 1 for run in runs))
    browser = Browser(session)
    browser.away(2 * CLOSED_SECONDS)
    wait_until(lambda: not session.alive)
    rows = [len(run.trace) for run in runs]
    browser.away(2 * CLOSED_SECONDS)
    browser.back()
    browser.back()
    assert [len(trace) for trace in session.traces] == rows
    assert all(trace.probes.bytes for trace in session.traces)
    assert [row["state"] for row in page.legend.rows] == ["stopped", "stopped"]
    assert len(page.notices) == 1
    assert "connection was lost" in page.notices[0].objects[0].object
    page.controls.pace.value = 0.0
    page.limits.receive({"name": "tol", "value": "1e-6"})
    page.controls.go()
    wait_until(lambda: (browser.tick(), not session.alive)[1])
    browser.tick()
    assert [row["state"] for row in page.legend.rows] == ["finished", "finished"]


def test_data_that_were_not_loaded_when_the_page_was_left_are_loaded_on_its_return(visit, wait_until):
    page = visit(**SMALL)
    browser = Browser(page.session)
    with page.session.share.pool.lock:  # no slice for anybody
        page.problem.data.value = "digits"
        browser.away(2 * CLOSED_SECONDS)
    wait_until(lambda: not page.session.share.workers)
    assert not page.problem.ready
    browser.back()
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert "10 classes" in page.problem.card.object


@pytest.mark.parametrize("end", ["clear", "close"])
def test_forgotten_runs_give_back_what_was_observed_of_them(visit, wait_until, end):
    page = visit(**SMALL)
    page.controls.go()
    ended(page, wait_until)
    stores = [trace.probes for trace in page.session.traces]
    assert all(store.bytes for store in stores)
    getattr(page.session, end)()
    assert not any(store.bytes for store in stores)
    page.session.cursor.place(page.session.cursor.run, 1)
    page.session.tick()


def test_held_plots_wait_while_runs_go_on_and_show_everything_once_they_end(visit, wait_until):
    page = visit(
        **SMALL | {"plots": "at the end", "speed": "30 a second", "solvers": "prox-gd", "tol": "1e-14"}
    )
    page.controls.go()
    wait_until(lambda: (page.session.tick(), sum(map(len, page.session.traces)) > 5)[1])

    def points() -> int:
        return sum(len(source.data["x"]) for source in curves(page.convergence.figure))

    assert points() == 0
    assert page.legend.rows[0]["iteration"] != "–", "the numbers go on"
    page.controls.drawing.value = 1
    wait_until(lambda: (page.session.tick(), points() > 5)[1])
    page.controls.drawing.value = 0
    page.controls.stop.param.trigger("clicks")
    ended(page, wait_until)
    assert points() == len(page.session.traces[0])


def test_no_row_is_ahead_of_the_plots_however_a_run_ends_meanwhile(visit, wait_until):
    page = visit(**SLOW | {"solvers": "prox-gd"})
    page.controls.go()
    (run,) = page.session.runs
    wait_until(lambda: (page.session.tick(), page.legend.rows[0]["state"] == "running")[1])

    class Ends:
        """Comes between the plots and the rows, and the end of the run with it."""

        def update(self) -> None:
            run.worker.stop()
            assert run.worker.join(60)

    page.session.watchers.insert(0, Ends())
    page.session.tick()
    assert run.state == "stopped"
    assert (page.legend.rows[0]["state"], page.legend.rows[0]["word"]) == ("running", "running")
    page.session.tick()
    assert (page.legend.rows[0]["state"], page.legend.rows[0]["word"]) == ("stopped", "stopped")
    (curve,) = curves(page.convergence.figure)
    assert curve.data["iteration"][-1] == run.trace.iteration[-1]


def test_a_run_that_shows_nothing_yet_is_looked_at_more_often(visit, wait_until):
    page = visit(**SMALL | {"solvers": "prox-gd", "tol": "1e-14"})
    browser = Browser(page.session)
    page.controls.go()
    assert browser.period == EAGER_TICK_MS
    wait_until(lambda: (browser.tick(), len(page.session.traces[:1] and page.session.traces[0]))[1])
    browser.tick()
    assert browser.period >= TICK_MS


def test_ticks_that_take_long_come_less_often_until_they_are_quick_again(monkeypatch):
    session = Session(RunPool(1), TickScheduler())
    working = threading.Event()
    session.share.start(lambda worker: working.wait(60))
    spent, clock = [0.01], [0.0]
    monkeypatch.setattr(session, "tick", lambda: clock.__setitem__(0, clock[0] + spent[0]))
    monkeypatch.setattr("solverscope.app.page.session.time.perf_counter", lambda: clock[0])
    browser = Browser(session)

    def tick(seconds: float, times: int) -> int:
        spent[0] = seconds
        for _ in range(times):
            browser.tick()
        return browser.period

    assert tick(0.01, 10) == TICK_MS
    assert tick(0.2, 1) == TICK_MS, "one slow tick is none"
    assert tick(0.13, 20) == 2 * TICK_MS
    assert tick(0.06, 20) == 2 * TICK_MS, "it does not go to and fro"
    assert tick(2.0, 20) == MAX_TICK_MS
    assert tick(0.01, 20) == TICK_MS
    working.set()


def test_ticks_come_less_often_while_nothing_is_at_work(visit, wait_until):
    page = visit(**SLOW)
    page.session.scheduler = TickScheduler()
    page.session.scheduler.record = lambda session, milliseconds: None  # all ticks are short
    browser = Browser(page.session)
    assert browser.period == IDLE_TICK_MS, "before the first run"
    page.controls.go()
    wait_until(lambda: (browser.tick(), all(len(trace) for trace in page.session.traces))[1])
    browser.tick()
    assert browser.period == TICK_MS
    page.session.pause()
    browser.tick()
    wait_until(lambda: page.session.at_rest)
    browser.tick()
    assert browser.period == IDLE_TICK_MS, "while all runs are paused"
    for act in (page.session.step, page.session.resume, page.session.stop):
        page.session.pause()
        wait_until(lambda: page.session.at_rest)
        browser.tick()
        assert browser.period == IDLE_TICK_MS
        act()
        assert browser.period == TICK_MS, act.__name__
    wait_until(lambda: not page.session.alive)
    browser.tick()
    assert browser.period == IDLE_TICK_MS
    window = FollowingSession(page.session)
    browser.tick()
    assert browser.period == TICK_MS, "another window may ask for something"
    window.close()
    browser.tick()
    assert browser.period == IDLE_TICK_MS


class Slow(View):
    """A view that is brought up to date at every fifth tick."""

    id, title, every = "slow", "Slow", 5
    draws = 0

    def build(self) -> None:
        pass

    def draw(self) -> None:
        self.draws += 1


def test_a_view_that_takes_long_lags_no_further_behind_where_ticks_are_slow(visit, wait_until):
    page = visit(**SLOW)
    browser, view = Browser(page.session), Slow()
    page.session.show_in(view)
    page.controls.go()
    wait_until(lambda: (browser.tick(), page.session.state == "running")[1])
    # a run that comes to be shown is drawn at once
    wait_until(lambda: (browser.tick(), len(view.traces) == len(page.session.runs))[1])

    def draws(seconds: float) -> int:
        before = view.draws
        for _ in range(10):
            browser.now += seconds
            browser.tick()
        return view.draws - before

    assert draws(0.0) == 2
    assert draws(TICK_MS / 1000) in (2, 3)
    assert draws(MAX_TICK_MS / 1000) == 10
    page.session.pause()
    wait_until(lambda: page.session.state == "paused")
    assert draws(0.0) == 10, "what stands still is shown as it is"
    page.session.set_drawing(0)
    assert draws(MAX_TICK_MS / 1000) == 0


def test_a_view_that_is_not_drawn_in_a_tick_says_in_it_which_iterate_it_shows(visit, wait_until):
    page = visit(
        **SLOW | {"solvers": "prox-gd", "tab": "shrinking", "speed": "30 a second", "plots": "at the end"}
    )
    page.controls.go()
    views, cursor = (page.convergence, page.sparsity), page.session.cursor
    wait_until(lambda: (page.session.tick(), cursor.iteration > 3)[1])
    page.session.set_drawing(1)
    page.session.tick()
    page.session.set_drawing(0)
    shown = cursor.iteration
    wait_until(lambda: (page.session.tick(), cursor.iteration > shown)[1])
    assert [note(view).count(f"Showing iterate {shown}<") for view in views] == [1, 1]
    page.session.pause()
    wait_until(lambda: page.session.state == "paused")
    page.session.set_drawing(1)
    page.session.tick()
    page.session.tick()
    assert [note(view) for view in views] == ["", ""]


def test_the_open_tab_comes_first_in_every_tick(visit, monkeypatch):
    page, order = visit(**SMALL | {"tab": "memory"}), []
    page.open_tabs()
    monkeypatch.setattr(View, "update", lambda view: order.append(view.id))
    page.session.tick()
    assert order[0] == "memory"
    assert set(order[1:]) == {"convergence", "sparsity"}


@pytest.fixture
def walks(monkeypatch):
    """``walks(page)`` attaches a page to a document, and counts how often Bokeh goes through all of it."""

    def attach(page) -> list[int]:
        document = Document()
        page.view().server_doc(document)
        monkeypatch.setattr(type(pn.state), "curdoc", property(lambda self: document))
        counted, walk = [], document.models.recompute
        monkeypatch.setattr(document.models, "recompute", lambda: (counted.append(1), walk())[1])
        return counted

    return attach


def test_a_tick_walks_the_document_at_most_once(visit, walks, wait_until):
    page = visit(**SMALL)
    counted = walks(page)
    page.start(False)
    wait_until(lambda: not page.session.alive)
    counted.clear()
    page.session.tick()
    assert sum(map(len, page.session.traces)) > 0
    assert len(counted) == 1, "curves of both runs are new in both plots"


def test_a_tick_with_nothing_new_touches_no_model(visit, walks, wait_until, monkeypatch):
    page = visit(**SMALL)
    counted = walks(page)
    page.start(False)
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    page.session.tick()
    counted.clear()
    changes = []
    monkeypatch.setattr(Model, "trigger", lambda self, attr, *args, **more: changes.append((self, attr)))
    page.session.tick()
    assert (changes, counted) == ([], [])


def test_what_a_view_hands_over_is_done_off_the_pages_thread_and_given_back_by_a_tick(session, wait_until):
    threads, found = [], []

    def work(pulse):
        pulse()
        threads.append(threading.get_ident())
        return 7

    session.later("a view", work, found.append)
    wait_until(lambda: bool(threads))
    assert threads[0] != threading.get_ident()
    assert not found
    wait_until(lambda: (session.tick(), found)[1])
    assert found == [7]


class EndsMeanwhile(threading.Event):
    """Is set by somebody else as soon as it has been looked at."""

    def is_set(self) -> bool:
        found = super().is_set()
        self.set()
        return found


def test_work_that_ends_while_a_tick_looks_for_what_has_ended_is_given_back(session, monkeypatch):
    found = []
    worker = SimpleNamespace(done=EndsMeanwhile(), error=None)
    monkeypatch.setattr(session.share, "start", lambda task, name: worker)
    session.task(lambda worker: None, found.append)
    session.tick()
    session.tick()
    assert found == [worker]


def test_what_was_stopped_while_nobody_was_there_is_done_on_return(session, wait_until):
    asked, found = [], []

    def work(pulse):
        asked.append(pulse)
        wait_until(lambda: (pulse(), len(asked) > 1)[1])
        return 7

    session.later("a view", work, found.append)
    wait_until(lambda: bool(asked))
    browser = Browser(session)
    browser.away(2 * CLOSED_SECONDS)
    browser.back()
    wait_until(lambda: (browser.tick(), found)[1])
    assert found == [7]


def test_of_what_fails_a_view_hears_and_the_log_too(session, wait_until, caplog):
    found = []

    def work(pulse):
        raise ArithmeticError("no such φ")

    session.later("a view", work, found.append)
    wait_until(lambda: (session.tick(), found)[1])
    assert found == [None]
    assert "no such φ" in caplog.text
    caplog.clear()


def test_where_no_thread_is_left_the_work_of_a_view_waits_for_one(session, wait_until, monkeypatch):
    def full(*args):
        raise PoolFull("no more")

    found = []
    with monkeypatch.context() as busy:
        busy.setattr(session.share, "start", full)
        session.later("a view", lambda pulse: 7, found.append)
        session.tick()
    assert found == []
    wait_until(lambda: (session.tick(), found)[1])
    assert found == [7]


def test_ticks_come_often_while_the_visitor_waits_for_work(session, wait_until):
    session.scheduler = TickScheduler()
    session.scheduler.record = lambda session, milliseconds: None  # all ticks are short
    browser = Browser(session)
    release = threading.Event()
    session.task(lambda worker: release.wait(60), lambda worker: None)
    browser.tick()
    assert browser.period == TICK_MS, "a path that is drawn is not waited for"
    session.task(lambda worker: release.wait(60), lambda worker: None, awaited=True)
    assert browser.period == EAGER_TICK_MS
    browser.tick()
    assert browser.period == EAGER_TICK_MS
    release.set()
    wait_until(lambda: not session.share.workers)
    browser.tick()
    assert browser.period == IDLE_TICK_MS
