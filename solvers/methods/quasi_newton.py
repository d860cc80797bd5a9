"""Gradient and quasi-Newton methods along straight lines, for smooth losses and for losses with kinks.

J. Yu, S. V. N. Vishwanathan, S. Günter, N. N. Schraudolph: A Quasi-Newton Approach to Nonsmooth Convex
Optimization Problems in Machine Learning, JMLR 11, 2010. Equations, algorithms and letters are theirs: J is
the objective f, and B estimates the *inverse* of its Hessian.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..declare import Trait, as_printed, param
from ..parts.direction import Direction, descent_direction, quasi_newton
from ..parts.inverse import Inverse
from ..parts.linesearch import Found, unsearched
from ..parts.memory import PairMemory
from ..problems.subdifferential import Subdifferential
from .estimates import FullMatrix, LengthenedPairs, LimitedMemory, NoMemory
from .iterate import NAN, Ending, Iterate
from .solver import Solver

if TYPE_CHECKING:
    from ..problems.line import Line
    from ..problems.point import Point
    from ..problems.problem import Problem

#: Iterations over which the fall of f is looked at.
WINDOW = 5
#: Factor of kmax in the last attempt to find a direction, with B = I.
LAST_ATTEMPT = 10
#: Share of the length of a subgradient that is rounding.
NO_LENGTH = 1e-12

SEARCHES = (
    "search along the direction: to the minimum (exact), by the Wolfe conditions, by the same from a long "
    "step downwards by 0.9 (ils), or by Armijo's rule"
)


def epsilon_param() -> float:
    """Declare ``epsilon`` of Algorithm 2."""
    return param(1e-5, "ε: direction-finding tolerance", low=0.0, title="direction tolerance ε")


def kmax_param() -> int:
    """Declare ``kmax`` of Algorithm 2."""
    return param(
        1000, "direction-finding steps of an iteration, at most", low=1, title="direction steps, at most"
    )


def smooth_search_param() -> str:
    """Declare ``line_search`` of the methods that are at home where f is smooth."""
    return param("wolfe", SEARCHES, choices=("wolfe", "ils", "exact", "armijo"), title="line search")


class Visit(NamedTuple):
    """What :meth:`LineMethod.descent` knows at an iterate, ``t`` steps after its first: the subgradients
    ``here``, the direction ``p`` found here, B, and how it came here: the search's outcome, the step ``s``
    and the ``curvature`` sᵀy of the pair that it gave; none of them at the first. ``gap`` bounds f - f*."""

    here: Subdifferential
    p: Direction
    B: Inverse
    t: int
    found: Found[Point] | None
    s: np.ndarray | None
    curvature: float
    gap: float
    events: tuple[str, ...]

    def known(self) -> dict[str, Any]:
        """Return what an iterate tells of the step and of B, by the names of :meth:`Iterate.at`."""
        known = {"found": self.found, "curvature": self.curvature, "events": self.events}
        if isinstance(self.B, PairMemory):
            known |= {"memory": self.B, "gamma": self.B.scaling("yy/sy") if len(self.B) else NAN}
        return known


def each(
    descent: Generator[Visit, None, Ending],
    record: Callable[[Visit], Iterate],
    enough: Callable[[Visit], bool] = lambda visit: False,
) -> Generator[Iterate, None, Ending | None]:
    """Yield the ``record`` of each visit; return how the descent ends, None if ``enough`` ends it before."""
    while True:
        try:
            visit = next(descent)
        except StopIteration as end:
            return end.value
        yield record(visit)
        if enough(visit):
            return None


@dataclass(frozen=True)
class LineMethod(Solver):
    """Base of the family: the loop of Algorithm 1. A subclass says what B is (``_inverse``), and how a
    direction is found (``_direction``)."""

    paper = "Yu et al. 2010, section 2"
    needs = Trait.SLOPES | Trait.NO_KINKS
    line_search: str = param(
        "exact", SEARCHES, choices=("exact", "wolfe", "ils", "armijo"), title="line search"
    )
    subgradient: str = param(
        "sup",
        "subgradient at a kink: the steepest along the step, or a random extreme one",
        choices=("sup", "random"),
        title="choice of subgradient",
    )
    c1: float = param(
        1e-4,
        "Wolfe: share of the promised decrease asked for, eq. (23)",
        low=0.0,
        high=0.5,
        title="Wolfe: decrease c₁",
    )
    c2: float = param(
        0.9,
        "Wolfe: share of the slope that may be left, eq. (24)",
        low=0.0,
        high=0.9999,
        title="Wolfe: slope c₂",
    )
    beta: float = param(
        0.5,
        "Armijo: factor of backtracking",
        low=0.0,
        high=0.999,
        open_low=True,
        title="backtracking factor β",
    )
    sigma: float = param(
        1e-4,
        "Armijo: share of the promised decrease asked for",
        low=0.0,
        high=0.5,
        title="decrease asked for σ",
    )
    stagnation: float = param(
        1e-8,
        "end where f has kinks and fell by less than this share in 5 iterations",
        low=0.0,
        high=1.0,
        title="end at stagnation",
    )
    unbounded: str = param(
        "end",
        "where f falls for ever along a direction: end, or step to the last kink on the way",
        choices=("end", "last-kink"),
        title="where f falls for ever",
    )
    seed: int = param(0, "seed of random subgradients", low=0, title="random seed")

    @property
    def dense_vectors(self) -> int:
        return 8

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        descent = self.descent(problem.at(w0), self._inverse(problem), Progress(problem.penalty.ridge))
        return (yield from each(descent, lambda visit: self._record(visit, visit.t)))

    def descent(self, point: Point, B: Inverse, progress: Progress) -> Generator[Visit, None, Ending]:
        """Go down from ``point`` by Algorithm 1, whose lines are numbered here, from the ``B`` given; yield
        what is known at each iterate, the first one included."""
        problem, rng = point.problem, np.random.default_rng(self.seed)
        pulse = problem.pulse
        here, t = self._start(point, rng), 0  # 1-3
        found, s, curvature, events = None, None, NAN, []
        while True:
            pulse()  # and between all that takes long for millions of weights
            p = self._direction(here, B, events, start=t == 0)  # 5
            pulse()
            gap = progress.gap(here.point.objective, p.least)
            yield Visit(here, p, B, t, found, s, curvature, gap, tuple(events))
            if ending := self._ending(here, p, progress):
                return ending  # 6, 7

            events = []
            line, found = self._step(here, p, B, found, events, start=t == 0)  # 9, 11
            if not 0.0 < found.t < math.inf:
                return self._no_step(here, p, line, found)
            s, g = problem.vector(lambda d, t=found.t: t * d, line.d), here.g  # 10
            here = self._subgradient(found.point, line, g, rng)  # 12
            y = problem.vector(np.subtract, here.g, g)  # 13
            pulse()
            pushed = B.push(self._lengthened(s, y), y)  # 14, 15
            events += ["curvature-skipped"] if pushed is None else []
            events += [] if here.single else ["kink"]
            curvature, t = NAN if pushed is None else pushed, t + 1  # 16

    def _inverse(self, problem: Problem) -> Inverse:
        """Return B₀ = I, which is then updated."""
        raise TypeError(f"{type(self).__name__} does not define _inverse")

    def _start(self, point: Point, rng: np.random.Generator) -> Subdifferential:
        """Choose a subgradient where the run starts: any one, or a random one."""
        if self.subgradient == "random" and not point.problem.smooth:
            return Subdifferential(point, point.problem.loss.random_subgradient(point.scores, rng))
        return Subdifferential(point)

    def _subgradient(
        self, point: Point, line: Line, before: np.ndarray, rng: np.random.Generator
    ) -> Subdifferential:
        """Choose a subgradient where a step has led, so that sᵀy > 0 if one has it: the steepest along the
        step has the largest sᵀy."""
        problem = point.problem
        if self.subgradient == "random" and not problem.smooth:
            here = Subdifferential(point, problem.loss.random_subgradient(point.scores, rng))
            if float(line.d @ (here.g - before)) > 0.0:
                return here
        return Subdifferential(point)

    def _direction(self, here: Subdifferential, B: Inverse, events: list[str], *, start: bool) -> Direction:
        """Return the direction at a point; ``start`` tells the first from the others."""
        raise TypeError(f"{type(self).__name__} does not define _direction")

    def _starts_by_unit_step(self, point: Point) -> bool:
        """Tell whether the first step has length 1 without a search."""
        return False

    def _step(
        self,
        here: Subdifferential,
        p: Direction,
        B: Inverse,
        last: Found[Point] | None,
        events: list[str],
        *,
        start: bool,
    ) -> tuple[Line, Found[Point]]:
        """Search along p, and move; return the line as well."""
        point, problem = here.point, here.problem
        line = problem.line(point, p.p)
        if start and self._starts_by_unit_step(point):
            return line, unsearched(line.move(1.0), 1.0)
        found = self._search(line, p, B, last)
        if found.t == 0.0 and problem.smooth and len(B):
            B.clear()
            events.append("memory-cleared")
            p, failed = quasi_newton(here.g, B), found
            line = problem.line(point, p.p)
            found = self._search(line, p, B, last)
            found = found._replace(trials=failed.trials + found.trials)
        return line, found

    def _search(self, line: Line, p: Direction, B: Inverse, last: Found[Point] | None) -> Found[Point]:
        """Search along a line. With B = I the length of p means nothing: the first trial is then the last
        accepted step, or of length 1 at most."""
        first = 1.0
        if not len(B):
            first = last.t if last is not None else min(1.0, 1.0 / float(np.linalg.norm(p.p)))
        if self.line_search == "exact":
            found = line.exact(unbounded="last-kink" if self.unbounded == "last-kink" else "ray")
        elif self.line_search == "wolfe":
            found = line.wolfe(self.c1, self.c2, first=first)
        elif self.line_search == "ils":
            found = line.wolfe(self.c1, self.c2, first=first, decay=0.9)
        else:
            found = line.armijo(line.slope(), beta=self.beta, sigma=self.sigma)
        found.search.model = -float(p.combination @ p.p)
        return found

    def _lengthened(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return s as it enters a pair."""
        return s

    def _record(self, visit: Visit, iteration: int, **known: Any) -> Iterate:
        """Make the record of an iterate; what it carries of the direction is of the one found there."""
        live = {"gradient": visit.here.g, "direction": visit.p, "inverse": visit.B}
        point = visit.here.point
        known = {"violation": point.violation(), "dual_gap": visit.gap, **visit.known(), **known}
        return Iterate.at(point, iteration, live=live | known.pop("live", {}), **known)

    def _ending(self, here: Subdifferential, p: Direction, progress: Progress) -> Ending | None:
        """Say why the run ends at this iterate; None if it does not."""
        problem, point = here.problem, here.point
        if problem.smooth:
            violation = point.violation()
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
            return None
        if p.sup >= 0.0:
            norm = math.sqrt(p.least)
            if norm <= NO_LENGTH * float(np.linalg.norm(here.g)):
                return Ending("converged", "0 is a subgradient up to rounding")
            none = f"f falls along no direction found, and the shortest subgradient met has length {norm:.3g}"
            return Ending("stalled", none + progress.sentence)
        if self.stagnation and progress.fell() <= self.stagnation * abs(point.objective):
            little = f"f fell by less than {self.stagnation:g} of itself in {WINDOW} iterations"
            return Ending("stalled", little + progress.sentence)
        return None

    def _no_step(self, here: Subdifferential, p: Direction, line: Line, found: Found[Point]) -> Ending:
        """Say why no step was taken."""
        if math.isinf(found.t):
            return Ending("unbounded", f"f falls for ever along {_words(line.d)} from {_words(here.point.w)}")
        if here.problem.smooth:
            return Ending("stalled", "no step along the negative gradient decreases f beyond rounding")
        slope = found.search.slope
        if slope >= 0.0:
            upwards = f"-B g leads nowhere down from this kink: the slope of f along it is {slope:.3g}"
            return Ending("stalled", f"{upwards}; subbfgs and sublbfgs would find a direction")
        return Ending("stalled", f"no step along p, where f has slope {slope:.3g}, passes the line search")


