"""The order in which a browser gets what a page changes."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.models import Title
from panel.io import document as panel_document
from panel.io.state import set_curdoc

from solverscope.app.compat import panel_write_order
from tests import loop


@pytest.mark.parametrize("changed", [True, False])
def test_what_panel_sends_does_not_overtake_what_bokeh_has_prepared(changed, serve, as_it_comes):
    """Without the change it does: once it does not, the change can go."""
    panel_write_order.apply()
    if not changed:
        for name in ("write_events", "schedule_write_events"):
            if hasattr(getattr(panel_document, name), "__wrapped__"):
                as_it_comes(panel_document, name)

    async def scenario(server) -> None:
        title, pane = Title(), pn.pane.Str("")

        def show() -> None:
            server.document.add_root(pane.get_root(server.document))
            server.document.add_root(title)

        def change() -> None:
            title.text = "first"
            pane.object = "second"
            title.text = "third"

        with set_curdoc(server.document):
            await server.session.with_document_locked(show)
            server.socket.sent.clear()
            await server.session.with_document_locked(change)
        words = ["first", "second", "third"]
        await loop.until(lambda: all(word in "".join(server.socket.sent) for word in words))
        said = sorted(words, key="".join(server.socket.sent).index)
        assert (said == words) is changed

    serve(scenario)
