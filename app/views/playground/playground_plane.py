"""The figure of a function of two variables with trajectories: its glyphs and their data sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bokeh.models as bm

from solverscope.app import ui
from solverscope.app.views.base.curves import Curves
from solverscope.app.views.playground.playground_landscape import LANDSCAPE_SHADES, Landscape
from solverscope.app.views.playground.playground_marks import PlaneMarks

#: Colour of high ground, and how much of it the highest has.
GROUND_COLOR, MAX_OPACITY = "#6B8299", 0.45
#: What each source holds, empty to begin with; columns of lines are not called like those of the runs, which
#: the pointer tells of.
PLANE_SOURCES = {
    "image": ui.IMAGE,
    **dict.fromkeys(("extent", "start"), ("x", "y")),
    **dict.fromkeys(("contours", "kinks", "line", "ellipse", "hull"), ("across", "up")),
    **dict.fromkeys(("subgradients", "combination", "direction"), ("x0", "y0", "x1", "y1")),
    **{"here": ("x", "y", "color", "size"), "rays": ("x0", "y0", "x1", "y1", "color")},
}
#: Those of what is at the cursor.
CURSOR_SOURCES = ("subgradients", "combination", "direction", "hull", "ellipse")


class Plane:
    """The figure, and its data sources by name; both axes have the same scale, so right angles look right."""

    def __init__(self, name: str, height: int) -> None:
        tools = [bm.PanTool(), bm.WheelZoomTool(), bm.ResetTool(), bm.BoxZoomTool(match_aspect=True)]
        looks = {"height": height, "match_aspect": True, "tools": tools, "active_drag": tools[-1]}
        self.figure = plot = ui.plot(name, x_label="x", y_label="y", **looks)
        plot.min_border_left = 48
        self.sources = {key: ui.source(*columns) for key, columns in PLANE_SOURCES.items()}
        self._ground()
        self._signs()
        self.curves = Curves(("x", "y", "f"), self._trajectory)
        ui.point_out(plot, ("x", "x"), ("y", "y"), ("f", "f"))

    def _ground(self) -> None:
        shades = [
            f"{GROUND_COLOR}{round(255 * MAX_OPACITY * k / (LANDSCAPE_SHADES - 1)):02x}"
            for k in range(LANDSCAPE_SHADES)
        ]
        ui.image(self.figure, self.sources["image"], shades, (0, LANDSCAPE_SHADES - 1))
        self._line("contours", line_width=0.7, line_alpha=0.7)
        self._line("kinks", line_width=2.5, line_alpha=0.8)
        self._line("line", line_dash="dashed", line_width=1.5)
        corners = self.figure.scatter("x", "y", source=self.sources["extent"], size=1, alpha=0.0)
        for reach in (self.figure.x_range, self.figure.y_range):
            reach.renderers, reach.range_padding = [corners], 0.0

    def _signs(self) -> None:
        """Draw the glyphs of the marks at the cursor: B and p in the run's colour, subgradients in grey."""
        plot, sources = self.figure, self.sources
        looks = {"fill_alpha": 0.12, "line_width": 1.5, "line_alpha": 0.9}
        self._inside = plot.patch("across", "up", source=sources["ellipse"], **looks)
        self._line("hull", line_dash="dotted", line_width=1.5)
        looks = {"color": "color", "line_dash": "dotted", "line_width": 2}
        plot.segment("x0", "y0", "x1", "y1", source=sources["rays"], **looks)
        edge = {"line_color": ui.GREY, "level": "overlay"}
        looks = {"marker": "circle_dot", "size": 13, "line_width": 1.5, "fill_alpha": 0.0}
        plot.scatter("x", "y", source=sources["start"], **looks, **edge)
        plot.scatter("x", "y", source=sources["here"], size="size", fill_color="color", **edge)
        self._arrow("subgradients", 1.5, ui.GREY)
        self._arrow("combination", 3, ui.GREY)
        self._p = self._arrow("direction", 3, ui.COLORS[0])

    def _line(self, name: str, **looks: Any) -> None:
        self.figure.line("across", "up", source=self.sources[name], line_color=ui.GREY, **looks)

    def _arrow(self, name: str, width: float, color: str) -> bm.Arrow:
        """Draw arrows from (x0, y0) to (x1, y1), the columns of a data source."""
        head = bm.NormalHead(size=5 + 2 * width, fill_color=color, line_color=color)
        ends = {"x_start": "x0", "y_start": "y0", "x_end": "x1", "y_end": "y1"}
        looks = {"line_width": width, "line_color": color, "level": "overlay"}
        arrow = bm.Arrow(source=self.sources[name], end=head, **ends, **looks)
        self.figure.add_layout(arrow)
        return arrow

    def _trajectory(self, source: bm.ColumnDataSource, color: str, dash: str) -> list[bm.GlyphRenderer]:
        dots = self.figure.scatter("x", "y", source=source, size=5, color=color)
        return [dots, ui.curve(self.figure, source, "y", color=color, dash=dash, width=2)]

    def show(self, name: str, *columns: Sequence[Any]) -> None:
        """Set the columns of a data source, in the order of ``PLANE_SOURCES``; without columns, empty it."""
        ui.fill(self.sources[name], *columns)

    def show_ground(self, land: Landscape) -> None:
        """Draw the function."""
        (x0, x1, y0, y1), (up, across) = land.window, land.image.shape
        dx, dy = (x1 - x0) / (across - 1), (y1 - y0) / (up - 1)
        corner, size = (x0 - 0.5 * dx, y0 - 0.5 * dy), (x1 - x0 + dx, y1 - y0 + dy)
        self.sources["image"].data = ui.picture(land.image, *corner, *size)
        self.show("contours", *land.contours)
        self.show("kinks", *land.kinks)

    def show_marks(self, marks: PlaneMarks | None, size: float, color: str) -> None:
        """Draw the marks at the cursor's iterate in a window of this size; None removes them."""
        shapes = {} if marks is None else marks.shapes(size)
        for name in CURSOR_SOURCES:
            self.show(name, *shapes.get(name, ()))
        for look in (self._inside.glyph, self._p.end):
            look.update(fill_color=color, line_color=color)
        self._p.line_color = color
