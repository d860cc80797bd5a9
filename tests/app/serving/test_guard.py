"""What stands before every answer: names, headers, tokens, modules, and what the log is spared. By raw
sockets."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from bokeh.util.token import generate_jwt_token, get_session_id, get_token_payload
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, websocket_connect

from solverscope.app.serving.guard import not_a_closed_tab
from tests import loop

from ..conftest import Served

EVERYTHING = (
    "/",
    "/app",
    "/app/metadata",
    "/static/js/bokeh.min.js",
    "/favicon.ico",
    "/nothing",
    "/app/known",
    "/app/left",
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


@pytest.mark.parametrize("name", ["localhost", "localhost.", "127.0.0.1", "[::1]"])
def test_this_machines_own_names_are_answered_with_the_page(served, name):
    host = f"{name}:{served.port}"
    assert served.get("/app/metadata", Host=host)[0] == 200
    status, _, page = served.get("/app", Host=host)
    assert (status, "Bokeh.require" in page) == (200, True), "and not by a page about an error"


def test_a_page_holds_of_its_request_what_is_read_later_and_no_more(one):
    secret = {"Authorization": "token abc", "X_Solverscope_Key": "abc", "Cookie": "user=abc"}
    page = one.get("/app", X_Real_IP="192.0.2.7", **secret)[2]
    told = get_token_payload(token_of(page))
    assert told["headers"] == {"Host": f"localhost:{one.port}", "X-Real-Ip": "192.0.2.7"}
    assert told["cookies"] == {}
    page = one.get("/app", Cookie="solverscope-theme=dark; user=abc")[2]
    assert get_token_payload(token_of(page))["cookies"] == {"solverscope-theme": "dark"}


def test_no_websocket_for_another_name_or_another_sites_page(served):
    evil, here = f"evil.example:{served.port}", f"localhost:{served.port}"
    assert served.get("/app/ws", Host=evil, Origin=f"http://{evil}", **SOCKET)[0] == 403
    assert served.get("/app/ws", Host=here, Origin=f"http://{evil}", **SOCKET)[0] == 403
    assert served.get("/app/ws", Host=evil, Origin=f"http://{here}", **SOCKET)[0] == 403


def token_of(page: str) -> str:
    found = re.search(r'"token":"([^"]+)"', page)
    assert found is not None, page
    return found[1]


def joined(served: Served, token: str, **headers: str) -> bool:
    """Whether a websocket with this token gets a session; False where it is refused by status 403."""
    address = f"ws://localhost:{served.port}/app/ws"

    async def ask() -> bool:
        request = HTTPRequest(address, headers=headers, request_timeout=60, connect_timeout=60)
        try:
            socket = await websocket_connect(request, subprotocols=["bokeh", token])
        except HTTPClientError as error:
            if error.code != 403:
                raise
            return False
        word = await socket.read_message()
        socket.close()
        assert word is not None
        assert '"ACK"' in word
        return True

    return loop.run(ask())


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    """A server that lets everybody in."""
    server = Served(tmp_path_factory.mktemp("public") / "log", "--args", "--public")
    yield server
    log = server.stop()
    assert "Traceback" not in log, log


@pytest.fixture(params=["served", pytest.param("public", marks=pytest.mark.slow)])
def one(request: pytest.FixtureRequest) -> Served:
    """Each sort of server."""
    return request.getfixturevalue(request.param)


def test_a_websocket_is_for_who_has_the_token_of_a_page(one):
    own = token_of(one.get("/app")[2])
    assert joined(one, own)
    id, begun = get_session_id(own), get_token_payload(own)
    said = {"headers": {"Host": "localhost"}, "cookies": {}, "arguments": {}}
    forged = [
        generate_jwt_token(id, signed=False, extra_payload=said),
        generate_jwt_token(id, secret_key=b"guessed", signed=True, extra_payload=said),
        generate_jwt_token("chosen", signed=False, extra_payload=said),
        own.partition(".")[0],
        own[:-1] + ("A" if own[-1] != "A" else "B"),
        "a",
    ]
    assert [joined(one, token) for token in forged] == [False] * len(forged)
    assert begun["session_expiry"] > 24 * 3600 + get_token_payload(forged[0])["session_expiry"] - 300
    assert joined(one, own), "a page that has lost its connection comes back"


def test_nobody_chooses_the_session_of_a_page(one):
    """A link with one would bring whoever follows it into the session of who wrote the link."""
    own = token_of(one.get("/app")[2])
    id = get_session_id(own)
    for path, headers in (
        (f"/app?bokeh-session-id={id}", {}),
        ("/app?bokeh-session-id=chosen", {}),
        ("/app?bokeh%2Dsession-id=chosen", {}),
        (f"/app?bokeh-token={own}", {}),
        ("/app", {"Bokeh_Session_Id": id}),
        (f"/app/autoload.js?bokeh-autoload-element=1&bokeh-session-id={id}", {}),
    ):
        status, _, text = one.get(path, **headers)
        assert (status, text.count("\n"), "token" in text) == (403, 1, False), path
        assert "session of its own" in text
    assert one.get("/app/known?session=chosen")[2] == "no"
    assert one.get(f"/app/known?session={id.partition('.')[0]}")[2] == "yes"
    assert get_session_id(token_of(one.get("/app")[2])) != id


def test_no_page_of_another_site_is_told_what_a_script_of_ours_says(one):
    for headers in ({}, {"Origin": f"http://localhost:{one.port}"}):
        status, answered, text = one.get("/app/autoload.js?bokeh-autoload-element=1", **headers)
        assert (status, "Access-Control-Allow-Origin" in answered) == (403, False)
        assert "no other page can hold" in text


def test_requests_of_pages_of_other_sites_are_not_answered(served):
    for path in ("/app", "/app/known"):
        assert served.get(path, Origin="http://evil.example")[0] == 403
        assert served.get(path, Origin=f"http://localhost:{served.port}")[0] == 200


def test_no_module_is_imported_because_a_visitor_names_it(one):
    """Panel imports the module whose files are asked for: this one ends the process that does."""
    for name in ("unittest.__main__", "unittest%2E__main__", "this", "antigravity", "", ".x", "app..x"):
        status, _, text = one.get(f"/components/{name}/main/_css/x")
        assert (status, text.count("\n")) == (403, 1), name
    assert one.get("/components%2Funittest.__main__/main/_css/x")[0] in (403, 404)
    assert "Zen of Python" not in Path(one.log).read_text()
    assert one.get("/components/panel/Nothing/_css/x")[0] == 404, "Panel looks among those that are there"


def test_only_a_session_that_is_there_is_known(served):
    assert served.get("/app/known?session=nobody")[2] == "no"
    assert served.get("/app/known")[2] == "no"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    """A server that a proxy has started, with a prefix."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOLVERSCOPE_PROXY_KEY", "sesame")
        server = Served(tmp_path_factory.mktemp("keyed") / "log", "--prefix", "user/a.b/scope")
    yield server
    log = server.stop()
    assert "Traceback" not in log, log


