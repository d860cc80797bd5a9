"""Lessons: a page that others follow, under a short address. One session draws for all who follow, however
many they are, and takes nothing from them."""

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

from solverscope.app.compat import panel_write_order
from solverscope.app.compat.bokeh_sender import sender
from solverscope.app.serving.access import refuse

#: What a lesson is named by: letters that are not taken for others, 31^8 names, of which a thousand guesses
#: a second find one of a hundred lessons within a year with a chance of 1 in 270, and then may look at it.
LETTERS, LENGTH = "23456789abcdefghjkmnpqrstuvwxyz", 8
#: In the address: the code of a lesson, and that somebody looks around in it alone.
TEACH, ALONE = "teach", "alone"
#: What is answered where there is no lesson.
NO_LESSON = "There is no lesson at this address: it is over, or a letter is wrong."


@dataclass(eq=False)
class Lesson:
    """What ``teacher``, a page, shows to others. ``over`` once it has ended."""

    teacher: Any
    code: str
    over: bool = False
    #: Sessions of those who look around alone.
    alone: WeakSet[Any] = field(default_factory=WeakSet)
    _shared: ServerSession | None = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def followers(self) -> int:
        """Return how many look at it now."""
        shared = self._shared
        together = 0 if shared is None or shared.destroyed else shared.connection_count
        return together + sum(not session.closed and session.ticking for session in self.alone)

    async def session(self, handler: DocHandler) -> ServerSession:
        """Return the session that all share, made for the first who comes."""
        async with self._making:
            if self._shared is None or self._shared.destroyed:
                id, token = _named(handler, self.code)
                context = handler.application_context
                self._shared = await context.create_session_if_needed(id, handler.request, token)
            return self._shared

    def end(self) -> None:
        """Let nobody in any more; those who are there keep what they see."""
        self.over = True
        _lessons.pop(self.code, None)


_lessons: dict[str, Lesson] = {}


def teach(teacher: Any) -> Lesson:
    """Begin a lesson."""
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    _lessons[code] = Lesson(teacher, code)
    return _lessons[code]


def find(code: str) -> Lesson:
    """Return the lesson with this code; ValueError, one sentence, where there is none."""
    lesson = _lessons.get(code.strip().lower())
    if lesson is None:
        raise ValueError(NO_LESSON)
    return lesson


def own_address() -> str:
    """Return the address by which others of its network reach this machine; empty where it is in none."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.1", 9))  # sends nothing: it only looks for the way there
        return route.getsockname()[0]
    return ""


def rule(path: str, context: ApplicationContext) -> Rule:
    """Return what answers those who follow the page at this path."""
    given = {"application_context": context, "bokeh_websocket_path": f"{path}/ws"}
    return Rule(Where(partial(_follows, path=path)), _Follow, given)


def look_only(document: Document, listens: str) -> None:
    """Let browsers change nothing in a document that they share. All that they can send are messages, plain
    values by name, of a component of the class ``listens``, and all from one connection of one ``who``."""
    apply = document.apply_json_patch
    names: WeakKeyDictionary[Any, object] = WeakKeyDictionary()

    def patch(given: Any, *, setter: Any = None) -> None:
        content = given.content if isinstance(given, Serialized) else given
        connection = sender(setter)

        def of_one(event: Any) -> bool:
            said = _said(event)
            return connection is None or said is None or names.setdefault(connection, said) == said

        events = [event for event in content["events"] if _wanted(event, document, listens) and of_one(event)]
        if events:
            apply({"events": events}, setter=setter)

    panel_write_order.share(document)
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
    """Return who a message of a component says to be from; None if it does not."""
    match event:
        case {"msg_data": {"name": "data_event", "values": {"entries": [_, ["data", {"entries": said}]]}}}:
            return dict(said).get("who")
    return None


class Where(Matcher):
    """The requests for which something ``holds``."""

    def __init__(self, holds: Callable[[HTTPServerRequest], object]) -> None:
        self._holds = holds

    def match(self, request: HTTPServerRequest) -> dict | None:
        return {} if self._holds(request) else None


def _follows(request: HTTPServerRequest, path: str) -> bool:
    """Tell whether who asks is one of those who follow together."""
    asked = request.path.rstrip("/") == path and TEACH in request.arguments
    return asked and ALONE not in request.arguments


class _Follow(DocHandler):
    """Gives each who follows the page of the one session, and a token that says nothing of the others."""

    async def get(self, *args: Any, **kwargs: Any) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            lesson = find(self.get_query_argument(TEACH))
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
    """Return an id for a session, and its token: all who follow can read it, so that of the first of them it
    holds but the name by which they call this server."""
    app = handler.application
    id = generate_session_id(secret_key=app.secret_key, signed=app.sign_sessions)
    host = {"Host": handler.request.headers.get("Host", "")}
    payload = {"headers": host, "cookies": {}, "arguments": {TEACH: [code.encode()]}}
    token = generate_jwt_token(
        id,
        secret_key=app.secret_key,
        signed=app.sign_sessions,
        expiration=app.session_token_expiration,
        extra_payload=payload,
    )
    return id, token
