"""The frame of the page."""

from __future__ import annotations

import gc
import weakref

import panel as pn

from solverscope.app.page.frame import frame


def test_panels_state_keeps_no_frame_of_a_visitor_who_has_left():
    page = frame("a title", pn.pane.Str("header"), [pn.pane.Str("sidebar")], [pn.pane.Str("main")], 300)
    assert page.busy is False
    left = weakref.ref(page)
    del page
    gc.collect()
    assert left() is None
