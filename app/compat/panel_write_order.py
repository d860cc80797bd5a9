"""A change to Panel that sends a page's changes to its browser in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

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
    ),
    digests=("8b7a3de6f97986fc", "2d50495cf687461f"),
)


@CHANGE.once
def apply() -> None:
    """Apply the change."""
    if hasattr(ServerConnection, "send_patch_document"):  # it has messages that wait
        for name in ("write_events", "schedule_write_events"):
            setattr(panel_document, name, in_place_of(getattr(panel_document, name), _queue))
    else:  # it has events that wait
        write = panel_document.write_events
        panel_document.write_events = in_place_of(write, partial(_with_those_before, write))


def _queue(
    document: Document, connections: Iterable[ServerConnection], events: list[DocumentPatchedEvent]
) -> None:
    """Queue a message with these events after those that Bokeh has prepared.

    Raises RuntimeError if the document is not locked; Panel then tries again with the lock.
    """
    writes = document.session_context.session._pending_writes
    if writes is None:
        raise RuntimeError("the document is not locked")
    listening = list(connections)
    if not listening:
        return
    message = listening[0].protocol.create("PATCH-DOC", events)  # once: Bokeh writes out a new model but once
    writes.extend(connection._socket.send_message(message) for connection in listening)


def _with_those_before(
    write: Callable[..., list[Any]],
    document: Document,
    connections: Iterable[ServerConnection],
    events: list[DocumentPatchedEvent],
    run: bool = True,
) -> list[Any]:
    """Write pending and new events in one message, if all pending ones go to the same connections.

    Otherwise write only the new events.
    """
    listening, waiting = set(connections), document.session_context.session._pending_writes
    if waiting and all(listening == set(patch.connections) for patch in waiting):
        events = [*(patch.event for patch in waiting), *events]
        waiting.clear()
    return write(document, listening, events, run)
