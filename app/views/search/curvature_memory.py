"""The view of the memory of a quasi-Newton solver: its pairs (s, y), and the matrix B that they define."""

from __future__ import annotations

import html
from typing import Any, ClassVar

import numpy as np
from bokeh.models import ColorBar, ColumnDataSource, HoverTool, Span
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known
from solverscope.app.views.base.plot import Plots, RunPlot
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.solvers import MEMORY, Trace
from solverscope.solvers.curvature.memory import middle, spectrum

#: Bytes of a number.
BYTES_PER_NUMBER = 8
#: Colours from -1 to 1 that are transparent at 0, for light and dark pages.
PALETTE = [f"{ui.COLORS[1]}{-a:02x}" if a < 0 else f"{ui.COLORS[0]}{a:02x}" for a in range(-255, 256)]


class Pairs(RunPlot):
    """Number of pairs stored by every run; a cross marks an iteration whose pair had too little curvature."""

    id = "memory-pairs"
    title = "Pairs held"
    y_label = "pairs  ·  × skipped"
    names = ("x", "y", "refused")
    dots: ClassVar = {"y": "refused", "marker": "x", "size": 9, "line_width": 2}
    default_scale = "linear"
    solid = True

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        pairs = known(rows["memory_pairs"])
        refused = np.array(["curvature-skipped" in events for events in rows["events"]], dtype=bool)
        return {"y": pairs, "refused": np.where(refused, pairs, np.nan)}


class Scaling(RunPlot):
    """Scaling γ of the matrix B₀ to which the pairs are added: B₀ is γI, or γ times a diagonal."""

    id = "memory-gamma"
    title = "Scaling γ"
    y_label = "scaling γ of B₀"
    solid = True

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        return {"y": self.drawable(known(rows["gamma"]))}


class Bytes(RunPlot):
    """Memory of Q, or of S and Y without Q, with two columns per pair and a row per weight of the working
    set.

    The thin line is the memory that a row for every weight would take.
    """

    id = "memory-bytes"
    title = "Size of the pairs"
    y_label = "MB  ·  all weights: thin"
    thin = ("whole", "all weights")
    solid = True

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        size = trace.info.problem.get("n_params", np.nan)
        columns = 2.0 * BYTES_PER_NUMBER / 1e6 * known(rows["memory_pairs"])
        return {
            "y": self.drawable(columns * known(rows["working_set"])),
            "whole": self.drawable(columns * size),
        }


