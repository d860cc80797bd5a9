"""A landscape as HoloViews elements: shades, contours, kinks, and the paths of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import holoviews as hv
import numpy as np
from bokeh.models import ColumnDataSource, HoverTool
from holoviews.operation import contours
from holoviews.plotting import Plot

from solverscope.app import ui
from solverscope.app.views.base import rendering
from solverscope.app.views.landscape.landscape_data import LandscapeScene, PlacedRun
from solverscope.app.views.playground.playground_plane import GROUND_COLOR, MAX_OPACITY

#: Pixels.
LANDSCAPE_HEIGHT = 440
#: Contours, and shades.
LEVELS, SHADES = 14, 256
#: Height above the lowest, as a share of the highest, from which shades and contours tell heights apart.
LEAST_HEIGHT = 1e-5
#: Opacity of a step that lies as far from the plane as the window is wide, and of one on it.
FAR_ALPHA, NEAR_ALPHA = 0.15, 1.0
#: Columns of the marks at the cursor.
CURSOR_COLUMNS = ("x", "y", "color")

#: A run with its colour and dash.
StyledRun = tuple[PlacedRun, str, str]


def landscape(
    scene: LandscapeScene, runs: Sequence[StyledRun], labels: tuple[str, str], marks: ColumnDataSource
) -> hv.Overlay:
    """Return the landscape; ``labels`` are those of its axes, and ``marks`` the data source of marks."""
    elements = [*_ground(scene), *_kink_lines(scene)]
    for run, color, dash in runs:
        elements += _path(scene, run, color, dash)
    window = scene.window
    return rendering.in_style(
        "landscape",
        LANDSCAPE_HEIGHT,
        hv.Overlay(elements),
        partial(_add_marks, marks),
        xlabel=labels[0],
        ylabel=ui.upright(labels[1]),
        xlim=(window.x0, window.x1),
        ylim=(window.y0, window.y1),
    )


def log_heights(heights: np.ndarray) -> np.ndarray:
    """Return heights on a logarithmic scale from 0 at the lowest to 1 at the highest."""
    above = heights - np.nanmin(heights)
    highest = float(np.nanmax(above))
    if not highest > 0.0:
        return np.zeros_like(heights)
    return 1.0 + np.log10(np.maximum(above / highest, LEAST_HEIGHT)) / -np.log10(LEAST_HEIGHT)


def _ground(scene: LandscapeScene) -> list[hv.Element]:
    x0, x1, y0, y1 = scene.window
    up, across = scene.heights.shape
    a, b = np.linspace(x0, x1, across), np.linspace(y0, y1, up)
    shares = log_heights(scene.heights)
    image = hv.Image((a, b, shares), ["a", "b"], "height")
    levels = np.linspace(0.0, 1.0, LEVELS + 2)[1:-1]
    opacity = np.rint(255 * MAX_OPACITY * np.linspace(0.0, 1.0, SHADES)).astype(int)
    shades = [f"{GROUND_COLOR}{alpha:02x}" for alpha in opacity]
    lines = contours(image, levels=levels).opts(color=ui.GREY, line_width=0.7, alpha=0.7, backend="bokeh")
    return [image.opts(cmap=shades, clim=(0.0, 1.0), backend="bokeh"), lines]


def _kink_lines(scene: LandscapeScene) -> list[hv.Element]:
    if not scene.kinks:
        return []
    lines = [(*ends[0], *ends[1], 0.1 + 0.5 * share) for ends, share in scene.kinks]
    looks = {"color": ui.GREY, "line_width": 1.5, "alpha": hv.dim("share")}
    return [hv.Segments(lines, vdims="share").opts(**looks, backend="bokeh")]


def _path(scene: LandscapeScene, run: PlacedRun, color: str, dash: str) -> list[hv.Element]:
    far = np.clip(run.distance / scene.window.size, 0.0, 1.0)
    alpha = FAR_ALPHA + (NEAR_ALPHA - FAR_ALPHA) * (1.0 - far)
    steps = (run.a[:-1], run.b[:-1], run.a[1:], run.b[1:], np.minimum(alpha[:-1], alpha[1:]))
    looks = {"color": color, "line_dash": dash, "line_width": 2, "alpha": hv.dim("alpha")}
    label = np.full(run.a.size, run.label)
    told = {
        "run": "@run",
        "iteration": "@iteration",
        "f": "@f{0.000000e+0}",
        "off the plane": "@distance{0.[000]}",
    }
    dots = hv.Points(
        (run.a, run.b, label, run.iteration, run.objective, run.distance, alpha),
        ["a", "b"],
        ["run", "iteration", "f", "distance", "alpha"],
    )
    own = {
        "color": color,
        "size": 5,
        "alpha": hv.dim("alpha"),
        "tools": [HoverTool(tooltips=list(told.items()))],
    }
    return [
        hv.Segments(steps, vdims="alpha").opts(**looks, backend="bokeh"),
        dots.opts(**own, backend="bokeh"),
    ]


def _add_marks(marks: ColumnDataSource, plot: Plot, element: hv.Overlay) -> None:
    """Add marks at the cursor from a data source that the view fills, as HoloViews would redraw
    everything."""
    looks = {"size": 14, "line_color": ui.GREY, "fill_color": "color", "line_width": 2, "level": "overlay"}
    plot.state.scatter("x", "y", source=marks, marker="circle", **looks)
