"""A page that no browser shows: what goes on there, and how long it waits for one."""

from __future__ import annotations

from solverscope.app.page.presence import (
    CLOSED_SECONDS,
    DISCONNECTED_SECONDS,
    RELOAD_SECONDS,
    REOPENED_SECONDS,
)
from solverscope.app.page.session import Session
from solverscope.app.runs.pool import RunPool
from solverscope.app.serving.tick_scheduler import MAX_TICK_MS
from tests.app.helpers import Browser

SLOW = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-14", "speed": "1 a second"}


def test_a_session_whose_page_is_gone_stops_its_runs(visit, wait_until):
    page = visit(**SLOW)
    page.controls.go()
    wait_until(lambda: all(run.trace and len(run.trace) for run in page.session.runs))
    workers = [run.worker for run in page.session.runs]
    browser = Browser(page.session)
    browser.away(CLOSED_SECONDS / 2)
    assert not any(worker.over for worker in workers)
    browser.away(CLOSED_SECONDS)
    assert all(worker.join(60) for worker in workers)
    assert browser.period == MAX_TICK_MS


def test_a_short_gap_of_the_connection_goes_unnoticed(visit):
    page = visit(**SLOW)
    page.controls.go()
    browser = Browser(page.session)
    browser.away(CLOSED_SECONDS / 2)
    browser.back()
    browser.away(CLOSED_SECONDS / 2)
    assert all(run.alive for run in page.session.runs)
    assert len(page.notices) == 0


def test_runs_go_on_while_the_connection_is_lost_and_the_server_keeps_the_page_for_minutes(visit, wait_until):
    page = visit(**SLOW)
    page.controls.go()
    browser = Browser(page.session, returns=True)
    for _ in range(4):
        browser.away(DISCONNECTED_SECONDS / 4)
        assert all(run.alive for run in page.session.runs)
        assert browser.kept == [True]
    browser.back()
    assert len(page.notices) == 0
    browser.away(DISCONNECTED_SECONDS + 1.0)
    assert browser.kept == [True, False]
    wait_until(lambda: not page.session.alive)
    browser.back()
    assert browser.kept == [True, False, True]
    assert "connection was lost" in page.notices[0].objects[0].object


def test_a_page_that_was_never_shown_is_not_kept(session):
    browser = Browser(session, returns=True)
    assert browser.kept == [True]
    other, kept = Session(RunPool(1)), []
    other.start_timer(lambda: 0, kept.append, timer=browser.timer, clock=lambda: browser.now)
    browser.tick()
    assert kept == []
    other.close()


def test_a_tab_that_is_closed_is_told_from_a_lost_connection(visit, wait_until):
    page = visit(**SLOW)
    page.controls.go()
    browser = Browser(page.session, returns=True)
    page.session.presence.leave()
    browser.away(CLOSED_SECONDS / 2)
    assert all(run.alive for run in page.session.runs)
    browser.away(CLOSED_SECONDS)
    wait_until(lambda: not page.session.alive)
    assert browser.kept == [True, False]


def test_a_page_that_was_left_and_came_back_is_waited_for_as_before(visit):
    page = visit(**SLOW)
    page.controls.go()
    browser = Browser(page.session, returns=True)
    page.session.presence.leave()
    browser.now += REOPENED_SECONDS + 1.0
    browser.tick()
    browser.away(2 * CLOSED_SECONDS)
    assert all(run.alive for run in page.session.runs)


def test_a_page_that_is_loaded_again_is_waited_for_until_its_browser_has_said_what_it_was(visit, wait_until):
    page, other, again = visit(**SLOW), visit(**SLOW), visit(**SLOW)
    page.controls.go()
    for one, visitor in ((page, "us"), (other, "them"), (again, "us")):
        presence = one.session.presence
        presence.visitor, presence.arrived = visitor, one is page
    browser = Browser(page.session, returns=True)
    page.session.presence.leave()
    browser.away(RELOAD_SECONDS / 2)
    assert all(run.alive for run in page.session.runs)
    again.session_restore.receive({"action": "arrived"})
    browser.away(0.0)
    wait_until(lambda: not page.session.alive)
