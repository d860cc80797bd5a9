"""Direction finding at an iterate: the steps of Algorithm 2 of Yu et al. 2010."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.bundle.cut_weights import MIN_WEIGHT
from solverscope.solvers import DIRECTION, Trace
from solverscope.solvers.probes.direction_steps import gap_bound

#: The column, the colour and the dash of curves.
Lines = tuple[tuple[str, str, str], ...]
#: Smallest gap that is drawn, as rounding may make gaps zero or negative.
MIN_DRAWN_EPSILON = 1e-16
SHARE_COLOR, DUAL_COLOR, BOUND_COLOR = ui.COLORS[0], ui.COLORS[1], ui.COLORS[2]


class DirectionView(ProbeView):
    """Steps i of direction finding at the cursor, for the run under the cursor.

    It shows the model M and its dual D, and the gap ε with its bound by Theorem 7. An image shows the
    coefficients of the subgradients in their convex combination.
    """

    id = "direction"
    title = "Direction finding"
    probe = DIRECTION
    carried = ("direction",)
    hint = "Run subgd, subbfgs, sublbfgs or owl-qn-star to see how it finds its directions."
    every = 3

    def build(self) -> None:
        self._said = ui.cursor_text(2, 4, on_top=True)
        self._values = ui.source("step", "model", "dual", "least")
        self._gaps = ui.source("step", "gap", "bound")
        self._tolerance = ui.source("step", "epsilon")
        self._shares = ui.source(*ui.IMAGE)
        self.values = self._plot("direction-values", "value")
        self.gaps = self._plot("direction-gap", "ε", log_y=True)
        self.shares = self._plot("direction-shares", "subgradient j  ·  newest on top")
        tips = [("step i", "@step"), ("M", "@model{0.[000000]e+0}"), ("D", "@dual{0.[000000]e+0}")]
        lines = (
            ("model", SHARE_COLOR, "solid"),
            ("dual", DUAL_COLOR, "solid"),
            ("least", SHARE_COLOR, "dotted"),
        )
        self._curves(self.values, self._values, lines, tips)
        tips = [("step i", "@step"), ("ε", "@gap{0.[000]e+0}"), ("its bound", "@bound{0.[000]e+0}")]
        lines = (("gap", SHARE_COLOR, "solid"), ("bound", BOUND_COLOR, "dashed"))
        self._curves(self.gaps, self._gaps, lines, tips)
        self._curves(self.gaps, self._tolerance, (("epsilon", ui.GREY, "dotted"),))
        palette = [f"{SHARE_COLOR}{alpha:02x}" for alpha in range(40, 256)]
        tips = [("subgradient", "$y{0}"), ("step", "$x{0}"), ("share", "@image{0.[0000]}")]
        beyond = {"low_color": f"{ui.GREY}30", "nan_color": "#00000000"}
        drawn = ui.image(self.shares, self._shares, palette, (MIN_WEIGHT, 1.0), tips, **beyond)
        for reach in (self.shares.x_range, self.shares.y_range):
            reach.renderers, reach.range_padding = [drawn], 0.0
        ui.integer_ticks(self.shares.yaxis[0])
        shown = (
            ("M, the model of f, and its dual D", self.values, VALUE_MARKS),
            ("How far M is from its minimum", self.gaps, GAP_MARKS),
            ("Convex combination of subgradients", self.shares, SHARE_MARKS),
        )
        parts = [
            ui.column(
                ui.html(f"<h2>{title}</h2>"), ui.pane(plot), ui.html(ui.mark_legend(marks)), kind="narrow"
            )
            for title, plot, marks in shown
        ]
        self._body.extend([self._said, ui.column(*parts, kind="across")])

    def _plot(self, name: str, y_label: str, **more: bool) -> figure:
        plot = ui.plot(name, x_label="step i of direction finding", y_label=y_label, height=260, **more)
        ui.integer_ticks(plot.xaxis[0])
        return plot

    def _curves(
        self, plot: figure, source: ColumnDataSource, lines: Lines, tips: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Draw columns of a data source as lines over its steps; the first two also have dots at
        the steps."""
        for k, (name, color, dash) in enumerate(lines):
            plot.line("step", name, source=source, color=color, line_dash=dash, line_width=2)
            if k < 2 and dash == "solid":
                dots = plot.scatter("step", name, source=source, color=color, size=6)
                if k == 0:
                    plot.add_tools(HoverTool(tooltips=tips, renderers=[dots], mode="vline"))

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        n = seen["gap"].size
        step = np.arange(1, n + 1)
        ui.fill(self._values, step, seen["model"], seen["dual"], np.minimum.accumulate(seen["model"]))
        bound = gap_bound(seen)
        ui.fill(
            self._gaps, step, np.maximum(seen["gap"], MIN_DRAWN_EPSILON), np.maximum(bound, MIN_DRAWN_EPSILON)
        )
        ui.fill(self._tolerance, [1, max(n, 2)], [max(float(seen["epsilon"]), MIN_DRAWN_EPSILON)] * 2)
        rows = seen["shares"]
        self._shares.data = ui.picture(rows.T, 0.5, 0.5, max(len(rows), 1), max(len(rows), 1))
        self._said.object = sentence(self.chosen, iteration, seen)

    def draw_nothing(self) -> None:
        for source in (self._values, self._gaps, self._tolerance, self._shares):
            ui.fill(source)


VALUE_MARKS = (
    ("●", SHARE_COLOR, "M(p⁽ⁱ⁾)"),
    ("┈", SHARE_COLOR, "the smallest M so far"),
    ("●", DUAL_COLOR, "D⁽ⁱ⁾(α⁽ⁱ⁾)"),
)
GAP_MARKS = (
    ("●", SHARE_COLOR, "ε⁽ⁱ⁾"),
    ("╌", BOUND_COLOR, "its bound by Theorem 7"),
    ("┈", ui.GREY, "tolerance ε"),
)
SHARE_MARKS = (("■", SHARE_COLOR, "share in the combination"), ("■", ui.GREY, "met, share 0"))


def sentence(trace: Trace, iteration: int, seen: Seen) -> str:
    """Describe direction finding at an iteration in sentences."""
    number, steps = ui.number, int(seen["steps"])
    gap, top, H = float(seen["gap"][-1]), float(seen["sup"][-1]), float(seen["H"])
    said = f"<b>{html.escape(trace.info.label)}</b> at iteration {number(iteration)}: "
    said += f"{ui.counted(steps, 'step')} of direction finding, ε = {number(gap, 3)} for a tolerance of "
    said += f"{number(float(seen['epsilon']), 3)}. "
    said += "p descends: " if seen["descends"] else "p does not descend: "
    said += f"the largest gᵀp is {number(top, 3)}. "
    if math.isnan(H):
        said += "The bound of Theorem 7 is not drawn: the largest eigenvalue H of B is not known here."
    elif seen["gap"].size > 1:
        far = float(gap_bound(seen)[-1]) / max(gap, MIN_DRAWN_EPSILON)
        c = 8.0 * float(seen["G"]) ** 2 * H
        said += f"With 8G²H = {number(c, 3)} Theorem 7 allows an ε {number(far, 3)} times as large. "
        # of (ε⁽ⁱ⁾ - ε⁽ⁱ⁺¹⁾)/(ε⁽ⁱ⁾)² over the steps
        decreases = [(a - b) / a**2 for a, b in pairwise(seen["gap"].tolist()) if a > MIN_DRAWN_EPSILON]
        worst = min(decreases, default=math.inf) * c
        said += f"The smallest decrease of ε is {number(worst, 3)} times the one that it promises."
    return f"<p>{said}</p>"
