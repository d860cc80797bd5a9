"""The two pictures of one line search, φ above and its slope below on the same steps, and their legend."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Span
from bokeh.plotting import figure

from app import theme

PHI, ARMIJO, WOLFE, MODEL, KINK = (theme.COLORS[k] for k in (0, 1, 2, 3, 4))

#: What each source holds, empty to begin with.
COLUMNS = {
    "trials": ("t", "phi", "n", "alpha"),
    "joined": ("t", "phi"),
    "curve": ("t", "phi"),
    "rule": ("t", "phi"),
    "cone": ("t", "phi"),
    "wolfe": ("t", "phi"),
    "kinks": ("t", "phi"),
    "segment": ("x0", "x1"),
    "by_armijo": ("t", "phi"),
    "by_wolfe": ("t", "phi"),
    "subgradients": ("t", "phi"),
    "model": ("t", "phi"),
    "slopes": ("t", "slope"),
    "asked": ("t", "slope"),
}

#: Marks in words, in the order of the legend: glyph, colour.
MARKS = {
    "curve": ("━", PHI, "φ along the direction"),
    "joined": ("━", PHI, "what was tried, joined"),
    "trials": ("○", PHI, "tried, in this order"),
    "accepted": ("●", PHI, "accepted"),
    "rule": ("╌", ARMIJO, "most that the rule allows"),
    "by_armijo": ("◆", ARMIJO, "Armijo would take"),
    "cone": ("◢", WOLFE, "slopes from c₂φ′(0) to c₁φ′(0)"),
    "wolfe": ("━", WOLFE, "both Wolfe conditions hold"),
    "by_wolfe": ("▲", WOLFE, "Wolfe would take"),
    "kinks": ("•", KINK, "breakpoint"),
    "segment": ("▒", KINK, "target segment"),
    "subgradients": ("┈", theme.GREY, "Qₜ of random subgradients"),
    "model": ("╌", MODEL, "Mₜ, the solver's model"),
}


class LineFigures:
    """Figures over the step t, and their sources by name. Axes cover φ and its slopes, and no more of the
    other marks than lies on them."""

    def __init__(self, name: str, *, height: int) -> None:
        self.height = height
        self.sources = {
            key: ColumnDataSource({column: [] for column in columns}) for key, columns in COLUMNS.items()
        }
        self.phi, self.slope = self._phi_figure(name), None
        self.slope = self._slope_figure(f"{name}-slope")
        self.with_slope(False)

    def _phi_figure(self, name: str) -> figure:
        s, plot = self.sources, theme.plot(name, x_label="", y_label="φ(t) − φ(0)", height=self.height)
        plot.min_border_left = 84
        plot.x_range.range_padding, plot.y_range.range_padding = 0.0, 0.08
        plot.vstrip("x0", "x1", source=s["segment"], color=KINK, fill_alpha=0.15, line_alpha=0)
        plot.patch("t", "phi", source=s["cone"], color=WOLFE, fill_alpha=0.12, line_alpha=0)
        plot.add_layout(Span(location=0, dimension="width", line_color=theme.GREY, line_alpha=0.4))
        plot.add_layout(Span(location=0, dimension="height", line_color=theme.GREY, line_alpha=0.4))
        plot.line("t", "phi", source=s["subgradients"], color=theme.GREY, line_dash="dotted", line_width=1.5)
        plot.line("t", "phi", source=s["model"], color=MODEL, line_dash="dashed", line_width=2.5)
        plot.line("t", "phi", source=s["wolfe"], color=WOLFE, line_width=7, line_alpha=0.45)
        whole = [
            plot.line("t", "phi", source=s["curve"], color=PHI, line_width=2),
            plot.line("t", "phi", source=s["joined"], color=PHI, line_width=1.5, line_alpha=0.6),
        ]
        plot.line("t", "phi", source=s["rule"], color=ARMIJO, line_dash="dashed", line_width=1.5)
        plot.scatter("t", "phi", source=s["kinks"], size=5, color=KINK)
        dots = plot.scatter(
            "t", "phi", source=s["trials"], size=10, color=PHI, fill_alpha="alpha", line_width=2
        )
        plot.text(
            "t",
            "phi",
            text="n",
            source=s["trials"],
            x_offset=7,
            y_offset=-5,
            text_font_size="12px",
            text_color=theme.GREY,
        )
        for key, marker, color in (("by_wolfe", "triangle", WOLFE), ("by_armijo", "diamond", ARMIJO)):
            plot.scatter(
                "t", "phi", source=s[key], marker=marker, size=15, color=color, fill_alpha=0.35, line_width=2
            )
        plot.x_range.renderers = plot.y_range.renderers = [*whole, dots]
        tips = [("trial", "@n"), ("t", "@t{0.[000000]a}"), ("φ(t) − φ(0)", "@phi{0.[000000]}")]
        plot.add_tools(HoverTool(tooltips=tips, renderers=[dots]))
        theme.follow_axes(plot)
        return plot

    def _slope_figure(self, name: str) -> figure:
        s = self.sources
        plot = theme.plot(name, x_label="", y_label="φ′(t)", height=110, x_range=self.phi.x_range)
        plot.min_border_left = 84
        plot.yaxis.ticker.desired_num_ticks = 3
        plot.vstrip("x0", "x1", source=s["segment"], color=KINK, fill_alpha=0.15, line_alpha=0)
        plot.add_layout(Span(location=0, dimension="width", line_color=theme.GREY, line_alpha=0.6))
        plot.add_layout(Span(location=0, dimension="height", line_color=theme.GREY, line_alpha=0.4))
        plot.line("t", "slope", source=s["asked"], color=WOLFE, line_dash="dashed", line_width=1.5)
        drawn = plot.line("t", "slope", source=s["slopes"], color=PHI, line_width=2)
        plot.y_range.renderers = [drawn]
        theme.follow_axes(plot)
        return plot

    def with_slope(self, shown: bool) -> None:
        """Make room for the slope below φ, or let φ have all of it."""
        height = self.height - self.slope.height if shown else self.height
        if self.phi.height != height:
            self.phi.height = height
        if self.phi.xaxis[0].visible == shown:
            self.phi.xaxis[0].visible = not shown

    def say(self, steps: str) -> None:
        """Label the axis of steps. Another label lets the axes begin anew, if a visitor has zoomed."""
        for plot in (self.phi, self.slope):
            if plot.xaxis[0].axis_label != steps:
                plot.xaxis[0].axis_label = steps

    def show(self, data: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Draw these sources, and nothing in the others."""
        for key, source in self.sources.items():
            new = data.get(key)
            if new is not None:
                source.data = dict(new)
            elif len(next(iter(source.data.values()))):
                source.data = {column: [] for column in COLUMNS[key]}


def legend(shown: set[str]) -> str:
    """Return what the marks mean, as HTML."""
    entries = (
        f'<span style="white-space:nowrap"><b style="color:{color}">{glyph}</b> {words}</span>'
        for key, (glyph, color, words) in MARKS.items()
        if key in shown
    )
    return (
        '<p class="note" style="display:flex;flex-wrap:wrap;gap:0 14px;margin:0">' + "".join(entries) + "</p>"
    )
