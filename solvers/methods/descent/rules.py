"""Interchangeable parts of a descent: subgradients at kinks, directions, stopping rules.

Equations and algorithms are those of Yu et al. 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...curvature.direction import Direction, descent_direction, quasi_newton
from ...curvature.inverse import Inverse
from ...problems.line import Line
from ...problems.point import Point
from ...problems.subdifferential import Subdifferential
from ...search.outcome import SearchResult
from ..iterate import Ending
from .progress import FIRST_SHARE, STAGNATION_WINDOW, DescentProgress

#: Factor of kmax in the last attempt to find a direction, with B = I.
LAST_ATTEMPT = 10
#: Length, relative to that of a subgradient, below which it is rounding.
NO_LENGTH = 1e-12


@dataclass(frozen=True)
class Subgradients:
    """The choice of a subgradient at a kink of f: by default the steepest along the last step.

    The steepest maximizes sᵀy. With ``random`` an extreme subgradient is drawn, and used if it has sᵀy > 0.
    With ``random_at_zero`` the first one is drawn if the run starts at w = 0. All labels of a sample may tie
    there, and the first label of each would push all samples the same way.
    """

    random: bool = False
    random_at_zero: bool = False
    seed: int = 0

    def at_start(self, point: Point, rng: np.random.Generator) -> Subdifferential:
        """Return the subgradient at the first point."""
        drawn = self.random or (self.random_at_zero and not point.w.any())
        return _drawn(point, rng) if drawn else Subdifferential(point)

    def after_step(
        self, point: Point, line: Line, before: np.ndarray, rng: np.random.Generator
    ) -> Subdifferential:
        """Return the subgradient after a step along ``line`` from a point with the subgradient ``before``."""
        if self.random:
            here = _drawn(point, rng)
            if float(line.d @ (here.g - before)) > 0.0:
                return here
        return Subdifferential(point)


def _drawn(point: Point, rng: np.random.Generator) -> Subdifferential:
    return Subdifferential(point, point.problem.loss.random_subgradient(point.scores, rng))


#: Finds a direction for subgradients and B, which it may clear; the last argument is true at the first point
#: of a descent.
DirectionRule = Callable[[Subdifferential, Inverse, bool], Direction]
#: Searches along a line, and moves, as the values of :mod:`solverscope.solvers.search.line_search` do; the
#: second argument is the step to try first, if the search tries steps.
SearchRule = Callable[[Line, float], SearchResult[Point]]


def one_subgradient(here: Subdifferential, B: Inverse, start: bool) -> Direction:
    """Return p = -B g for one (sub)gradient g, eq. (2); at a kink it may be an ascent direction."""
    return quasi_newton(here.g, B)


@dataclass(frozen=True)
class DirectionFinding:
    """Algorithm 2 as a rule for directions, in at most ``kmax`` steps.

    Its tolerance is ``epsilon``, or ``epsilon_start`` at the start of a run from w = 0. ``combining`` may
    replace its lines 7 to 9 with the exact QP (19), see :func:`.direction.descent_direction`. If it fails, it
    runs once more with B = I and ten times as many steps.
    """

    epsilon: float = 1e-5
    epsilon_start: float = 1.0
    kmax: int = 1000
    combining: str = "algorithm-2"

    def __call__(self, here: Subdifferential, B: Inverse, start: bool) -> Direction:
        epsilon = self.epsilon_start if start and not here.point.w.any() else self.epsilon
        how = {"epsilon": epsilon, "combining": self.combining, "pulse": here.problem.pulse}

        def found(kmax: int) -> Direction:
            return descent_direction(here.g, B, here.sup, kmax=kmax, **how)

        p = found(self.kmax)
        if p.descends:
            return p
        B.clear()
        again = found(LAST_ATTEMPT * self.kmax)
        again.steps, again.least = p.steps + again.steps, min(p.least, again.least)
        if p.qp_iterations >= 0:
            again.qp_iterations += p.qp_iterations
        return again


class StopRule(Protocol):
    """The condition under which a descent ends by itself."""

    def ending(self, here: Subdifferential, p: Direction, progress: DescentProgress) -> Ending | None:
        """Return why the descent ends at this point; return None if it continues."""
        ...

    def no_step(self, found: SearchResult[Point]) -> Ending:
        """Return why the descent ends after a search that found no step."""
        ...


@dataclass(frozen=True)
class SmoothStop:
    """Stopping rule for smooth f: end once the violation of optimality is at rounding level."""

    def ending(self, here: Subdifferential, p: Direction, progress: DescentProgress) -> Ending | None:
        violation = here.point.violation()
        if violation <= here.problem.noise:
            return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
        return None

    def no_step(self, found: SearchResult[Point]) -> Ending:
        return Ending("stalled", "no step along the negative gradient decreases f beyond rounding")


@dataclass(frozen=True)
class NonsmoothStop:
    """Stopping rule for f with kinks.

    The descent ends if 0 is a subgradient, if no direction descends, or if f stagnates. It stagnates if it
    decreases by less than ``stagnation`` times itself in a few iterations.
    """

    stagnation: float = 1e-8

    def ending(self, here: Subdifferential, p: Direction, progress: DescentProgress) -> Ending | None:
        norm = math.sqrt(p.least)
        cancelled = p.sup >= 0.0 and norm <= NO_LENGTH * float(np.linalg.norm(here.g))
        if norm <= here.problem.noise or cancelled:
            return Ending("converged", "0 is a subgradient up to rounding")
        if p.sup >= 0.0:
            none = f"no descent direction was found, and the shortest subgradient has length {norm:.3g}"
            return Ending("stalled", none + progress.proved)
        if self.stagnation and progress.recent_decrease() <= self.stagnation * progress.reference:
            itself = progress.reference == abs(here.point.objective)
            of = (
                f"{self.stagnation:g} of itself"
                if itself
                else f"{self.stagnation * FIRST_SHARE:g} of the first f"
            )
            little = f"f fell by less than {of} in {STAGNATION_WINDOW} iterations"
            return Ending("stalled", little + progress.proved)
        return None

    def no_step(self, found: SearchResult[Point]) -> Ending:
        assert found.search is not None  # a search failed
        slope = found.search.slope
        if slope >= 0.0:
            upwards = f"-B g is no descent direction at this kink: the slope of f along it is {slope:.3g}"
            return Ending("stalled", f"{upwards}; subbfgs and sublbfgs would find a direction")
        return Ending("stalled", f"no step along p, where f has slope {slope:.3g}, passes the line search")
