"""Lessons: pages that others follow under a short URL. A single session, which accepts no input, serves all
followers."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from bokeh.core.serialization import Serialized
from bokeh.document import Document
from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession
from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.resources import Resources
from panel.io.server import DocHandler, server_html_page_for_session
from panel.io.state import set_curdoc
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher, Rule

from solverscope.app.serving import page_socket
from solverscope.app.serving.access import refuse

#: Letters of the name of a lesson, none of which is taken for another, and their number: 31^8 names. A
#: thousand guesses a second find one of a hundred lessons within a year with a chance of 1 in 270. Whoever
#: finds a lesson may look at it.
CODE_LETTERS, CODE_LENGTH = "23456789abcdefghjkmnpqrstuvwxyz", 8
#: In the address: the code of a lesson, and that somebody looks around in it alone.
TEACH_ARGUMENT, ALONE_ARGUMENT = "teach", "alone"
#: The answer if there is no lesson.
NO_LESSON = "There is no lesson at this address: it is over, or a letter is wrong."


@dataclass(eq=False)
class Lesson:
    """A lesson, in which followers see the page of the ``teacher``. ``over`` is true once it has ended."""

    teacher: Any
    code: str
    over: bool = False
    #: Sessions of those who look around alone.
    alone: WeakSet[Any] = field(default_factory=WeakSet)
    _shared: ServerSession | None = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def followers(self) -> int:
        """Return the number of current followers."""
        shared = self._shared
        together = 0 if shared is None or shared.destroyed else shared.connection_count
        return together + sum(not session.closed and session.ticking for session in self.alone)

    async def session(self, handler: DocHandler) -> ServerSession:
        """Return the session that all followers share; the first follower creates it."""
        async with self._making:
            if self._shared is None or self._shared.destroyed:
                id, token = _named(handler, self.code)
                context = handler.application_context
                self._shared = await context.create_session_if_needed(id, handler.request, token)
            return self._shared

    def end(self) -> None:
        """Stop admitting followers; current ones keep the page in its present state."""
        self.over = True
        _lessons.pop(self.code, None)


_lessons: dict[str, Lesson] = {}


def teach(teacher: Any) -> Lesson:
    """Begin a lesson and return it."""
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    _lessons[code] = Lesson(teacher, code)
    return _lessons[code]


def find(code: str) -> Lesson:
    """Return the lesson with this code. Raises ValueError if there is none."""
    lesson = _lessons.get(code.strip().lower())
    if lesson is None:
        raise ValueError(NO_LESSON)
    return lesson


def own_address() -> str:
    """Return the IP address of this machine in its network; empty if it has none."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.1", 9))  # sends nothing: it only looks up the route
        return route.getsockname()[0]
    return ""


def rule(path: str, context: ApplicationContext) -> Rule:
    """Return the routing rule for followers of the page at this path."""
    given = {"application_context": context, "bokeh_websocket_path": f"{path}/ws"}
    return Rule(Where(partial(_follows, path=path)), _Follow, given)


def look_only(document: Document, listens: str) -> None:
    """Prevent browsers that share a document from changing it.

    They can only send messages of plain values from components of the class ``listens``. All messages on one
    connection must have the same sender ``who``.
    """
    apply = document.apply_json_patch
    names: WeakKeyDictionary[Any, object] = WeakKeyDictionary()

    def patch(given: Any, *, setter: Any = None) -> None:
        content = given.content if isinstance(given, Serialized) else given
        connection = page_socket.sender()

        def of_one(event: Any) -> bool:
            said = _said(event)
            return connection is None or said is None or names.setdefault(connection, said) == said

        events = [event for event in content["events"] if _wanted(event, document, listens) and of_one(event)]
        if events:
            apply({"events": events}, setter=setter)

    page_socket.share(document)
    document.apply_json_patch = patch
    document.replace_with_json = lambda json: None


def _wanted(event: Any, document: Document, listens: str) -> bool:
    match event:
        case {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"name": "document_ready"}}:
            return True
        case {
            "kind": "MessageSent",
            "msg_type": "bokeh_event",
            "msg_data": {
                "name": "data_event",
                "values": {
                    "type": "map",
                    "entries": [
                        ["model", {"id": str(id)}],
                        ["data", {"type": "map", "entries": [*said]}],
                    ],
                },
            },
        }:
            model = document.get_model_by_id(id)
            plain = all(isinstance(part, str | int | float) for pair in said for part in pair)
            return plain and getattr(model, "class_name", None) == listens
    return False


def _said(event: Any) -> object:
    """Return the sender in a message of a component, or None if there is none."""
    match event:
        case {"msg_data": {"name": "data_event", "values": {"entries": [_, ["data", {"entries": said}]]}}}:
            return dict(said).get("who")
    return None


class Where(Matcher):
    """A matcher of the requests for which ``holds`` returns a true value."""

    def __init__(self, holds: Callable[[HTTPServerRequest], object]) -> None:
        self._holds = holds

    def match(self, request: HTTPServerRequest) -> dict | None:
        return {} if self._holds(request) else None


def _follows(request: HTTPServerRequest, path: str) -> bool:
    """Return whether a request is from a follower who shares the common session.

    Followers who explore the lesson alone have other sessions, so their requests yield False.
    """
    asked = request.path.rstrip("/") == path and TEACH_ARGUMENT in request.arguments
    return asked and ALONE_ARGUMENT not in request.arguments


class _Follow(DocHandler):
    """The handler that admits each follower to the shared session, with a token that does not reveal the
    others."""

    async def get(self, *args: Any, **kwargs: Any) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            lesson = find(self.get_query_argument(TEACH_ARGUMENT))
        except ValueError as error:
            refuse(self, 404, str(error))
            return
        session = await lesson.session(self)
        document = session.document
        with set_curdoc(document):
            page = server_html_page_for_session(
                session,
                resources=Resources.from_bokeh(self.application.resources()),
                title=document.title,
                token=session.token,
                template=document.template,
                template_variables=document.template_variables,
            )
        self.finish(page)


def _named(handler: DocHandler, code: str) -> tuple[str, str]:
    """Return the id and the token of a new session.

    All followers can read the token. It contains the lesson's code and the Host of the first follower's
    request, but none of their other headers or cookies.
    """
    app = handler.application
    id = generate_session_id(secret_key=app.secret_key, signed=app.sign_sessions)
    host = {"Host": handler.request.headers.get("Host", "")}
    payload = {"headers": host, "cookies": {}, "arguments": {TEACH_ARGUMENT: [code.encode()]}}
    token = generate_jwt_token(
        id,
        secret_key=app.secret_key,
        signed=app.sign_sessions,
        expiration=app.session_token_expiration,
        extra_payload=payload,
    )
    return id, token
