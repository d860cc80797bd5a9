"""The two pictures of one line search, φ above and its slope below on the same steps, and their legend."""

from __future__ import annotations

from typing import Any

from bokeh.models import GlyphRenderer, HoverTool, Span
from bokeh.plotting import figure

from solverscope.app import theme
from solverscope.app.views.base.help import FIGURES

PHI, ARMIJO, WOLFE, MODEL, KINK = (theme.COLORS[k] for k in (0, 1, 2, 3, 4))

#: Pixels of a picture where no frame says how high it is.
HEIGHT = 262

#: What each source holds, empty to begin with.
COLUMNS = {
    **dict.fromkeys(("joined", "curve", "rule", "cone", "wolfe", "kinks"), ("t", "phi")),
    **dict.fromkeys(("by_armijo", "by_wolfe", "subgradients", "model"), ("t", "phi")),
    **dict.fromkeys(("slopes", "asked"), ("t", "slope")),
    **{"trials": ("t", "phi", "n", "alpha"), "segment": ("x0", "x1")},
}

#: Columns of some of them, in this order.
Data = dict[str, Any]

#: Marks of the legend, in its order.
NAMES = (
    *("curve", "joined", "trials", "accepted", "rule", "by_armijo", "cone", "wolfe", "by_wolfe", "kinks"),
    *("segment", "subgradients", "model"),
)
MARKS = dict(zip(NAMES, FIGURES["line-search"].marks, strict=True))


class LineFigures:
    """Figures over the step t, and their sources by name; a glyph has the name of its source. Axes cover φ
    and its slopes, and no more of the other marks than lies on them."""

    def __init__(self, name: str) -> None:
        self.sources = {key: theme.source(*columns) for key, columns in COLUMNS.items()}
        self.phi = theme.plot(name, x_label="", y_label="φ(t) − φ(0)", height=HEIGHT)
        self.slope = theme.plot(
            f"{name}-slope", x_label="", y_label="φ′(t)", height=HEIGHT, x_range=self.phi.x_range
        )
        for plot in (self.phi, self.slope):
            plot.min_border_left = 84
            self._add(plot, "vstrip", "segment", color=KINK, fill_alpha=0.15, line_alpha=0)
            for dimension in ("width", "height"):
                plot.add_layout(Span(location=0, dimension=dimension, line_color=theme.GREY, line_alpha=0.5))
        self._draw_phi()
        self._draw_slope()

    def _add(self, plot: figure, kind: str, name: str, **looks: Any) -> GlyphRenderer:
        """Draw the columns of a source."""
        source = self.sources[name]
        return getattr(plot, kind)(*COLUMNS[name][:2], source=source, name=name, **looks)

    def _draw_phi(self) -> None:
        plot, dashed = self.phi, {"line_dash": "dashed"}
        plot.x_range.range_padding, plot.y_range.range_padding = 0.0, 0.08
        self._add(plot, "patch", "cone", color=WOLFE, fill_alpha=0.12, line_alpha=0)
        self._add(plot, "line", "subgradients", color=theme.GREY, line_dash="dotted", line_width=1.5)
        self._add(plot, "line", "model", color=MODEL, line_width=2.5, **dashed)
        self._add(plot, "line", "wolfe", color=WOLFE, line_width=7, line_alpha=0.45)
        curve = self._add(plot, "line", "curve", color=PHI, line_width=2)
        joined = self._add(plot, "line", "joined", color=PHI, line_width=1.5, line_alpha=0.6)
        self._add(plot, "line", "rule", color=ARMIJO, line_width=1.5, **dashed)
        self._add(plot, "scatter", "kinks", size=5, color=KINK)
        dots = self._add(plot, "scatter", "trials", size=10, color=PHI, fill_alpha="alpha", line_width=2)
        beside = {"x_offset": 7, "y_offset": -5, "text_font_size": "1em", "text_color": theme.GREY}
        self._add(plot, "text", "trials", text="n", **beside)
        would = {"size": 15, "fill_alpha": 0.35, "line_width": 2}
        self._add(plot, "scatter", "by_wolfe", marker="triangle", color=WOLFE, **would)
        self._add(plot, "scatter", "by_armijo", marker="diamond", color=ARMIJO, **would)
        plot.x_range.renderers = plot.y_range.renderers = [curve, joined, dots]
        tips = [("trial", "@n"), ("t", "@t{0.[000000]a}"), ("φ(t) − φ(0)", "@phi{0.[000000]}")]
        plot.add_tools(HoverTool(tooltips=tips, renderers=[dots]))
        theme.follow_axes(plot)

    def _draw_slope(self) -> None:
        plot = self.slope
        plot.yaxis.ticker.desired_num_ticks = 3
        self._add(plot, "line", "asked", color=WOLFE, line_dash="dashed", line_width=1.5)
        plot.y_range.renderers = [self._add(plot, "line", "slopes", color=PHI, line_width=2)]
        theme.follow_axes(plot)

    def say(self, steps: str) -> None:
        """Label the axis of steps. Another label resets the axes, if a visitor has zoomed."""
        self.phi.xaxis[0].axis_label = self.slope.xaxis[0].axis_label = steps

    def show(self, data: Data) -> None:
        """Draw these sources, and nothing in the others."""
        for key, source in self.sources.items():
            theme.fill(source, *data.get(key, ()))


def legend(shown: set[str]) -> str:
    """Return what the marks mean, as HTML."""
    return theme.marks((mark.glyph, mark.color, mark.words) for key, mark in MARKS.items() if key in shown)
