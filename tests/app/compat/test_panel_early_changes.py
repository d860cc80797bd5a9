"""What changes between the moment a browser reads a page and the moment it has built it."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.protocol import Protocol
from bokeh.server.session import ServerSession
from panel.io.state import set_curdoc, state

from solverscope.app.compat import panel_early_changes, panel_write_order
from tests import loop


@pytest.mark.parametrize("changed", [True, False])
def test_what_changes_once_a_browser_has_read_the_page_is_sent(changed, serve, as_it_comes):
    """Without the change it is not where it is needed: once it is needed nowhere, it can go."""
    panel_early_changes.apply()
    panel_write_order.apply()
    needed = panel_early_changes.CHANGE.fits()
    if needed and not changed:
        as_it_comes(ServerSession, "_handle_pull")

    async def scenario(server) -> None:
        pane = pn.pane.Str("first")

        def build() -> None:
            server.document.add_root(pane.get_root(server.document))

        def change(text: str) -> None:
            with pn.io.hold(server.document):
                pane.object = text

        (connection,) = server.session._subscribed_connections
        with set_curdoc(server.document):
            await server.session.with_document_locked(build)
            state._connected.pop(server.document)  # no browser has read it yet
            server.socket.sent.clear()
            await server.session.with_document_locked(change, "second")
            reply = await ServerSession.pull(Protocol().create("PULL-DOC-REQ"), connection)
            read = "".join([*server.socket.sent, *([reply.content_json] if reply is not None else [])])
            assert "second" in read, "newer versions of Bokeh send the reply themselves"
            server.socket.sent.clear()
            await server.session.with_document_locked(change, "third")
        if not needed:  # by a task of its own
            await loop.until(lambda: "third" in "".join(server.socket.sent))
        sent = "".join(server.socket.sent)
        assert "second" not in sent
        assert ("third" in sent) is (changed or not needed)

    serve(scenario)
