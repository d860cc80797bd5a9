"""Gradient and quasi-Newton methods along straight lines, for smooth losses and for losses with kinks.

J. Yu, S. V. N. Vishwanathan, S. Günter, N. N. Schraudolph: A Quasi-Newton Approach to Nonsmooth Convex
Optimization Problems in Machine Learning, JMLR 11, 2010. Equations, algorithms and letters are theirs: J is
the objective f, and B estimates the *inverse* of its Hessian.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declare import Trait, as_printed, param
from ..parts.direction import Direction, descent_direction, quasi_newton
from ..parts.inverse import DenseInverse, Identity, Inverse
from ..parts.linesearch import Found, unsearched
from ..parts.memory import PairMemory
from ..problems.subdifferential import Subdifferential
from .iterate import NAN, Ending, Iterate
from .solver import Solver, available_memory

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
#: Share of the free memory that a full matrix may take.
MOST_OF_MEMORY = 0.5

SEARCHES = (
    "search along the direction: to the minimum (exact), by the Wolfe conditions, by the same from a long "
    "step downwards by 0.9 (ils), or by Armijo's rule"
)


def memory_param() -> int:
    """Declare ``memory`` of limited-memory BFGS."""
    return param(15, "pairs (s, y) kept", low=1, high=1000)


def h_param() -> float:
    """Declare ``h`` of Algorithm 1."""
    return param(1e-8, "the least sᵀy/yᵀy that a pair is given", low=0.0)


def smooth_search_param() -> str:
    """Declare ``line_search`` of the methods that are at home where f is smooth."""
    return param("wolfe", SEARCHES, choices=("wolfe", "ils", "exact", "armijo"))


@dataclass(frozen=True)
class LineMethod(Solver):
    """Base of the family: the loop of Algorithm 1. A subclass says what B is (``_inverse``), and how a
    direction is found (``_direction``)."""

    paper = "Yu et al. 2010, section 2"
    needs = Trait.SLOPES | Trait.NO_KINKS
    line_search: str = param("exact", SEARCHES, choices=("exact", "wolfe", "ils", "armijo"))
    subgradient: str = param(
        "sup",
        "subgradient at a kink: the steepest along the step, or a random extreme one",
        choices=("sup", "random"),
    )
    c1: float = param(1e-4, "Wolfe: share of the promised decrease asked for, eq. (23)", low=0.0, high=0.5)
    c2: float = param(0.9, "Wolfe: share of the slope that may be left, eq. (24)", low=0.0, high=0.9999)
    beta: float = param(0.5, "Armijo: factor of backtracking", low=0.0, high=0.999, open_low=True)
    sigma: float = param(1e-4, "Armijo: share of the promised decrease asked for", low=0.0, high=0.5)
    stagnation: float = param(
        1e-8, "end where f has kinks and fell by less than this share in 5 iterations", low=0.0, high=1.0
    )
    unbounded: str = param(
        "end",
        "where f falls for ever along a direction: end, or step to the last kink on the way",
        choices=("end", "last-kink"),
    )
    seed: int = param(0, "seed of random subgradients", low=0)

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        """Advance by Algorithm 1, whose lines are numbered here."""
        rng, progress = np.random.default_rng(self.seed), Progress(problem.penalty.ridge)
        here, B = self._start(problem.at(w0), rng), self._inverse(problem)  # 1-3
        found, known, events, t = None, {}, [], 0
        while True:
            p = self._direction(here, B, events, start=t == 0)  # 5
            known["dual_gap"] = progress.gap(here.point.objective, p.least)
            yield self._record(here, p, B, t, found=found, events=tuple(events), **known)
            if ending := self._ending(here, p, progress):
                return ending  # 6, 7

            events = []
            line, found = self._step(here, p, B, found, events, start=t == 0)  # 9, 11
            if not 0.0 < found.t < math.inf:
                return self._no_step(here, p, line, found)
            s, g = found.t * line.d, here.g  # 10
            here = self._subgradient(found.point, line, g, rng)  # 12
            y = here.g - g  # 13
            curvature = B.push(self._lengthened(s, y), y)  # 14, 15
            events += ["curvature-skipped"] if curvature is None else []
            events += [] if here.single else ["kink"]
            known, t = {"curvature": NAN if curvature is None else curvature}, t + 1  # 16

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

    def _record(self, here: Subdifferential, p: Direction, B: Inverse, t: int, **known: Any) -> Iterate:
        """Make the record of an iterate; what it carries of the direction is of the one found there."""
        live = {"gradient": here.g, "direction": p, "inverse": B}
        if isinstance(B, PairMemory):
            known["memory"] = B
            known["gamma"] = B.scaling("yy/sy") if len(B) else NAN
        return Iterate.at(here.point, t, violation=here.point.violation(), live=live, **known)

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


def lengthened(s: np.ndarray, y: np.ndarray, h: float) -> np.ndarray:
    """Add so much of y to s that sᵀy/yᵀy is at least h; the point stays where it is."""
    squares = float(y @ y)
    short = h - float(s @ y) / squares if squares > 0.0 else 0.0
    return s + short * y if short > 0.0 else s


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
    )

    def _direction(self, here: Subdifferential, B: Inverse, events: list[str], *, start: bool) -> Direction:
        return quasi_newton(here.g, B)

    def _starts_by_unit_step(self, point: Point) -> bool:
        return self.first_step == "unit" and not point.problem.smooth and not point.w.any()


@dataclass(frozen=True)
class GradientDescent(OneSubgradientMethod):
    """p = -g, g a random subgradient where f has a kink."""

    id = "gd"
    name = "GD"
    summary = "gradient descent, at kinks by a random subgradient"
    paper = "Yu et al. 2010, section 2.2"

    subgradient: str = param(
        "random",
        "subgradient at a kink: a random extreme one, or the steepest along the step",
        choices=("random", "sup"),
    )
    first_step: str = param(
        "unit",
        "first step from w = 0 of a loss with kinks: of length 1 without a search, or searched",
        choices=("unit", "searched"),
    )

    def _inverse(self, problem: Problem) -> Inverse:
        return Identity()


@dataclass(frozen=True)
class LBFGS(OneSubgradientMethod):
    """p = -B g, B from the newest pairs, B₀ scaled by sᵀy/yᵀy of the newest: Liu and Nocedal 1989."""

    id = "lbfgs"
    name = "L-BFGS"
    summary = "quasi-Newton steps by limited-memory BFGS"
    paper = "Yu et al. 2010, sections 1 and 2.1; Liu and Nocedal 1989"
    presets = as_printed(line_search="ils", c1=1e-3, c2=0.8, first_step="unit")

    line_search: str = smooth_search_param()
    memory: int = memory_param()

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + 8

    def _inverse(self, problem: Problem) -> Inverse:
        return PairMemory(self.memory, problem.pulse)


@dataclass(frozen=True)
class BFGS(OneSubgradientMethod):
    """p = -B g, B with all its d x d entries."""

    id = "bfgs"
    name = "BFGS"
    summary = "quasi-Newton steps with a full matrix"
    paper = "Yu et al. 2010, sections 1 and 2.1"
    presets = as_printed(line_search="ils", c1=1e-3, c2=0.8, scaled=False)

    line_search: str = smooth_search_param()
    scaled: bool = param(True, "scale B by sᵀy/yᵀy before its first update")

    def refuses(self, problem: Problem) -> str | None:
        return no_room_for_matrix(self.id, "lbfgs", problem) or super().refuses(problem)

    def _inverse(self, problem: Problem) -> Inverse:
        return DenseInverse(problem.size, scaled=self.scaled, pulse=problem.pulse)


def no_room_for_matrix(id: str, other: str, problem: Problem) -> str | None:
    """Say in a sentence why a d x d matrix does not fit into memory, and which solver needs none; None if it
    does."""
    needed, free = 8 * problem.size**2, available_memory()
    if needed <= MOST_OF_MEMORY * free:
        return None
    return (
        f"{id} keeps a matrix of {problem.size} x {problem.size} entries, {needed / 2**30:.1f} GiB, and "
        f"{free / 2**30:.1f} GiB are free: take {other}, or a smaller problem"
    )


@dataclass(frozen=True)
class DescentMethod(LineMethod):
    """Base of the methods that find a direction by Algorithm 2, which descends at kinks too."""

    presets = as_printed(subgradient="random")

    epsilon: float = param(1e-5, "ε: direction-finding tolerance", low=0.0)
    epsilon_start: float = param(1.0, "ε at w = 0 in the first iteration, where all labels may tie", low=0.0)
    kmax: int = param(1000, "direction-finding steps of an iteration, at most", low=1)

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

    def _record(self, here: Subdifferential, p: Direction, B: Inverse, t: int, **known: Any) -> Iterate:
        return super()._record(here, p, B, t, inner_iterations=p.steps, **known)


@dataclass(frozen=True)
class SubGD(DescentMethod):
    """Steepest descent at kinks too: Algorithm 2 with B = I."""

    id = "subgd"
    name = "subGD"
    summary = "steepest descent, at kinks by direction finding"
    paper = "Yu et al. 2010, section 2.2"

    def _inverse(self, problem: Problem) -> Inverse:
        return Identity()


@dataclass(frozen=True)
class SubBFGS(DescentMethod):
    """Algorithm 1: BFGS whose directions descend at kinks too."""

    id = "subbfgs"
    name = "subBFGS"
    summary = "BFGS with a full matrix for losses with kinks"
    paper = "Yu et al. 2010, Algorithm 1"

    h: float = h_param()

    def _lengthened(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return lengthened(s, y, self.h)

    def refuses(self, problem: Problem) -> str | None:
        return no_room_for_matrix(self.id, "sublbfgs", problem) or super().refuses(problem)

    def _inverse(self, problem: Problem) -> Inverse:
        return DenseInverse(problem.size, pulse=problem.pulse)


@dataclass(frozen=True)
class SubLBFGS(DescentMethod):
    """Algorithm 1 with B from the newest pairs, B₀ scaled by sᵀy/yᵀy of the newest."""

    id = "sublbfgs"
    name = "subL-BFGS"
    summary = "limited-memory BFGS for losses with kinks"
    paper = "Yu et al. 2010, section 3.5"

    memory: int = memory_param()
    h: float = h_param()

    def _lengthened(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return lengthened(s, y, self.h)

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + 12

    def _inverse(self, problem: Problem) -> Inverse:
        return PairMemory(self.memory, problem.pulse)
