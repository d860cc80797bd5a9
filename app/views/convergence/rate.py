"""The view of the rate of convergence: the ratio of successive distances to the optimum."""

from __future__ import annotations

from typing import ClassVar
from weakref import ref

import numpy as np
import panel as pn
import param

from solverscope.app.views.base.feed import Records
from solverscope.app.views.base.plot import X_AXES, RunPlot, menu
from solverscope.solvers import SCORES, Trace, segments

DISTANCE_MEASURES = {
    "objective": ("Objective", "(f₊ − f*) / (f − f*)"),
    "scores": ("Scores", "‖z₊ − z*‖ / ‖z − z*‖"),
}
#: Distance of the objective from f*, in units of |f*|, below which a ratio is rounding.
ROUNDING = 1e-12
#: Distance of the scores from z*, in units of the last step of the run that z* is from, below which a ratio
#: tells more of how far that step still was from the optimum.
RELIABLE_STEPS = 100.0
#: The same relative to ‖z*‖: closer than about √ε, the objective cannot distinguish points z.
RELIABLE_SHARE = 1e-7


class Rate(RunPlot):
    """Ratio of the distances from the optimum after and before each iteration.

    A constant below 1 is linear convergence, a decrease to 0 superlinear convergence. Filled dots are unit
    steps.

    Distances are f - f*, or ‖z - z*‖ of the scores z = Aw (``scores`` probe). Distances of w would not be
    useful, since w may move along flat directions of the loss. z* are the last scores of the run that came
    nearest to the optimum of the same problem. There is no ratio if the previous iteration was not recorded,
    or if the optimum is not known precisely enough.
    """

    id = "rate"
    title = "Rate"
    hint = "Run a solver and wait until f* is known to see its rate of convergence here."
    names = ("x", "y", "unit")
    dots: ClassVar = {"size": 7, "fill_alpha": "unit"}
    probes = (SCORES,)

    x: str = param.Selector(default="iteration", objects=list(X_AXES), doc="field on the horizontal axis")
    measure: str = param.Selector(
        default="objective", objects=list(DISTANCE_MEASURES), doc="what the distance is of"
    )

    axes = (*RunPlot.axes, "measure")

    def controls(self) -> list[pn.viewable.Viewable]:
        names = {name: key for key, (name, _) in DISTANCE_MEASURES.items()}
        return [menu("Distance of", self.param.measure, names)]

    @property
    def y_label(self) -> str:
        return DISTANCE_MEASURES[self.measure][1]

    def hover(self) -> list[tuple[str, str]]:
        return [*super().hover(), ("unit step", "unit")]

    def has_content(self) -> bool:
        return any(len(trace) > 1 and self._optimum(trace) is not None for trace in self.traces)

    def key(self, trace: Trace) -> object:
        optimum = self._optimum(trace)
        return ref(optimum) if isinstance(optimum, Trace) else optimum

    def _optimum(self, trace: Trace) -> tuple[float | None, ...] | Trace | None:
        """Return f* at each λ of the run, or the run whose last scores serve as z*; None if unknown."""
        if self.measure == "objective":
            stars = tuple(segment.f_star for segment in segments(trace))
            return stars if any(star is not None for star in stars) else None
        ended = [t for t in self.traces if t.result and same_end(t, trace) and len(_scored(t)) > 1]
        return min(ended, key=violation_of, default=None)

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        if self.measure == "objective":
            at, away = self._above(trace)
        else:
            at, away = self._scores_away(trace)
        turned = {segment.first for segment in segments(trace)}
        ratios = {
            int(b): after / before
            for a, b, before, after in zip(at[:-1], at[1:], away[:-1], away[1:], strict=True)
            if b == a + 1 and before > 0.0 and b not in turned
        }
        y = np.array([ratios.get(int(k), np.nan) for k in rows["iteration"]])
        return {"y": self.drawable(y), "unit": (rows["step"] == 1.0).astype(float)}

    def _above(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """Return iterations, and f - f* at each; differences of the size of rounding errors are NaN."""
        rows, _, _ = trace.since(None)
        f_star = trace.info.along(rows["iteration"], "f_star")
        away = rows["objective"] - f_star
        return rows["iteration"], np.where(away > ROUNDING * np.abs(f_star), away, np.nan)

    def _scores_away(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """Return iterations, and ‖z - z*‖ at each; distances are NaN if z* is not known precisely enough."""
        best = self._optimum(trace)
        if best is None:
            return np.empty(0), np.empty(0)
        (_, before), (_, star) = _scored(best)[-2:]
        first = segments(trace)[-1].first  # z* is the optimum at the λ that the run ended at
        scored = [(k, z) for k, z in _scored(trace) if k >= first]
        at = np.array([k for k, _ in scored])
        away = np.array([np.linalg.norm(z - star) for _, z in scored])
        sure = max(
            RELIABLE_STEPS * float(np.linalg.norm(star - before)),
            RELIABLE_SHARE * float(np.linalg.norm(star)),
        )
        return at, np.where(away > sure, away, np.nan)


def same_end(a: Trace, b: Trace) -> bool:
    """Return whether two runs have the same optimum at their last λ."""
    keys = [segments(trace)[-1].key for trace in (a, b)]
    return a is b or (keys[0] is not None and keys[0] == keys[1])


def violation_of(trace: Trace) -> float:
    """Return the violation at the end of a run; infinite if it is unknown."""
    found = trace.result.get("violation")
    return np.inf if found is None else found


def _scored(trace: Trace) -> list[tuple[int, np.ndarray]]:
    """Return pairs of an iteration and the scores observed there."""
    return [(k, seen["z"]) for k, seen in trace.probes.entries(SCORES.name)]