class Progress:
    """What is proved of the minimum of a ``ridge``-strongly convex f, and how f fell of late.

    For any subgradient g at w the minimum is at least f(w) - ‖g‖²/(2 ridge); the largest such bound is kept.
    """

    def __init__(self, ridge: float) -> None:
        self.ridge, self._bound, self._gap = ridge, -math.inf, NAN
        self._recent: deque[float] = deque(maxlen=WINDOW + 1)

    def gap(self, f: float, squares: float) -> float:
        """Take up an iterate: f there, and ‖g‖² of the shortest subgradient known. Return a bound of
        f - min f; nan without a ridge."""
        if self._recent and f > self._recent[-1]:  # by a step without a search, from which it has to recover
            self._recent.clear()
        self._recent.append(f)
        if self.ridge > 0.0:
            self._bound = max(self._bound, f - squares / (2.0 * self.ridge))
            self._gap = max(f - self._bound, 0.0)
        return self._gap

    def fell(self) -> float:
        """Return by how much f fell over the last iterations; inf while there are too few of them."""
        return self._recent[0] - self._recent[-1] if len(self._recent) > WINDOW else math.inf

    @property
    def sentence(self) -> str:
        """Return what is proved, to be added to a message."""
        if math.isnan(self._gap):
            return ""
        return f"; f is proved to be above the minimum by {self._gap:.3g} at most"


