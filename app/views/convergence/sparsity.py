"""The view of sparsity and size of the working set."""

from __future__ import annotations

import numpy as np
import panel as pn
import param

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.views.base.feed import Records, known, shaded
from solverscope.app.views.base.plot import X_AXES, RunPlot, menu
from solverscope.app.views.base.run_events import begins, returns
from solverscope.app.views.base.states import kind_of
from solverscope.solvers import ACTIVE, FIELDS, Trace

#: What can be drawn: field of the record, name in the menu, label.
COUNTED_FIELDS = {name: (ui.capital(FIELDS[name].title), FIELDS[name].label) for name in ("nnz", "nnz_rows")}


class Sparsity(RunPlot):
    """Nonzero weights of every run as a line, and the size of its working set as a thin line.

    Epochs of the run under the cursor are shaded alternately. A thin vertical line marks an epoch that begins
    with a test of all weights. A diamond marks weights that return after shrinking had removed them.
    """

    id = "sparsity"
    title = "Non-zeros and working set"
    thin = ("working_set", "working set")

    count: str = param.Selector(default="nnz", objects=list(COUNTED_FIELDS), doc="what is counted")

    axes = (*RunPlot.axes, "count")

    def controls(self) -> list[pn.viewable.Viewable]:
        return [menu("Count", self.param.count, {name: key for key, (name, _) in COUNTED_FIELDS.items()})]

    @property
    def y_label(self) -> str:
        seen = [trace for trace in self.traces if trace.probes.last(ACTIVE.name, 0) is not None]
        kinds = dict.fromkeys(kind_of(trace).many for trace in seen) or {"weights": None}
        of = "" if list(kinds) == ["weights"] else f" of {' or '.join(kinds)}"
        return f"{COUNTED_FIELDS[self.count][1]}  ·  working set{of}: thin"

    @property
    def y_name(self) -> str:
        return COUNTED_FIELDS[self.count][1]

    def backdrop(self) -> None:
        self._bands = ui.source("x0", "x1")
        self._returns = ui.source("x", "y", "n")
        self._looks = ui.source("x", "low", "high", "color")
        self.figure.vstrip("x0", "x1", source=self._bands, color=ui.GREY, fill_alpha=0.13, line_alpha=0)
        self.figure.segment("x", "low", "x", "high", source=self._looks, color="color", alpha=0.7)
        style = {"fill_alpha": 0, "line_width": 1.5, "color": ui.GREY}
        ui.diamonds(self.figure, self._returns, "x", "y", **style)

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        return {
            "y": self.drawable(known(rows[self.count])),
            "working_set": self.drawable(known(rows["working_set"])),
        }

    def draw(self) -> None:
        super().draw()
        self._mark_epochs()

    def _mark_epochs(self) -> None:
        trace = self.chosen
        rows, until, _ = trace.since(None) if trace is not None else ({}, None, False)
        if not self._drawn.changed("epochs", *((until, *self._shown(trace)) if trace is not None else ())):
            return
        bands, back, tall = (), (), ()
        if trace is not None:
            x = self.across(rows)
            if self.x in X_AXES:  # else one epoch may lie on both sides of another
                bands = shaded(x, rows["epoch"])
            count = returns(rows)
            at = np.flatnonzero(count)
            back = x[at], self.drawable(known(rows[self.count]))[at], count[at]
            size = trace.info.problem.get("n_params", 0)
            left = begins(rows) & np.isfinite(rows["violation"]) & (rows["working_set"] < size)
            low = self.drawable(known(rows["working_set"]))[left]
            color = run_styles.color_and_dash(trace, self.traces.index(trace))[0]
            tall = x[left], low, [size] * len(low), [color] * len(low)
        ui.fill(self._bands, *bands)
        ui.fill(self._returns, *back)
        ui.fill(self._looks, *tall)
