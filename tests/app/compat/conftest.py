"""Libraries as they come, and documents as a Bokeh server keeps them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.protocol import Protocol
from bokeh.protocol.message import Message
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from panel.io import document as panel_document
from panel.io.state import state
from tornado.ioloop import IOLoop

from solverscope.app.compat import change
from solverscope.app.serving import one_thread
from tests import loop


@pytest.fixture
def as_it_comes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """``as_it_comes(owner, name)`` takes back what the page has changed there."""

    def take_back(owner: Any, name: str) -> None:
        monkeypatch.setattr(owner, name, getattr(owner, name).__wrapped__)

    return take_back


@pytest.fixture
def looked_at_anew() -> Generator[None, None, None]:
    """What a test finds of the libraries is forgotten before it and after it."""
    change.forget()
    yield
    change.forget()


class Socket:
    """Notes what is sent: by Bokeh, or at once."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send_message(self, message: object) -> None:
        self.sent.append(message.content_json)

    def send_at_once(self, message: Message) -> list[asyncio.Future]:
        self.sent.append(message.content_json)
        return []


class Server:
    """A document with one browser, as a Bokeh server keeps it."""

    def __init__(self) -> None:
        self.document, self.socket = Document(), Socket()
        self.session = ServerSession("a session", self.document, io_loop=IOLoop.current())
        request = SimpleNamespace(arguments={}, headers={}, cookies={}, path="/")
        self.context = SimpleNamespace(session=self.session, id="a session", request=request)
        self.document._session_context = lambda: self.context
        self.session.subscribe(ServerConnection(Protocol(), self.socket, None, self.session))
        state._thread_id_[self.document] = threading.get_ident()
        state._loaded[self.document] = state._connected[self.document] = True

    @property
    def locked(self) -> bool:
        return self.session._pending_writes is not None


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Server], Any]], None]:
    """``serve(scenario)`` runs a coroutine on a server. Panel knows how to write to its socket itself."""

    def at_once(
        connection: ServerConnection,
        events: list[DocumentPatchedEvent] | None = None,
        msg: Message | None = None,
    ) -> list[asyncio.Future]:
        return connection._socket.send_at_once(msg or connection.protocol.create("PATCH-DOC", events))

    monkeypatch.setitem(panel_document.extra_socket_handlers, Socket, at_once)

    def run(scenario: Callable[[Server], Any]) -> None:
        async def act() -> None:
            one_thread.keep()
            await scenario(Server())

        loop.run(act())

    return run
