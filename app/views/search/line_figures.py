"""Figures of a line search, φ above its slope over the same steps, and their legend."""

from __future__ import annotations

from typing import Any

from bokeh.models import GlyphRenderer, HoverTool, Span
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.help import FIGURES

PHI_COLOR, ARMIJO_COLOR, WOLFE_COLOR, MODEL_COLOR, KINK_COLOR = (ui.COLORS[k] for k in (0, 1, 2, 3, 4))

#: Height in pixels of a figure without a frame.
PLOT_HEIGHT = 262

#: Columns of each data source.
LINE_SOURCES = {
    **dict.fromkeys(("joined", "curve", "rule", "cone", "wolfe", "kinks"), ("t", "phi")),
    **dict.fromkeys(("by_armijo", "by_wolfe", "subgradients", "model"), ("t", "phi")),
    **dict.fromkeys(("slopes", "asked"), ("t", "slope")),
    **{"trials": ("t", "phi", "n", "alpha"), "segment": ("x0", "x1")},
}

#: Columns of some of them, in this order.
Data = dict[str, Any]

#: Marks of the legend, in its order.
MARK_NAMES = (
    *("curve", "joined", "trials", "accepted", "rule", "by_armijo", "cone", "wolfe", "by_wolfe", "kinks"),
    *("segment", "subgradients", "model"),
)
LEGEND_MARKS = dict(zip(MARK_NAMES, FIGURES["line-search"].marks, strict=True))


class LineFigures:
    """Figures over the step t, and their data sources by name, which are also the names of glyphs.

    The axes cover φ and its slopes, but not all other marks.
    """

    def __init__(self, name: str) -> None:
        self.sources = {key: ui.source(*columns) for key, columns in LINE_SOURCES.items()}
        self.phi = ui.plot(name, x_label="", y_label="φ(t) − φ(0)", height=PLOT_HEIGHT)
        self.slope = ui.plot(
            f"{name}-slope", x_label="", y_label="φ′(t)", height=PLOT_HEIGHT, x_range=self.phi.x_range
        )
        for plot in (self.phi, self.slope):
            plot.min_border_left = 84
            self._add(plot, "vstrip", "segment", color=KINK_COLOR, fill_alpha=0.15, line_alpha=0)
            for dimension in ("width", "height"):
                plot.add_layout(Span(location=0, dimension=dimension, line_color=ui.GREY, line_alpha=0.5))
        self._draw_phi()
        self._draw_slope()

    def _add(self, plot: figure, kind: str, name: str, **looks: Any) -> GlyphRenderer:
        """Draw the columns of a data source."""
        source = self.sources[name]
        return getattr(plot, kind)(*LINE_SOURCES[name][:2], source=source, name=name, **looks)

    def _draw_phi(self) -> None:
        plot, dashed = self.phi, {"line_dash": "dashed"}
        plot.x_range.range_padding, plot.y_range.range_padding = 0.0, 0.08
        self._add(plot, "patch", "cone", color=WOLFE_COLOR, fill_alpha=0.12, line_alpha=0)
        self._add(plot, "line", "subgradients", color=ui.GREY, line_dash="dotted", line_width=1.5)
        self._add(plot, "line", "model", color=MODEL_COLOR, line_width=2.5, **dashed)
        self._add(plot, "line", "wolfe", color=WOLFE_COLOR, line_width=7, line_alpha=0.45)
        curve = self._add(plot, "line", "curve", color=PHI_COLOR, line_width=2)
        joined = self._add(plot, "line", "joined", color=PHI_COLOR, line_width=1.5, line_alpha=0.6)
        self._add(plot, "line", "rule", color=ARMIJO_COLOR, line_width=1.5, **dashed)
        self._add(plot, "scatter", "kinks", size=5, color=KINK_COLOR)
        dots = self._add(
            plot, "scatter", "trials", size=10, color=PHI_COLOR, fill_alpha="alpha", line_width=2
        )
        number_offset = {"x_offset": 7, "y_offset": -5, "text_font_size": "1em", "text_color": ui.GREY}
        self._add(plot, "text", "trials", text="n", **number_offset)
        by_rule = {"size": 15, "fill_alpha": 0.35, "line_width": 2}
        self._add(plot, "scatter", "by_wolfe", marker="triangle", color=WOLFE_COLOR, **by_rule)
        self._add(plot, "scatter", "by_armijo", marker="diamond", color=ARMIJO_COLOR, **by_rule)
        plot.x_range.renderers = plot.y_range.renderers = [curve, joined, dots]
        tips = [("trial", "@n"), ("t", "@t{0.[000000]a}"), ("φ(t) − φ(0)", "@phi{0.[000000]}")]
        plot.add_tools(HoverTool(tooltips=tips, renderers=[dots]))
        ui.follow_axes(plot)

    def _draw_slope(self) -> None:
        plot = self.slope
        plot.yaxis.ticker.desired_num_ticks = 3
        self._add(plot, "line", "asked", color=WOLFE_COLOR, line_dash="dashed", line_width=1.5)
        plot.y_range.renderers = [self._add(plot, "line", "slopes", color=PHI_COLOR, line_width=2)]
        ui.follow_axes(plot)

    def say(self, steps: str) -> None:
        """Label the axis of steps. A new label resets axes that a visitor has zoomed."""
        self.phi.xaxis[0].axis_label = self.slope.xaxis[0].axis_label = steps

    def show(self, data: Data) -> None:
        """Fill these data sources, and empty the others."""
        for key, source in self.sources.items():
            ui.fill(source, *data.get(key, ()))


def legend(shown: set[str]) -> str:
    """Return the legend of the marks as HTML."""
    return ui.mark_legend(
        (mark.glyph, mark.color, mark.words) for key, mark in LEGEND_MARKS.items() if key in shown
    )
