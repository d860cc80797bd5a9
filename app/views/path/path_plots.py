"""Bokeh plots of λ paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from bokeh.models import ColumnDataSource, DataRange1d, HoverTool, Range1d
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.feed import positive
from solverscope.app.views.path.solutions import MEMBERS, Solutions

PATH_HEIGHT = 280
#: Measures of predictions in addition to the metric of the loss, by title.
MEASURE_FIELDS = {
    "ranking loss": "test_ranking_loss",
    "micro-F1": "test_micro_f1",
    "MSE": "test_mse",
    "MAE": "test_mae",
    "mean deviance": "test_deviance",
}
#: Margin at both ends of a logarithmic axis, as a factor.
AXIS_MARGIN = 1.25

#: Coordinates of the points of a curve.
Points = tuple[np.ndarray, np.ndarray]


def _accuracy(name: str, paths: Sequence[Solutions], traced: Solutions, members: str, metric: str) -> figure:
    """Draw the metric of the solutions over their sparsity.

    Solutions whose weights are all zero are omitted, as their metric would only stretch the axis.
    """
    points = []
    for path in paths:
        some = np.where(path.column("nnz") > 0, 1.0, np.nan)
        points.append((some * path.row_share(), some * path.column(metric)))
    title = next(title for title, field in metrics(paths).items() if field == metric)
    part = "train" if metric == "train_metric" else "test"
    return _curves(name, paths, "non-zero rows of W (%)", f"{title}  ·  on the {part} part", points)


def metrics(paths: Sequence[Solutions]) -> dict[str, str]:
    """Return the measures of predictions that are known on the test part, by title.

    Without a test part, return only the metric of the loss on the training part.
    """
    title = paths[0].traces[0].result["metric_name"]
    titles = {title: "test_metric", **MEASURE_FIELDS}
    known = {
        name: field
        for name, field in titles.items()
        if any(np.isfinite(path.column(field)).any() for path in paths)
    }
    return known or {title: "train_metric"}


def _non_zeros(name: str, paths: Sequence[Solutions], traced: Solutions, members: str, metric: str) -> figure:
    """Draw the number of nonzeros, which for the penalty l1 is that of the degrees of freedom."""
    points = [(path.lams, path.column("nnz")) for path in paths]
    label = "non-zero weights"
    if all(path.traces[0].info.problem["penalty"] == "l1" for path in paths):
        label += "  ·  degrees of freedom"
    return _curves(name, paths, ui.LAM_AXIS, label, points)


def _seconds(name: str, paths: Sequence[Solutions], traced: Solutions, members: str, metric: str) -> figure:
    points = [(path.lams, positive(path.column("cpu_seconds"))) for path in paths]
    return _curves(name, paths, ui.LAM_AXIS, "CPU time (s)", points, log_y=True)


def _members(name: str, paths: Sequence[Solutions], traced: Solutions, members: str, metric: str) -> figure:
    """Draw the sizes of working sets and, as dotted lines, the nonzeros, to which working sets shrink."""
    sizes, least = (
        [(path.lams, positive(path.column(field))) for path in paths] for field in (members, "nnz")
    )
    when = next(words for words, field in MEMBERS.items() if field == members)
    return _curves(name, paths, ui.LAM_AXIS, f"working set  ·  {when}", sizes, least, log_y=True)


#: Draws each plot, by the name of saved pictures: its name, the paths, that whose weights are drawn, the
#: field of the sizes of the working sets that are, and that of the measure of predictions.
PATH_PLOTS: dict[str, Callable[[str, Sequence[Solutions], Solutions, str, str], figure]] = {
    "path-accuracy": _accuracy,
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
    """Draw a line with a point per λ for each path, in the path's colour and dash, and ``goals`` as dotted
    lines."""
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
    """Return a figure; the axis of λ is the same in all plots.

    If ``logarithmic`` are values, the vertical axis is logarithmic and covers them.
    """
    axes = {"x_range": DataRange1d(), "tools": "pan,box_zoom,reset", "height": PATH_HEIGHT}
    axes["frame_align"] = {"right": False}  # else all plots leave room for the names next to one
    if x == ui.LAM_AXIS:
        low, high = lam_range(paths)
        axes |= {"x_range": Range1d(high, low), "x_axis_type": "log"}
    if logarithmic is not None:
        axes |= {"y_range": Range1d(*_around(logarithmic)), "y_axis_type": "log"}
    return ui.plot(name, x_label=x, y_label=y, **axes)


def lam_range(paths: Sequence[Solutions]) -> tuple[float, float]:
    """Return the limits of the λ axis."""
    return _around(np.concatenate([path.lams for path in paths]))


def _around(values: np.ndarray) -> tuple[float, float]:
    """Return the limits of a logarithmic axis for these values, also for a single one."""
    shown = positive(values)
    if not np.isfinite(shown).any():
        return 0.1, 1.0
    return float(np.nanmin(shown)) / AXIS_MARGIN, float(np.nanmax(shown)) * AXIS_MARGIN
