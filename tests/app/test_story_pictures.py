"""Every story shows something in each of its plots after a moment."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import panel as pn
import pytest
from bokeh.models import GlyphRenderer
from bokeh.plotting import figure

from app.stories import stories

#: The tree story on a tree that is quickly made.
SMALLER = {"tree": {"options": "n_nodes=60,n_leaves=40,n_features=400,n_samples=200"}}
#: Iterates of each run, or seconds of waiting for them.
SHORT, PATIENCE = 4, 120.0
#: What glyphs draw by, and the helpers that say nothing of a run.
PLACES = ("y", "ys", "top", "image", "value")
HELPERS = ("VSpan", "VStrip")


def in_sight(layout: pn.viewable.Viewable) -> Iterator[figure]:
    """The figures that a visitor sees."""
    if layout.visible and isinstance(layout, pn.pane.Bokeh) and layout.object is not None:
        yield layout.object
    elif layout.visible:
        for part in getattr(layout, "objects", ()):
            yield from in_sight(part)


def draws(renderer: GlyphRenderer) -> bool:
    """Whether a visitor sees something of it: a line needs two points side by side."""
    glyph, data, kind = renderer.glyph, renderer.data_source.data, type(renderer.glyph).__name__
    if kind in HELPERS or renderer.level == "overlay":
        return False
    if kind == "Scatter" and isinstance(glyph.fill_alpha, str) and not np.any(data[glyph.fill_alpha]):
        return False
    for place in PLACES:
        field = getattr(glyph, place, None)
        for values in [data.get(field, ())] if kind == "Line" else data.get(field, ()):
            known = np.isfinite(np.asarray(values, dtype=float))
            if (known[1:] & known[:-1]).any() if kind == "Line" else known.any():
                return True
    return False


@pytest.mark.parametrize("id", stories())
def test_every_figure_in_sight_has_something_to_show(visit, id):
    page = visit(story=id, **SMALLER.get(id, {}))
    page.controls.pace.value = 0.0
    page.controls.go()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and page.session.alive:
        if all(run.trace and len(run.trace) > SHORT for run in page.session.runs):
            break
        time.sleep(0.05)
    page.session.stop()
    while page.session.alive:
        time.sleep(0.02)
    page.session.tick()
    until = time.monotonic() + PATIENCE
    while page.session.computing and time.monotonic() < until:  # curves are computed off the page's thread
        time.sleep(0.02)
        page.session.tick()
    for view in (*page.standing.shown, *(v for v in page.tabs.values() if v.visible)):
        shown = list(in_sight(view.__panel__()))
        empty = [plot.toolbar.tools[-1].filename for plot in shown if not any(map(draws, plot.renderers))]
        assert empty == [], view.id
