"""A server that dies, and one that is started again in its place; a connection that is cut, or frozen; a page
that is loaded again, or closed."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator

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
    named = "() => [...Bokeh.documents[0].all_models].some(({data}) => data?.key && data.runs?.length === 1)"
    visit.wait_until(lambda: visit.page.evaluate(named), "the number of the run in the history")
    query = visit.query()

    visit.server.process.kill()
    alert = visit.alert("There is no connection to the server")
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
    visit.alert("The server was restarted").wait_for()
    visit.wait_until(lambda: visit.button("Run").is_enabled(), "Run to be possible")
    visit.wait_until(lambda: visit.query() == query, "the same address")
    visit.alert("as the history of runs has them").wait_for()
    visit.wait_until(lambda: visit.states() == ["stopped"], "the run as the history has it")
    visit.button("Run").click()
    visit.wait_until(lambda: len(visit.curves("convergence").get("prox-gd", ())) > 3, "points of a new run")
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
        """Press until it is heard: a press before the page is there again is lost."""
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


class Link:
    """A link between a browser and a server that can be cut or frozen."""

    def __init__(self, port: int = 0) -> None:
        self.target, self.in_vain = port, 0
        self._open, self._going, self._over = True, threading.Event(), False
        self._going.set()
        self._both: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, and let none be made."""
        self._open = False
        for end in self._both:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._both.clear()

    def freeze(self) -> None:
        """Pass nothing on, and close nothing."""
        self._going.clear()

    def mend(self) -> None:
        self._open = True
        self._going.set()

    def close(self) -> None:
        self._over = True
        self.mend()
        self.cut()
        self._door.close()

    def _accept(self) -> None:
        while not self._over:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            if not self._open:
                self.in_vain += 1
                near.close()
                continue
            with contextlib.suppress(OSError):
                far = socket.create_connection(("127.0.0.1", self.target))
                self._both += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self._going.wait()
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def linked(tmp_path_factory, own_home) -> Generator[tuple[Server, Link], None, None]:
    """A server and the link by which browsers reach it."""
    link = Link()
    origin = f"--allow-websocket-origin=localhost:{link.port}"
    # a page that is not kept is forgotten within two seconds, where other servers take half a minute
    soon = ["--unused-session-lifetime", "1000", "--check-unused-sessions", "500"]
    server = Server(tmp_path_factory.mktemp("linked") / "log", own_home, arguments=[origin, *soon])
    link.target, server.port = server.port, link.port
    yield server, link
    log = server.stop()
    link.close()
    assert complaints(log) == [], log


@pytest.fixture
def cut_off(linked, browser) -> Generator[tuple[Visit, Link], None, None]:
    """A visit with a run at work, through a link."""
    server, link = linked
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    visit = Visit(context.new_page(), server)
    visit.open(**SLOW)
    visit.button("Run").click()
    visit.wait_until(lambda: visit.points("convergence") > 3, "a few points")
    visit.page.evaluate("() => { window.same = true }")
    yield visit, link
    link.mend()
    context.close()
    assert [error for error in visit.errors if not any(words in error for words in UNSENT)] == []


#: What a browser says of a connection that is cut.
UNSENT = (*REFUSED, "already in CLOSING or CLOSED state", "Failed to load resource: net::ERR_")


def goes_on(visit: Visit, after: int) -> None:
    """Wait until the run is seen to be further than it was."""
    visit.wait_until(lambda: visit.iteration("prox-gd") > after, "the run to go on")
    assert visit.states() == ["running"]


# 20 are more than a page waits for that is loaded again
@pytest.mark.parametrize("seconds", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_runs_go_on_while_the_connection_is_cut_and_the_page_has_them_again(cut_off, seconds):
    visit, link = cut_off
    link.in_vain = 0
    link.cut()
    visit.alert("There is no connection to the server").wait_for()
    before = visit.iteration("prox-gd")
    # it asks for the server once a second
    visit.wait_until(lambda: link.in_vain >= seconds, "a page that asks in vain", 4.0 * seconds + 30.0)
    assert visit.iteration("prox-gd") == before
    link.mend()
    visit.alert("There is no connection").wait_for(state="detached")
    goes_on(visit, before)
    assert visit.iteration("prox-gd") > before + 2 * seconds, "it went on meanwhile"
    assert visit.page.evaluate("window.same"), "the page was not loaded anew"
    assert visit.page.get_by_role("alert").all_inner_texts() == []


@pytest.mark.slow
def test_a_frozen_link_is_told_and_over_once_it_goes_on(cut_off):
    visit, link = cut_off
    link.freeze()
    visit.alert("The server does not answer").wait_for()
    before = visit.iteration("prox-gd")
    link.mend()
    visit.alert("The server does not answer").wait_for(state="detached")
    goes_on(visit, before)


def test_a_page_that_is_loaded_again_has_its_run_and_a_tab_that_is_closed_ends_it(cut_off):
    visit, _ = cut_off
    before = visit.iteration("prox-gd")
    visit.page.reload()
    visit.wait_until(lambda: visit.states() == ["running"], "the run")
    goes_on(visit, before)
    other = Visit(visit.page.context.new_page(), visit.server)
    other.open(**SLOW, tab="runs")
    assert other.states() == [], "a page in another tab has none of it"
    alive = other.page.locator(".runs tbody tr.alive", has_text="prox-gd")
    other.wait_until(lambda: alive.count() == 1, "the run in the list of all runs")
    visit.page.close()
    other.wait_until(lambda: alive.count() == 0, "the run to be over")
