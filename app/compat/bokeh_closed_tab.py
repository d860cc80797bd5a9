"""What comes for a page whose tab has been closed is told from a fault."""

from __future__ import annotations

from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from tornado.websocket import WebSocketClosedError

from solverscope.app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="A connection that has left its session, as its tab was closed, asserts that it has one, so "
    "that a message still under way looks like a fault of the server (no issue found).",
    without="The log may show an AssertionError where a tab is closed while its page is busy.",
    knows=(
        "bokeh.server.connection:ServerConnection.session.fget",
        "bokeh.server.connection:ServerConnection.detach_session",
    ),
    digest="b61fad6e17d0a3f2",
)


@CHANGE.once
def apply() -> None:
    """Make the change."""
    ServerConnection.session = property(in_place_of(ServerConnection.session.fget, _session))


def _session(connection: ServerConnection) -> ServerSession:
    if connection._session is None:
        raise WebSocketClosedError
    return connection._session
