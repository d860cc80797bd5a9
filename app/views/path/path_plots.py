"""Plots of λ paths, by HoloViews, which takes long to import: this module is imported where one is drawn."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import holoviews as hv
import holoviews.plotting.bokeh  # registers its renderer
import numpy as np
from bokeh.document import Document
from bokeh.models import CustomJSHover, HoverTool, SaveTool, WheelZoomTool
from bokeh.plotting import figure

from app import theme
from app.compat import holoviews_validation
from app.views.base.feed import positive
from app.views.path.solutions import MEMBERS, Solutions

#: Features whose weights are drawn: those with the largest.
TRACED = 60
HEIGHT = 280
#: Fields of tooltips that are numbers.
NUMBERS = ("@{lam}", "@{x}", "@{y}", "@{gap}", "$x", "$y")
#: The field of tooltips that is the name of a feature.
FEATURE = "@{feature}"
#: Room at both ends of a logarithmic axis, as a factor.
MARGIN = 1.25
LAM = "λ, decreasing to the right"
#: HoloViews keeps options in one place for all threads.
_lock = threading.Lock()

holoviews_validation.apply()


def plot(name: str, paths: Sequence[Solutions], traced: Solutions, members: str = "members_half") -> figure:
    """Draw one of the plots of :data:`.lam_path.PLOTS`; ``traced`` is the path whose weights are drawn,
    ``members`` the field of the sizes of the working sets that are."""
    with _lock:
        return _rendered(_MAKERS[name](paths, traced, members), name, traced.picture_shape)


def _accuracy(paths: Sequence[Solutions], traced: Solutions, members: str) -> hv.Overlay:
    """Draw how good the solutions are against how sparse."""
    tested = any(np.isfinite(path.column("test_metric")).any() for path in paths)
    part = "test" if tested else "train"
    label = f"{paths[0].traces[0].result['metric_name']}  ·  on the {part} part"
    return _curves(
        paths, "non-zero rows of W (%)", label, [_against_sparsity(p, f"{part}_metric") for p in paths]
    )


def _against_sparsity(path: Solutions, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sparsity and metric; where all weights are zero the metric says nothing, and would stretch its
    axis."""
    some = np.where(path.column("nnz") > 0, 1.0, np.nan)
    return some * path.row_share(), some * path.column(metric)


def _non_zeros(paths: Sequence[Solutions], traced: Solutions, members: str) -> hv.Overlay:
    points = [(path.lams, path.column("nnz")) for path in paths]
    return _curves(paths, LAM, "non-zero weights", points).opts(backend="bokeh", **_falling(paths))


def _seconds(paths: Sequence[Solutions], traced: Solutions, members: str) -> hv.Overlay:
    points = [(path.lams, positive(path.column("cpu_seconds"))) for path in paths]
    limits = _around(np.concatenate([seconds for _, seconds in points]))
    return _curves(paths, LAM, "CPU time (s)", points).opts(
        backend="bokeh", **_falling(paths), logy=True, ylim=limits
    )


def _members(paths: Sequence[Solutions], traced: Solutions, members: str) -> hv.Overlay:
    """Draw the sizes of working sets, and faintly what they come to: the non-zeros."""
    points = [(path.lams, positive(path.column(members))) for path in paths]
    least = [(path.lams, positive(path.column("nnz"))) for path in paths]
    goals = [
        hv.Curve(xy, "x", "y").opts(backend="bokeh", color=path.color, line_dash="dotted", line_width=1)
        for path, xy in zip(paths, least, strict=True)
    ]
    limits = _around(np.concatenate([sizes for _, sizes in points + least]))
    when = next(words for words, field in MEMBERS.items() if field == members)
    drawn = _curves(paths, LAM, f"working set  ·  {when}", points, goals)
    return drawn.opts(backend="bokeh", **_falling(paths), logy=True, ylim=limits)


