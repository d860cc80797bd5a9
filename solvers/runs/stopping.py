"""When a run ends: rules over the newest record, joined by "whichever comes first"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..methods.iterate import Ending
from .breakpoints import Condition

#: f* is solved for, and printed, to about this relative accuracy.
F_STAR_ACCURACY = 1e-9


def relative_gap(objective: float, f_star: float) -> float:
    """Return (f - f*)/|f*|, or f - f* where |f*| < 1e-12."""
    return (objective - f_star) / (abs(f_star) if abs(f_star) >= 1e-12 else 1.0)


def undercuts(objective: float, f_star: float) -> bool:
    """Tell whether an objective is so far below f* that this cannot be the minimum."""
    return relative_gap(objective, f_star) < -F_STAR_ACCURACY


@dataclass(frozen=True)
class Stopping:
    """Limits of a run; None means no such limit.

    ``tol``: violation relative to its value at w = 0, or proved gap relative to f where the loss has no
    gradient (see :mod:`solvers.problems.optimality`). ``gap``: relative distance to ``f_star``, which ends
    nothing once an iterate is below that. ``max_seconds``: CPU seconds of the solver. ``breaks``: conditions,
    the first iterate at which one holds is the last.
    """

    tol: float | None = None
    gap: float | None = None
    f_star: float | None = None
    max_iter: int | None = None
    max_seconds: float | None = None
    breaks: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tol", "gap", "max_iter", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}: give a finite number that is not negative")
        if self.gap is not None and self.f_star is None:
            raise ValueError("a gap can only be measured against f*: give f_star as well")

    def or_usual(self) -> Stopping:
        """Return these limits; where there is none, a violation of 1e-6 relative and 600 CPU seconds.

        A gap alone gets the seconds as well: with a wrong f* it may never be reached.
        """
        if self.tol is self.max_iter is self.max_seconds is None:
            return replace(self, tol=1e-6 if self.gap is None else None, max_seconds=600.0)
        return self

    def ending(
        self, record: Mapping[str, object], met: Callable[[Mapping[str, object], float], str | None]
    ) -> Ending | None:
        """Say why the run ends at this record, or None. Convergence is looked at before the limits;
        ``met(record, tol)`` says why the iterate is optimal to ``tol``, if it is."""
        objective = record["objective"]
        if not math.isfinite(objective):
            return Ending("failed", f"the objective became {objective} at iteration {record['iteration']}")
        if self.tol is not None and (reason := met(record, self.tol)):
            return Ending("converged", reason)
        doubtful = self.gap is not None and undercuts(objective, self.f_star)
        if self.gap is not None and not doubtful and relative_gap(objective, self.f_star) <= self.gap:
            return Ending("converged", f"relative gap to f* is at most {self.gap:g}")
        doubt = f"; f is below f* = {self.f_star:.9g}, which so is not the minimum" if doubtful else ""
        if self.max_iter is not None and record["iteration"] >= self.max_iter:
            return Ending("max-iter", f"{self.max_iter} iterations done{doubt}")
        if self.max_seconds is not None and record["cpu_seconds"] >= self.max_seconds:
            return Ending("max-seconds", f"{self.max_seconds:g} CPU seconds used{doubt}")
        return None
