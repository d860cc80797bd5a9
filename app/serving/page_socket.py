"""The websocket of a page, with limits on the data that a browser may send and leave unread."""

from __future__ import annotations

import logging
from asyncio import Event, Future, get_running_loop
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from bokeh.document import Document
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Fragment, Receiver
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.ws import WSHandler as BokehSocket
from panel.io.server import WSHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler, WebSocketProtocol

log = logging.getLogger(__name__)

#: Bytes that a browser may leave unread before it is sent anything more.
MOST_UNREAD = 8 * 2**20
#: What is sent has to be read within so many seconds, and one more for so many bytes that wait with it.
SECONDS, BYTES_A_SECOND = 15.0, 64 * 2**10
#: Bytes of a message that a browser sends, with so many for each of its parts.
MOST_SENT, PART = 32 * 2**20, 256
#: The status code of WebSocket for a server that cannot go on now; a page takes its connection up again.
TRY_AGAIN = 1013

TOO_MUCH = f"more than {MOST_UNREAD >> 20} MiB wait for this browser"
TOO_SLOW = "this browser has not taken what it was sent for too long"

_shared: WeakSet[Document] = WeakSet()
_sender: ContextVar[object] = ContextVar("sender", default=None)


def share(document: Document) -> None:
    """Stop waiting for single browsers of a shared document, as a slow one would delay the others."""
    _shared.add(document)


def sender() -> object:
    """Return the connection whose message is being handled, or None."""
    return _sender.get()


def install(server: BokehTornado) -> None:
    """Make a server use :class:`PageSocket` for its pages' connections."""
    for rule in server.wildcard_router.rules:
        if isinstance(rule.target, type) and issubclass(rule.target, BokehSocket):
            rule.target = PageSocket


class BoundedReceiver:
    """A receiver that refuses messages whose fragments are too large in total."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver, self._size = receiver, 0

    async def consume(self, fragment: Fragment) -> Message | None:
        """Return the message that this fragment completes, or None if it completes none."""
        self._size += len(fragment) + PART
        if self._size > MOST_SENT:
            raise ProtocolError(f"a message has more than {MOST_SENT >> 20} MiB")
        message = await self._receiver.consume(fragment)
        if message is not None:
            self._size = 0
        return message


class PageSocket(WSHandler):
    """The connection of a page to its browser.

    It is closed if the browser leaves ``MOST_UNREAD`` bytes unread, or reads too slowly. The limit is
    ``SECONDS``, plus one second per ``BYTES_A_SECOND`` unread bytes.
    """

    #: Bytes that wait for the browser, and whether anything has been written in this turn of the loop.
    unread, writing = 0, False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: Set once Bokeh has opened the connection, or it is closed.
        self.opened = Event()

    def get_websocket_protocol(self) -> WebSocketProtocol | None:
        protocol = super().get_websocket_protocol()
        if protocol is not None:
            write = protocol.write_message

            # Panel writes past the methods of a handler, but not past those of its protocol
            def bounded(message: str | bytes | dict[str, Any], binary: bool = False) -> Future[None]:
                if self._is_behind():
                    self._cut_off(TOO_MUCH)
                    raise WebSocketClosedError
                return self._watched(write(message, binary), len(message))

            protocol.write_message = bounded
        return protocol

    async def send_message(self, message: Message) -> None:
        self.opened.set()  # the first is the acknowledgement
        await super().send_message(message)

    async def on_message(self, message: str | bytes) -> None:
        await self.opened.wait()  # a page that comes back has a socket, and sends, before Bokeh has opened it
        if self.ws_connection is None or (self.connection is not None and self._session() is None):
            return  # the tab has been closed since
        if isinstance(self.receiver, Receiver):
            self.receiver = BoundedReceiver(self.receiver)
        _sender.set(self)
        await super().on_message(message)

    async def write_message(
        self, message: bytes | str | dict[str, Any], binary: bool = False, locked: bool = True
    ) -> None:
        if self._is_shared():
            WebSocketHandler.write_message(self, message, binary)
        else:
            await super().write_message(message, binary, locked)

    def on_close(self) -> None:
        self.opened.set()
        if self._session() is None:  # Bokeh would tell it that the connection is lost
            self.connection = None
        super().on_close()

    def _session(self) -> ServerSession | None:
        """Return the session of this page, or None before it has one and after it has left it."""
        try:
            return None if self.connection is None else self.connection.session
        except AssertionError:  # Bokeh's for a connection without a session
            return None

    def _is_shared(self) -> bool:
        """Return whether the document of this page is shared; False if the page has no session."""
        session = self._session()
        return session is not None and session.document in _shared

    def _is_behind(self) -> bool:
        """Return whether the browser has left too many bytes unread.

        Only the first write in an iteration of the event loop is checked, as all of them may be one large
        message.
        """
        if self.writing:
            return False
        self.writing = True
        get_running_loop().call_soon(setattr, self, "writing", False)
        return self.unread > MOST_UNREAD

    def _watched(self, written: Future[None], size: int) -> Future[None]:
        """Return the pending write; the connection is closed unless the browser reads the data in time."""
        self.unread += size
        half = 0.5 * (SECONDS + self.unread / BYTES_A_SECOND)
        loop = get_running_loop()
        # in two halves: after a first one in which the loop itself was busy the browser has the second
        late = loop.call_later(half, lambda: loop.call_later(half, self._check, written))

        def done(written: Future[None]) -> None:
            late.cancel()
            self.unread -= size
            if not written.cancelled():
                written.exception()  # asyncio complains of one that nobody has looked at

        written.add_done_callback(done)
        return written

    def _check(self, written: Future[None]) -> None:
        if not written.done():
            self._cut_off(TOO_SLOW)

    def _cut_off(self, reason: str) -> None:
        """Close the connection; if the browser reconnects, it gets the current page."""
        if self.ws_connection is not None:
            log.warning("closed a connection: %s", reason)
            self.close(TRY_AGAIN, reason)
