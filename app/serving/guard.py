"""Checks of all requests to the server: pages, websockets, scripts, images."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from urllib.parse import unquote, urlsplit, urlunsplit

from bokeh.server.contexts import ApplicationContext
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import check_token_signature, generate_secret_key
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.routing import PathMatches, Rule
from tornado.web import OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError

from solverscope.app.compat.bokeh_server import when_made
from solverscope.app.serving import classroom, page_registry, page_socket
from solverscope.app.serving.access import COOKIES_READ, HEADERS_READ, OWN_NAMES, refusal, refuse
from solverscope.app.serving.classroom import Where
from solverscope.app.serving.manifest import MANIFEST_HANDLERS
from solverscope.app.serving.serve_options import Serving

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}
#: Arguments by which a visitor could choose the session of a page, and lead others into it by a link.
SESSION_ARGUMENTS = {"bokeh-session-id", "bokeh-token"}
SESSION_HEADER = "Bokeh-Session-Id"
#: Seconds for which a page that has lost its connection may reconnect.
TOKEN_LIFE = 7 * 24 * 3600
#: Key that this server signs its tokens with, the same in all its processes.
TOKEN_KEY = generate_secret_key().encode()
#: The module whose files a request names, and which Panel imports.
COMPONENT = re.compile(r"/components/([^/]*)")
#: The handlers of a server without endpoints for programs.
NO_PROGRAMS: Mapping[str, type[RequestHandler]] = {}
#: The addresses of the servers of this process that are guarded.
_guarded: list[str] = []


#: Returns in a sentence why a request is not answered, or None if it is.
Reason = Callable[[HTTPServerRequest], str | None]


def stand(serving: Serving, for_programs: Mapping[str, type[RequestHandler]] = NO_PROGRAMS) -> None:
    """Guard all servers that this process creates from now on. Repeated calls are possible.

    ``for_programs`` maps paths, relative to a page's, to handlers of requests from programs on this machine.

    Only pages of a guarded server can open a websocket, as their tokens are signed. Otherwise a visitor could
    forge the session and the headers in a token, which contain the origin of the first request.
    """
    install = partial(_install, serving=serving, for_programs=for_programs)
    when_made(install, TOKEN_KEY, TOKEN_LIFE, HEADERS_READ, COOKIES_READ)
    for name in ("tornado.application", "tornado.general", "asyncio", "bokeh", "panel"):
        logging.getLogger(name).addFilter(not_a_closed_tab)
    for handler in logging.getLogger().handlers:
        handler.addFilter(not_a_closed_tab)


def guards() -> bool:
    """Return whether a server of this process is guarded."""
    return bool(_guarded)


def direct_address(path: str) -> str:
    """Return the URL at which programs on this machine reach a path, such as ``/app``, of the guarded server.

    Return "" if no server is guarded.
    """
    if not _guarded:
        return ""
    parts = urlsplit(_guarded[-1])
    return urlunsplit(parts._replace(netloc=f"localhost:{parts.port}", path=path))


def _install(
    server: BokehTornado,
    address: str,
    serving: Serving,
    for_programs: Mapping[str, type[RequestHandler]],
) -> None:
    _guarded.append(address)
    page_socket.install(server)
    programs = {f"{_path(server, url)}{path}" for url in server.applications for path in for_programs}
    reason = partial(_refusal, serving=serving, server=server, programs=programs)
    server.default_router.rules.insert(0, Rule(Where(reason), _Refusal, {"reason": reason}))
    if server.prefix:
        bare = Rule(PathMatches(re.escape(server.prefix) + "$"), _PrefixRedirect)
        server.default_router.rules.insert(1, bare)
    for url, context in server.applications.items():
        path = _path(server, url)
        server.default_router.rules.insert(1, classroom.rule(path, context))
        server.add_handlers(".*", [(f"{path}/known", _IsKnownHandler, {"context": context})])
        server.add_handlers(".*", [(f"{path}/left", page_registry.PageClosedHandler)])
        below = {**MANIFEST_HANDLERS, **for_programs}
        server.add_handlers(".*", [(f"{path}{name}", handler) for name, handler in below.items()])
    server.default_router.rules.insert(0, Rule(Where(_shorten_host), RequestHandler))
    server.add_transform(_SecurityHeaders)


def _shorten_host(request: HTTPServerRequest) -> None:
    """Replace an IPv6 address by a name, since Panel takes all after the first colon for the port."""
    name, colon, port = request.host.rpartition(":")
    if name.endswith("]") or request.host.endswith("]"):
        request.host = f"{OWN_NAMES[0]}{colon}{port}" if name.endswith("]") else OWN_NAMES[0]


def _path(server: BokehTornado, url: str) -> str:
    return f"{server.prefix}{url.rstrip('/')}"


def _refusal(
    request: HTTPServerRequest, serving: Serving, server: BokehTornado, programs: Collection[str]
) -> str | None:
    headers, path = request.headers, unquote(request.path)
    if reason := refusal(request.remote_ip, headers, serving, of_program=path in programs):
        return reason
    if SESSION_ARGUMENTS & request.arguments.keys() or SESSION_HEADER in headers:
        return "This Solverscope gives each page a session of its own: open it without naming one."
    if path.endswith("/ws") and not _ours(headers.get("Sec-WebSocket-Protocol", ""), server):
        return (
            "This Solverscope speaks to pages that it has made: open one, and reload what is older than it."
        )
    if path.endswith("/autoload.js"):
        return "This Solverscope is a page of its own, which no other page can hold: open it by itself."
    component = COMPONENT.search(path)
    if component is not None and component[1] not in sys.modules:
        return "This Solverscope has no such component: only files of those that pages use are served."
    return None


def _ours(protocols: str, server: BokehTornado) -> bool:
    """Return whether a websocket's list of protocols ends in a token that this server has signed."""
    token = protocols.partition(",")[2].strip()
    try:
        return check_token_signature(token, server.secret_key, server.sign_sessions)
    except (AssertionError, KeyError, TypeError, ValueError):  # of what is no token at all
        return False


class _Refusal(RequestHandler):
    def initialize(self, reason: Reason) -> None:
        self._refusal = reason

    def prepare(self) -> None:
        refuse(self, 403, self._refusal(self.request))


class _PrefixRedirect(RequestHandler):
    """A redirect from the server's prefix to the same URL with a final slash."""

    def get(self) -> None:
        # relative: a proxy may serve it below a path of its own
        self.redirect(f"{self.request.path.rpartition('/')[2]}/")


class _IsKnownHandler(RequestHandler):
    """The handler that answers whether the session of a disconnected page still exists."""

    def initialize(self, context: ApplicationContext) -> None:
        self._context = context

    def get(self) -> None:
        wanted = self.get_query_argument("session", "")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "text/plain")
        # in a browser Bokeh leaves the signature of an id out
        known = {session.id.partition(".")[0] for session in self._context.sessions}
        self.finish("yes" if wanted in known else "no")


class _SecurityHeaders(OutputTransform):
    """An output transform that adds headers against framing and type sniffing, and drops the versions'
    header."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        headers.pop("Server", None)
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


def not_a_closed_tab(record: logging.LogRecord) -> bool:
    """Return False for log records that only report that a tab was closed while data were sent to it.

    Tornado reports this by special exceptions.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, WebSocketClosedError | StreamClosedError)
