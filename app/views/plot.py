"""What plots over time or iterations share: one curve a run, the cursor, clicks, a choice of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar
from weakref import ref

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure

from app import theme
from app.menu import Menu
from app.views.base import View, placed
from app.views.cursor import Cursor
from app.views.curves import Curves
from app.views.feed import Feed, Records, known, positive
from solvers import FIELDS, Trace

#: How a unit is called in a menu.
SPELLED = {"s": " seconds"}
#: What the horizontal axis may show: field of the record, name in menus, label.
X_AXES = {
    name: (theme.capital(field.title + SPELLED.get(field.unit, "")), field.axis)
    for name in ("cpu_seconds", "iteration", "passes", "wall_seconds")
    for field in (FIELDS[name],)
}

#: Of the vertical axis.
SCALES = ("log", "linear")


class RunPlot(View):
    """A live plot with one curve a run. A subclass gives ``y_label`` and ``values``, and may override
    ``glyphs`` to draw more than a line. ``beside``: a plot whose horizontal axis it shares, choice and zoom.

    The figure is made once: another axis is another label and scale, and other columns of the same curves. A
    hidden plot catches up when it is shown.
    """

    x: str = param.Selector(default="cpu_seconds", objects=list(X_AXES), doc="field on the horizontal axis")
    scale: str = param.Selector(default="log", objects=list(SCALES), doc="of the vertical axis")

    names: tuple[str, ...] = ("x", "y")
    height: int = param.Integer(default=280, doc="pixels")
    default_scale: ClassVar[str] = "log"

    def __init__(
        self,
        traces: Trace | Sequence[Trace] = (),
        cursor: Cursor | None = None,
        *,
        beside: RunPlot | None = None,
        **params: object,
    ) -> None:
        self._beside = beside
        super().__init__(traces, cursor, **({"scale": self.default_scale} | params))

    def build(self) -> None:
        self._curves = Curves(self.names, self.glyphs)
        self._lines: list[GlyphRenderer] = []
        self._here = ColumnDataSource({"x": [], "y": [], "color": []})
        self.figure = self._make_figure()
        self.backdrop()
        dot = {"size": 9, "fill_color": "color", "line_color": theme.GREY, "level": "overlay"}
        self.figure.scatter("x", "y", source=self._here, **dot)
        line = {"line_color": theme.GREY, "line_dash": "dashed", "line_alpha": 0.8}
        self.figure.vspan("x", source=self._here, **line)
        self._fit_to([])
        self._set_axes()
        self.figure.on_event("tap", self._tapped)
        self._head.append(self._toolbar())
        self._body.append(pn.pane.Bokeh(self.figure, sizing_mode="stretch_width", margin=0))
        self._body.visible = True  # the axes are there before the first run
        self.param.watch(lambda *events: self.update(), self.axis_params())
        if self._beside is not None:
            self._beside.param.watch(lambda event: self.param.update(x=event.new), "x")
            self.param.watch(lambda event: self._beside.param.update(x=event.new), "x")

    def axis_params(self) -> list[str]:
        """Name the parameters that say what the axes show: with a change of one they get another label and
        scale, and the curves other columns."""
        return ["x", "scale"]

    def controls(self) -> list[pn.viewable.Viewable]:
        """Make the widgets above the plot, beside the choice of the axis."""
        return []

    @property
    def logarithmic(self) -> bool:
        return self.scale == "log"

    @property
    def heading(self) -> str:
        """Return what stands above the plot."""
        return self.title

    @property
    def y_label(self) -> str:
        raise TypeError(f"{type(self).__name__} does not define y_label")

    @property
    def y_name(self) -> str:
        """Say in a few words what is drawn."""
        return self.title

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        """Compute the columns ``names``, other than "x", from these rows of the trace."""
        raise TypeError(f"{type(self).__name__} does not define values")

    def key(self, trace: Trace) -> object:
        """Return what ``values`` depends on beside the rows: a change of it sends the curve again."""
        return None

    def glyphs(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        """Draw one run."""
        return [theme.curve(self.figure, source, "y", color=color, dash=dash, width=2)]

    def hover(self) -> list[tuple[str, str]]:
        """List what the pointer shows of a point, beside its run and iteration: a title and a column each."""
        said = [] if self.x == "iteration" else [(X_AXES[self.x][0], "x")]
        return [*said, (self.y_name, "y")]

    def _toolbar(self) -> pn.viewable.Viewable:
        heading = theme.html(f"<h2>{self.heading}</h2>")
        return pn.FlexBox(
            heading, *self.controls(), align_items="center", justify_content="space-between", margin=0
        )

    def axis_menu(self) -> pn.viewable.Viewable:
        """Return the choice of the horizontal axis."""
        return menu("Against", self.param.x, {label: field for field, (label, _) in X_AXES.items()})

    def _make_figure(self) -> figure:
        shared = {} if self._beside is None else {"x_range": self._beside.figure.x_range}
        plot = theme.plot(self.id, x_label="", y_label="", height=self.height, **shared)
        theme.follow_axes(plot)
        self._pointer = theme.point_out(plot)
        return plot

    def _set_axes(self) -> None:
        """Label and scale the axes as the parameters say."""
        plot = self.figure
        for axis, label in ((plot.xaxis[0], X_AXES[self.x][1]), (plot.yaxis[0], self.y_label)):
            if axis.axis_label != label:
                axis.axis_label = label
        theme.scale_y(plot, log=self.logarithmic)
        if self._pointer.args["said"] != (said := [list(pair) for pair in self.hover()]):
            self._pointer.args = {**self._pointer.args, "said": said}

    def _fit_to(self, lines: list[GlyphRenderer]) -> None:
        """Let the ranges cover these curves, the horizontal one also those of the plots that share it."""
        x_range = self.figure.x_range
        x_range.renderers = [r for r in x_range.renderers if r not in self._lines] + lines
        self.figure.y_range.renderers = self._lines = lines

    def backdrop(self) -> None:
        """Draw what lies behind the curves."""

    def draw(self) -> None:
        self._set_axes()
        for feed, trace in self._match_curves():
            self.send(feed, trace)
        self._mark_cursor()

    def send(self, feed: Feed, trace: Trace) -> None:
        """Bring the curve of one run up to date."""
        feed.update(trace, lambda rows: self._columns(trace, rows), self._shown(trace), self.kept)

    def kept(self, rows: Records) -> np.ndarray | None:
        """Return the positions of the rows that have something to draw; None for all of them."""
        return None

    def _shown(self, trace: Trace) -> tuple[object, ...]:
        """Return all that the columns of a run depend on beside its rows."""
        return ref(trace), self.key(trace), *(getattr(self, name) for name in self.axis_params())

    def _columns(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        return {"x": known(rows[self.x]), "iteration": rows["iteration"], **self.values(trace, rows)}

    def _match_curves(self) -> list[tuple[Feed, Trace]]:
        """Return a curve for every run: its feed, and the run."""
        found = self._curves.match(self.traces)
        if (lines := self._curves.renderers) != self._lines:
            self._fit_to(lines)
        return found

    def _mark_cursor(self) -> None:
        trace, mark, here = self.chosen, (), {"x": [], "y": [], "color": []}
        if trace is not None:
            rows, until, _ = trace.since(None)
            row = self.cursor.row(rows)
            if row is not None:
                mark = (row, until, *self._shown(trace))
        if not self._drawn.changed("cursor", *mark):
            return
        if mark:
            one = self._columns(trace, {name: column[row : row + 1] for name, column in rows.items()})
            place = next(k for k, t in enumerate(self.traces) if t is trace)
            color = theme.style(trace, place)[0]
            here = {"x": [float(one["x"][0])], "y": [float(one["y"][0])], "color": [color]}
        self._here.data = here

    def _tapped(self, event: object) -> None:
        """Move the cursor to the run and iterate nearest to a click."""
        best: tuple[float, Trace, int] | None = None
        if not placed(event):
            return
        for trace in self.traces:
            rows = trace.since(None)[0]
            columns = self._columns(trace, rows)
            beside = np.abs(columns["x"] - event.x)
            if not np.isfinite(beside).any():  # nothing of it has a place on this axis
                continue
            k = int(np.nanargmin(beside))
            y, at = columns["y"][k], event.y
            away = abs(np.log(y) - np.log(at)) if self.logarithmic and y > 0 and at > 0 else abs(y - at)
            away = away if np.isfinite(away) else np.inf
            if best is None or away < best[0]:
                best = away, trace, int(rows["iteration"][k])
        if best is not None:
            self.cursor.place(best[1], best[2])

    def drawable(self, values: np.ndarray) -> np.ndarray:
        """Return values as the vertical axis can show them."""
        return positive(values) if self.logarithmic else values


def menu(label: str, parameter: param.Parameter, options: dict[str, str], width: int = 130) -> Menu:
    """Return a small labelled choice bound to a parameter of a view."""
    return Menu.from_param(parameter, label=label, options=options, width=width, size="small", margin=(4, 4))
