"""A change to Panel that sends a page's changes to its browser in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.server.connection import ServerConnection
from panel.io import document as panel_document

from solverscope.app.compat.change import Change, in_place_of

WRITE_ORDER_REPORT = """\
# What Panel sends overtakes messages that bring the models it names

## What is wrong

Under the lock of a document, Bokeh puts its messages on `session._pending_writes` and sends them when the
lock is given back. `panel.io.document.write_events` sends what `hold` or `unlocked` has held back at once.
A message of Panel then overtakes one of Bokeh that was prepared before it. If the one that was overtaken
brings a new model, the browser reports

    Error: reference p1234 is not known

and takes no changes any more until the page is reloaded. #6603 is one such report; #6667 leaves this way
open.

Panel 1.10 with Bokeh 3.10 mends the case of a callback in a worker thread, in which Bokeh sends both. A
callback that is a coroutine, such as the one for a click, runs in the thread of the loop. There a message of
Panel still overtakes the events that wait on `session._pending_writes`; if it changes a model that one of
them brings, the browser does not have that model yet.

## Smallest example

```python
import panel as pn
from bokeh.models import ColumnDataSource, Div
from bokeh.plotting import figure

plot = figure(height=200)
pane, text = pn.pane.Bokeh(plot), pn.pane.Str("")


async def change():
    source = ColumnDataSource({"x": [0, 1], "y": [0, 1]})
    plot.line("x", "y", source=source)  # prepared by Bokeh, with the new models
    text.object = "changed"  # sent by Panel, before it


pn.state.curdoc.add_periodic_callback(change, 200)
pn.Column(pane, text).servable()
```

`panel serve example.py`. The frames that the browser receives (developer tools, Network, WS) have each text
before the line that was drawn before it.

## Versions

panel 1.9.4 with bokeh 3.9.2 (Python 3.11), and panel 1.10.0 with bokeh 3.10.2 (Python 3.13), Linux.
"""
CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel sends what was held back at once, past the messages that Bokeh has prepared but sends "
    "only when the lock is given back. A message then overtakes the one that brings the models it "
    "names (https://github.com/holoviz/panel/issues/6603, whose mend "
    "https://github.com/holoviz/panel/pull/6667 leaves this way open; "
    "https://github.com/holoviz/panel/pull/7115 was not merged).",
    report=WRITE_ORDER_REPORT,
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
    """Make the change."""
    if hasattr(ServerConnection, "send_patch_document"):  # it has messages that wait
        for name in ("write_events", "schedule_write_events"):
            setattr(panel_document, name, in_place_of(getattr(panel_document, name), _queue))
    else:  # it has events that wait
        write = panel_document.write_events
        panel_document.write_events = in_place_of(write, partial(_with_those_before, write))


def _queue(
    document: Document, connections: Iterable[ServerConnection], events: list[DocumentPatchedEvent]
) -> None:
    """Queue one message with these events after those that Bokeh has prepared. Raises RuntimeError without
    the lock: Panel then tries again with it."""
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
    """Write these events and the waiting ones in one message, unless one of these is not for all."""
    listening, waiting = set(connections), document.session_context.session._pending_writes
    if waiting and all(listening == set(patch.connections) for patch in waiting):
        events = [*(patch.event for patch in waiting), *events]
        waiting.clear()
    return write(document, listening, events, run)
