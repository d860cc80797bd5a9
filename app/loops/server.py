"""The endpoint through which loops of other processes reach an open page.

It uses HTTP on this machine, and admits programs that have the page's token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Protocol

from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler, stream_request_body

from solverscope.app.loops.client import EVENTS_TYPE, MAX_HEADER_BYTES
from solverscope.app.serving.access import from_here, refuse

#: Characters of the name of a run, at most.
MAX_LABEL_LENGTH = 40

NO_TOKEN = "No open page has this token: copy the line that the page shows now."
NO_RUN = "The page has no such run: connect again."
NOT_LOCAL = "A loop is watched by a page of its own machine: call it localhost, and by no proxy."
LOOP_LOST = "the connection to the loop is lost"
FROM_A_PAGE = "A loop is a program, and no page of a browser."
NOT_READ_YET = "an iterate is sent once the page has read the one before"


class LoopHost(Protocol):
    """The page to which an endpoint belongs."""

    def admit(self) -> int:
        """Return the number of weights of the page's problem. Raises ValueError if no loop is admitted."""
        ...

    def start_run(self, connection: LoopConnection) -> None:
        """Start the run of a loop, or close its connection."""


class IterateReceiver(Protocol):
    """The receiver of a loop's iterates on the page."""

    def receive(self, message: bytes) -> None:
        """Accept an iterate. Raises ValueError if it is invalid."""

    def end(self, error: str) -> None:
        """Record that the loop has ended; ``error`` is empty if there was none."""

    def fail(self, reason: str) -> None:
        """Record that there are no more iterates, and the reason."""


class Endpoint:
    """The endpoint at which loops connect to one page, identified by its token."""

    def __init__(self, host: LoopHost) -> None:
        self.host, self.token = host, secrets.token_urlsafe(24)
        self.connections: dict[str, LoopConnection] = {}
        _endpoints.append(self)

    def close(self) -> None:
        """Stop admitting loops."""
        if self in _endpoints:
            _endpoints.remove(self)


_endpoints: list[Endpoint] = []


def find_by_token(token: str) -> Endpoint | None:
    """Return the endpoint with this token, or None, in a time that does not depend on other tokens."""
    given = token.encode()
    found = [one for one in _endpoints if hmac.compare_digest(one.token.encode(), given)]
    return found[0] if found else None


def find_endpoint(request: HTTPServerRequest) -> Endpoint:
    """Return the endpoint of a request. Raises ValueError if the request is not admitted."""
    headers = request.headers
    if "Origin" in headers:
        raise ValueError(FROM_A_PAGE)
    if not from_here(request.remote_ip, headers):
        raise ValueError(NOT_LOCAL)
    kind, _, token = headers.get("Authorization", "").partition(" ")
    endpoint = find_by_token(token.strip()) if kind == "Bearer" else None
    if endpoint is None:
        raise ValueError(NO_TOKEN)
    return endpoint