def _weights(paths: Sequence[Solutions], traced: Solutions, members: str) -> hv.Contours:
    """Draw a line for each of the features with the largest weights."""
    names, lams, sizes = traced.rows(TRACED)
    lines = [{"x": lams, "y": values, "feature": name} for name, values in zip(names, sizes.T, strict=True)]
    label = ("weight" if traced.signed else "norm of the row ‖W_j‖") + f"  ·  {traced.label}"
    look = {"color": traced.color, "line_width": 1.5, "line_alpha": 0.7, **_falling(paths)}
    contours = hv.Contours(lines, ["x", "y"], "feature")
    tips = {"feature": theme.tip(FEATURE), "λ": "$x", "weight": "$y"}
    return contours.opts(backend="bokeh", **_frame(LAM, label), **look, **_hover(tips))


_MAKERS = {
    "path-accuracy": _accuracy,
    "path-weights": _weights,
    "path-nnz": _non_zeros,
    "path-seconds": _seconds,
    "path-members": _members,
}


def _curves(
    paths: Sequence[Solutions],
    x: str,
    y: str,
    points: Sequence[tuple[np.ndarray, np.ndarray]],
    goals: Sequence[hv.Curve] = (),
) -> hv.Overlay:
    """Draw a line and a point a λ for each path, in the path's colour and dash; and ``goals`` besides."""
    tips = {"run": "@{label}", x: "@{x}", "λ": "@{lam}", y: "@{y}", "gap at most": "@{gap}"}
    tips.pop(LAM, None)
    parts: list[hv.Element] = []
    for path, (xs, ys) in zip(paths, points, strict=True):
        more = {"label": np.repeat(path.label, len(xs)), "lam": path.lams, "gap": path.column("gap")}
        look = {"color": path.color, "line_dash": path.dash, "line_width": 2}
        parts.append(hv.Curve((xs, ys), "x", "y").opts(backend="bokeh", **look))
        dots = hv.Scatter({"x": xs, "y": ys, **more}, "x", ["y", *more])
        parts.append(dots.opts(backend="bokeh", color=path.color, size=7, **_hover(tips)))
    return hv.Overlay([*parts, *goals]).opts(backend="bokeh", **_frame(x, y))


def _around(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for these values, also for a single one."""
    shown = positive(values)
    if not np.isfinite(shown).any():
        return 0.1, 1.0
    return float(np.nanmin(shown)) / MARGIN, float(np.nanmax(shown)) * MARGIN


def _falling(paths: Sequence[Solutions]) -> dict[str, object]:
    """Return the axis of λ, the same in all plots."""
    lams = np.concatenate([path.lams for path in paths])
    return {"logx": True, "invert_xaxis": True, "xlim": _around(lams)}


def _frame(x: str, y: str) -> dict[str, object]:
    tools = {"default_tools": ["pan", "box_zoom", "reset"], "active_tools": ["box_zoom"]}
    look = {"responsive": True, "padding": 0.05, "show_grid": True, "show_legend": False}
    return {"xlabel": x, "ylabel": theme.upright(y), **look, **tools}


def _hover(tips: dict[str, str]) -> dict[str, object]:
    """Return a tooltip with these fields."""
    shown = [(name, f"{field}{{%.4g}}" if field in NUMBERS else field) for name, field in tips.items()]
    return {"tools": ["hover"], "hover_tooltips": shown}


def _rendered(picture: hv.Element | hv.Overlay, name: str, shape: tuple[int, int] | None) -> figure:
    # In a document of its own, which only the mode "server" takes: HoloViews sets the theme of the one it
    # draws in, and would take whatever is current in any thread, that of another visitor or one destroyed.
    renderer = hv.Store.renderers["bokeh"].instance(mode="server")
    drawn = renderer.get_plot(picture, doc=Document()).state
    # overlays bring the tools of their parts as well, and forget how numbers are written
    drawn.toolbar.tools = [
        tool for tool in drawn.toolbar.tools if not isinstance(tool, SaveTool | WheelZoomTool)
    ]
    code = theme.asset("pixels.js") + "return told(value, format, shape)"
    feature = CustomJSHover(args={"shape": shape}, code=code)
    for tool in drawn.select(HoverTool):
        tool.formatters = {**dict.fromkeys(NUMBERS, "printf"), FEATURE: feature}
        tool.limit = 1  # of points close together
    drawn.update(min_width=200, sizing_mode="stretch_both", styles=theme.least(HEIGHT))
    return theme.styled(drawn, name)
