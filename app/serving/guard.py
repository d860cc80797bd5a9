"""Checks before every answer of the server: page, websocket, scripts, pictures."""

from __future__ import annotations

import gc
import logging
import traceback

from bokeh.server.contexts import ApplicationContext
from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.routing import Matcher, Rule
from tornado.web import OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError

from app.serving.access import refusal
from app.serving.options import Serving

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}


def install(context: ApplicationContext, serving: Serving) -> None:
    """Guard the server that serves ``context``, before it has answered anything."""
    server = server_of(context)
    server.default_router.rules.insert(0, Rule(_Refused(serving), _Refusal, {"serving": serving}))
    server.add_handlers(".*", [(rf"{server.prefix}{context.url}/known", _Known, {"context": context})])
    server.add_transform(_Headers)
    for name in ("tornado.application", "tornado.general", "asyncio", "bokeh", "panel"):
        logging.getLogger(name).addFilter(not_a_closed_tab)
    for handler in logging.getLogger().handlers:
        handler.addFilter(not_a_closed_tab)


def server_of(context: ApplicationContext) -> BokehTornado:
    """Find the Bokeh server that serves an application, which has no reference to it."""
    servers = (thing for thing in gc.get_objects() if issubclass(type(thing), BokehTornado))
    return next(server for server in servers if context in server.applications.values())


class _Refused(Matcher):
    """The requests that :func:`app.serving.access.refusal` says no to."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def match(self, request: HTTPServerRequest) -> dict | None:
        return None if _refusal(request, self._serving) is None else {}


def _refusal(request: HTTPServerRequest, serving: Serving) -> str | None:
    headers = request.headers
    wants_socket = "Upgrade" in headers
    return refusal(
        request.remote_ip, headers.get("Host"), serving, headers.get("Origin") if wants_socket else None
    )


class _Refusal(RequestHandler):
    def initialize(self, serving: Serving) -> None:
        self._serving = serving

    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{_refusal(self.request, self._serving)}\n")


class _Known(RequestHandler):
    """Whether a page that has lost its connection finds its session again."""

    def initialize(self, context: ApplicationContext) -> None:
        self._context = context

    def get(self) -> None:
        wanted = self.get_query_argument("session", "")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "text/plain")
        self.finish("yes" if any(session.id == wanted for session in self._context.sessions) else "no")


class _Headers(OutputTransform):
    """Keeps others from framing the page or guessing types, and does not say which versions are at work."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        headers.pop("Server", None)
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


def not_a_closed_tab(record: logging.LogRecord) -> bool:
    """Filter the log: False for records that say only that a tab was closed while something was being sent to
    it, or while what it had sent waited: Tornado reports its own exceptions for that; Bokeh's handlers of
    messages, and of the closing where its keep-alive saw it first, an assertion."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, WebSocketClosedError | StreamClosedError):
        return False
    if isinstance(error, AssertionError) and error.__traceback__ is not None:
        frames = traceback.extract_tb(error.__traceback__)
        asked = {frame.name for frame in frames}
        closed = frames[-1].line == "assert self._session is not None"
        return not (closed and asked & {"on_close", "handle"})
    return True
