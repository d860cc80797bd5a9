"""A change to Panel that keeps changes of a page while its browser is still building it."""

from __future__ import annotations

from typing import Any

from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession, _needs_document_lock
from panel.io.state import state

from solverscope.app.compat.change import Change, in_place_of

EARLY_CHANGES_REPORT = """\
# What is changed under `hold` while the browser builds the page is lost (mended in 1.10)

## What is wrong

`hold` throws away the changes of a document whose browser has not reported `document_ready`, as this
browser is to read the whole document yet. It has read the document when it opened its websocket
(`PULL-DOC-REQ`), seconds before `document_ready` on a large page. What changes between the two is in
neither, and the browser never hears of it.

Panel 1.10 mends it: `_client_has_document` counts a browser as connected once it has read the document. A
release of 1.9 with that would help those on Python 3.11, for which there is no Panel 1.10.

## Smallest example

```python
import panel as pn

text = pn.pane.Str("first")


def change():
    with pn.io.hold():
        text.object = "second"


pn.state.curdoc.add_timeout_callback(change, 300)
# enough models to keep the browser busy for a second
pn.Column(text, *(pn.widgets.TextInput(name=f"{k}") for k in range(300))).servable()
```

`panel serve example.py`: the page shows "first" for ever, where the callback has run before
`document_ready`.

## Versions

panel 1.9.4, bokeh 3.9.2, Python 3.11, Linux. Not in panel 1.10.0.
"""
CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel forgets what is changed under a hold until a browser says that it has built the page, as "
    "that browser is to read the whole document yet. It has read it long before, and never hears of "
    "the change (https://github.com/holoviz/panel/pull/8698 mends it for messages and callbacks).",
    report=EARLY_CHANGES_REPORT,
    until="1.10",
    without="What a visitor presses before the page is built, such as an answer to the story's question, is "
    "not seen to have been taken.",
    knows=(
        "panel.io.document:hold",
        "panel.io.document:_drain_unconnected_events",
        "panel.io.state:_state._on_load",
        "panel.io.state:_state._unblocked",
        "bokeh.server.session:ServerSession._handle_pull",
        "bokeh.server.session:_needs_document_lock",
    ),
    digests=("6eab7d90d52402e2",),
)


@CHANGE.once
def apply() -> None:
    """Make the change."""
    ServerSession._handle_pull = in_place_of(ServerSession._handle_pull, _needs_document_lock(_pull))


def _pull(session: ServerSession, message: Any, connection: ServerConnection) -> Any:
    """Return the reply that brings a browser the document; count the browser as connected from then on."""
    reply = connection.protocol.create("PULL-DOC-REPLY", message.header["msgid"], session.document)
    state._connected[session.document] = True
    return reply
