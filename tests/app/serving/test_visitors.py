"""Visitors of one server, without a browser: what one sends reaches their own page alone, and what they took
is given back."""

from __future__ import annotations

import asyncio

import pytest

from solverscope import datasets
from solverscope.app.serving.page_socket import TOO_SLOW
from tests import loop
from tests.benchmarks.visitor import Visitor, deaf

from ..conftest import Served

#: ``panel`` in a server that is patient for a second where others are for fifteen, and whose system keeps
#: little of what a browser has not read.
HASTY = """
import socket
from bokeh.server.views.ws import WSHandler
from panel.command import main
from solverscope.app.serving import page_socket

page_socket.SECONDS, page_socket.BYTES_A_SECOND = 1.0, 2.0**22
connected = WSHandler.open

def open(self):
    self.ws_connection.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    connected(self)

WSHandler.open = open
main()
"""


@pytest.fixture
def hasty(tmp_path):
    """A server that soon closes connections to browsers that read nothing."""
    server = Served(tmp_path / "log", program=("-c", HASTY))
    yield server
    server.stop()


@pytest.fixture
def hardy(tmp_path):
    """A server that forgets a page soon after its visitor has left."""
    soon = ["--unused-session-lifetime", "1000", "--check-unused-sessions", "500"]
    server = Served(tmp_path / "log", *soon)
    yield server
    server.stop()


def test_a_page_made_for_a_socket_alone_asks_no_other_host(tmp_path, wait_until):
    """As after a wait so long that the server has forgotten the page it sent."""
    soon = ["--unused-session-lifetime", "1", "--check-unused-sessions", "100", "--log-level", "debug"]
    server, heard = Served(tmp_path / "log", *soon), []

    async def come_late() -> None:
        visitor = Visitor(server.port, heard)
        token = await visitor.token()
        await asyncio.to_thread(wait_until, lambda: "Discarding session" in server.log.read_text())
        await visitor.open(token=token)
        await visitor.close()

    loop.run(come_late())
    assert "Traceback" not in server.stop()
    assert "static/extensions/panel/css/loading.css" in "".join(heard)
    assert "cdn.holoviz" not in "".join(heard)


@pytest.mark.slow
def test_what_a_visitor_sends_reaches_no_page_but_their_own(hardy, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hushhush a\nhushhush b\n\nword a\n\n" * 20)

    heard: list[str] = []

    async def attack() -> None:
        first, second = Visitor(hardy.port), Visitor(hardy.port, heard)
        await first.open()
        await second.open()
        await second.press_at(first.models["Run"])
        menu = next(id for id, label in second.labels.items() if label == "Data set")
        await second.change(menu, "options", [["mine", f"columns:{secret}"]])
        await second.change(menu, "value", f"columns:{secret}")
        await second.change(menu, "value", "mine")
        await second.change(menu, "value", datasets.describe("digits").name)  # which the menu does offer
        await second.press("Run")
        await second.wait_until(lambda: "running" in second.states or "finished" in second.states, "a run")
        await first.wait_until(lambda: first.rows == [], "no run of the other one")
        assert any("data=digits" in frame for frame in heard)
        assert not any("hushhush" in frame for frame in heard)
        await first.press("Run")
        await first.wait_until(lambda: first.rows != [], "a run of its own")
        await first.close()
        await second.close()

    loop.run(attack())


@pytest.mark.slow
def test_memory_is_given_back_after_pages_that_no_browser_came_for(hardy, wait_until):
    def ask(times: int) -> None:
        for _ in range(times):
            assert hardy.get("/app")[0] == 200

    ask(10)  # what is imported and kept for all pages is paid for
    few = hardy.memory()
    ask(30)
    wait_until(lambda: hardy.memory() < few + 20.0)


@pytest.mark.slow
@pytest.mark.parametrize("alone", ["", "&alone=1"], ids=["together", "alone"])
def test_windows_of_a_lesson_that_read_nothing_are_closed_and_hold_up_nobody(alone, hasty):
    async def scenario() -> None:
        teacher, follower = Visitor(hasty.port), Visitor(hasty.port)
        await teacher.open("?tol=1e-300&max_seconds=60&tab=trajectories")
        address = await teacher.teach()
        windows = [await deaf(hasty.port, address + alone) for _ in range(3)]
        await follower.open(address, ready="LegendRows")
        await teacher.press("Run")
        await follower.wait_until(lambda: "running" in follower.states, "the runs, beside those who are deaf")
        await teacher.wait_until(
            lambda: hasty.log.read_text().count(TOO_SLOW) == 3, "the end of the deaf ones"
        )
        reached = follower.rows
        await follower.wait_until(lambda: follower.rows != reached, "what is new after that")
        assert hasty.log.read_text().count(TOO_SLOW) == 3, "who reads stays"
        for window in windows:
            window.close()
        await follower.close()
        await teacher.close()

    loop.run(scenario())
