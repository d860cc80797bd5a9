"""Pages are kept apart, and what one changes reaches its browser in the order in which it was changed."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.io import doc as current
from bokeh.server.connection import ServerConnection
from panel.io import document as panel_document
from panel.reactive import Reactive, Syncable


def send_in_order() -> None:
    """Take away two short cuts of Panel. May be called again and again.

    A click that comes while a change of a field still waits (Panel waits 50 ms for more of it) is handled by
    Panel, and that change before it, without the lock of the document: "_pending_writes should be non-None".
    And Panel sends what was held back at once, past the messages that Bokeh has prepared but sends only when
    the lock is given back. A message then overtakes the one that brings the models it names: "reference is
    not known", and all that follows is lost on the page.
    """
    if not hasattr(Syncable._event_coroutine, "lock"):
        Syncable._event_coroutine = pn.io.with_lock(Syncable._event_coroutine)
    panel_document.write_events = panel_document.schedule_write_events = _queue


def _queue(
    document: Document, connections: Iterable[ServerConnection], events: list[DocumentPatchedEvent]
) -> None:
    """Put one message with these events behind what Bokeh has prepared. RuntimeError without the lock: Panel
    then tries again with it."""
    writes = document.session_context.session._pending_writes
    if writes is None:
        raise RuntimeError("the document is not locked")
    for connection in connections:
        writes.append(connection._socket.send_message(connection.protocol.create("PATCH-DOC", events)))


def style_from_here() -> None:
    """Let what changes while it is put on a page take its styles from this server. May be called again and
    again.

    Bokeh gives a new model its document when it goes through the page, and a batch puts that off to its end.
    A text that changes before is nowhere yet: Panel takes the styles of its theme from another host then.
    """
    if not hasattr(Reactive._get_properties, "__wrapped__"):
        Reactive._get_properties = _on_this_page(Reactive._get_properties)


def _on_this_page(
    properties: Callable[[Reactive, Document | None], dict[str, Any]],
) -> Callable[[Reactive, Document | None], dict[str, Any]]:
    @functools.wraps(properties)
    def of_this_page(self: Reactive, document: Document | None) -> dict[str, Any]:
        return properties(self, document if document is not None else pn.state.curdoc)

    return of_this_page


def forget_failed() -> None:
    """Let a callback that fails leave nothing behind. May be called again and again.

    Bokeh keeps the documents whose callbacks are at work on one list for all visitors, and takes off one only
    if its callback ends well. After a failure code that needs the current document without having one, as
    HoloViews does in a thread, gets that of the failed callback, even when its visitor has left.
    """
    current.patch_curdoc = _at_work


@contextmanager
def _at_work(document: Document) -> Iterator[None]:
    """Do as ``bokeh.io.doc.patch_curdoc``, whose place it takes."""
    current._PATCHED_CURDOCS.append(weakref.ref(document))
    try:
        yield
    finally:
        current._PATCHED_CURDOCS.pop()
