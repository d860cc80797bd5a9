"""A page that is loaded again has its runs again, and nobody else has them."""

from __future__ import annotations

import pytest

from solverscope.app.page.page import Page
from solverscope.app.page.session_restore import FROM_HISTORY, PAGE_LOST
from solverscope.app.runs.archive import ArchiveLimits
from solverscope.app.runs.history import History
from solverscope.app.serving import page_registry

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}
SLOW = SMALL | {"tol": "1e-14", "speed": "1 a second"}


@pytest.fixture
def comes(visit):
    """``comes(name=value, ...)`` makes a page whose browser has not said yet which page it comes from."""

    def come(**query):
        page = visit(**query)
        page.session.presence.arrived = False
        return page

    return come


@pytest.fixture
def remembered(wait_until):
    """``remembered(**query)`` makes a page of a server with a history that lasts; ``run(page)`` runs it."""
    history, pages = History(None, ArchiveLimits(100, 1 << 28)), []

    def make(**query):
        pages.append(Page(query, history))
        wait_until(lambda: (pages[-1].session.tick(), pages[-1].problem.ready)[1])
        pages[-1].session.presence.arrived = False
        return pages[-1]

    yield make
    for page in pages:
        page.close()
    history.close()


def run(page, wait_until):
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])


def left(page):
    """The message of a browser that leaves a page for another one."""
    return {"action": "arrived", "key": page.session_restore.key, "runs": page.session_restore.runs}


def said(page):
    return [alert.objects[0].object for alert in page.notices]


def test_a_page_that_is_loaded_again_has_the_runs_which_go_on(comes, wait_until):
    page = comes(**SLOW)
    page.controls.go()
    wait_until(lambda: all(run.trace and len(run.trace) for run in page.session.runs))
    runs = list(page.session.runs)
    page.session.toggle(runs[1])
    page.session.cursor.place(runs[0].trace, 0)
    again = comes(**SLOW)
    again.session_restore.receive(left(page))
    again.session.tick()
    assert again.session.runs == runs
    assert page.session.runs == []
    assert all(run.alive for run in runs)
    assert {run.worker for run in runs} <= again.session.share.workers
    assert not {run.worker for run in runs} & page.session.share.workers
    assert [row["label"] for row in again.legend.rows] == ["prox-qn", "owl-qn"]
    assert again.session.hidden(runs[1])
    assert (again.session.cursor.run, again.session.cursor.iteration) == (runs[0].trace, 0)
    assert again.running == page.setting
    page.close()
    assert all(run.alive for run in runs)
    again.session.stop()
    wait_until(lambda: not again.session.alive)
    assert [run.state for run in runs] == ["stopped", "stopped"]


def test_runs_that_are_over_come_back_too_with_the_answer_to_the_question(comes, wait_until):
    page = comes(story="kink")
    page.prediction.take("exact")
    run(page, wait_until)
    truth = page.prediction.truth
    assert truth is not None
    again = comes(story="kink")
    again.session_restore.receive(left(page))
    again.session.tick()
    assert [run.state for run in again.session.runs] == ["finished"] * 3
    assert (again.prediction.answer, again.prediction.truth) == ("exact", truth)
    assert again.prediction.started


def test_whoever_does_not_know_the_key_gets_nothing_and_it_opens_once(comes, wait_until):
    page = comes(**SMALL)
    run(page, wait_until)
    runs = list(page.session.runs)
    for key in ("", None, 7, page.session.token, page.session_restore.key[:-1], "x" * 10_000):
        stranger = comes(**SMALL)
        stranger.session_restore.receive({"action": "arrived", "key": key})
        assert stranger.session.runs == []
    assert page.session.runs == runs
    first, second = comes(**SMALL), comes(**SMALL)
    first.session_restore.receive(left(page))
    second.session_restore.receive({"action": "arrived", "key": page.session_restore.key})
    assert (first.session.runs, second.session.runs) == (runs, [])


def test_a_page_says_once_where_it_comes_from_and_keeps_the_runs_that_it_has(comes, wait_until):
    page, other = comes(**SMALL), comes(**SMALL)
    run(page, wait_until)
    run(other, wait_until)
    own = list(other.session.runs)
    other.session_restore.receive(left(page))
    assert other.session.runs == own
    other.session.clear()
    other.session_restore.receive(left(page))
    assert other.session.runs == []


def test_of_a_page_that_is_forgotten_the_history_has_the_runs(remembered, wait_until):
    page = remembered(**SMALL)
    run(page, wait_until)
    wait_until(lambda: (page.session.tick(), len(page.session_restore.runs) == 2)[1])
    told, objectives = left(page), [run.trace.objective[-1] for run in page.session.runs]
    page.close()
    assert told["key"] not in page_registry.pages
    again = remembered(**SMALL)
    again.session_restore.receive(told)
    wait_until(lambda: (again.session.tick(), again.session.runs)[1])
    assert [run.trace.objective[-1] for run in again.session.runs] == objectives
    assert len({run.style for run in again.session.runs}) == 2
    assert said(again) == [FROM_HISTORY]
    third = remembered(**SMALL)  # what comes from the history comes from it again
    wait_until(lambda: (again.session.tick(), len(again.session_restore.runs) == 2)[1])
    told = left(again)
    again.close()
    third.session_restore.receive(told)
    wait_until(lambda: (third.session.tick(), len(third.session.runs) == 2)[1])


def test_runs_of_another_history_are_not_taken_for_those_that_were_here(remembered, wait_until):
    page = remembered(**SMALL)
    run(page, wait_until)
    wait_until(lambda: (page.session.tick(), len(page.session_restore.runs) == 2)[1])
    (id, label, key), other = page.session_restore.runs
    for names in ([[id, label, "another problem"]], [[id, other[1], key]], [[10**6, label, key]]):
        again = remembered(**SMALL)
        again.session_restore.receive({"action": "arrived", "key": "gone", "runs": [*names, [id], "x", None]})
        wait_until(lambda again=again: (again.session.tick(), len(again.notices))[1])
        assert (again.session.runs, said(again)) == ([], [PAGE_LOST])
