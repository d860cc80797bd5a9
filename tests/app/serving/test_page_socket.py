"""The bounds of a page's connection, and whom it says a message is from."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.protocol import Protocol
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.receiver import Receiver
from bokeh.server.tornado import BokehTornado
from panel.io.server import WSHandler
from tornado.locks import Lock
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from solverscope.app.serving import page_socket
from solverscope.app.serving.page_socket import TOO_MUCH, TOO_SLOW, TRY_AGAIN, BoundedReceiver, PageSocket
from tests import loop


class Browser:
    """What Tornado writes to: a browser that takes nothing until it is told to."""

    def __init__(self) -> None:
        self.waits: list[asyncio.Future[None]] = []
        self.closed: list[tuple[int, str]] = []
        self.takes = False

    def write_message(self, message: object, binary: bool = False) -> asyncio.Future[None]:
        written = asyncio.get_running_loop().create_future()
        if self.takes:
            written.set_result(None)
        else:
            self.waits.append(written)
        return written

    def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))

    def is_closing(self) -> bool:
        return bool(self.closed)


@pytest.fixture
def connect(monkeypatch):
    """``connect()`` returns the connection of a page and its browser."""

    def make() -> tuple[PageSocket, Browser]:
        browser = Browser()
        monkeypatch.setattr(WSHandler, "get_websocket_protocol", lambda handler: browser)
        handler = PageSocket.__new__(PageSocket)
        handler.connection = handler.receiver = None
        handler.write_lock, handler.opened = Lock(), asyncio.Event()
        handler.opened.set()
        handler.ws_connection = handler.get_websocket_protocol()
        return handler, browser

    return make


def test_a_page_that_has_left_its_session_is_written_to_heard_and_closed_without_an_error_of_bokeh(
    connect, monkeypatch
):
    class Detached:
        @property
        def session(self):
            raise AssertionError

    async def scenario() -> None:
        handler, browser = connect()
        handler.connection, browser.takes = Detached(), True
        written, closed = [], []

        async def write(self, message, binary, locked):
            written.append(message)

        monkeypatch.setattr(WSHandler, "write_message", write)
        await handler.write_message("last words")
        await handler.on_message("a click that comes too late")
        monkeypatch.setattr(WSHandler, "on_close", lambda self: closed.append(self.connection))
        handler.on_close()
        assert (written, closed) == (["last words"], [None])

    loop.run(scenario())


@pytest.mark.parametrize("closed", [False, True])
def test_a_message_that_comes_before_the_connection_is_open_waits_for_it(closed, connect, monkeypatch):
    async def scenario() -> None:
        handler, browser = connect()
        heard, browser.takes = [], True
        handler.opened.clear()

        async def hear(self, message):
            heard.append(message)

        monkeypatch.setattr(WSHandler, "on_message", hear)
        early = asyncio.ensure_future(handler.on_message("are you there?"))
        for _ in range(3):
            await asyncio.sleep(0)
        assert (heard, early.done()) == ([], False)
        if closed:
            handler.ws_connection = handler.close_code = handler.close_reason = None
            handler.on_close()
        else:
            await handler.send_message(Protocol().create("ACK"))
        await early
        assert heard == ([] if closed else ["are you there?"])

    loop.run(scenario())


def write(handler: PageSocket, characters: int) -> asyncio.Future[None]:
    """Write as Panel does: past the handler's own method."""
    return WebSocketHandler.write_message(handler, "x" * characters)


def test_a_browser_that_takes_nothing_is_closed_once_too_much_waits_for_it(connect, monkeypatch):
    monkeypatch.setattr(page_socket, "MOST_UNREAD", 100)

    async def scenario() -> None:
        handler, browser = connect()
        for _ in range(4):
            write(handler, 30)
            await asyncio.sleep(0)
        assert (handler.unread, browser.closed) == (120, [])
        with pytest.raises(WebSocketClosedError):
            write(handler, 30)
        with pytest.raises(WebSocketClosedError):
            write(handler, 30)
        assert browser.closed == [(TRY_AGAIN, TOO_MUCH)]
        assert len(browser.waits) == 4

    loop.run(scenario())


def test_one_large_message_may_be_written_whatever_the_number_of_its_parts(connect, monkeypatch):
    monkeypatch.setattr(page_socket, "MOST_UNREAD", 100)

    async def scenario() -> None:
        handler, browser = connect()
        for _ in range(9):
            write(handler, 30)
        assert (handler.unread, browser.closed) == (270, [])

    loop.run(scenario())


