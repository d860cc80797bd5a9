"""What stands before every answer: names, headers, and what the log is spared. By raw sockets."""

from __future__ import annotations

import logging
import sys

import pytest
from bokeh.server.connection import ServerConnection
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from app.serving.guard import not_a_closed_tab

EVERYTHING = (
    "/",
    "/app",
    "/app/metadata",
    "/static/js/bokeh.min.js",
    "/favicon.ico",
    "/nothing",
    "/app/known",
)
SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Protocol": "bokeh, eyJzZXNzaW9uX2lkIjogImEifQ",
}


@pytest.mark.parametrize("path", EVERYTHING)
def test_a_name_that_is_not_this_machines_gets_nothing(served, path):
    status, _, text = served.get(path, Host=f"evil.example:{served.port}")
    assert status == 403
    assert text.startswith("This Solverscope answers to localhost")
    assert text.count("\n") == 1


@pytest.mark.parametrize("path", EVERYTHING)
def test_every_answer_says_who_may_frame_it_and_not_what_gives_it(served, path):
    for host in (f"localhost:{served.port}", "evil.example"):
        _, headers, _ = served.get(path, Host=host)
        assert "Server" not in headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_this_machines_own_names_are_answered(served, name):
    assert served.get("/app/metadata", Host=f"{name}:{served.port}")[0] == 200


def test_no_websocket_for_another_name_or_another_sites_page(served):
    evil, here = f"evil.example:{served.port}", f"localhost:{served.port}"
    assert served.get("/app/ws", Host=evil, Origin=f"http://{evil}", **SOCKET)[0] == 403
    assert served.get("/app/ws", Host=here, Origin=f"http://{evil}", **SOCKET)[0] == 403
    assert served.get("/app/ws", Host=evil, Origin=f"http://{here}", **SOCKET)[0] == 403


def test_only_a_session_that_is_there_is_known(served):
    assert served.get("/app/known?session=nobody")[2] == "no"
    assert served.get("/app/known")[2] == "no"


def record(error: BaseException) -> logging.LogRecord:
    try:
        raise error
    except type(error):
        return logging.LogRecord("x", logging.ERROR, "", 0, "", (), sys.exc_info())


def test_the_log_is_spared_of_closed_tabs_and_of_nothing_else():
    assert not not_a_closed_tab(record(WebSocketClosedError()))
    assert not not_a_closed_tab(record(StreamClosedError()))
    for error in (ValueError("x"), AssertionError("x"), OSError("x")):
        assert not_a_closed_tab(record(error))
    assert not_a_closed_tab(logging.LogRecord("x", logging.ERROR, "", 0, "", (), None))


def test_the_log_is_spared_of_bokehs_assertion_that_a_closed_tab_still_has_a_session():
    connection = object.__new__(ServerConnection)
    connection._session = None

    def on_close():
        return connection.session

    def handle():
        return connection.session

    for ask, told in ((on_close, False), (handle, False), (lambda: connection.session, True)):
        try:
            ask()
        except AssertionError:
            found = logging.LogRecord("x", logging.ERROR, "", 0, "", (), sys.exc_info())
        assert not_a_closed_tab(found) is told
