"""Plots of λ paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from bokeh.models import (
    AllLabels,
    ColumnDataSource,
    CustomJSHover,
    DataRange1d,
    HoverTool,
    LinearAxis,
    Range1d,
)
from bokeh.plotting import figure
from scipy.optimize import isotonic_regression

from solverscope.app import ui
from solverscope.app.views.base.feed import positive
from solverscope.app.views.path.solutions import MEMBERS, Solutions

#: Features whose weights are drawn: those with the largest.
TRACED = 60
#: Features whose curves have names, the largest: as many as a low plot has room for; and letters of a name.
NAMED, NAME_LENGTH = 11, 16
#: Height of a name, as a share of that of all curves in a low plot.
NAME_ROOM = 0.1
PATH_HEIGHT = 280
#: Room at both ends of a logarithmic axis, as a factor.
AXIS_MARGIN = 1.25

#: Places of a curve on both axes.
Points = tuple[np.ndarray, np.ndarray]


def _accuracy(name: str, paths: Sequence[Solutions], traced: Solutions, members: str) -> figure:
    """Draw how good the solutions are against how sparse; where all weights are zero the metric says nothing,
    and would stretch its axis."""
    tested = any(np.isfinite(path.column("test_metric")).any() for path in paths)
    part, points = "test" if tested else "train", []
    for path in paths:
        some = np.where(path.column("nnz") > 0, 1.0, np.nan)
        points.append((some * path.row_share(), some * path.column(f"{part}_metric")))
    label = f"{paths[0].traces[0].result['metric_name']}  ·  on the {part} part"
    return _curves(name, paths, "non-zero rows of W (%)", label, points)


def _non_zeros(name: str, paths: Sequence[Solutions], traced: Solutions, members: str) -> figure:
    """Draw the non-zeros, which are the degrees of freedom for the penalty l1."""
    points = [(path.lams, path.column("nnz")) for path in paths]
    label = "non-zero weights"
    if all(path.traces[0].info.problem["penalty"] == "l1" for path in paths):
        label += "  ·  degrees of freedom"
    return _curves(name, paths, ui.LAM_AXIS, label, points)


def _seconds(name: str, paths: Sequence[Solutions], traced: Solutions, members: str) -> figure:
    points = [(path.lams, positive(path.column("cpu_seconds"))) for path in paths]
    return _curves(name, paths, ui.LAM_AXIS, "CPU time (s)", points, log_y=True)


def _members(name: str, paths: Sequence[Solutions], traced: Solutions, members: str) -> figure:
    """Draw the sizes of working sets, and faintly what they come to: the non-zeros."""
    sizes, least = (
        [(path.lams, positive(path.column(field))) for path in paths] for field in (members, "nnz")
    )
    when = next(words for words, field in MEMBERS.items() if field == members)
    return _curves(name, paths, ui.LAM_AXIS, f"working set  ·  {when}", sizes, least, log_y=True)


def _weights(name: str, paths: Sequence[Solutions], traced: Solutions, members: str) -> figure:
    """Draw a line for each of the features with the largest weights, and names of the largest."""
    names, lams, sizes = traced.rows(TRACED)
    label = ("weight" if traced.signed else "norm of the row ‖W_j‖") + f"  ·  {traced.label}"
    fig = _frame(name, paths, ui.LAM_AXIS, label)
    alphas = np.where(np.arange(len(names)) < NAMED, 0.9, 0.4)
    columns = {"xs": [lams] * len(names), "ys": list(sizes.T), "feature": names, "alpha": alphas}
    lines = ColumnDataSource(columns)
    drawn = fig.multi_line("xs", "ys", source=lines, color=traced.color, line_width=1.5, line_alpha="alpha")
    if names:
        last = lams.argmin()
        _name_curves(fig, names[:NAMED], lams[last], sizes[last, :NAMED], (sizes.min(), sizes.max()))
    code = ui.asset("pixels.js") + "return nameOrPicture(value, format, shape)"
    told = CustomJSHover(args={"shape": traced.picture_shape}, code=code)
    tips = {"feature": ui.hover_name("@feature"), "λ": "$x{%.4g}", "weight": "$y{%.4g}"}
    formats = {"@feature": told, "$x": "printf", "$y": "printf"}
    fig.add_tools(HoverTool(renderers=[drawn], tooltips=list(tips.items()), formatters=formats, limit=1))
    return fig


def _name_curves(
    fig: figure, names: Sequence[str], x: float, ends: np.ndarray, within: tuple[float, float]
) -> None:
    """Write names on the right, with a line from each to where its curve ends: as near to that as they can
    be, but with room for each, and ``within`` the values of all curves."""
    low, high = within
    order = np.argsort(ends, kind="stable")
    steps = NAME_ROOM * (high - low) * np.arange(len(names))
    places = np.clip(isotonic_regression(ends[order] - steps).x, low, high - steps[-1]) + steps
    lines = ColumnDataSource({"x": np.full(len(names), x), "y": ends[order], "place": places})
    fig.segment("x", "y", fig.x_range.end, "place", source=lines, color=ui.GREY, line_alpha=0.6)
    axis = LinearAxis(
        major_label_text_font_size="0.9em", major_label_standoff=0, major_label_policy=AllLabels()
    )
    ui.name_ticks(
        axis, {place: _shortened(names[j]) for place, j in zip(places.tolist(), order, strict=True)}
    )
    fig.add_layout(axis, "right")


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


#: Draws each plot, by the name of saved pictures: its name, the paths, that whose weights are drawn, and the
#: field of the sizes of the working sets that are.
PATH_PLOTS: dict[str, Callable[[str, Sequence[Solutions], Solutions, str], figure]] = {
    "path-accuracy": _accuracy,
    "path-weights": _weights,
    "path-nnz": _non_zeros,
    "path-seconds": _seconds,
    "path-members": _members,
}


def _curves(
    name: str,
    paths: Sequence[Solutions],
    x: str,
    y: str,
    points: Sequence[Points],
    goals: Sequence[Points] = (),
    *,
    log_y: bool = False,
) -> figure:
    """Draw a line and a point a λ for each path, in the path's colour and dash; and ``goals``, dotted."""
    reach = np.concatenate([ys for _, ys in (*points, *goals)]) if log_y else None
    fig, dots = _frame(name, paths, x, y, reach), []
    for path, (xs, ys) in zip(paths, points, strict=True):
        more = {"label": [path.label] * len(xs), "lam": path.lams, "gap": path.column("gap")}
        source = ColumnDataSource({"x": xs, "y": ys, **more})
        ui.curve(fig, source, "y", color=path.color, dash=path.dash, width=2)
        dots.append(fig.scatter("x", "y", source=source, color=path.color, size=7))
    for path, (xs, ys) in zip(paths, goals, strict=False):
        source = ColumnDataSource({"x": xs, "y": ys})
        ui.curve(fig, source, "y", color=path.color, dash="dotted", width=1)
    numbers = {x: "@x", "λ": "@lam", y: "@y", "gap at most": "@gap"}
    numbers.pop(ui.LAM_AXIS, None)
    tips = [("run", "@label"), *((said, f"{field}{{%.4g}}") for said, field in numbers.items())]
    formats = dict.fromkeys(numbers.values(), "printf")
    fig.add_tools(HoverTool(renderers=dots, tooltips=tips, formatters=formats, limit=1))
    return fig


def _frame(
    name: str, paths: Sequence[Solutions], x: str, y: str, logarithmic: np.ndarray | None = None
) -> figure:
    """Make a figure. The axis of λ is the same in all plots; the vertical one is ``logarithmic`` where there
    are values that it is to cover."""
    axes = {"x_range": DataRange1d(), "tools": "pan,box_zoom,reset", "height": PATH_HEIGHT}
    axes["frame_align"] = {"right": False}  # else all plots leave room for the names next to one
    if x == ui.LAM_AXIS:
        low, high = _around(np.concatenate([path.lams for path in paths]))
        axes |= {"x_range": Range1d(high, low), "x_axis_type": "log"}
    if logarithmic is not None:
        axes |= {"y_range": Range1d(*_around(logarithmic)), "y_axis_type": "log"}
    return ui.plot(name, x_label=x, y_label=y, **axes)


def _around(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for these values, also for a single one."""
    shown = positive(values)
    if not np.isfinite(shown).any():
        return 0.1, 1.0
    return float(np.nanmin(shown)) / AXIS_MARGIN, float(np.nanmax(shown)) * AXIS_MARGIN