def test_a_browser_that_takes_nothing_is_closed_after_a_time_also_with_little_waiting(connect, monkeypatch):
    monkeypatch.setattr(page_socket, "SECONDS", 0.0)
    monkeypatch.setattr(page_socket, "BYTES_A_SECOND", 1e9)

    async def scenario() -> None:
        handler, browser = connect()
        write(handler, 30)
        await loop.until(lambda: browser.closed)
        assert browser.closed == [(TRY_AGAIN, TOO_SLOW)]

    loop.run(scenario())


def test_who_takes_what_is_sent_is_never_closed(connect, monkeypatch):
    monkeypatch.setattr(page_socket, "MOST_UNREAD", 100)
    monkeypatch.setattr(page_socket, "SECONDS", 0.0)
    monkeypatch.setattr(page_socket, "BYTES_A_SECOND", 1e9)

    async def scenario() -> None:
        handler, browser = connect()
        browser.takes = True
        for _ in range(50):
            await handler.write_message("x" * 1000, locked=False)
            await asyncio.sleep(0)
        assert (handler.unread, browser.closed) == (0, [])

    loop.run(scenario())


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_document_waits_for_nobody(shared, connect):
    """The document of one visitor waits for its browser, so that little is on its way to a slow one."""
    document = Document()
    if shared:
        page_socket.share(document)

    async def scenario() -> None:
        handler, browser = connect()
        handler.connection = SimpleNamespace(session=SimpleNamespace(document=document))
        sent = asyncio.ensure_future(handler.write_message("x", locked=False))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sent.done() is shared
        for written in browser.waits:
            written.set_result(None)
        await sent

    loop.run(scenario())


def test_a_message_that_announces_a_million_buffers_is_refused_before_they_are_there():
    part = bytes(2**20)

    async def send() -> None:
        receiver = BoundedReceiver(Receiver(Protocol()))
        header = {"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 10**6}
        for fragment in (json.dumps(header), "{}", '{"events": []}'):
            await receiver.consume(fragment)
        for k in range(2 * page_socket.MOST_SENT // len(part)):
            await receiver.consume(json.dumps({"id": str(k)}))
            await receiver.consume(part)

    with pytest.raises(ProtocolError, match="more than 32 MiB"):
        loop.run(send())


def test_messages_one_after_the_other_are_counted_each_for_itself(monkeypatch):
    monkeypatch.setattr(page_socket, "MOST_SENT", 2000)

    async def send() -> None:
        receiver = BoundedReceiver(Receiver(Protocol()))
        for k in range(20):
            header = json.dumps({"msgid": str(k), "msgtype": "PATCH-DOC"})
            found = [await receiver.consume(part) for part in (header, "{}", '{"events": []}')]
            assert found[-1].header["msgid"] == str(k)

    loop.run(send())


def test_what_a_message_changes_knows_which_connection_sent_it(connect, monkeypatch):
    """Also while others are handled."""
    seen = []

    async def handle(handler: PageSocket, message: str) -> None:
        await asyncio.sleep(0)
        seen.append((message, page_socket.sender()))

    monkeypatch.setattr(WSHandler, "on_message", handle)

    async def scenario() -> None:
        one, other = connect()[0], connect()[0]
        await asyncio.gather(*(asyncio.ensure_future(each.on_message("m")) for each in (one, other, one)))
        assert [sender for _, sender in seen] == [one, other, one]

    loop.run(scenario())
    assert page_socket.sender() is None


def test_a_message_of_a_tab_that_has_been_closed_is_not_handled(connect, monkeypatch):
    handled = []

    async def handle(handler: PageSocket, message: str) -> None:
        handled.append(message)

    monkeypatch.setattr(WSHandler, "on_message", handle)

    async def scenario() -> None:
        handler, _ = connect()
        await handler.on_message("first")
        handler.close(1001, "the tab is closed")
        await handler.on_message("second")

    loop.run(scenario())
    assert handled == ["first"]


def test_a_server_opens_its_pages_connections_with_these_bounds():
    server = BokehTornado({"/app": Application(FunctionHandler(lambda document: None))})
    assert any(rule.target is WSHandler for rule in server.wildcard_router.rules)
    page_socket.install(server)
    found = [rule.target for rule in server.wildcard_router.rules if issubclass(rule.target, WSHandler)]
    assert found == [PageSocket]
