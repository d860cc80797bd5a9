"""Any field of the iterate record against any other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import panel as pn
import param

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known
from solverscope.app.views.base.help import EQUATIONS, HERE, RUN, Help, Mark
from solverscope.app.views.base.plot import X_AXES, RunPlot, menu
from solverscope.solvers import FIELDS, Trace

#: Fields that have plots of their own, the last ones in the menu.
FIELDS_WITH_PLOTS = ("objective", "nnz", "nnz_rows", "working_set", *X_AXES, "epoch")
#: Fields that can be chosen here.
NUMBERS = {
    name: FIELDS[name]
    for name in (*(name for name in FIELDS if name not in FIELDS_WITH_PLOTS), *FIELDS_WITH_PLOTS)
    if FIELDS[name].numeric
}
#: Of fields that are what their names say.
ANY = (r"k \mapsto r_k", "r: the record of iterate k")

#: Share of the iterates below which a field is seldom known.
SELDOM = 0.5


class Record(RunPlot):
    """One field of the record, chosen from a menu; counts on a linear axis, the rest on a logarithmic one. A
    field that is seldom known is drawn as dots joined by lines: a solver that shrinks knows its violation
    only when it tests all weights."""

    id = "record"
    title = "Record"
    names = ("x", "y", "dot")
    dots: ClassVar = {"size": 6, "fill_alpha": "dot", "line_alpha": "dot"}

    field: str = param.Selector(default="violation", objects=list(NUMBERS), doc="what is drawn")
    choose: bool = param.Boolean(default=True, doc="whether the field can be chosen from a menu")

    axes = (*RunPlot.axes, "field")

    def controls(self) -> list[pn.viewable.Viewable]:
        if not self.choose:
            return []
        fields = {field.title: name for name, field in NUMBERS.items()}
        return [menu("Field", self.param.field, fields), self.scale_menu(), self.axis_menu()]

    def build(self) -> None:
        self._set_scale()
        self.param.watch(lambda event: self._set_scale(), "field")
        super().build()

    def _set_scale(self) -> None:
        self.scale = "linear" if FIELDS[self.field].type is int else "log"

    def explain(self, name: str) -> Help:
        about = FIELDS[self.field]
        equation, source = EQUATIONS.get(self.field, ANY)
        return Help(
            ui.capital(about.title),
            f"The {about.label} of each iterate, for every run. A field that few iterates have is drawn as "
            "dots.",
            equation,
            source,
            (RUN, Mark("•", "an iterate with a value, where most have none"), HERE),
        )

    @property
    def heading(self) -> str:
        return "Record" if self.choose else ui.capital(FIELDS[self.field].axis)

    @property
    def y_label(self) -> str:
        return FIELDS[self.field].axis if self.choose else ""

    @property
    def y_name(self) -> str:
        return FIELDS[self.field].label

    def key(self, trace: Trace) -> object:
        """Return whether the field is known at few iterates only."""
        values = known(trace.column(self.field))
        return bool(np.isfinite(values).mean() < SELDOM) if len(values) else False

    def kept(self, rows: Records) -> np.ndarray:
        there, on_axis = np.isfinite(known(rows[self.field])), super().kept(rows)
        return there if on_axis is None else there & on_axis

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        y = self.drawable(known(rows[self.field]))
        return {"y": y, "dot": np.full(len(y), float(self.key(trace)))}
