"""What a page changes reaches its browser in the order in which it was changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from weakref import WeakSet

from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.server.connection import ServerConnection
from panel.io import document as panel_document

from solverscope.app.compat.change import Change, in_place_of

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

_shared: WeakSet[Document] = WeakSet()
#: Messages on their way to one of several browsers; how many may wait says :mod:`.bokeh_slow_client`.
_sending: set[asyncio.Future[None]] = set()


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
    if len(listening) == 1 and document not in _shared:
        writes.append(listening[0]._socket.send_message(message))
        return
    for connection in listening:
        task = asyncio.ensure_future(connection._socket.send_message(message))
        _sending.add(task)
        task.add_done_callback(_sending.discard)


def share(document: Document) -> None:
    """Stop waiting for single browsers of a document that many show: a slow one would hold up the others."""
    _shared.add(document)
