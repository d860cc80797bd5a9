"""HoloViews plots in the page's style.

HoloViews takes 0.4 s to import and 0.1 s to draw a plot, so both should be done in threads of the pool.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import holoviews as hv
from bokeh.models import BoxZoomTool, SaveTool, WheelZoomTool
from holoviews.plotting import Plot
from holoviews.plotting.bokeh import BokehRenderer  # also registers it

from solverscope.app import ui

#: Held while elements are made and drawn: HoloViews has one store for the options of all elements.
_store_lock = threading.Lock()
#: Draws in a document of each plot's own: that of the thread may be another visitor's.
_renderer = BokehRenderer.instance(theme=None)
_renderer.notebook_context = True

#: Changes a plot once it is drawn.
Hook = Callable[[Plot, hv.Overlay], None]


def drawn(make: Callable[..., hv.Overlay], *given: Any) -> Plot:
    """Return the plot of the element that ``make(*given)`` returns; it does not belong to a page's document
    yet."""
    with _store_lock:
        return _renderer.get_plot(make(*given))


def in_style(name: str, height: int, overlay: hv.Overlay, *hooks: Hook, **options: Any) -> hv.Overlay:
    """Return an overlay with the page's style, the tools of other plots, and these ``options`` of HoloViews.

    ``name`` is its name, and the file name of saved images.
    """
    usual = {"shared_axes": False, "title": "", "show_legend": False, "active_tools": ["box_zoom"]}
    dress = partial(_dress, name, height)
    return overlay.opts(**(usual | options), hooks=[dress, *hooks], backend="bokeh")


def _dress(name: str, height: int, plot: Plot, element: hv.Overlay) -> None:
    fig = plot.state
    fig.update(**ui.shape(height), frame_align={"right": False})
    kept = [tool for tool in fig.toolbar.tools if not isinstance(tool, SaveTool | WheelZoomTool)]
    drags = [tool for tool in kept if isinstance(tool, BoxZoomTool)]
    fig.toolbar.update(tools=kept, active_drag=drags[0], active_scroll=None)
    ui.styled(fig, name)
