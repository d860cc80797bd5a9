"""A server that dies, and one that is started again in its place."""

from __future__ import annotations

import contextlib

import pytest
from playwright.sync_api import TimeoutError

from .conftest import Server, Visit, complaints

#: What the browser and BokehJS say of a server that is not there.
REFUSED = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "WebSocket connection",
    "Could not open websocket",
    "not connected so cannot send",
)

SLOW = {
    "data": "digits",
    "solvers": "prox-gd",
    "tol": "1e-300",
    "max_seconds": "600",
    "lam": "0.001",
    "speed": "10 a second",
}


@pytest.fixture
def mortal(browser, tmp_path, own_home):
    """A visit to a server of its own, and a way to start it again at the same port."""
    servers = [Server(tmp_path / "first", own_home)]
    context = browser.new_context(viewport={"width": 1440, "height": 900})

    def again() -> Server:
        servers.append(Server(tmp_path / "second", own_home, servers[0].port))
        return servers[-1]

    yield Visit(context.new_page(), servers[0]), again
    context.close()
    for server in servers:
        if server.process.poll() is None:
            assert complaints(server.stop()) == []


@pytest.mark.slow
def test_a_dead_server_is_told_and_after_its_restart_the_set_up_is_back(mortal):
    visit, again = mortal
    in_vain = []
    visit.page.on("requestfailed", lambda request: in_vain.append(request.url))
    visit.open(**SLOW)
    visit.button("Run").click()
    visit.wait_until(lambda: visit.points("convergence") > 3, "a few points")
    query = visit.query()

    visit.server.process.kill()
    alert = visit.alert("The server is gone")
    alert.wait_for()
    drawn = visit.points("convergence")
    assert drawn > 3
    waiting = visit.page.locator(".needs-server")
    looks = waiting.evaluate_all("all => all.map((part) => part.inert && part.style.filter)")
    assert looks == ["opacity(0.4)"] * 2

    asked = len(in_vain)
    visit.wait_until(lambda: len(in_vain) > asked + 1, "the page to ask for the server again")
    assert alert.is_visible()
    assert visit.points("convergence") == drawn

    again()
    visit.alert("the runs are lost").wait_for()
    visit.wait_until(lambda: visit.button("Run").is_enabled(), "Run to be possible")
    visit.wait_until(lambda: visit.query() == query, "the same address")
    assert visit.states() == []
    visit.button("Run").click()
    visit.wait_until(lambda: visit.points("convergence") > 3, "a few points of a new run")
    assert [error for error in visit.errors if not any(words in error for words in REFUSED)] == []


@pytest.mark.slow
def test_a_connection_that_was_cut_is_taken_up_again_with_the_same_session(server, browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(
        """const sockets = window.sockets = []
        window.WebSocket = class extends WebSocket {
          constructor(...how) { super(...how); sockets.push(this) }
        }"""
    )
    visit = Visit(page, server)
    visit.open(**SLOW)
    visit.button("Run").click()
    visit.wait_until(lambda: visit.points("convergence") > 3, "a few points")
    page.evaluate("() => { window.same = true; sockets.at(-1).close() }")
    visit.wait_until(lambda: page.evaluate("sockets.length") > 1, "another connection")

    def stopped() -> bool:
        """Where the connection was away for long the server has stopped the run, maybe between look and
        press; what is pressed before the page is there again is lost."""
        if visit.button("Stop").is_enabled():
            with contextlib.suppress(TimeoutError):
                visit.button("Stop").click(timeout=1000)
        return visit.states() == ["stopped"]

    visit.wait_until(stopped, "the run that was there to be stopped")
    assert page.evaluate("window.same"), "the page was not loaded anew"
    inert = "all => all.map((part) => part.inert)"
    visit.wait_until(
        lambda: page.locator(".needs-server").evaluate_all(inert) == [False] * 2, "a page that can be used"
    )
    context.close()
    # messages that the page sent between the cut and its knowing of it
    unsent = ("already in CLOSING or CLOSED state", "not connected so cannot send")
    assert [error for error in visit.errors if not any(words in error for words in unsent)] == []
