"""Line searches: they see numbers only, and leave the problem untouched."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from ..problems.working_set import WorkingSet

#: Units of rounding of |f| by which a step may miss its decrease: near the optimum every step misses it.
ROUNDING = 10 * sys.float_info.epsilon
#: Where a step leads: a point, or what a solver needs to get there.
Place = TypeVar("Place")


class Search:
    """Log of a search along a path w(t) from w(0) = w, for views and records.

    ``objective`` is f(w). ``trials`` lists what was tried, (t, f(w(t))), in order, and ``allowed`` the most
    that the rule let f be there, which tends to ``reference`` with t: f(w) but for a search that may rise.
    ``d`` is the direction where the path is w + t d, or its projection; the path is straight where ``active``
    is given, the weights that d has entries of. A search in one block of the weights, number ``block``, sees
    the part of f that depends on them.

    ``promised`` is Δ of a rule f + tσΔ, the change that a step of 1 is promised to make to first order.
    ``model`` is dᵀB d for the matrix B of the solver's own model of f, where the solver knows it for nothing.
    """

    def __init__(
        self,
        objective: float,
        d: np.ndarray | None = None,
        *,
        active: WorkingSet | None = None,
        block: int = -1,
        reference: float | None = None,
    ) -> None:
        self.objective, self.d, self.active, self.block = objective, d, active, block
        self.reference = objective if reference is None else reference
        self.promised = self.model = math.nan
        self.trials: list[tuple[float, float]] = []
        self.allowed: list[float] = []

    def note(self, t: float, value: float, allowed: float) -> None:
        """Add a trial to the log."""
        self.trials.append((t, value))
        self.allowed.append(allowed)


class Trial(NamedTuple, Generic[Place]):
    """One step tried: where it leads, f there, the largest f that the rule allows, and its verdict."""

    point: Place
    value: float
    allowed: float
    accepted: bool


class Found(NamedTuple, Generic[Place]):
    """Outcome of a search: the ``point`` that the accepted step ``t`` leads to, the log of the ``search``,
    and the number of ``trials``, those of searches that failed before it included.

    t is 0 where no step was accepted; the point is then None, or where the search began. A pass over blocks,
    with a search in each, has no t (nan): ``search`` is its longest, and ``trials`` counts those of all.
    ``kind`` is the record's ``ls_kind``.
    """

    point: Place | None
    t: float
    search: Search | None
    trials: int
    kind: str = "armijo"

    @property
    def backtracked(self) -> bool:
        """Tell whether a step was accepted, but not the first one tried."""
        return self.search is not None and 0.0 < self.t != self.search.trials[0][0]


def unsearched(point: Place, t: float = float("nan")) -> Found[Place]:
    """Return the outcome of a step, or of a pass of steps, that was taken without a search."""
    return Found(point, t, None, -1, "none")


def backtrack(
    attempt: Callable[[float], Trial[Place]],
    search: Search,
    t: float = 1.0,
    *,
    beta: float = 0.5,
    max_trials: int = 30,
) -> Found[Place]:
    """Try t, βt, β²t, ... until one is accepted. Every attempt is added to the log ``search``."""
    for _ in range(max_trials):
        trial = attempt(t)
        search.note(t, trial.value, trial.allowed)
        if trial.accepted:
            return Found(trial.point, t, search, len(search.trials))
        t *= beta
    return Found(None, 0.0, search, len(search.trials))


def decreases(new: float, old: float, bound: float) -> bool:
    """Test new <= old + bound up to rounding; bound is σ times the promised decrease, negative."""
    return new <= old + bound + ROUNDING * abs(old)


def armijo(
    phi: Callable[[float], tuple[Place, float]],
    search: Search,
    decrease: float,
    *,
    beta: float,
    sigma: float,
    t: float = 1.0,
    max_trials: int = 30,
) -> Found[Place]:
    """Backtrack from ``t`` on until φ(t) <= φ(0) + t σ Δ, with Δ = ``decrease`` < 0; ``phi(t)`` returns where
    t leads, and φ(t)."""
    f, search.promised = search.objective, decrease

    def attempt(t: float) -> Trial[Place]:
        point, value = phi(t)
        bound = t * sigma * decrease
        return Trial(point, value, f + bound, decreases(value, f, bound))

    return backtrack(attempt, search, t, beta=beta, max_trials=max_trials)
