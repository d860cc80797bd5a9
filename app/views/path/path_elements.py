"""The weights along λ paths, and the selection of λ, as HoloViews elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import holoviews as hv
import numpy as np
from bokeh.models import AllLabels, CustomJSHover, HoverTool, LinearAxis
from holoviews.plotting import Plot
from scipy.optimize import isotonic_regression

from solverscope.app import ui
from solverscope.app.views.base import rendering
from solverscope.app.views.path.path_plots import PATH_HEIGHT, lam_range
from solverscope.app.views.path.solutions import Solutions
from solverscope.app.views.sweep.sweep_figures import Chosen

#: Features whose weights are drawn: those with the largest.
TRACED = 60
#: Features whose curves have names, the largest: as many as a low plot has room for; and letters of a name.
NAMED, NAME_LENGTH = 11, 16
#: Height of a name, as a share of that of all curves in a low plot.
NAME_ROOM = 0.1


def _weights(
    name: str, paths: Sequence[Solutions], traced: Solutions, chosen: Sequence[Chosen]
) -> hv.Overlay:
    """Draw a line for each of the features with the largest weights, with names of the largest."""
    names, lams, sizes = traced.rows(TRACED)
    alphas = np.where(np.arange(len(names)) < NAMED, 0.9, 0.4)
    lines = [
        {"lam": lams, "weight": curve, "feature": name, "alpha": alpha}
        for name, curve, alpha in zip(names, sizes.T, alphas, strict=True)
    ]
    code = ui.asset("pixels.js") + "return nameOrPicture(value, format, shape)"
    told = CustomJSHover(args={"shape": traced.picture_shape}, code=code)
    tips = {"feature": ui.hover_name("@feature"), "λ": "$x{%.4g}", "weight": "$y{%.4g}"}
    formats = {"@feature": told, "$x": "printf", "$y": "printf"}
    hover = HoverTool(tooltips=list(tips.items()), formatters=formats, limit=1)
    looks = {"color": traced.color, "alpha": "alpha", "line_width": 1.5, "tools": [hover]}
    elements = [hv.Contours(lines, ["lam", "weight"], ["feature", "alpha"]).opts(**looks, backend="bokeh")]
    label = ("weight" if traced.signed else "norm of the row ‖W_j‖") + f"  ·  {traced.label}"
    if not names:
        return _overlay(name, [], paths, label)
    ends, within = sizes[lams.argmin(), :NAMED], (sizes.min(), sizes.max())
    places = name_places(ends, within)
    low, right = lams.min(), lam_range(paths)[0]
    leads = hv.Segments([(low, end, right, place) for end, place in zip(ends, places, strict=True)])
    elements.append(leads.opts(color=ui.GREY, alpha=0.6, backend="bokeh"))
    ticks = {place: shortened(name) for place, name in zip(places.tolist(), names, strict=False)}
    return _overlay(name, elements, paths, label, partial(_add_names, ticks))


def name_places(ends: np.ndarray, within: tuple[float, float]) -> np.ndarray:
    """Return positions of names, as close as possible to the ends of their curves without overlaps.

    ``within`` are the least and the greatest value of all curves.
    """
    low, high = within
    order = np.argsort(ends, kind="stable")
    steps = NAME_ROOM * (high - low) * np.arange(len(ends))
    places = np.empty(len(ends))
    places[order] = np.clip(isotonic_regression(ends[order] - steps).x, low, high - steps[-1]) + steps
    return places


def shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _choice(name: str, paths: Sequence[Solutions], traced: Solutions, chosen: Sequence[Chosen]) -> hv.Overlay:
    """Draw the metric on held-out data over λ with its standard errors.

    A ring marks the best λ, and a square that of the one-standard-error rule.
    """
    looks = {path.label: (path.color, path.dash) for path in paths}
    curves, points, bars, marks = [], [], [], []
    for one in chosen:
        color, dash = looks[one.label]
        lams, means = zip(*((lam, mean) for lam, mean, _ in one.over), strict=True)
        curves.append({"lam": lams, "mean": means, "color": color, "dash": dash})
        points += [(lam, mean, error, one.label, color) for lam, mean, error in one.over]
        bars += [(lam, mean - error, lam, mean + error, color) for lam, mean, error in one.over if error]
        marks.append((one.lam, one.metric, color, "circle"))
        if one.lam_1se is not None:
            marks.append((one.lam_1se, one.metric_1se, color, "square"))
    said = {"λ": "@lam", "mean": "@mean", **({"standard error": "@error"} if bars else {})}
    tips = [("run", "@run"), *((word, f"{field}{{%.4g}}") for word, field in said.items())]
    hover = HoverTool(tooltips=tips, formatters=dict.fromkeys(said.values(), "printf"), limit=1)
    lines = {"color": "color", "line_dash": "dash", "line_width": 2}
    elements = [
        hv.Contours(curves, ["lam", "mean"], ["color", "dash"]).opts(**lines, backend="bokeh"),
        hv.Segments(bars, vdims="color").opts(color="color", alpha=0.6, backend="bokeh"),
        hv.Points(points, ["lam", "mean"], ["error", "run", "color"]).opts(
            color="color", size=7, tools=[hover], backend="bokeh"
        ),
        hv.Points(marks, ["lam", "mean"], ["color", "marker"]).opts(
            line_color="color", fill_color=None, marker="marker", size=14, backend="bokeh"
        ),
    ]
    return _overlay(name, elements, paths, f"{chosen[0].metric_name}  ·  held out")


#: Makes the element of each plot, by the name of saved pictures.
PATH_ELEMENTS: Mapping[str, Callable[..., hv.Overlay]] = {
    "path-choice": _choice,
    "path-weights": _weights,
}


def drawn(name: str, paths: Sequence[Solutions], traced: Solutions, chosen: Sequence[Chosen]) -> Plot:
    """Return the plot with this name, which does not belong to a page's document yet."""
    return rendering.drawn(PATH_ELEMENTS[name], name, paths, traced, chosen)


def _overlay(
    name: str,
    elements: Sequence[hv.Element],
    paths: Sequence[Solutions],
    label: str,
    *hooks: rendering.Hook,
) -> hv.Overlay:
    """Overlay elements on the axis of λ that all plots share, in the page's style."""
    axes = {"logx": True, "invert_xaxis": True, "xlim": lam_range(paths), "show_grid": True}
    words = {"xlabel": ui.LAM_AXIS, "ylabel": ui.upright(label)}
    overlay = hv.Overlay(list(elements) or [hv.Curve([])])
    return rendering.in_style(name, PATH_HEIGHT, overlay, *hooks, **axes, **words)


def _add_names(ticks: Mapping[float, str], plot: Plot, element: hv.Overlay) -> None:
    """Add an axis of names on the right, which HoloViews does not have."""
    axis = LinearAxis(
        major_label_text_font_size="0.9em", major_label_standoff=0, major_label_policy=AllLabels()
    )
    ui.name_ticks(axis, ticks)
    plot.state.add_layout(axis, "right")
