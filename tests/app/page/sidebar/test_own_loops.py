"""A loop of another program beside the solvers of a page: on its problem, by its numbers, until it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from solverscope.app.loops import server
from solverscope.app.loops.client import LoopIterate
from solverscope.app.loops.server import IterateReceiver
from solverscope.app.page.page import Page
from solverscope.app.page.session import by_token
from solverscope.app.page.sidebar import own_loops
from solverscope.app.page.sidebar.own_loops import MAX_LOOPS, NO_PROBLEM, PAGE_CLOSED, RUN_REMOVED
from solverscope.app.runs.live import STYLE_PERIOD
from solverscope.app.serving.access import Rights
from solverscope.solvers.runs.own_loop import ENDED
from tests.app.helpers import Browser, curves

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-6"}


def sent(iterate: LoopIterate) -> bytes:
    return iterate.header + iterate.w.tobytes()


@dataclass(eq=False)
class FakeConnection:
    """A connection whose loop is the test."""

    size: int
    label: str = "mine"
    said: list[dict[str, Any]] = field(default_factory=list)
    closed: dict[str, Any] | None = None
    receiver: IterateReceiver | None = None
    asked: int = 0
    n: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed is None

    def call_later(self, seconds: float, act: Callable[[], object]) -> None:
        pass

    def say(self, **said: Any) -> None:
        self.said.append(said)

    def ask_next(self) -> None:
        self.asked += 1

    def close(self, **reason: Any) -> None:
        self.closed = self.closed or reason

    def tell(self, w: np.ndarray, objective: float | None = None) -> None:
        self.receiver.receive(sent(LoopIterate(self.n, 0.25 * self.n, 0.5 * self.n, objective, w)))
        self.n += 1


@pytest.fixture
def enter(wait_until) -> Callable[..., FakeConnection]:
    def enter(page, label: str = "mine") -> FakeConnection:
        page.own_loops.receive({"action": "open"})
        endpoint = server.find_by_token(page.own_loops.token)
        connection = FakeConnection(endpoint.host.admit(), label)
        endpoint.host.start_run(connection)
        wait_until(lambda: (page.session.tick(), connection.said or connection.closed)[1])
        return connection

    return enter


@pytest.fixture
def tell(wait_until) -> Callable[..., None]:
    """Send an iterate, and wait until it has been read."""

    def tell(connection: FakeConnection, w: np.ndarray, objective: float | None = None) -> None:
        asked = connection.asked
        connection.tell(w, objective)
        wait_until(lambda: connection.asked > asked)

    return tell


def steps(problem, n: int) -> list[np.ndarray]:
    """Weights of proximal gradient steps."""
    found = [np.zeros(problem.size)]
    for _ in range(n - 1):
        w = found[-1]
        found.append(problem.penalty.prox(w - 0.1 * problem.at(w).gradient(), 0.1))
    return found


def ended(page, run, wait_until) -> None:
    wait_until(lambda: not run.alive)
    page.session.tick()


def test_the_numbers_of_a_loop_are_those_of_the_problem_at_its_weights(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    problem = page.problem.problem
    assert connection.said[0]["size"] == problem.size
    assert connection.said[0]["problem"]["lam"] == problem.lam
    told = steps(problem, 4)
    for w in told:
        tell(connection, w, problem.at(w).objective)
    (run,) = page.session.runs
    page.session.tick()
    for row, w in enumerate(told):
        point = problem.at(w)
        assert run.trace.objective[row] == point.objective
        assert run.trace.violation[row] == point.violation()
        assert run.trace.nnz[row] == np.count_nonzero(w)
    assert run.trace.cpu_seconds.tolist() == [0.0, 0.25, 0.5, 0.75], "of the loop's own clock"
    assert [row["label"] for row in page.legend.rows] == ["mine"]
    assert page.legend.rows[0]["state"] == "running"
    drawn = curves(next(iter(page.convergence.shown_figures()))[1])
    assert [len(source.data["x"]) for source in drawn if len(source.data["x"])] == [4]
    connection.receiver.end("")
    ended(page, run, wait_until)
    assert (run.state, run.message, len(run.trace)) == ("stopped", ENDED, 4)


def test_a_loop_stands_beside_solvers_that_are_started_meanwhile(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    assert page.session.state == "idle"
    assert not page.controls.run.disabled
    assert not page.controls.stop.disabled
    page.controls.go()
    wait_until(lambda: (page.session.tick(), page.session.racing)[1] == [])
    mine = next(run for run in page.session.runs if run.label == "mine")
    assert mine.alive
    assert sorted(run.label for run in page.session.runs) == ["mine", "owl-qn", "prox-qn"]
    assert len({run.style % STYLE_PERIOD for run in page.session.runs}) == 3, "each in a colour of its own"
    tell(connection, np.zeros(connection.size))
    assert len({run.trace.info.problem["key"] for run in page.session.runs}) == 1


def test_stop_in_the_page_ends_it_there(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    (run,) = page.session.runs
    page.legend.receive({"action": "stop", "key": run.style})
    ended(page, run, wait_until)
    assert connection.closed == {"stop": True}
    assert (run.state, len(run.trace)) == ("stopped", 1)


def test_while_it_is_paused_nothing_is_asked_for(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    (run,) = page.session.runs
    page.legend.receive({"action": "pause", "key": run.style})
    wait_until(lambda: run.state == "paused")
    asked = connection.asked
    connection.tell(np.zeros(connection.size))
    page.session.tick()
    assert (connection.asked, len(run.trace)) == (asked, 1)
    page.legend.receive({"action": "resume", "key": run.style})
    wait_until(lambda: len(run.trace) == 2)


def test_a_connection_that_breaks_makes_it_failed_and_keeps_its_trace(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    (run,) = page.session.runs
    connection.receiver.fail(server.LOOP_LOST)
    ended(page, run, wait_until)
    assert (run.state, run.message, len(run.trace)) == ("failed", server.LOOP_LOST, 1)
    assert page.legend.rows[0]["state"] == "failed"


def test_an_error_of_the_loop_is_the_end_of_its_run(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection = enter(page)
    w = np.zeros(connection.size)
    tell(connection, w, 2.0 * page.problem.problem.at(w).objective)
    (run,) = page.session.runs
    connection.receiver.end("ZeroDivisionError: division\x1b by zero")
    ended(page, run, wait_until)
    assert run.state == "failed"
    assert run.message.startswith("ZeroDivisionError: division  by zero; its own objective differs from the")


def test_an_iterate_out_of_turn_is_refused(visit, enter, tell):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    for message, said in (
        (sent(LoopIterate(0, 0.0, 0.0, None, np.zeros(connection.size))), "in order"),
        (sent(LoopIterate(1, -0.0, 0.0, None, np.zeros(connection.size + 1))), "entries"),
    ):
        with pytest.raises(ValueError, match=said):
            connection.receiver.receive(message)
    (run,) = page.session.runs
    page.legend.receive({"action": "pause", "key": run.style})
    connection.tell(np.zeros(connection.size))
    with pytest.raises(ValueError, match="once the page has asked for it"):
        connection.tell(np.zeros(connection.size))


def test_what_is_no_stop_leaves_a_loop_alone(visit, enter, tell, wait_until):
    page = visit(**SMALL)
    connection, other = enter(page), enter(page)
    assert [run.label for run in page.session.runs] == ["mine", "mine (2)"]
    page.session.clear()
    wait_until(lambda: (page.session.tick(), connection.closed and other.closed)[1])
    assert connection.closed == other.closed == {"gone": RUN_REMOVED}
    third = enter(page)
    browser = Browser(page.session)
    browser.away(10.0)
    assert third.closed == {"gone": PAGE_CLOSED}, "the tab is closed"


def test_a_token_ends_with_its_page_and_opens_nothing_else_of_it(visit, enter):
    page, other = visit(**SMALL), visit(**SMALL)
    assert page.own_loops.token == "", "there is none before it is asked for"
    connection = enter(page)
    other.own_loops.receive({"action": "open"})
    token = page.own_loops.token
    assert token != other.own_loops.token
    assert other.session.runs == []
    assert token not in by_token, "it is not that of the windows of a page"
    page.close()
    assert connection.closed == {"gone": PAGE_CLOSED}
    assert server.find_by_token(token) is None
    assert server.find_by_token(other.own_loops.token).host is other.own_loops
    other.close()


def test_a_page_without_data_and_one_with_too_many_loops_take_none(visit, enter, monkeypatch):
    page = visit(**SMALL)
    monkeypatch.setattr(own_loops, "MAX_LOOPS", 1)
    enter(page)
    with pytest.raises(ValueError, match="The page shows 1 loops"):
        page.own_loops.admit()
    assert MAX_LOOPS >= 8
    page.session.clear()
    page.problem.problem = None
    with pytest.raises(ValueError, match="no problem yet"):
        page.own_loops.admit()
    assert NO_PROBLEM.endswith(".")


def test_no_branch_and_no_command_is_offered_for_a_loop(visit, enter, tell):
    page = visit(**SMALL)
    connection = enter(page)
    tell(connection, np.zeros(connection.size))
    page.session.tick()
    assert page.session.cursor.run is page.session.runs[0].trace
    assert page.cursor_bar.offer == {}
    page.export_panel.show()
    for _, text in page.export_panel.texts:
        assert "# mine is a loop of your own: only your program repeats it." in text


def test_the_line_has_the_address_of_programs_where_the_browsers_is_a_proxys():
    page = Page(SMALL, rights=Rights(at="http://localhost:5006/app"))
    assert page.own_loops.at == "http://localhost:5006/app"
    page.session.close()
