"""What plots over time or iterations share: one curve a run, the cursor, clicks, a choice of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from weakref import ref

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import ColumnDataSource, DataRange1d, GlyphRenderer, HoverTool

from app import theme
from app.cursor import Cursor
from app.views.base import View
from app.views.feed import Feed, Rows, known, positive
from solvers import Trace

#: What the horizontal axis may show: field of the record, name in menus, label.
X_AXES = {
    "cpu_seconds": ("CPU seconds", "CPU time of the run (s)"),
    "iteration": ("Iterations", "iteration"),
    "passes": ("Passes", "passes over the data"),
    "wall_seconds": ("Wall seconds", "wall time of the run (s)"),
}

#: Of the vertical axis.
SCALES = ("log", "linear")


@dataclass
class Curve:
    """One run in one plot."""

    feed: Feed
    renderers: list[GlyphRenderer]


class RunPlot(View):
    """A live plot with one curve a run. A subclass gives ``y_label`` and ``values``, and may override
    ``glyphs`` to draw more than a line. ``beside``: a plot whose horizontal axis it shares, zoom and all."""

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
        self._curves: dict[tuple[str, str, int], Curve] = {}
        self._lines: list[GlyphRenderer] = []
        self._range: tuple[str, DataRange1d] | None = None
        self._here = ColumnDataSource({"x": [], "y": [], "color": []})
        self._pane = pn.pane.Bokeh(sizing_mode="stretch_width", margin=0)
        self._head.append(self._toolbar())
        self._body.append(self._pane)
        self._body.visible = True  # the axes are there before the first run
        self.param.watch(lambda *events: self._new_figure(), self.axis_params())
        self._new_figure()

    def axis_params(self) -> list[str]:
        """Parameters whose change asks for a new figure."""
        return ["x", "scale"]

    def controls(self) -> list[pn.viewable.Viewable]:
        """Widgets above the plot, beside the choice of the axis."""
        return []

    @property
    def logarithmic(self) -> bool:
        return self.scale == "log"

    @property
    def heading(self) -> str:
        """What stands above the plot."""
        return self.title

    @property
    def y_label(self) -> str:
        raise TypeError(f"{type(self).__name__} does not define y_label")

    def values(self, trace: Trace, rows: Rows) -> dict[str, np.ndarray]:
        """The columns ``names`` but "x" of these rows."""
        raise TypeError(f"{type(self).__name__} does not define values")

    def key(self, trace: Trace) -> object:
        """What ``values`` depends on beside the rows: a change of it sends the curve again."""
        return None

    def glyphs(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        """Draw one run."""
        line = self.figure.line("x", "y", source=source, color=color, line_dash=dash, line_width=2)
        hover = {"hover_color": color, "hover_alpha": 0.9}
        dots = self.figure.scatter("x", "y", source=source, size=8, alpha=0.0, **hover)
        return [line, dots]

    def hover(self) -> list[tuple[str, str]]:
        """What the tooltip says of a point."""
        return [("Run", "$name"), (X_AXES[self.x][0], "@x{%.4g}"), (self.title, "@y{%.4g}")]

    def _toolbar(self) -> pn.viewable.Viewable:
        heading = theme.html(f"<h2>{self.heading}</h2>")
        return pn.FlexBox(
            heading, *self.controls(), align_items="center", justify_content="space-between", margin=0
        )

    def axis_menu(self) -> pn.viewable.Viewable:
        """The choice of the horizontal axis."""
        return menu("Against", self.param.x, {label: field for field, (label, _) in X_AXES.items()})

    def _new_figure(self) -> None:
        self.figure = theme.plot(
            self.id,
            x_label=X_AXES[self.x][1],
            y_label=self.y_label,
            log_y=self.logarithmic,
            height=self.height,
            x_range=self._x_range(),
        )
        self._curves.clear()
        self._mark: object = None
        self.backdrop()
        dot = self.figure.scatter(
            "x", "y", source=self._here, size=9, fill_color="color", line_color=theme.GREY, level="overlay"
        )
        span = self.figure.vspan(
            "x", source=self._here, line_color=theme.GREY, line_dash="dashed", line_alpha=0.8
        )
        self._fixed = [dot, span]
        self._fit_to([])
        self.figure.on_event("tap", self._tapped)
        formats = {f"@{name}": "printf" for name in self.names}
        self._hover = HoverTool(tooltips=self.hover(), formatters=formats, renderers=[], mode="mouse")
        self.figure.add_tools(self._hover)
        self._pane.object = self.figure
        if self.visible:
            self.draw()

    def _x_range(self) -> DataRange1d:
        """The other plot's range, or one of its own, which outlives a figure that only changed its y axis."""
        if self._beside is not None and self._beside.x == self.x:
            return self._beside.figure.x_range
        if self._range is None or self._range[0] != self.x:
            self._range = self.x, DataRange1d()
        return self._range[1]

    def _fit_to(self, lines: list[GlyphRenderer]) -> None:
        """The ranges cover these curves, the horizontal one also those of the plots that share it."""
        x_range = self.figure.x_range
        x_range.renderers = [r for r in x_range.renderers if r not in self._lines] + lines
        self.figure.y_range.renderers = self._lines = lines

    def backdrop(self) -> None:
        """Draw what lies behind the curves."""

    def draw(self) -> None:
        if self.figure.yaxis[0].axis_label != self.y_label:
            self.figure.yaxis[0].axis_label = self.y_label
        matched = self._match_curves()
        if not self.has_content():
            return
        for feed, trace in matched:
            self.send(feed, trace)
        self._mark_cursor()

    def send(self, feed: Feed, trace: Trace) -> None:
        """Bring the curve of one run up to date."""
        feed.update(trace, lambda rows: self._columns(trace, rows), (ref(trace), self.key(trace)))

    def _columns(self, trace: Trace, rows: Rows) -> dict[str, np.ndarray]:
        return {"x": known(rows[self.x]), **self.values(trace, rows)}

    def _match_curves(self) -> list[tuple[Feed, Trace]]:
        """A curve for every run: its feed, and the run. Curves of runs that are gone are emptied and kept for
        the next of their look: to add one to a figure takes the browser much longer than to fill it."""
        wanted: dict[tuple[str, str, int], Trace] = {}
        for place, trace in enumerate(self.traces):
            look = theme.style(trace, place)
            wanted[(*look, sum(key[:2] == look for key in wanted))] = trace
        for key in [key for key in wanted if key not in self._curves]:
            feed = Feed(self.names)
            self._curves[key] = Curve(feed, self.glyphs(feed.source, *key[:2]))
        for key, curve in self._curves.items():
            if key not in wanted:
                curve.feed.clear()
            elif curve.renderers[-1].name != (label := wanted[key].info.get("label")):
                for renderer in curve.renderers:
                    renderer.name = label
        lines = [renderer for curve in self._curves.values() for renderer in curve.renderers]
        if lines != self._lines:
            self._fit_to(lines)
            self._hover.renderers = [r for r in lines if r.glyph.__class__.__name__ == "Scatter"]
        return [(self._curves[key].feed, trace) for key, trace in wanted.items()]

    def _mark_cursor(self) -> None:
        trace, mark, here = self.cursor.run, None, {"x": [], "y": [], "color": []}
        place = next((k for k, t in enumerate(self.traces) if t is trace), None)
        if place is not None:
            rows, until, _ = trace.since(None)
            row = self.cursor.row(rows)
            if row is not None:
                mark = (ref(trace), row, until, self.key(trace))
        if mark == self._mark:
            return
        self._mark = mark
        if mark is not None:
            one = self._columns(trace, {name: column[row : row + 1] for name, column in rows.items()})
            color = theme.style(trace, place)[0]
            here = {"x": [float(one["x"][0])], "y": [float(one["y"][0])], "color": [color]}
        self._here.data = here

    def _tapped(self, event: object) -> None:
        """Move the cursor to the run and iterate nearest to a click."""
        best: tuple[float, Trace, int] | None = None
        for trace in self.traces:
            if not len(trace):
                continue
            rows = trace.since(None)[0]
            columns = self._columns(trace, rows)
            k = int(np.nanargmin(np.abs(columns["x"] - event.x)))
            y, at = columns["y"][k], event.y
            away = abs(np.log(y) - np.log(at)) if self.logarithmic and y > 0 and at > 0 else abs(y - at)
            away = away if np.isfinite(away) else np.inf
            if best is None or away < best[0]:
                best = away, trace, int(rows["iteration"][k])
        if best is not None:
            self.cursor.place(best[1], best[2])

    def drawable(self, values: np.ndarray) -> np.ndarray:
        """Values as the vertical axis can show them."""
        return positive(values) if self.logarithmic else values


def menu(label: str, parameter: param.Parameter, options: dict[str, str], width: int = 130) -> pmui.Select:
    """A small labelled choice bound to a parameter of a view."""
    return pmui.Select.from_param(
        parameter, label=label, options=options, width=width, size="small", margin=(4, 4)
    )
