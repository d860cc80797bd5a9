"""A click while a change of a field waits."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.events import ButtonClick
from panel.io.state import set_curdoc
from panel.reactive import Syncable

from solverscope.app.compat import panel_event_lock
from tests import loop


@pytest.mark.parametrize("changed", [True, False])
def test_a_click_while_a_change_waits_is_handled_after_it_and_both_under_the_lock(
    changed, serve, as_it_comes
):
    """Without the change Panel handles both without the lock: once it does not, the change can go."""
    panel_event_lock.apply()
    if not changed:
        as_it_comes(Syncable, "_event_coroutine")

    async def scenario(server) -> None:
        seen = []
        field = pn.widgets.Select(options=["a", "b"])
        button = pn.widgets.Button()
        field.param.watch(lambda event: seen.append(("change", server.locked)), "value")
        button.on_click(lambda event: seen.append(("click", server.locked)))
        with set_curdoc(server.document):
            root = pn.Row(field, button).get_root(server.document)
        ref, (_, model) = root.ref["id"], root.children
        field._server_change(server.document, ref, None, "value", "a", "b")
        button._server_event(server.document, ButtonClick(model))
        await loop.until(lambda: len(seen) > 1)
        assert seen == [("change", changed), ("click", changed)]

    serve(scenario)
