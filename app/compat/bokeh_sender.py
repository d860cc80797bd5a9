"""Which browser of a document has sent a change."""

from __future__ import annotations

from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="A session knows which of its connections has sent the change that it applies, and tells nobody "
    "(no issue found).",
    without="Who writes messages by hand may answer the question of a lesson again and again.",
    knows=("bokeh.server.session:ServerSession._handle_patch",),
    digest="769511c90d788d4a",
)


def sender(session: ServerSession | None) -> ServerConnection | None:
    """Return the connection whose change a session is applying; None where that is not known."""
    return None if session is None or not CHANGE.fits() else session._current_patch_connection