class Memory(Plots, ProbeView):
    """The pairs of every run over time, and the matrices that they define at the cursor.

    These are SᵀY and the middle matrix of the compact form. The curvature of each pair, and the eigenvalues
    of B on the span of the pairs, are shown as well.
    """

    id = "memory"
    title = "Memory"
    probe = MEMORY
    carried = ("memory",)
    hint = "Run a solver with L-BFGS memory (such as prox-qn or owl-qn) to see its pairs here."

    def build(self) -> None:
        self.plots(Pairs, Bytes, Scaling, height=220)
        self._said = ui.cursor_text(2, 3)
        self._pairs = ui.source("pair", "cosine")
        self._eigenvalues = ui.source("n", "value")
        self._gamma = Span(dimension="width", line_color=ui.GREY, line_dash="dashed")
        self._cross = {name: ui.source(*ui.IMAGE) for name in ("SY", "middle")}
        self._at_cursor = ui.column(kind="plots")
        self._body.extend([ui.column(*self.parts, kind="plots"), self._said, self._at_cursor])
        self._figures = self._make_figures()

    def _make_figures(self) -> list[figure]:
        tips = [("pair", "@pair"), ("cosine", "@cosine{0.[0000]}")]
        cosines = self._dots("cosines", "pair, oldest first", "cos(s, y)", self._pairs, tips)
        tips = [("eigenvalue", "@value{0.[0000]a}")]
        label = "eigenvalue of B, smallest first"
        values = self._dots("eigenvalues", label, "value  ·  γ dashed", self._eigenvalues, tips)
        values.add_layout(self._gamma)
        found = [
            cosines,
            values,
            self._picture_of("SY", "cosines: s down, y across"),
            self._picture_of("middle", "middle matrix: S, then Y"),
        ]
        for plot in found:
            ui.integer_ticks(plot.xaxis)
        for plot in found[2:]:
            ui.integer_ticks(plot.yaxis)
        return found

    def _dots(
        self, name: str, x_label: str, y_label: str, source: ColumnDataSource, tips: list[tuple[str, str]]
    ) -> figure:
        """Return a plot of the two columns of a data source, with a logarithmic scale."""
        plot = ui.plot(f"memory-{name}", x_label=x_label, y_label=y_label, log_y=True, height=240)
        plot.scatter(*source.data, source=source, size=8, color=ui.COLORS[0])
        plot.add_tools(HoverTool(tooltips=tips))
        return plot

    def _picture_of(self, name: str, label: str) -> figure:
        plot = ui.plot(f"memory-{name}", x_label=label, y_label="", height=260)
        tips = [("value", "@image{0.[0000]}")]
        drawn = ui.image(plot, self._cross[name], PALETTE, (-1.0, 1.0), tips)
        plot.y_range.flipped = True
        plot.add_layout(ColorBar(color_mapper=drawn.glyph.color_mapper, width=10), "right")
        return plot

    def has_content(self) -> bool:
        return any(len(t) and int(t.memory_pairs.max(initial=-1)) >= 0 for t in self.traces)

    def seen(self) -> tuple[int, Seen] | None:
        """Return the pairs at the cursor, or the last ones before it if they have just been cleared."""
        here = super().seen()
        if here is None or len(here[1]["SS"]):
            return here
        before = reversed(self.chosen.probes.entries(self.probe.name))
        return next((one for one in before if one[0] < here[0] and len(one[1]["SS"])), here)

    def draw(self) -> None:
        super().draw()
        if (found := self.seen()) is not None:
            self._said.object = self._sentence(*found)

    def draw_nothing(self) -> None:
        self._said.object = self.unobserved()
        self._at_cursor.visible = False

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        # an epoch may clear the pairs, and removing the figures would shift the page
        self._at_cursor.visible = True
        SS, SY, YY = (seen[name] for name in ("SS", "SY", "YY"))
        gamma = float(seen["gamma"])
        cosines = SY / np.sqrt(np.outer(np.diag(SS), YY))
        self._pairs.data = {"pair": np.arange(1, len(SS) + 1), "cosine": np.diag(cosines)}
        M = middle(SS, SY, gamma)
        scale = 1.0 / np.sqrt(np.abs(np.diag(M)))
        self._cross["SY"].data = _picture(cosines)
        self._cross["middle"].data = _picture(M * np.outer(scale, scale))
        values = spectrum(SS, SY, seen["gram"], gamma) if "gram" in seen else np.empty(0)
        self._eigenvalues.data = {"n": np.arange(1, values.size + 1), "value": values}
        self._gamma.location = gamma
        if not len(self._at_cursor):
            self._at_cursor.extend(ui.pane(plot) for plot in self._figures)

    def _sentence(self, iteration: int, seen: Seen) -> str:
        trace, number, pairs = self.cursor.run, ui.number, len(seen["SS"])
        rows, size = int(seen["working_set"]), trace.info.problem.get("n_params")
        # only solvers with an inner problem multiply by B, and form Q from S and Y for it
        held = "Q has" if seen["inner_iterations"] >= 0 else "S and Y have"
        said = f"<p><b>{html.escape(trace.info.label)}</b> at iteration {number(iteration)}: "
        if not pairs:
            return f"{said}no pairs, B = B₀.</p>"
        said += f"{ui.counted(pairs, 'pair')}; {held} {number(2 * pairs)} columns of "
        said += f"{number(rows)} numbers, {number(2 * pairs * BYTES_PER_NUMBER * rows / 1e6, 3)} MB"
        if size is not None and rows < size:
            whole = 2 * pairs * BYTES_PER_NUMBER * size / 1e6
            said += f", instead of {number(whole, 3)} MB for all {number(size)} weights"
        if "gram" not in seen:
            said += "; for so many the eigenvalues of B are not computed"
        found = super().seen()
        here = iteration if found is None else found[0]
        cleared = f" The pairs were cleared by iteration {number(here)}." if here != iteration else ""
        return f"{said}.{cleared}</p>"


def _picture(values: np.ndarray) -> dict[str, Any]:
    """Return a matrix as an image with its first row at 0; an empty matrix has none, as browsers cannot draw
    it."""
    rows, columns = values.shape
    return ui.picture(values, 0, 0, columns, rows) if values.size else dict.fromkeys(ui.IMAGE, ())