class LoopConnection:
    """The connection to a loop in another process. The page sets its ``receiver``."""

    receiver: IterateReceiver | None = None

    def __init__(self, label: str, size: int) -> None:
        self.label = label
        #: Number of weights of the problem that it is for.
        self.size = size
        self.id = secrets.token_urlsafe(12)
        #: Whether the connection to the loop is open.
        self.is_open = True
        #: Whether an iterate is being sent or read.
        self.is_busy = False
        self._ioloop = IOLoop.current()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._is_read: asyncio.Future[bool] | None = None

    # for the page, from any thread

    def call_later(self, seconds: float, act: Callable[[], object]) -> None:
        """Call a function in the page's thread after this many seconds."""
        self._ioloop.add_callback(self._ioloop.call_later, seconds, act)

    def say(self, **said: Any) -> None:
        """Send a message to the loop."""
        self._ioloop.add_callback(self._events.put_nowait, said)

    def ask_next(self) -> None:
        """Respond to the iterate that was read, so that the loop sends the next one."""
        self._ioloop.add_callback(self._answer, True)

    def close(self, **reason: Any) -> None:
        """Stop watching the loop, and send it the reason as the last message."""
        self._ioloop.add_callback(self._close, reason)

    def _close(self, reason: dict[str, Any] | None) -> None:
        if self.is_open:
            self.is_open = False
            if reason is not None:
                self._events.put_nowait(reason)
            self._events.put_nowait(None)
            self._answer(False)

    def _answer(self, takes_more: bool) -> None:
        if self._is_read is not None and not self._is_read.done():
            self._is_read.set_result(takes_more)

    # for the endpoint, in the page's thread

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages of the page, until the connection is closed."""
        while (event := await self._events.get()) is not None:
            yield event | {"run": self.id} if "size" in event else event

    async def receive(self, message: bytes) -> bool:
        """Pass an iterate to the page, wait until it has been read, and return whether more are accepted.

        Raises ValueError if the page refuses the iterate, which ends the run.
        """
        self._is_read = asyncio.get_running_loop().create_future()
        try:
            if self.receiver is None:
                raise ValueError("the page has not asked for an iterate yet")
            self.receiver.receive(message)
        except ValueError as error:
            if self.receiver is not None:
                self.receiver.fail(f"the loop was refused: {error}")
            self._close({"wrong": str(error)})
            raise
        return await self._is_read

    def end(self, error: str) -> None:
        """End the run at the request of the loop."""
        if self.receiver is not None:
            self.receiver.end(error)

    def lose(self) -> None:
        """End the run because the connection to the loop's process was lost."""
        if self.receiver is not None:
            self.receiver.fail(LOOP_LOST)
        self._close(None)


@stream_request_body
class LoopHandler(RequestHandler):
    """The handler of requests of loops: POST opens a run, PUT sends an iterate, DELETE ends the run."""

    SUPPORTED_METHODS = ("POST", "PUT", "DELETE")

    def initialize(self) -> None:
        self._endpoint: Endpoint | None = None
        self._connection: LoopConnection | None = None
        self._body = bytearray()

    def check_xsrf_cookie(self) -> None:
        """Skip the check, because requests contain the page's token in a header and those of web pages are
        refused."""

    def prepare(self) -> None:
        # a body is not even read unless it is an iterate that may come now
        self.request.connection.set_max_body_size(0)
        try:
            self._endpoint = find_endpoint(self.request)
            self._connection = self._new_connection() if self.request.method == "POST" else self._find()
            if self.request.method == "PUT":
                if self._connection.is_busy:
                    self._connection = None  # the other request's
                    raise ValueError(NOT_READ_YET)
                self._connection.is_busy = True
                self.request.connection.set_max_body_size(8 * self._connection.size + MAX_HEADER_BYTES)
        except ValueError as error:
            refuse(self, 403, str(error))

    def _new_connection(self) -> LoopConnection:
        label = self.get_query_argument("label", "").strip()
        if not (0 < len(label) <= MAX_LABEL_LENGTH and label.isprintable()):
            raise ValueError(f"The name of a run has 1 to {MAX_LABEL_LENGTH} letters: give it such a label.")
        return LoopConnection(label, self._endpoint.host.admit())

    def _find(self) -> LoopConnection:
        connection = self._endpoint.connections.get(self.get_query_argument("run", ""))
        if connection is None:
            raise ValueError(NO_RUN)
        return connection

    def data_received(self, chunk: bytes) -> None:
        self._body += chunk

    async def post(self) -> None:
        connection, known = self._connection, self._endpoint.connections
        known[connection.id] = connection
        self.set_header("Content-Type", EVENTS_TYPE)
        self.set_header("Cache-Control", "no-store")
        try:
            with suppress(StreamClosedError):
                await self.flush()  # the page may take a while
                self._endpoint.host.start_run(connection)
                async for event in connection.events():
                    self.write(json.dumps(event) + "\n")
                    await self.flush()
        finally:
            del known[connection.id]

    async def put(self) -> None:
        try:
            takes_more = await self._connection.receive(bytes(self._body))
        except ValueError as error:
            refuse(self, 403, str(error))
            return
        self.set_status(204 if takes_more else 410)

    def delete(self) -> None:
        self._connection.end(self.get_query_argument("error", "", strip=False))
        self.set_status(204)

    def on_finish(self) -> None:
        if self.request.method == "PUT" and self._connection is not None:
            self._connection.is_busy = False

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if self._connection is not None and self.request.method != "DELETE":
            self._connection.lose()
