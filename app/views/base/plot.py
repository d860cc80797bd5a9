"""The base of plots over time or iterations: curves of runs, median and band of repeated runs, cursor and
axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import ref

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource, GlyphRenderer, Scatter, VSpan
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import LineMenu
from solverscope.app.views.base.bands import Bands, families
from solverscope.app.views.base.cursor import CURSOR_TAG
from solverscope.app.views.base.curves import Curves, draw_lines
from solverscope.app.views.base.feed import RecordFeed, Records, known, positive
from solverscope.app.views.base.lam_marks import LamMarks
from solverscope.app.views.base.view import View, placed
from solverscope.solvers import FIELDS, Trace

#: Names of units in menus.
SPELLED = {"s": " seconds"}
#: Fields that an axis may show, time and work first: field of the record, name in menus, label.
AXES = {
    name: (ui.capital(field.title + SPELLED.get(field.unit, "")), field.axis)
    for name in dict.fromkeys(["cpu_seconds", "iteration", "passes", "wall_seconds", *FIELDS])
    for field in (FIELDS[name],)
    if field.numeric
}
#: Fields that increase from iterate to iterate.
X_AXES = dict(list(AXES.items())[:4])

#: Scales of an axis.
AXIS_SCALES = ("log", "linear")
#: Scales of both axes by their name in menus, the vertical one first.
BOTH_SCALES = {
    "log": ("log", "linear"),
    "linear": ("linear", "linear"),
    "log x": ("linear", "log"),
    "log-log": ("log", "log"),
}
#: Parameters of the horizontal axis, which plots on a page share.
SHARED = ["x", "x_scale"]


class RunPlot(View):
    """A live plot with one curve per run.

    A subclass defines ``y_label`` and ``values``, and may draw ``dots`` in addition to the line. A plot may
    share the horizontal axis, including its field and its zoom, with another one.

    The figure is created once. If the field on an axis changes, the label, the scale and the columns of the
    same curves change. A hidden plot is updated when it is shown.
    """

    x: str = param.Selector(default="cpu_seconds", objects=list(AXES), doc="field on the horizontal axis")
    scale: str = param.Selector(default="log", objects=list(AXIS_SCALES), doc="of the vertical axis")
    x_scale: str = param.Selector(default="linear", objects=list(AXIS_SCALES), doc="of the horizontal axis")

    names: tuple[str, ...] = ("x", "y")
    always = True
    #: A column that is drawn as a thin line, and what it is; none if empty.
    thin: ClassVar[tuple[str, ...]] = ()
    #: Arguments of Bokeh's ``scatter``, which draws points in the colour of their run; empty for no points.
    dots: ClassVar[Mapping[str, Any]] = {}
    #: Whether lines are solid, because dashes are indistinguishable if values jump at each iterate.
    solid: ClassVar[bool] = False
    #: Whether runs that repeat each other are drawn as a median with a band.
    banded: ClassVar[bool] = True
    height: int = param.Integer(default=280, doc="pixels")
    default_scale: ClassVar[str] = "log"
    #: The parameters that say what the axes show: with a change of one they get another label and scale, and
    #: the curves other columns.
    axes: ClassVar[tuple[str, ...]] = ("x", "scale", "x_scale")
    #: Fields that the menu offers for the horizontal axis.
    against: ClassVar[Sequence[str]] = tuple(AXES)

    def __init__(self, *shown: Any, beside: RunPlot | None = None, **params: Any) -> None:
        self._beside = beside
        super().__init__(*shown, **({"scale": self.default_scale} | params))

    def build(self) -> None:
        self.curves = Curves((*self.names, *self.thin[:1]), self.glyphs)
        self._lines: list[GlyphRenderer] = []
        self._here = ui.source("x", "y", "color")
        self.figure = self._make_figure()
        self._medians = Bands(self.figure, self.thin[:1])
        self.backdrop()
        dot = Scatter(x="x", y="y", size=9, fill_color="color", line_color=ui.GREY)
        ui.draw(self.figure, dot, self._here, level="overlay", tags=[CURSOR_TAG])
        line = VSpan(x="x", line_color=ui.GREY, line_dash="dashed", line_alpha=0.8)
        ui.draw(self.figure, line, self._here, tags=[CURSOR_TAG])
        self._lam_marks = LamMarks(self.figure)
        self._fit_to([])
        self._set_axes()
        self.figure.on_event("tap", self._tapped)
        self._head.append(ui.column(ui.html(f"<h2>{self.heading}</h2>"), *self.controls(), kind="line"))
        self._body.append(ui.pane(self.figure))
        self._body.visible = True  # the axes are there before the first run
        self.param.watch(lambda *events: self.update(), list(self.axes))
        if self._beside is not None:
            self._beside.param.watch(lambda *events: share_axis(self._beside, self), SHARED)
            self.param.watch(lambda *events: share_axis(self, self._beside), SHARED)

    def controls(self) -> list[pn.viewable.Viewable]:
        """Return the widgets above the plot, except the menu of the axis."""
        return []

    @property
    def logarithmic(self) -> bool:
        return self.scale == "log"

    @property
    def heading(self) -> str:
        """Return the heading above the plot."""
        return self.title

    @property
    def y_label(self) -> str:
        raise TypeError(f"{type(self).__name__} does not define y_label")

    @property
    def y_name(self) -> str:
        """Return a short name of the vertical axis."""
        return self.title

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        """Return the columns ``names``, except "x", and the ``thin`` one, computed from these rows of the
        trace."""
        raise TypeError(f"{type(self).__name__} does not define values")

    def key(self, trace: Trace) -> object:
        """Return the inputs of ``values`` in addition to the rows; if they change, the curve is
        sent again."""
        return None

    def glyphs(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        """Draw a run from a data source, and return its renderers."""
        sign = {"x": "x", "y": "y", "color": color, **self.dots}
        dots = [self.figure.scatter(source=source, **sign)] if self.dots else []
        dash = "solid" if self.solid else dash
        return [*draw_lines(self.figure, source, self.thin[:1], 2, color, dash), *dots]

    def hover(self) -> list[tuple[str, str]]:
        """Return the entries of a point's tooltip after run and iteration, as pairs of a title
        and a column."""
        said = [] if self.x == "iteration" else [(AXES[self.x][0], "x")]
        return [*said, (self.y_name, "y"), *([(self.thin[1], self.thin[0])] if self.thin else [])]

    def axis_menu(self) -> pn.viewable.Viewable:
        """Return the menu of fields for the horizontal axis."""
        return menu("Against", self.param.x, {AXES[field][0]: field for field in self.against})

    def scale_menu(self) -> pn.viewable.Viewable:
        """Return the menu of the scales of both axes."""
        names = {scales: name for name, scales in BOTH_SCALES.items()}
        made = LineMenu(label="Scale", options=list(BOTH_SCALES), width=70)

        def show(*events: param.parameterized.Event) -> None:
            made.value = names[self.scale, self.x_scale]

        def choose(event: param.parameterized.Event) -> None:
            scale, x_scale = BOTH_SCALES[event.new]
            self.param.update(scale=scale, x_scale=x_scale)

        show()
        self.param.watch(show, ["scale", "x_scale"])
        made.param.watch(choose, "value")
        return made

    def _make_figure(self) -> figure:
        shared = {} if self._beside is None else {"x_range": self._beside.figure.x_range}
        plot = ui.plot(self.id, x_label="", y_label="", height=self.height, **shared)
        ui.follow_axes(plot)
        self._pointer = ui.point_out(plot)
        return plot

    def _set_axes(self) -> None:
        """Set labels and scales of the axes from the parameters."""
        plot = self.figure
        plot.xaxis[0].axis_label, plot.yaxis[0].axis_label = AXES[self.x][1], ui.upright(self.y_label)
        ui.scale(plot, "x", log=self.x_scale == "log")
        ui.step_ticks(plot.xaxis[0], whole=FIELDS[self.x].type is int)
        ui.scale(plot, "y", log=self.logarithmic)
        self._pointer.args = {**self._pointer.args, "said": [list(pair) for pair in self.hover()]}

    def _fit_to(self, lines: list[GlyphRenderer]) -> None:
        """Fit the ranges to these curves; the horizontal one is also fitted to plots that share it."""
        x_range = self.figure.x_range
        x_range.renderers = [r for r in x_range.renderers if r not in self._lines] + lines
        self.figure.y_range.renderers = self._lines = lines

    def backdrop(self) -> None:
        """Draw the background of the curves."""

    def draw(self) -> None:
        self._set_axes()
        repeated = families(self.traces) if self.banded and self.x in X_AXES else []
        together = {trace for family in repeated for trace in family.runs}
        labels = {trace: trace.info.label for trace in self.traces if trace not in together}
        curves = self.curves.match(self.traces, labels)
        axes = {"log_x": self.x_scale == "log", "log_y": self.logarithmic}
        self._medians.show(
            self.traces, repeated, lambda one: self._columns(one, one.since(None)[0]), self._shown, **axes
        )
        lines = self.curves.renderers + self._medians.renderers
        if lines != self._lines:
            self._fit_to(lines)
        for feed, trace in curves:
            self.send(feed, trace)
        runs = [
            (trace, run_styles.color_and_dash(trace, place)[0]) for place, trace in enumerate(self.traces)
        ]
        self._lam_marks.show(runs, lambda rows: known(rows[self.x]))
        self._mark_cursor()

    def send(self, feed: RecordFeed, trace: Trace) -> None:
        """Update the curve of a run."""
        feed.update(trace, lambda rows: self._columns(trace, rows), self._shown(trace), self.kept)

    def kept(self, rows: Records) -> np.ndarray | None:
        """Return the rows to draw as a mask; None means all rows."""
        return None if self.x in X_AXES else np.isfinite(known(rows[self.x]))

    def _shown(self, trace: Trace) -> tuple[object, ...]:
        """Return all inputs of the columns of a run, except its rows."""
        return ref(trace), self.key(trace), *(getattr(self, name) for name in self.axes)

    def _columns(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        return {"x": self.across(rows), "iteration": rows["iteration"], **self.values(trace, rows)}

    def across(self, rows: Records) -> np.ndarray:
        """Return the positions of rows on the horizontal axis; NaN if it cannot show them."""
        x = known(rows[self.x])
        return positive(x) if self.x_scale == "log" else x

    def points(self, trace: Trace, rows: Records, at: Sequence[int]) -> dict[str, list]:
        """Return the columns "x", "y" and "color" of these rows of a run, as they are drawn."""
        columns = self._columns(trace, {name: column[at] for name, column in rows.items()})
        colors = [run_styles.color_and_dash(trace, self.traces.index(trace))[0]] * len(at)
        return {"x": columns["x"].tolist(), "y": columns["y"].tolist(), "color": colors}

    def _mark_cursor(self) -> None:
        trace, mark = self.chosen, ()
        if trace is not None:
            rows, until, _ = trace.since(None)
            row = self.cursor.row(rows)
            if row is not None:
                mark = (row, until, *self._shown(trace))
        if not self._drawn.changed("cursor", *mark):
            return
        self.drew(int(rows["iteration"][row]) if mark else None)
        self._here.data = self.points(trace, rows, [row]) if mark else {"x": [], "y": [], "color": []}

    def _tapped(self, event: object) -> None:
        """Move the cursor to the run and iterate nearest to a click."""
        best: tuple[float, Trace, int] | None = None
        if not placed(event):
            return
        for trace in self.traces:
            rows = trace.since(None)[0]
            columns = self._columns(trace, rows)
            beside = self._away(columns["x"], event.x, log=self.x_scale == "log")
            if not np.isfinite(beside).any():  # nothing of it has a place on this axis
                continue
            k = int(np.nanargmin(beside))
            away = float(self._away(columns["y"][k : k + 1], event.y, log=self.logarithmic)[0])
            away = away if np.isfinite(away) else np.inf
            if best is None or away < best[0]:
                best = away, trace, int(rows["iteration"][k])
        if best is not None:
            self.cursor.place(best[1], best[2])

    @staticmethod
    def _away(values: np.ndarray, place: float, *, log: bool) -> np.ndarray:
        """Return the distances of values from a position on an axis; NaN for values that it cannot show."""
        if log and place > 0.0:
            return np.abs(np.log(positive(values)) - np.log(place))
        return np.abs(values - place)

    def drawable(self, values: np.ndarray) -> np.ndarray:
        """Return values with those that the vertical axis cannot show replaced by NaN."""
        return positive(values) if self.logarithmic else values


class Plots(View):
    """Base class of views with several plots over time or iterations that have the same horizontal axis."""

    x: str = param.Selector(default="cpu_seconds", objects=list(X_AXES), doc="field on the horizontal axis")

    def plots(self, *kinds: Callable[..., RunPlot], **params: Any) -> list[RunPlot]:
        """Create plots of these classes, with the same horizontal axis as this view."""
        made = [kind(whole=self, x=self.x, **params) for kind in kinds]
        self.param.watch(lambda event: [plot.param.update(x=event.new) for plot in made], "x")
        return made


def share_axis(plot: RunPlot, other: View) -> None:
    """Copy the horizontal axis of a plot to another view and its parts, if they can show its field."""
    axis = {name: getattr(plot, name) for name in SHARED}
    if "x" in other.param and plot.x not in other.param.x.objects:
        del axis["x"]
    for view in (other, *other.parts):
        view.param.update(**{name: one for name, one in axis.items() if name in view.param})


def menu(label: str, parameter: param.Parameter, options: dict[str, str], width: int = 106) -> LineMenu:
    """Return a small labelled menu that is bound to a parameter of a view."""
    return LineMenu.from_param(parameter, label=label, options=options, width=width, description=None)