def _words(v: np.ndarray) -> str:
    """Write a vector: its entries if they are few, else its length."""
    if v.size <= 3:
        return "(" + ", ".join(f"{x:.6g}" for x in v) + ")"
    return f"a vector of {v.size} entries and length {np.linalg.norm(v):.3g}"


@dataclass(frozen=True)
class OneSubgradientMethod(LineMethod):
    """Base of the methods that go by p = -B g, g one (sub)gradient.

    At a kink p may lead upwards. The search then finds no step and the run ends: that is how these methods
    break on losses with kinks. Only where f is smooth is B given up first, and -g tried.
    """

    first_step: str = param(
        "searched",
        "first step from w = 0 of a loss with kinks: searched, or of length 1 without a search",
        choices=("searched", "unit"),
        title="first step at w = 0",
    )

    def _direction(self, here: Subdifferential, B: Inverse, events: list[str], *, start: bool) -> Direction:
        return quasi_newton(here.g, B)

    def _starts_by_unit_step(self, point: Point) -> bool:
        return self.first_step == "unit" and not point.problem.smooth and not point.w.any()


@dataclass(frozen=True)
class GradientDescent(NoMemory, OneSubgradientMethod):
    """p = -g, g a random subgradient where f has a kink."""

    id = "gd"
    name = "GD"
    summary = "gradient descent, at kinks by a random subgradient"
    paper = "Yu et al. 2010, section 2.2"

    subgradient: str = param(
        "random",
        "subgradient at a kink: a random extreme one, or the steepest along the step",
        choices=("random", "sup"),
        title="choice of subgradient",
    )
    first_step: str = param(
        "unit",
        "first step from w = 0 of a loss with kinks: of length 1 without a search, or searched",
        choices=("unit", "searched"),
        title="first step at w = 0",
    )


