"""Any field of the iterate record over time or iterations."""

from __future__ import annotations

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource, GlyphRenderer

from app.views.feed import Records, known
from app.views.plot import RunPlot, menu
from solvers import FIELDS, Trace

#: Fields that other plots have for their axes.
ELSEWHERE = {"iteration", "epoch", "cpu_seconds", "wall_seconds", "passes"}
ELSEWHERE |= {"objective", "nnz", "nnz_rows", "working_set"}
#: Fields that can be chosen here.
NUMBERS = {name: field for name, field in FIELDS.items() if field.numeric and name not in ELSEWHERE}
#: Share of the iterates below which a field is seldom known.
SELDOM = 0.5


class Record(RunPlot):
    """One field of the record, chosen from a menu; counts on a linear axis, the rest on a logarithmic one. A
    field that is seldom known (the violation of a solver that shrinks: only where it looks at all weights) is
    drawn as dots joined by lines."""

    id = "record"
    title = "Record"
    names = ("x", "y", "dot")

    field: str = param.Selector(default="violation", objects=list(NUMBERS), doc="what is drawn")
    choose: bool = param.Boolean(default=True, doc="whether the field can be chosen from a menu")

    def axis_params(self) -> list[str]:
        return [*super().axis_params(), "field"]

    def controls(self) -> list[pn.viewable.Viewable]:
        if not self.choose:
            return []
        return [menu("Field", self.param.field, {field.title: name for name, field in NUMBERS.items()})]

    def build(self) -> None:
        self._set_scale()
        self.param.watch(lambda event: self._set_scale(), "field")
        super().build()

    def _set_scale(self) -> None:
        self.scale = "linear" if FIELDS[self.field].type is int else "log"

    @property
    def heading(self) -> str:
        return "Record" if self.choose else FIELDS[self.field].label.capitalize()

    @property
    def y_label(self) -> str:
        return FIELDS[self.field].axis

    @property
    def y_name(self) -> str:
        return FIELDS[self.field].label

    def glyphs(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        alpha = {"fill_alpha": "dot", "line_alpha": "dot"}
        dots = self.figure.scatter("x", "y", source=source, size=6, color=color, **alpha)
        return [*super().glyphs(source, color, dash), dots]

    def key(self, trace: Trace) -> object:
        """Tell whether the field is seldom known."""
        values = known(trace.column(self.field))
        return bool(np.isfinite(values).mean() < SELDOM) if len(values) else False

    def kept(self, rows: Records) -> np.ndarray:
        return np.isfinite(known(rows[self.field]))

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        y = self.drawable(known(rows[self.field]))
        return {"y": y, "dot": np.full(len(y), float(self.key(trace)))}
