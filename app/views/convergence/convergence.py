"""The view of the distance to the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar
from weakref import ref

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource

from solverscope.app import ui
from solverscope.app.views.base.feed import Records, known, latest
from solverscope.app.views.base.phases import turns
from solverscope.app.views.base.plot import RunPlot, menu
from solverscope.app.views.convergence.identification import Aways, nearest
from solverscope.solvers import SUPPORT, Segment, Trace, segments

OBJECTIVE_MEASURES = {
    "relative": ("Relative gap", "(f − {ref}) / |{ref}|"),
    "absolute": ("Absolute gap", "f − {ref}"),
    "objective": ("Objective", "f"),
    "weights": ("Distance of w", "‖w − w*‖ / ‖w*‖"),
    "support": ("Support", "weights wrongly zero or not"),
}
#: Measures that need w*.
OF_WEIGHTS = ("weights", "support")
#: Smaller gaps are rounding errors, also of f*.
FLOOR = 1e-13
#: Note if the leading run is compared with itself: its last points are near the best value, which is its own.
PLUNGES = "\nthe leader seems to plunge"


class Convergence(RunPlot):
    """f, f - f* or (f - f*)/|f*| of every run, or the distance of its weights from the optimum.

    f* is taken from the traces of the problem. If it is unknown, the best value of any run replaces it, and
    the point of this value is not drawn. After a change of λ, f* is that of the current λ. Squares mark
    changes of phase.

    The distance is that of w from w*, or the number of weights that are zero in only one of the two. w* are
    the last weights of the run that came nearest to the optimum of the same problem. A diamond marks the
    iterate from which on a run has the support of w*. The optimum is unique with a ridge, and for λ‖w‖₁ with
    features in general position (Tibshirani, EJS 2013).
    """

    id = "convergence"
    title = "Distance to f*"
    probes = (SUPPORT,)

    measure: str = param.Selector(default="relative", objects=list(OBJECTIVE_MEASURES), doc="what is drawn")

    axes = (*RunPlot.axes, "measure")
    #: Measures in the menu.
    measures: ClassVar[Sequence[str]] = tuple(OBJECTIVE_MEASURES)

    def controls(self) -> list[pn.viewable.Viewable]:
        names = {OBJECTIVE_MEASURES[key][0]: key for key in self.measures}
        return [
            menu("Show", self.param.measure, names),
            self.scale_menu(),
            self.axis_menu(),
        ]

    def references(self, trace: Trace) -> list[tuple[int, float, bool]]:
        """Return the first iteration of each segment of a run, a reference value, and whether that is f*."""
        return [(segment.first, *self._reference(trace, segment)) for segment in segments(trace)]

    def _alike(self, trace: Trace, segment: Segment) -> list[tuple[Trace, Segment]]:
        """Return all runs, each with a segment, that have the problem and λ of this segment."""
        return [
            (t, s)
            for t in self.traces
            for s in segments(t)
            if (t is trace and s.first == segment.first) or (s.key is not None and s.key == segment.key)
        ]

    def _known_star(self, trace: Trace, segment: Segment) -> float | None:
        stars = (s.f_star for _, s in self._alike(trace, segment) if s.f_star is not None)
        return min(stars, default=None)

    def _reference(self, trace: Trace, segment: Segment) -> tuple[float, bool]:
        if (star := self._known_star(trace, segment)) is not None:
            return star, True
        alike = self._alike(trace, segment)
        read = ((t, s, t.since(None)[0]) for t, s in alike)  # at one time: a run may go on meanwhile
        reached = (
            rows["objective"][t.info.along(rows["iteration"], "iteration") == s.first] for t, s, rows in read
        )
        best = [float(np.nanmin(objectives)) for objectives in reached if not np.all(np.isnan(objectives))]
        return min(best, default=math.nan), False

    @property
    def unbounded(self) -> bool:
        """Return whether a run found f unbounded below, so that there is no optimum."""
        return any(t.status == "unbounded" for t in self.traces)

    @property
    def y_label(self) -> str:
        if self.measure in OF_WEIGHTS:
            return OBJECTIVE_MEASURES[self.measure][1]
        unknown = (self._known_star(t, s) is None for t in self.traces if len(t) for s in segments(t))
        if not any(unknown):
            return OBJECTIVE_MEASURES[self.measure][1].format(ref="f*")
        label = OBJECTIVE_MEASURES[self.measure][1].format(ref="best so far")
        label = label.replace(" / ", "\n/ ")  # too long for one
        return label if self.measure == "objective" else f"{label}{PLUNGES}"

    @property
    def y_name(self) -> str:
        return self.y_label.removesuffix(PLUNGES).replace("\n", " ")

    def backdrop(self) -> None:
        self._aways = Aways()
        self._turns = ui.source("x", "y", "color")
        looks = {"marker": "square", "size": 8, "line_width": 1.5, "line_color": "color", "fill_alpha": 0.0}
        self.figure.scatter("x", "y", source=self._turns, level="overlay", **looks)
        self._found = ui.source("x", "y", "color")
        ui.diamonds(self.figure, self._found, "x", "y", color="color", fill_alpha=1.0)

    def draw(self) -> None:
        if self.unbounded and self.measure != "objective":
            self.param.update(measure="objective", scale="linear")  # draws again
            return
        if self.measure == "support" and self.logarithmic:
            self.scale = "linear"  # draws again: it comes to zero
            return
        self._mark(self._turns, "turns", lambda trace, rows: turns(rows).tolist())
        self._mark(self._found, "identified", self._identified)
        super().draw()

    def _mark(self, source: ColumnDataSource, name: str, find: Callable[[Trace, Records], list[int]]) -> None:
        """Draw a mark at each row that ``find`` returns for a run."""
        read = [(trace, trace.since(None)[0]) for trace in self.traces]
        marked = [(trace, rows, at) for trace, rows in read if (at := find(trace, rows))]
        if self._drawn.changed(name, *((at, *self._shown(trace)) for trace, _, at in marked)):
            points = [self.points(*one) for one in marked]
            source.data = {name: [value for one in points for value in one[name]] for name in source.data}

    def _identified(self, trace: Trace, rows: Records) -> list[int]:
        """Return, as a list, the row from which on a run has the support of the optimum, if there is one."""
        best = nearest(trace, self.traces) if self.measure in OF_WEIGHTS else None
        if best is None or (since := self._aways.identified(trace, best)) is None:
            return []
        return [min(int(np.searchsorted(rows["iteration"], since)), len(rows["iteration"]) - 1)]

    def _away_from_w(self, trace: Trace, iterations: np.ndarray) -> np.ndarray:
        """Return the measure of the weights at these iterates.

        It is the last observed value, or NaN before the first.
        """
        best = nearest(trace, self.traces)
        if best is None:
            return np.full(len(iterations), np.nan)
        at, distances, differences = self._aways.of(trace, best)
        if self.measure == "support":
            distances = differences
        return latest(at, distances, iterations)

    def key(self, trace: Trace) -> object:
        if self.measure in OF_WEIGHTS:
            best = nearest(trace, self.traces)
            return None if best is None else ref(best)
        return None if self.measure == "objective" else tuple(self.references(trace))

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        f = known(rows["objective"])
        if self.measure == "objective":
            return {"y": self.drawable(f)}
        if self.measure in OF_WEIGHTS:
            return {"y": self.drawable(self._away_from_w(trace, rows["iteration"]))}
        firsts, stars, sures = (np.array(column) for column in zip(*self.references(trace), strict=True))
        at = np.searchsorted(firsts[1:], rows["iteration"], side="right")
        star, sure = stars[at], sures[at]
        unit = np.where(np.abs(star) >= 1e-12, np.abs(star), 1.0)
        gap = (f - star) / unit if self.measure == "relative" else f - star
        if self.logarithmic:
            floor = FLOOR if self.measure == "relative" else FLOOR * np.abs(star)
            gap = np.where(sure, np.maximum(gap, floor), gap)
        return {"y": self.drawable(gap)}