@pytest.mark.parametrize("path", EVERYTHING)
def test_a_server_with_a_key_answers_nobody_without_it(keyed, path):
    for host in (f"localhost:{keyed.port}", "hub.example", "evil.example"):
        for at in (path, f"/user/a.b/scope{path}"):
            status, _, text = keyed.get(at, Host=host)
            assert (status, text.count("\n")) == (403, 1)
            assert "answers only the proxy that started it" in text
            assert keyed.get(at, Host=host, X_Solverscope_Key="sesam")[0] == 403


def test_the_proxy_of_a_server_brings_its_visitor_to_a_page_that_does_not_hold_the_key(keyed):
    brought = {"Host": "hub.example", "X_Solverscope_Key": "sesame"}
    status, _, page = keyed.get("/user/a.b/scope/app", **brought)
    token = token_of(page)
    assert (status, "Bokeh.require" in page) == (200, True), "and not by a line that refuses it"
    assert get_token_payload(token)["headers"] == {"Host": "hub.example"}
    socket = SOCKET | {"Sec_WebSocket_Protocol": f"bokeh, {token}", "Origin": "https://hub.example"}
    assert keyed.get("/user/a.b/scope/app/ws", Host="hub.example", **socket)[0] == 403
    assert (
        keyed.get("/user/a.b/scope/app/ws", **(socket | {"Origin": "https://evil.example"}), **brought)[0]
        == 403
    )
    assert keyed.get("/user/a.b/scope/app/ws", **socket, **brought)[0] == 101


def test_programs_come_to_a_server_with_a_key_by_the_token_of_a_page(keyed):
    at = "/user/a.b/scope/app/loop"
    for method in ("POST", "PUT", "DELETE"):
        status, _, text = keyed.get(at, method)
        assert (status, "has this token" in text) == (403, True)
        assert "answers to localhost" in keyed.get(at, method, Host="evil.example")[2]
        assert "only the proxy" in keyed.get("/app/loop", method)[2], "which is below no prefix"


def test_the_bare_prefix_leads_to_the_page_below_it(keyed):
    brought = {"X_Solverscope_Key": "sesame"}
    at, led = "/user/a.b/scope", []
    while (answer := keyed.get(at, **brought))[0] == 302:
        led.append(at := urljoin(at, answer[1]["Location"]))
    assert led == ["/user/a.b/scope/", "/user/a.b/scope/app"]
    assert answer[0] == 200


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
