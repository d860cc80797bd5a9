"""Panel's busy state and the pages that follow it."""

from __future__ import annotations

import gc
import weakref

import panel as pn
import panel_material_ui as pmui
import pytest

from solverscope.app.compat import panel_busy


@pytest.mark.parametrize("changed", [True, False])
def test_the_state_keeps_no_page_of_a_visitor_who_has_left(changed):
    """Without the change it does: once it does not, the change can go."""
    page = pmui.Page(busy_indicator=None)
    if changed:
        panel_busy.apply(page)
    left = weakref.ref(page)
    del page
    gc.collect()
    assert (left() is None) is changed
    assert pn.state.busy is False
