"""Limits of a run: conditions on the newest record, of which the first that is met ends the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from ..declare import number
from ..methods.iterate import Ending
from .breakpoints import Condition

if TYPE_CHECKING:
    import numpy as np

#: Default limits of a run: relative violation, and CPU seconds.
USUAL_TOL, USUAL_SECONDS = 1e-6, 600.0
#: f* is solved for, and printed, to about this relative accuracy.
F_STAR_ACCURACY = 1e-9


@overload
def relative_gap(objective: float, f_star: float) -> float: ...
@overload
def relative_gap(objective: np.ndarray, f_star: float) -> np.ndarray: ...
def relative_gap(objective: Any, f_star: float) -> Any:
    """Return (f - f*)/|f*|, or f - f* if |f*| < 1e-12.

    Parameters
    ----------
    objective, f_star : float
        The value f, and the minimum f*.

    Returns
    -------
    float
    """
    return (objective - f_star) / (abs(f_star) if abs(f_star) >= 1e-12 else 1.0)


def undercuts(objective: float, f_star: float) -> bool:
    """Return whether an objective is below f* by more than 1e-9, relatively, so that f* is not the minimum.

    Parameters
    ----------
    objective, f_star : float
        The value f, and the assumed minimum f*.

    Returns
    -------
    bool
    """
    return relative_gap(objective, f_star) < -F_STAR_ACCURACY


@dataclass(frozen=True)
class Stopping:
    """Limits of a run, which ends as soon as one of them is met; None means no limit.

    Parameters
    ----------
    tol : float, optional
        Violation of optimality relative to its value at w = 0. It does not end the run if f is known to be
        lower elsewhere by more than √tol of f, at most 1 %. For a loss without a gradient it is the proved
        gap relative to f (see :mod:`solverscope.solvers.problems.certificates`).
    gap : float, optional
        Relative distance to ``f_star``; ignored once an iterate is below ``f_star``.
    f_star : float, optional
        The minimum of f.
    max_iter : int, optional
        Number of iterations.
    max_seconds : float, optional
        CPU seconds of the solver.
    breaks : tuple of Condition
        The run ends at the first iterate at which one of these conditions holds.

    Raises
    ------
    ValueError
        If a limit is negative or not finite, or if ``gap`` is given without ``f_star``.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.Stopping(tol=1e-6, max_seconds=10, breaks=(solvers.Condition.parse("nnz > 100"),)).tol
    1e-06
    """

    tol: float | None = None
    gap: float | None = None
    f_star: float | None = None
    max_iter: int | None = None
    max_seconds: float | None = None
    breaks: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tol", "gap", "max_iter", "max_seconds"):
            number(name, getattr(self, name))
        if self.gap is not None and self.f_star is None:
            raise ValueError("a gap can only be measured against f*: give f_star as well")

    def or_usual(self) -> Stopping:
        """Return these limits, or ``tol=1e-6`` and ``max_seconds=600`` if there are none.

        If ``gap`` is the only limit, ``max_seconds`` is added: with a wrong f* the gap may never be reached.
        """
        if self.tol is self.max_iter is self.max_seconds is None:
            return replace(self, tol=USUAL_TOL if self.gap is None else None, max_seconds=USUAL_SECONDS)
        return self

    def ending(
        self, record: Mapping[str, Any], met: Callable[[Mapping[str, Any], float], str | None]
    ) -> Ending | None:
        """Return why the run ends at this record, or None if it continues.

        Convergence is tested before the other limits. ``met(record, tol)`` returns a sentence why the iterate
        is optimal to ``tol``, or None.
        """
        objective = record["objective"]
        if not math.isfinite(objective):
            return Ending("failed", f"the objective became {objective} at iteration {record['iteration']}")
        if self.tol is not None and (reason := met(record, self.tol)):
            return Ending("converged", reason)
        doubtful = False
        if self.gap is not None and self.f_star is not None:
            doubtful = undercuts(objective, self.f_star)
            if not doubtful and relative_gap(objective, self.f_star) <= self.gap:
                return Ending("converged", f"relative gap to f* is at most {self.gap:g}")
        doubt = f"; f is below f* = {self.f_star:.9g}, which so is not the minimum" if doubtful else ""
        if self.max_iter is not None and record["iteration"] >= self.max_iter:
            return Ending("max-iter", f"{self.max_iter} iterations done{doubt}")
        if self.max_seconds is not None and record["cpu_seconds"] >= self.max_seconds:
            return Ending("max-seconds", f"{self.max_seconds:g} CPU seconds used{doubt}")
        return None
