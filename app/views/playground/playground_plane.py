"""The picture of a function of two variables, with trajectories on it: its glyphs, and what they are told."""

from __future__ import annotations

from collections.abc import Sequence

import bokeh.models as bm
import numpy as np

from app import theme
from app.views.base.curves import Curves
from app.views.playground.playground_landscape import SHADES, Landscape, Window
from app.views.playground.playground_marks import Marks

#: Colour of high ground, and how much of it the highest has.
GROUND, MOST = "#6B8299", 0.45
NOWHERE = np.zeros((0, 2))


class Plane:
    """The figure and its sources. The horizontal and the vertical axis have the same scale: what is
    perpendicular looks so."""

    def __init__(self, name: str, height: int) -> None:
        tools = [bm.PanTool(), bm.WheelZoomTool(), bm.ResetTool(), bm.BoxZoomTool(match_aspect=True)]
        looks = {"height": height, "match_aspect": True, "tools": tools, "active_drag": tools[-1]}
        self.figure = plot = theme.plot(name, x_label="x", y_label="y", **looks)
        plot.min_border_left = 48
        self._ground()
        self._signs()
        self.curves = Curves(("x", "y", "f"), self._trajectory)
        theme.point_out(plot, ("x", "x"), ("y", "y"), ("f", "f"))

    def _ground(self) -> None:
        plot = self.figure
        self.image = theme.source(*theme.IMAGE)
        # columns of other names than those of the runs, which the pointer tells of
        self.contours, self.kinks = (theme.source("across", "up") for _ in range(2))
        shades = [f"{GROUND}{round(255 * MOST * k / (SHADES - 1)):02x}" for k in range(SHADES)]
        mapper = bm.LinearColorMapper(palette=shades, low=0, high=SHADES - 1)
        theme.image(plot, self.image, mapper)
        plot.line("across", "up", source=self.contours, line_color=theme.GREY, line_width=0.7, line_alpha=0.7)
        plot.line("across", "up", source=self.kinks, line_color=theme.GREY, line_width=2.5, line_alpha=0.8)
        self.line = theme.source("across", "up")
        plot.line("across", "up", source=self.line, line_color=theme.GREY, line_dash="dashed", line_width=1.5)
        self.extent = theme.source("x", "y")
        corners = plot.scatter("x", "y", source=self.extent, size=1, alpha=0.0)
        for reach in (plot.x_range, plot.y_range):
            reach.renderers, reach.range_padding = [corners], 0.0

    def _signs(self) -> None:
        """Draw what is at the cursor: B and p in the run's colour, subgradients in grey."""
        plot = self.figure
        self.start, self.here = theme.source("x", "y"), theme.source("x", "y", "color", "size")
        self.ellipse, self.hull = (theme.source("across", "up") for _ in range(2))
        self.rays = theme.source("x", "y", "x1", "y1", "color")
        ends = "x0", "y0", "x1", "y1"
        self.subgradients, self.combination, self.direction = (theme.source(*ends) for _ in range(3))
        looks = {"fill_alpha": 0.12, "line_width": 1.5, "line_alpha": 0.9}
        self._inside = plot.patch("across", "up", source=self.ellipse, **looks)
        plot.line("across", "up", source=self.hull, line_color=theme.GREY, line_dash="dotted", line_width=1.5)
        plot.segment("x", "y", "x1", "y1", source=self.rays, color="color", line_dash="dotted", line_width=2)
        plot.scatter(
            "x",
            "y",
            source=self.start,
            marker="circle_dot",
            size=13,
            line_color=theme.GREY,
            line_width=1.5,
            fill_alpha=0.0,
            level="overlay",
        )
        dot = {"size": "size", "fill_color": "color", "line_color": theme.GREY, "level": "overlay"}
        plot.scatter("x", "y", source=self.here, **dot)
        self._arrow(self.subgradients, 1.5, theme.GREY)
        self._arrow(self.combination, 3, theme.GREY)
        self._p = self._arrow(self.direction, 3, theme.COLORS[0])

    def _arrow(self, source: bm.ColumnDataSource, width: float, color: str) -> bm.Arrow:
        """Draw arrows from (x0, y0) to (x1, y1)."""
        head = bm.NormalHead(size=5 + 2 * width, fill_color=color, line_color=color)
        ends = {"x_start": "x0", "y_start": "y0", "x_end": "x1", "y_end": "y1"}
        arrow = bm.Arrow(source=source, end=head, line_width=width, line_color=color, level="overlay", **ends)
        self.figure.add_layout(arrow)
        return arrow

    def _trajectory(self, source: bm.ColumnDataSource, color: str, dash: str) -> list[bm.GlyphRenderer]:
        dots = self.figure.scatter("x", "y", source=source, size=5, color=color)
        return [dots, theme.curve(self.figure, source, "y", color=color, dash=dash, width=2)]

    def fit(self, window: Window) -> None:
        """Let the axes begin with this window, and come back to it on Reset."""
        theme.put(self.extent, {"x": [window.x0, window.x1], "y": [window.y0, window.y1]})

    def show_ground(self, land: Landscape) -> None:
        """Draw the function."""
        (x0, x1, y0, y1), (up, across) = land.window, land.image.shape
        dx, dy = (x1 - x0) / (across - 1), (y1 - y0) / (up - 1)
        corner, size = (x0 - 0.5 * dx, y0 - 0.5 * dy), (x1 - x0 + dx, y1 - y0 + dy)
        self.image.data = theme.picture(land.image, *corner, *size)
        for source, lines in ((self.contours, land.contours), (self.kinks, land.kinks)):
            source.data = {"across": lines[0], "up": lines[1]}

    def show_line(self, ends: np.ndarray | None) -> None:
        """Draw a line across the plane, (2, 2), along which the function is looked at; None: nothing."""
        ends = NOWHERE if ends is None else ends
        theme.put(self.line, {"across": ends[:, 0].tolist(), "up": ends[:, 1].tolist()})

    def show_start(self, start: np.ndarray | None) -> None:
        """Mark where solvers start."""
        place = NOWHERE if start is None else start[None]
        theme.put(self.start, {"x": place[:, 0], "y": place[:, 1]})

    def show_ends(self, heads: Sequence[tuple[np.ndarray, str, bool]], rays: Sequence[tuple]) -> None:
        """Mark the last iterate drawn of each run, (place, colour, whether it is the chosen one), and the
        rays, (from, to, colour), along which a run found that f falls without bound."""
        dots = [(*place, color, 13 if chosen else 8) for place, color, chosen in heads]
        self.here.data = theme.columns(self.here, dots)
        self.rays.data = theme.columns(self.rays, [(*start, *end, color) for start, end, color in rays])

    def show_marks(self, marks: Marks | None, size: float, color: str) -> None:
        """Draw what the solver sees at the cursor's iterate, in a window of this size; None: nothing."""
        ends, mixed, heading = NOWHERE, None, None
        hull = ellipse = NOWHERE
        if marks is not None:
            ends, mixed = marks.arrows(size)
            hull, ellipse, heading = marks.hull(size), marks.ellipse(size), marks.heading(size)
            if len(ends) < 2:  # there is one subgradient alone
                mixed = None
            self._inside.glyph.update(fill_color=color, line_color=color)
            self._p.update(line_color=color)
            self._p.end.update(fill_color=color, line_color=color)
        w = None if marks is None else marks.w
        for source, tips in (
            (self.subgradients, ends),
            (self.combination, NOWHERE if mixed is None else mixed[None]),
            (self.direction, NOWHERE if heading is None else heading[None]),
        ):
            x0, y0 = np.full((2, len(tips)), 0.0) if w is None else np.repeat(w[:, None], len(tips), axis=1)
            source.data = {"x0": x0, "y0": y0, "x1": tips[:, 0], "y1": tips[:, 1]}
        for source, outline in ((self.hull, hull), (self.ellipse, ellipse)):
            source.data = {"across": outline[:, 0], "up": outline[:, 1]}
