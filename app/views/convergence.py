"""How far from the optimum."""

from __future__ import annotations

import math

import numpy as np
import panel as pn
import param

from app.views.feed import Records, known
from app.views.plot import SCALES, RunPlot, menu
from solvers import Trace

MEASURES = {
    "relative": ("Relative gap", "(f − {ref}) / |{ref}|"),
    "absolute": ("Absolute gap", "f − {ref}"),
    "objective": ("Objective", "f"),
}
#: Gaps below this are rounding, also of f*.
FLOOR = 1e-13


class Convergence(RunPlot):
    """f, f - f* or (f - f*)/|f*| of every run, where f* is what the traces of its problem say
    (``info["f_star"]``), else the best value any of them has reached, whose newest point is then not
    drawn."""

    id = "convergence"
    title = "Distance to f*"

    measure: str = param.Selector(default="relative", objects=list(MEASURES), doc="what is drawn")

    def axis_params(self) -> list[str]:
        return [*super().axis_params(), "measure"]

    def controls(self) -> list[pn.viewable.Viewable]:
        names = {name: key for key, (name, _) in MEASURES.items()}
        return [
            menu("Show", self.param.measure, names),
            menu("Scale", self.param.scale, {scale: scale for scale in SCALES}, width=96),
            self.axis_menu(),
        ]

    def reference(self, trace: Trace) -> tuple[float, bool]:
        """Return f* of the run's problem and True, or the best objective so far and False."""
        alike = [t for t in self.traces if same_problem(t, trace)]
        stars = [t.info["f_star"] for t in alike if t.info.get("f_star") is not None]
        if stars:
            return min(stars), True
        best = [float(np.nanmin(t.objective)) for t in alike if len(t)]
        return min(best, default=math.nan), False

    @property
    def unbounded(self) -> bool:
        """Tell whether a run found that there is no optimum to measure a distance from."""
        return any(t.status == "unbounded" for t in self.traces)

    @property
    def y_label(self) -> str:
        known_star = all(self.reference(t)[1] for t in self.traces if len(t))
        ref = "f*" if known_star else "best so far"
        return MEASURES[self.measure][1].format(ref=ref)

    @property
    def y_name(self) -> str:
        return self.y_label

    def draw(self) -> None:
        if self.unbounded and self.measure != "objective":
            self.param.update(measure="objective", scale="linear")  # draws again
            return
        super().draw()

    def key(self, trace: Trace) -> object:
        return None if self.measure == "objective" else self.reference(trace)

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        f = known(rows["objective"])
        if self.measure == "objective":
            return {"y": self.drawable(f)}
        star, sure = self.reference(trace)
        gap = f - star
        if self.measure == "relative" and abs(star) >= 1e-12:
            gap = gap / abs(star)
        if sure and self.logarithmic:
            gap = np.maximum(gap, FLOOR if self.measure == "relative" else FLOOR * abs(star))
        return {"y": self.drawable(gap)}


def same_problem(a: Trace, b: Trace) -> bool:
    """Tell whether two runs have the same optimum."""
    keys = [trace.info.get("problem", {}).get("key") for trace in (a, b)]
    return a is b or (keys[0] is not None and keys[0] == keys[1])
