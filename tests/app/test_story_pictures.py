"""Every story shows something in each of its plots after a moment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bokeh.models import GlyphRenderer, SaveTool
from bokeh.plotting import figure

from solverscope.app.page.page import Page
from solverscope.app.stories import stories
from tests.app.helpers import in_sight

#: The tree story on a tree that is quickly made.
SMALLER = {"tree": {"options": "n_nodes=60,n_leaves=40,n_features=400,n_samples=200"}}
#: Iterates of each run; runs whose test metric is in sight end by themselves, as it is measured now and then.
SHORT, TO_THE_END = 4, {"outliers"}
#: What glyphs draw by, and the helpers that say nothing of a run.
PLACES = ("y", "ys", "top", "image", "value")
HELPERS = ("VSpan", "VStrip")


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


def name_of(plot: figure) -> str:
    """What the plot's picture is called when it is saved."""
    return next(tool.filename for tool in plot.toolbar.tools if isinstance(tool, SaveTool))


def nothing_drawn(page: Page) -> set[str]:
    """The figures in sight that show nothing."""
    views = (*page.top_views.shown, *(v for v in page.tabs.values() if v.visible))
    return {name_of(plot) for v in views for plot in in_sight(v) if not any(map(draws, plot.renderers))}


@pytest.mark.slow
@pytest.mark.parametrize("id", stories())
def test_every_figure_in_sight_has_something_to_show(visit, wait_until, id):
    page = visit(story=id, **SMALLER.get(id, {}))
    page.controls.pace.value = 0.0
    page.controls.go()
    runs = page.session.runs
    enough = math.inf if id in TO_THE_END else SHORT
    wait_until(lambda: all(not run.alive or (run.trace and len(run.trace) > enough) for run in runs))
    page.session.stop()
    wait_until(lambda: not page.session.alive)
    # curves are computed off the page's thread
    wait_until(lambda: (page.session.tick(), not page.session.computing)[1])
    empty = nothing_drawn(page)
    # an epoch that begins at the cursor leaves no pairs to show
    cursor = page.session.cursor
    for iteration in cursor.run.iteration[::-1]:
        if not empty:
            break
        cursor.place(cursor.run, int(iteration))
        wait_until(lambda: (page.session.tick(), not page.session.computing)[1])
        empty &= nothing_drawn(page)
    assert empty == set()
