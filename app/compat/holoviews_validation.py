"""HoloViews leaves Bokeh's validation on while it fills a source."""

from __future__ import annotations

from contextlib import nullcontext

import holoviews.plotting.bokeh.plot

from app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="holoviews",
    upstream="HoloViews switches Bokeh's validation off while it fills a source, in all threads (HoloViews "
    "is not safe for threads, https://github.com/holoviz/holoviews/issues/6162). Validation tells "
    "values from names of columns: what is sent to any visitor at that moment has colours that no "
    "browser can read.",
    without="While one visitor's λ path is drawn, the page of another may lose colours.",
    knows=("holoviews.plotting.bokeh.plot:BokehPlot._update_datasource",),
    digest="98275943ab3f71c0",
)


@CHANGE.once
def apply() -> None:
    """Make the change. Bokeh warns, at most, of columns that differ in length until the last is there."""
    holoviews.plotting.bokeh.plot.validate = lambda on: nullcontext()
