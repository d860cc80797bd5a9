"""Parts of a descent, as values: subgradients chosen at kinks, directions, line searches, stops.

Equations and algorithms are those of Yu et al. 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...parts.direction import Direction, descent_direction, quasi_newton
from ...parts.inverse import Inverse
from ...parts.linesearch import Found
from ...problems.line import Line
from ...problems.point import Point
from ...problems.subdifferential import Subdifferential
from ..iterate import Ending
from .progress import LITTLE, WINDOW, Progress

#: Factor of kmax in the last attempt to find a direction, with B = I.
LAST_ATTEMPT = 10
#: Share of the length of a subgradient that is rounding.
NO_LENGTH = 1e-12


@dataclass(frozen=True)
class Subgradients:
    """Choice of a subgradient where f has a kink: the steepest along the last step, which makes sᵀy largest.

    ``random``: an extreme one that is drawn, if it has sᵀy > 0. ``random_at_zero``: draw the first one where
    the run starts at w = 0, since all labels of a sample may tie there, and the first label of each would
    push all samples the same way.
    """

    random: bool = False
    random_at_zero: bool = False
    seed: int = 0

    def at_start(self, point: Point, rng: np.random.Generator) -> Subdifferential:
        """Choose the subgradient at the first point."""
        drawn = self.random or (self.random_at_zero and not point.w.any())
        return _drawn(point, rng) if drawn else Subdifferential(point)

    def after_step(
        self, point: Point, line: Line, before: np.ndarray, rng: np.random.Generator
    ) -> Subdifferential:
        """Choose the subgradient where a step along ``line`` has led from the subgradient ``before``."""
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
#: Searches along a line, and moves; the second argument is the step to try first, if the search tries steps.
SearchRule = Callable[[Line, float], Found[Point]]


def one_subgradient(here: Subdifferential, B: Inverse, start: bool) -> Direction:
    """Return p = -B g for one (sub)gradient g, eq. (2); at a kink it may lead upwards."""
    return quasi_newton(here.g, B)


@dataclass(frozen=True)
class DirectionFinding:
    """Algorithm 2, to the tolerance ``epsilon`` or ``epsilon_start`` (at the start, if that is at w = 0), in
    at most ``kmax`` steps, or the same with the exact QP (19) in place of its lines 7 to 9 (``combining``,
    see :func:`.parts.direction.descent_direction`). Where it fails it runs once more with B = I and ten times
    as many steps."""

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


@dataclass(frozen=True)
class Exact:
    """Go to the minimum; where f falls for ever, ``unbounded`` as in :meth:`.line.Line.exact`."""

    unbounded: str = "ray"

    def __call__(self, line: Line, first: float) -> Found[Point]:
        return line.exact(unbounded=self.unbounded)


@dataclass(frozen=True)
class Wolfe:
    """Satisfy the Wolfe conditions (23) and (24), with ``decay`` by the search of footnote 1."""

    c1: float = 1e-4
    c2: float = 0.9
    decay: float | None = None

    def __call__(self, line: Line, first: float) -> Found[Point]:
        return line.wolfe(self.c1, self.c2, first=first, decay=self.decay)


@dataclass(frozen=True)
class Armijo:
    """Backtrack from a step of 1 by ``beta`` until f has decreased by ``sigma`` of what is promised."""

    beta: float = 0.5
    sigma: float = 1e-4

    def __call__(self, line: Line, first: float) -> Found[Point]:
        return line.armijo(line.slope(), beta=self.beta, sigma=self.sigma)


class StopRule(Protocol):
    """Says when a descent ends by itself, and why."""

    def ending(self, here: Subdifferential, p: Direction, progress: Progress) -> Ending | None:
        """Return why the descent ends at this point; None if it goes on."""
        ...

    def no_step(self, found: Found[Point]) -> Ending:
        """Return why it ends where a search has found no step."""
        ...


@dataclass(frozen=True)
class SmoothStop:
    """End where the violation of optimality is no more than rounding: f is smooth."""

    def ending(self, here: Subdifferential, p: Direction, progress: Progress) -> Ending | None:
        violation = here.point.violation()
        if violation <= here.problem.noise:
            return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
        return None

    def no_step(self, found: Found[Point]) -> Ending:
        return Ending("stalled", "no step along the negative gradient decreases f beyond rounding")


@dataclass(frozen=True)
class NonsmoothStop:
    """End where 0 is a subgradient, where no direction descends, or where f has decreased by less than the
    share ``stagnation`` of itself in a few iterations: f may have kinks."""

    stagnation: float = 1e-8

    def ending(self, here: Subdifferential, p: Direction, progress: Progress) -> Ending | None:
        norm = math.sqrt(p.least)
        cancelled = p.sup >= 0.0 and norm <= NO_LENGTH * float(np.linalg.norm(here.g))
        if norm <= here.problem.noise or cancelled:
            return Ending("converged", "0 is a subgradient up to rounding")
        if p.sup >= 0.0:
            none = f"f falls along no direction found, and the shortest subgradient met has length {norm:.3g}"
            return Ending("stalled", none + progress.proved)
        if self.stagnation and progress.recent_decrease() <= self.stagnation * progress.reference:
            itself = progress.reference == abs(here.point.objective)
            of = (
                f"{self.stagnation:g} of itself" if itself else f"{self.stagnation * LITTLE:g} of the first f"
            )
            little = f"f fell by less than {of} in {WINDOW} iterations"
            return Ending("stalled", little + progress.proved)
        return None

    def no_step(self, found: Found[Point]) -> Ending:
        assert found.search is not None  # a search failed
        slope = found.search.slope
        if slope >= 0.0:
            upwards = f"-B g leads nowhere down from this kink: the slope of f along it is {slope:.3g}"
            return Ending("stalled", f"{upwards}; subbfgs and sublbfgs would find a direction")
        return Ending("stalled", f"no step along p, where f has slope {slope:.3g}, passes the line search")
