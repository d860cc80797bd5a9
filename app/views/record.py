"""Any field of the iterate record over time or iterations."""

from __future__ import annotations

import numpy as np
import panel as pn
import param

from app.views.feed import Rows, known
from app.views.plot import RunPlot, menu
from solvers import FIELDS, Trace

#: Fields that can be drawn, and what their axis says.
NUMBERS = {
    "violation": "violation of optimality",
    "step": "accepted step t",
    "ls_trials": "trials of the line search",
    "memory_pairs": "L-BFGS pairs held",
    "gamma": "scaling γ of the first matrix",
    "curvature": "curvature sᵀy of the newest pair",
    "inner_iterations": "inner iterations",
    "loss": "loss part L of the objective",
    "penalty": "penalty part λR of the objective",
    "returned": "variables back that shrinking had missed",
    "dual_gap": "dual gap",
    "clusters": "clusters",
    "crossovers": "weights that changed cluster",
}
COUNTED = {name for name in NUMBERS if FIELDS[name] is int}


class Record(RunPlot):
    """One field of the record, chosen from a menu; counts on a linear axis, the rest on a logarithmic one."""

    id = "record"
    title = "Record"

    field: str = param.Selector(default="violation", objects=list(NUMBERS), doc="what is drawn")
    choose: bool = param.Boolean(default=True, doc="whether the field can be chosen from a menu")

    def axis_params(self) -> list[str]:
        return [*super().axis_params(), "field"]

    def controls(self) -> list[pn.viewable.Viewable]:
        if not self.choose:
            return []
        return [menu("Field", self.param.field, {name.replace("_", " "): name for name in NUMBERS})]

    def build(self) -> None:
        self._set_scale()
        self.param.watch(lambda event: self._set_scale(), "field")
        super().build()

    def _set_scale(self) -> None:
        self.scale = "linear" if self.field in COUNTED else "log"

    @property
    def heading(self) -> str:
        return "Record" if self.choose else NUMBERS[self.field].capitalize()

    @property
    def y_label(self) -> str:
        return NUMBERS[self.field]

    @property
    def y_name(self) -> str:
        return NUMBERS[self.field]

    def values(self, trace: Trace, rows: Rows) -> dict[str, np.ndarray]:
        return {"y": self.drawable(known(rows[self.field]))}
