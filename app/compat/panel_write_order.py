"""What a page changes reaches its browser in the order in which it was changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.protocol.message import Message
from bokeh.server.connection import ServerConnection
from panel.io import document as panel_document

from app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel sends what was held back at once, past the messages that Bokeh has prepared but sends "
    "only when the lock is given back. A message then overtakes the one that brings the models it "
    "names (https://github.com/holoviz/panel/issues/6603, whose mend "
    "https://github.com/holoviz/panel/pull/6667 leaves this way open; "
    "https://github.com/holoviz/panel/pull/7115 was not merged).",
    without="On a busy server a page may report 'reference is not known' and then stand still until it is "
    "reloaded.",
    knows=(
        "panel.io.document:write_events",
        "panel.io.document:schedule_write_events",
        "panel.io.document:unlocked",
        "bokeh.server.session:_needs_document_lock",
        "bokeh.server.session:ServerSession._document_patched",
        "bokeh.server.connection:ServerConnection.send_patch_document",
    ),
    digest="228f0403c3541f85",
)

#: Messages that may wait for one of several browsers of a document.
MOST_WAITING = 50
_waiting: WeakKeyDictionary[ServerConnection, set[asyncio.Future[None]]] = WeakKeyDictionary()


@CHANGE.once
def apply() -> None:
    """Make the change."""
    for name in ("write_events", "schedule_write_events"):
        setattr(panel_document, name, in_place_of(getattr(panel_document, name), _queue))


def _queue(
    document: Document, connections: Iterable[ServerConnection], events: list[DocumentPatchedEvent]
) -> None:
    """Put one message with these events behind what Bokeh has prepared. RuntimeError without the lock: Panel
    then tries again with it."""
    writes = document.session_context.session._pending_writes
    if writes is None:
        raise RuntimeError("the document is not locked")
    listening = list(connections)
    if not listening:
        return
    message = listening[0].protocol.create("PATCH-DOC", events)  # once: Bokeh writes out a new model but once
    if len(listening) == 1:
        writes.append(listening[0]._socket.send_message(message))
        return
    for connection in listening:
        _send_beside(connection, message)


def _send_beside(connection: ServerConnection, message: Message) -> None:
    """Send a message to one of several browsers of a document without waiting for it: a slow one would hold
    up the others. One that is far behind is cut off, and comes back to the page as it is then."""
    waiting = _waiting.setdefault(connection, set())
    if len(waiting) >= MOST_WAITING:
        connection._socket.close()
        return
    task = asyncio.ensure_future(connection._socket.send_message(message))
    waiting.add(task)
    task.add_done_callback(waiting.discard)