@dataclass(frozen=True)
class LBFGS(LimitedMemory, OneSubgradientMethod):
    """p = -B g, B from the newest pairs, B₀ scaled by sᵀy/yᵀy of the newest: Liu and Nocedal 1989."""

    id = "lbfgs"
    name = "L-BFGS"
    summary = "quasi-Newton steps by limited-memory BFGS"
    paper = "Yu et al. 2010, sections 1 and 2.1; Liu and Nocedal 1989"
    presets = as_printed(line_search="ils", c1=1e-3, c2=0.8, first_step="unit")

    line_search: str = smooth_search_param()


@dataclass(frozen=True)
class BFGS(FullMatrix, OneSubgradientMethod):
    """p = -B g, B with all its d x d entries."""

    id = "bfgs"
    name = "BFGS"
    summary = "quasi-Newton steps with a full matrix"
    paper = "Yu et al. 2010, sections 1 and 2.1"
    presets = as_printed(line_search="ils", c1=1e-3, c2=0.8, scaled=False)
    lighter = "lbfgs"

    line_search: str = smooth_search_param()
    scaled: bool = param(True, "scale B by sᵀy/yᵀy before its first update", title="scaled first B")


@dataclass(frozen=True)
class DescentMethod(LineMethod):
    """Base of the methods that find a direction by Algorithm 2, which descends at kinks too."""

    presets = as_printed(subgradient="random")

    epsilon: float = epsilon_param()
    epsilon_start: float = param(
        1.0,
        "ε at w = 0 in the first iteration, where all labels may tie",
        low=0.0,
        title="direction tolerance at w = 0",
    )
    kmax: int = kmax_param()

    @property
    def dense_vectors(self) -> int:
        return 12

    def _start(self, point: Point, rng: np.random.Generator) -> Subdifferential:
        """Choose a random subgradient at w = 0, where all labels of a sample may tie: the first label of each
        would push all samples the same way."""
        if not (point.w.any() or point.problem.smooth):
            return Subdifferential(point, point.problem.loss.random_subgradient(point.scores, rng))
        return super()._start(point, rng)

    def _direction(self, here: Subdifferential, B: Inverse, events: list[str], *, start: bool) -> Direction:
        """Run Algorithm 2; where it fails, once more with B = I and more patience."""
        epsilon = self.epsilon_start if start and not here.point.w.any() else self.epsilon
        p = descent_direction(here.g, B, here.sup, epsilon=epsilon, kmax=self.kmax)
        if p.sup < 0.0:
            return p
        if len(B):
            B.clear()
            events.append("memory-cleared")
        again = descent_direction(here.g, B, here.sup, epsilon=epsilon, kmax=LAST_ATTEMPT * self.kmax)
        again.steps, again.least = p.steps + again.steps, min(p.least, again.least)
        return again

    def _record(self, visit: Visit, iteration: int, **known: Any) -> Iterate:
        return super()._record(visit, iteration, inner_iterations=visit.p.steps, **known)


@dataclass(frozen=True)
class SubGD(NoMemory, DescentMethod):
    """Steepest descent at kinks too: Algorithm 2 with B = I."""

    id = "subgd"
    name = "subGD"
    summary = "steepest descent, at kinks by direction finding"
    paper = "Yu et al. 2010, section 2.2"


@dataclass(frozen=True)
class SubBFGS(LengthenedPairs, FullMatrix, DescentMethod):
    """Algorithm 1: BFGS whose directions descend at kinks too."""

    id = "subbfgs"
    name = "subBFGS"
    summary = "BFGS with a full matrix for losses with kinks"
    paper = "Yu et al. 2010, Algorithm 1"
    lighter = "sublbfgs"


@dataclass(frozen=True)
class SubLBFGS(LengthenedPairs, LimitedMemory, DescentMethod):
    """Algorithm 1 with B from the newest pairs, B₀ scaled by sᵀy/yᵀy of the newest."""

    id = "sublbfgs"
    name = "subL-BFGS"
    summary = "limited-memory BFGS for losses with kinks"
    paper = "Yu et al. 2010, section 3.5"
