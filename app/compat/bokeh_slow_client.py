"""A browser that does not take what it is sent is cut off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from weakref import WeakKeyDictionary

from bokeh.protocol.message import Message
from bokeh.server.views.ws import WSHandler

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="Bokeh queues messages for a browser that reads none of them, without a bound in bytes or in "
    "time, and holds its document meanwhile (no issue found).",
    without="Ten windows that do not read their sockets cost 93 MiB in four minutes, and a lesson waits for "
    "a follower who reads nothing.",
    knows=(
        "bokeh.server.views.ws:WSHandler.send_message",
        "bokeh.server.views.ws:WSHandler.write_message",
        "bokeh.protocol.message:Message.send",
    ),
    digest="15a59965f856a1cc",
)

log = logging.getLogger(__name__)

#: Bytes that may wait for one browser before another message does.
MOST_BYTES = 8 * 2**20
#: A message has to be out after so many seconds, and one more for so many bytes that wait with it.
SECONDS, BYTES_A_SECOND = 15.0, 64 * 2**10
#: The status code of WebSocket for a server that cannot go on now; a page takes its connection up again.
TRY_AGAIN = 1013

TOO_MUCH = f"more than {MOST_BYTES >> 20} MiB wait for this browser"
TOO_SLOW = "this browser has not taken what it was sent for too long"


@dataclass
class _Waiting:
    size: int = 0


_waiting: WeakKeyDictionary[WSHandler, _Waiting] = WeakKeyDictionary()


@CHANGE.once
def apply() -> None:
    """Make the change."""
    WSHandler.send_message = bounded(WSHandler.send_message)


def bounded(send: Callable[[WSHandler, Message], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a function that sends a message as ``send`` does, and closes a connection whose browser is too
    far behind."""

    @wraps(send)
    async def send_message(handler: WSHandler, message: Message) -> None:
        waiting = _waiting.setdefault(handler, _Waiting())
        if waiting.size > MOST_BYTES:
            cut_off(handler, TOO_MUCH)
            return
        size = size_of(message)
        waiting.size += size
        try:
            async with asyncio.timeout(SECONDS + waiting.size / BYTES_A_SECOND):
                await send(handler, message)
        except TimeoutError:
            cut_off(handler, TOO_SLOW)
        finally:
            waiting.size -= size

    return send_message


def size_of(message: Message) -> int:
    """Return about how many bytes a message has."""
    return len(message.content_json) + sum(memoryview(buffer.data).nbytes for buffer in message.buffers)


def cut_off(handler: WSHandler, reason: str) -> None:
    """Close a connection; a browser that comes back has the page as it is then."""
    if handler.ws_connection is not None:
        log.warning("closed a connection: %s", reason)
        handler.close(TRY_AGAIN, reason)
