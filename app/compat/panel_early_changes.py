"""A change to Panel that preserves changes to a page while its browser is still building it."""

from __future__ import annotations

from typing import Any

from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession, _needs_document_lock
from panel.io.state import state

from solverscope.app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel forgets what is changed under a hold until a browser says that it has built the page, as "
    "that browser is to read the whole document yet. It has read it long before, and never hears of "
    "the change (https://github.com/holoviz/panel/pull/8698 mends it for messages and callbacks).",
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
    """Apply the change."""
    ServerSession._handle_pull = in_place_of(ServerSession._handle_pull, _needs_document_lock(_pull))


def _pull(session: ServerSession, message: Any, connection: ServerConnection) -> Any:
    """Return the reply that sends the document to a browser, which is considered connected from then on."""
    reply = connection.protocol.create("PULL-DOC-REPLY", message.header["msgid"], session.document)
    state._connected[session.document] = True
    return reply
