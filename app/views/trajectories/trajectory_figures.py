"""The figures of trajectories: β over iterations, sizes of clusters, and distances within and
between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from bokeh.models import LabelSet
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.lam_marks import LABEL_OFFSET, LamMarks
from solverscope.app.views.trajectories.trajectory_lines import CLUSTER_COLORS, FADED_ALPHA, Lines

#: Pixels of the main picture and of those next to it.
TRAJECTORY_HEIGHT, CLUSTER_HEIGHT = 380, 184
#: Share of the axis that a phase has at least whose name is written.
MIN_LABELLED_SHARE = 0.05

#: Alpha of the bands of phases, in the order in which they first come.
PHASE_ALPHAS = (0.0, 0.4, 0.15, 0.07)
#: Alpha of bars.
BAR_ALPHA = 0.7


class Figures:
    """The figures of the view, with their data sources."""

    def __init__(self, name: str) -> None:
        self.bands = ui.source("x0", "x1", "alpha")
        self.phases = ui.source("x", "y", "name")
        self.marks = ui.source("x", "at", "color")
        self.bars = ui.source("place", "size", "slot", "color", "alpha")
        self.course = ui.source("x", "inside", "between")
        self.main = self._trajectories(name)
        self.lam_marks = LamMarks(self.main)
        self.sizes = self._sizes(f"{name}-sizes")
        self.spread = self._spread(f"{name}-spread")

    def _trajectories(self, name: str) -> figure:
        plot = ui.plot(name, x_label="iteration", y_label="weight β", height=TRAJECTORY_HEIGHT)
        self._shade(plot)
        self.lines = Lines(plot)
        looks = {"marker": "x", "size": 8, "line_width": 1.5, "line_color": "color"}
        plot.scatter("x", "at", source=self.marks, **looks)
        plot.add_layout(
            LabelSet(
                x="x",
                y="y",
                y_units="screen",
                text="name",
                source=self.phases,
                text_align="center",
                text_font_size="0.92em",
                text_color=ui.GREY,
            )
        )
        for reach in (plot.x_range, plot.y_range):
            reach.renderers = self.lines.renderers
        self.pointer = ui.point_out(plot, ("β", "y"))
        return plot

    def _shade(self, plot: figure) -> None:
        looks = {"color": ui.GREY, "fill_alpha": "alpha", "line_alpha": 0}
        plot.vstrip("x0", "x1", source=self.bands, **looks)

    def _sizes(self, name: str) -> figure:
        plot = ui.plot(name, x_label="weights in each cluster", y_label="mean β", height=CLUSTER_HEIGHT)
        plot.hbar("place", right="size", height=0.8, source=self.bars, color="color", alpha="alpha")
        plot.x_range.start = 0
        plot.ygrid.visible = False
        ui.name_ticks(plot.yaxis[0], {})
        return plot

    def _spread(self, name: str) -> figure:
        plot = ui.plot(
            name, x_label="iteration", y_label="spread  ·  inside: dashed", log_y=True, height=CLUSTER_HEIGHT
        )
        plot.x_range = self.main.x_range
        self._shade(plot)
        for column, dash in (("inside", "dashed"), ("between", "solid")):
            ui.curve(plot, self.course, column, color=ui.GREY, dash=dash, width=2)
        return plot

    def show_phases(self, phases: Sequence[tuple[int, int, str]]) -> None:
        """Shade phases, given by start, end and name; each name has a shade, except the first.

        If there are several names, those of wide phases are shown.
        """
        names = dict.fromkeys(name for _, _, name in phases)
        shades = {name: PHASE_ALPHAS[k % len(PHASE_ALPHAS)] for k, name in enumerate(names)}
        shaded = [(start, end, shades[name]) for start, end, name in phases if shades[name]]
        self.bands.data = ui.columns(self.bands, shaded)
        least = MIN_LABELLED_SHARE * (phases[-1][1] - phases[0][0]) if len(shades) > 1 else math.inf
        wide = [
            (0.5 * (start + end), LABEL_OFFSET, name) for start, end, name in phases if end - start > least
        ]
        self.phases.data = ui.columns(self.phases, wide)

    def show_marks(self, iterations: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        """Draw a cross at each crossover."""
        ui.put(self.marks, {"x": iterations, "at": values, "color": [CLUSTER_COLORS[slot] for slot in slots]})

    def show_sizes(self, slots: list[int], sizes: list[int], texts: list[str]) -> None:
        """Draw a bar for the size of each cluster, in its colour, the first on top."""
        bars = enumerate(zip(sizes, slots, strict=True))
        rows = [(-k, size, slot, CLUSTER_COLORS[slot], BAR_ALPHA) for k, (size, slot) in bars]
        self.bars.data = ui.columns(self.bars, rows)
        ui.name_ticks(self.sizes.yaxis[0], {-k: text for k, text in enumerate(texts)})

    def isolate(self, slot: int | None) -> None:
        """Highlight the weights of one colour; None ends the highlighting."""
        self.lines.isolate(slot)
        alpha = [BAR_ALPHA if slot in (None, k) else FADED_ALPHA for k in self.bars.data["slot"]]
        ui.put(self.bars, {**self.bars.data, "alpha": alpha})
