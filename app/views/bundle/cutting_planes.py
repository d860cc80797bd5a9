"""The model of a bundle method: its cutting planes, their weights, and the bounds that they prove."""

from __future__ import annotations

import html
from functools import partial

import numpy as np
from bokeh.models import GlyphRenderer

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known
from solverscope.app.views.base.plot import Plots, RunPlot
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.bundle.cut_section import CutSection
from solverscope.app.views.bundle.cut_weights import MIN_WEIGHT, CutWeights
from solverscope.app.views.convergence.any_field import Record
from solverscope.solvers import CUTS, Trace, lower_bound


class BundleBounds(RunPlot):
    """f of every run, and as a thin line the lower bound on f* from its proved gap.

    The vertical range follows f, so a lower bound far below it is not visible at first.
    """

    id = "bundle-bounds"
    title = "Best value and lower bound"
    y_label = "f  ·  lower bound: thin"
    y_name = "f"
    thin = ("bound", "lower bound")
    default_scale = "linear"

    def _fit_to(self, lines: list[GlyphRenderer]) -> None:
        super()._fit_to(lines)
        self.figure.y_range.range_padding = 0.5
        self.figure.y_range.renderers = [one for one in lines if getattr(one.glyph, "y", "") != "bound"]

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        f = known(rows["objective"])
        return {"y": f, "bound": np.asarray(lower_bound(f, known(rows["dual_gap"])))}


class BundleView(Plots, ProbeView):
    """Cuts of the run under the cursor, and bounds of all runs.

    It shows the cuts on a line below the function, up to the cursor, and the weights α of all cuts over the
    iterations. For all runs it shows the best value with the lower bound, and the gap between the two.
    """

    id = "bundle"
    title = "Bundle"
    probe = CUTS
    carried = ("cuts",)
    hint = CutWeights.hint
    every = 5

    def build(self) -> None:
        self.section, self.weights = CutSection(whole=self), CutWeights(whole=self)
        gap = partial(Record, field="dual_gap", choose=False)
        self.bounds, self.gap = self.plots(BundleBounds, gap, height=220)
        self._said = ui.cursor_text(1, 2, on_top=True)
        across = ui.column(
            ui.column(self.section, kind="broad"),
            *(ui.column(part, kind="narrow") for part in (self.weights, self.bounds, self.gap)),
            kind="across",
        )
        self._body.extend([self._said, across])

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        self._said.object = sentence(self.chosen, iteration, seen)


def sentence(trace: Trace, iteration: int, seen: Seen) -> str:
    """Describe the model: number of cuts, proved bound, and dropped cuts."""
    number, held = ui.number, len(seen["numbers"])
    best, bound = float(seen["best"]), float(seen["bound"])
    carrying = int(np.count_nonzero(seen["alpha"] > MIN_WEIGHT))
    said = f"<b>{html.escape(trace.info.label)}</b> at iteration {number(iteration)}: "
    said += f"{ui.counted(held, 'cut')}, {number(carrying)} active. "
    said += f"The best f is {number(best, 6)} and the lower bound of f* is {number(bound, 6)}: "
    said += f"f* is proved to within {number(max(best - bound, 0.0), 3)}."
    if dropped := int(seen["numbers"].max()) + 1 - held:
        were = ui.counted(dropped, "inactive cut was", "inactive cuts were")
        said += f" {were} dropped; their aggregate stays."
    if refused := int(seen["refused"]):
        said += f" {ui.counted(refused, 'duplicate was', 'duplicates were')} skipped."
    return f"<p>{said}</p>"
