"""The door by which loops of other processes come to an open page: a WebSocket of this machine, for who has
the token of the page."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any, Protocol

from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from solverscope.app.serving.access import from_here, refuse
from solverscope.app.watch import HEAD

#: Letters of the name of a run, at most.
MOST_LETTERS = 40

NO_TOKEN = "No open page has this token: copy the line that the page shows now."
ELSEWHERE = "A loop is watched by a page of its own machine: call it localhost, and by no proxy."
LOST = "the connection to the loop is lost"
FROM_A_PAGE = "A loop is a program, and no page of a browser."


class Host(Protocol):
    """The page behind a door."""

    def admit(self) -> int:
        """Return the number of weights of its problem; ValueError, one sentence, where it takes no loop."""
        ...

    def welcome(self, wire: Wire) -> None:
        """Take a loop in, or send it away."""


class Door:
    """Lets loops in to a page until it is closed."""

    def __init__(self, host: Host) -> None:
        self.host, self.token = host, secrets.token_urlsafe(24)
        _doors.append(self)

    def close(self) -> None:
        """Let nobody in any more."""
        if self in _doors:
            _doors.remove(self)


_doors: list[Door] = []


def behind(token: str) -> Door | None:
    """Return the door with this token, after a time that says nothing of the others."""
    given = token.encode()
    found = [door for door in _doors if hmac.compare_digest(door.token.encode(), given)]
    return found[0] if found else None


class Wire(WebSocketHandler):
    """A connection to a loop. The page sets what ``hears`` its messages, which raises ValueError, one
    sentence, for one that is wrong, and what is told why nothing comes any more when it ``ends``."""

    label = ""
    hears: Callable[[str | bytes], None] | None = None
    ends: Callable[[str], None] = staticmethod(lambda why: None)

    def initialize(self) -> None:
        self._loop, self._door = IOLoop.current(), None
        #: Number of weights of the problem that it is for.
        self.size = 0
        #: Whether anything can still come or be said.
        self.open_still = False

    async def get(self, *args: Any, **kwargs: Any) -> None:
        try:
            self.admit()
        except ValueError as error:
            refuse(self, 403, str(error))
            return
        await super().get(*args, **kwargs)

    def admit(self) -> None:
        """Find the page; ValueError, one sentence, for who may not come in."""
        headers = self.request.headers
        if "Origin" in headers:
            raise ValueError(FROM_A_PAGE)
        if not from_here(self.request.remote_ip, headers):
            raise ValueError(ELSEWHERE)
        kind, _, token = headers.get("Authorization", "").partition(" ")
        door = behind(token.strip()) if kind == "Bearer" else None
        if door is None:
            raise ValueError(NO_TOKEN)
        self.label = self.get_query_argument("label", "").strip()
        if not (0 < len(self.label) <= MOST_LETTERS and self.label.isprintable()):
            raise ValueError(f"The name of a run has 1 to {MOST_LETTERS} letters: give it such a label.")
        self._door, self.size = door, door.host.admit()

    @property
    def max_message_size(self) -> int:
        return 8 * self.size + HEAD

    @property
    def ping_interval(self) -> float:
        return 0.0  # a process that ends closes its connection

    def check_origin(self, origin: str) -> bool:
        return False

    def open(self, *args: str, **kwargs: str) -> None:
        self.open_still = True
        self._door.host.welcome(self)

    def on_message(self, message: str | bytes) -> None:
        try:
            if self.hears is None:
                raise ValueError("the page has not asked for an iterate yet")
            self.hears(message)
        except ValueError as error:
            self.ends(f"the loop was refused: {error}")
            self.leave(wrong=str(error))

    def on_close(self) -> None:
        self.open_still = False
        self.ends(LOST)

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something after so many seconds, in the page's thread."""
        self._loop.call_later(seconds, act)

    def say(self, **said: Any) -> None:
        """Tell the loop something, from any thread."""
        self._loop.add_callback(self._say, said)

    def leave(self, **said: Any) -> None:
        """Tell the loop why it is left alone, and do so, from any thread."""
        self.say(**said)
        self._loop.add_callback(self.close)

    def _say(self, said: dict[str, Any]) -> None:
        if self.open_still:
            try:
                self.write_message(said)
            except WebSocketClosedError:
                self.open_still = False
