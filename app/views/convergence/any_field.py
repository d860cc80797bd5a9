"""The view of any field of the iterate record over any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import panel as pn
import param

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known
from solverscope.app.views.base.help import EQUATIONS, HERE, RUN, Help, Mark
from solverscope.app.views.base.plot import X_AXES, RunPlot, menu
from solverscope.solvers import FIELDS, Trace
from solverscope.solvers.methods.iterate_record import Field, own_field

#: Fields that have plots of their own; they come last in the menu.
FIELDS_WITH_PLOTS = ("objective", "nnz", "nnz_rows", "working_set", *X_AXES, "epoch")
#: Fields in the menu.
NUMBERS = {
    name: FIELDS[name]
    for name in (*(name for name in FIELDS if name not in FIELDS_WITH_PLOTS), *FIELDS_WITH_PLOTS)
    if FIELDS[name].numeric
}
#: Equation of fields whose name explains them.
ANY = (r"k \mapsto r_k", "r: the record of iterate k")

#: Fraction of the iterates below which a field is considered rarely known.
SELDOM = 0.5


class FieldChoice(param.Selector):
    """A choice of a field of the record, or of a name that only some runs have.

    Selector would keep such names as options of other views.
    """

    def _ensure_value_is_in_objects(self, val: object) -> None:
        pass


class Record(RunPlot):
    """One field of the record, chosen from a menu, over time or iterations.

    Counts have a linear axis, other fields a logarithmic one. A field that is rarely known is drawn as dots
    joined by lines: a solver that shrinks knows its violation only when it tests all weights.
    """

    id = "record"
    title = "Record"
    names = ("x", "y", "dot")
    dots: ClassVar = {"size": 6, "fill_alpha": "dot", "line_alpha": "dot"}

    # a run may have fields of its own
    field: str = FieldChoice(
        default="violation", objects=list(NUMBERS), check_on_set=False, doc="what is drawn"
    )
    choose: bool = param.Boolean(default=True, doc="whether the field can be chosen from a menu")

    axes = (*RunPlot.axes, "field")

    def controls(self) -> list[pn.viewable.Viewable]:
        if not self.choose:
            return []
        self._own: list[str] = []
        self._menu = menu("Field", self.param.field, _by_title(NUMBERS))
        return [self._menu, self.scale_menu(), self.axis_menu()]

    @property
    def about(self) -> Field:
        """Return the field that is drawn."""
        return NUMBERS.get(self.field) or own_field(self.field)

    def draw(self) -> None:
        if self.choose:
            self._offer_own()
        super().draw()

    def _offer_own(self) -> None:
        """List fields that only some runs have, before the others."""
        fields = {name: field for trace in self.traces for name, field in trace.fields.items()}
        own = [name for name in fields if name not in FIELDS]
        if own != self._own:
            self._own, chosen = own, self.field
            self._menu.options = _by_title({name: fields[name] for name in own} | NUMBERS)
            self.field = chosen if chosen in NUMBERS or chosen in own else self.param.field.default

    def build(self) -> None:
        self._set_scale()
        self.param.watch(lambda event: self._set_scale(), "field")
        super().build()

    def _set_scale(self) -> None:
        self.scale = "linear" if self.about.type is int or self.field not in FIELDS else "log"

    def explain(self, name: str) -> Help:
        about = self.about
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
        return "Record" if self.choose else ui.capital(self.about.axis)

    @property
    def y_label(self) -> str:
        return self.about.axis if self.choose else ""

    @property
    def y_name(self) -> str:
        return self.about.label

    def key(self, trace: Trace) -> object:
        """Return whether the field of a run is known at few iterates only."""
        values = known(trace.column(self.field)) if self.field in trace.fields else ()
        return bool(np.isfinite(values).mean() < SELDOM) if len(values) else False

    def kept(self, rows: Records) -> np.ndarray:
        there, on_axis = np.isfinite(self._of(rows)), super().kept(rows)
        return there if on_axis is None else there & on_axis

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        y = self.drawable(self._of(rows))
        return {"y": y, "dot": np.full(len(y), float(self.key(trace)))}

    def _of(self, rows: Records) -> np.ndarray:
        """Return the field at these rows, NaN if the run does not have it."""
        return known(rows[self.field]) if self.field in rows else np.full(len(rows["iteration"]), np.nan)


def _by_title(fields: Mapping[str, Field]) -> dict[str, str]:
    return {field.title: name for name, field in fields.items()}
