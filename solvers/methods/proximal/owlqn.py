"""Orthant-wise limited-memory quasi-Newton: Andrew and Gao, ICML 2007, and its variant of Yu et al. 2010."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...curvature.direction import MOST_SUBGRADIENTS, Direction, descent_direction
from ...curvature.memory import PairMemory
from ...declare import Trait, as_printed, param, random_seed
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import OBJECTIVE_ROUNDING, Armijo, backtrack, decreases
from ...search.outcome import NOWHERE, SearchLog, SearchResult, Trial
from ..common_params import as_in
from ..descent.estimates import LimitedMemory
from ..descent.progress import STAGNATION_WINDOW, DescentProgress
from ..descent.quasi_newton import DirectionFindingMethod
from ..iterate import NAN, Ending, Iterate
from ..solver import Solver

#: Predicted decrease of a first step, in units of the rounding of f, below which it is near the minimum.
NEAR_MINIMUM = 1e4


class Heading(NamedTuple):
    """The direction ``d`` of a step, and the orthant it stays in.

    ``orthant`` has the sign of each weight (0: the weight stays zero). ``v`` is the subgradient that predicts
    the decrease, and ``found`` the outcome of Algorithm 2, if it was used.
    """

    d: np.ndarray
    orthant: np.ndarray
    v: np.ndarray
    found: Direction | None = None


@dataclass(frozen=True)
class OWLQN(LimitedMemory, Solver):
    """L-BFGS inside the orthant that the pseudo-gradient points to, with a projected backtracking search.

    The decrease is tested on the displacement after projection, f(w⁺) <= f(w) + σ ◇ᵀ(w⁺ - w), as in the
    paper. The first step tries t = 1/‖◇‖₂ and backtracks by a factor of 0.1, as the authors' program does.
    Pairs are those of the smooth part of f. If the smooth part is linear, the first step yields no pair. The
    next step is then :meth:`.line.Line.straight_step`, since ‖◇‖₂ depends on the unit of the features.

    With ``subgradient="random"`` a random subgradient replaces the pseudo-gradient ◇, which is the shortest
    subgradient. At each zero weight the penalty then contributes λu, u uniform in [-1, 1] (Yu et al. 2010,
    section 8.4).
    """

    id = "owl-qn"
    name = "OWL-QN"
    summary = "L-BFGS projected on orthants"
    paper = "Andrew and Gao 2007; Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.SEPARABLE
    carries = ("line", "memory")

    memory: int = 10
    beta: float = as_in(Armijo, "beta")
    sigma: float = as_in(Armijo, "sigma")
    subgradient: str = param(
        "shortest",
        "subgradient it goes by: the shortest (the pseudo-gradient), or a random one",
        choices=("shortest", "random"),
        title="choice of subgradient",
    )
    stagnation: float = param(
        0.0,
        "end where f fell by less than this share in 5 iterations (0: never)",
        low=0.0,
        high=1.0,
        title="end at stagnation",
    )
    seed: int = random_seed("seed of random subgradients")

    @property
    def dense_vectors(self) -> int:
        return 2 + super().dense_vectors

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        rng, memory, progress = np.random.default_rng(self.seed), self.inverse(problem), DescentProgress(0.0)
        point = problem.at(w0)
        known: dict[str, Any] = {}
        found, n, straight = None, 0, False
        while True:
            w, g, violation = point.w, point.gradient(), point.violation()
            v = self._subgradient(point, rng)
            heading = self._heading(point, v, memory)
            live: dict[str, Any] = {"gradient": g}
            if heading.found is not None:
                known["inner_iterations"], live["direction"] = heading.found.steps, heading.found
                known["qp_iterations"] = heading.found.qp_iterations
            yield Iterate.at(point, n, violation=violation, found=found, memory=memory, live=live, **known)
            progress.update(point, math.inf)
            if ending := self._ending(point, violation, progress):
                return ending

            found, events = self.search(point, heading, memory, straight=straight), ()
            if found.t == 0.0 and len(memory):
                memory.clear()
                failed, found = found, self.search(point, self._heading(point, v, memory), memory)
                found, events = found._replace(trials=failed.trials + found.trials), ("memory-cleared",)
            if found.t == 0.0:
                return Ending("stalled", self._no_step())
            s = problem.vector(np.subtract, found.point.w, w)
            y = problem.vector(np.subtract, found.point.gradient(), g)
            curvature = memory.push(s, y)
            point, n, straight = found.point, n + 1, curvature is None and not len(memory)
            known = {
                "gamma": memory.scaling("yy/sy") if len(memory) else NAN,
                "curvature": NAN if curvature is None else curvature,
                "events": (*events, "curvature-skipped") if curvature is None else events,
            }

    def _subgradient(self, point: Point, rng: np.random.Generator) -> np.ndarray:
        """Return the subgradient of f that the method uses."""
        problem = point.problem
        if self.subgradient == "shortest":
            return problem.subgradient(point.w, point.gradient())

        def drawn(w: np.ndarray, g: np.ndarray, l1: np.ndarray) -> np.ndarray:
            return g + l1 * np.where(w != 0.0, np.sign(w), rng.uniform(-1.0, 1.0, w.size))

        return problem.vector(drawn, point.w, point.gradient(), problem.l1_strengths)

    def _heading(self, point: Point, v: np.ndarray, memory: PairMemory) -> Heading:
        """Return d = -H v, projected so that it agrees in sign with -v, and the orthant that -v points to.

        Weights without an ℓ1 part have no kinks, hence no orthant: there d is the direction of L-BFGS.
        """
        problem, kinks = point.problem, point.problem.penalty.l1 > 0.0

        def direction(Hv: np.ndarray, v: np.ndarray, *kinked: np.ndarray) -> np.ndarray:
            return np.where(_all_of(Hv * v <= 0.0, *kinked), 0.0, -Hv) if kinks else -Hv

        d = problem.vector(direction, memory.inverse_product(v), v, *problem.kinked)
        return Heading(d, problem.vector(_signs, point.w, -v), v)

    def _ending(self, point: Point, violation: float, progress: DescentProgress) -> Ending | None:
        """Return why the run ends at this iterate; return None if it does not."""
        if violation <= point.problem.noise:
            return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
        if self.stagnation and progress.recent_decrease() <= self.stagnation * abs(point.objective):
            share = f"less than {self.stagnation:g} of itself in {STAGNATION_WINDOW} iterations"
            return Ending("stalled", f"f fell by {share}")
        return None

    def _no_step(self) -> str:
        """Return the message that no step was found."""
        message = "no step in the orthant decreases the objective beyond rounding"
        if self.subgradient == "random":
            message += "; the orthant that a random subgradient points to need not have a point lower down"
        return message

    def search(
        self, point: Point, heading: Heading, memory: PairMemory, *, straight: bool = False
    ) -> SearchResult[Point]:
        """Backtrack along the projected path w(t) = P(w + t d).

        ``straight`` is whether the smooth part was linear along the previous step.
        """
        problem, (d, orthant, v, found) = point.problem, heading
        kinks = problem.penalty.l1 > 0.0
        search = SearchLog(point.objective, d, active=None if kinks else problem.design.working_set())
        if found is not None and not found.descends:
            return SearchResult(NOWHERE, 0.0, search, 0)
        if len(memory):
            first, beta = 1.0, self.beta
        else:
            first, beta = (
                problem.line(point, d).straight_step() if straight else 1.0 / float(np.linalg.norm(d)),
                0.1,
            )
        rounding = OBJECTIVE_ROUNDING * abs(point.objective)
        near = -first * problem.total(np.dot, v, d) <= NEAR_MINIMUM * rounding

        def attempt(t: float) -> Trial[Point]:
            def projected(
                w: np.ndarray, d: np.ndarray, orthant: np.ndarray, *kinked: np.ndarray
            ) -> np.ndarray:
                w = w + t * d
                return np.where(_all_of(w * orthant <= 0.0, *kinked), 0.0, w) if kinks else w

            new = problem.moved(point, problem.vector(projected, point.w, d, orthant, *problem.kinked))
            slope = problem.total(lambda v, new, w: v @ (new - w), v, new.w, point.w)
            bound = self.sigma * slope
            # near the minimum no step predicts a decrease above rounding; elsewhere a step so short that it
            # does not would pass along any direction
            accepted = (near or -slope > rounding) and decreases(new.objective, point.objective, bound)
            return Trial(new, new.objective, point.objective + bound, accepted)

        return backtrack(attempt, search, first, beta=beta, max_trials=40)


@dataclass(frozen=True)
class OWLQNStar(OWLQN):
    """OWL-QN that finds its direction p by Algorithm 2 of Yu et al. 2010, for the matrix B of L-BFGS.

    p is not aligned with a subgradient: it is a descent direction whichever subgradient Algorithm 2 starts
    from. The orthant is that of w + tp for a small t, and the subgradient that is steepest along p predicts
    the decrease. Algorithm 2 takes about 1/ε steps to come within ε of the best direction, and its p has no
    zeros. So the method comes within about 1e-5 of the minimum, with more non-zero weights. The paper ends
    the run once f has decreased by less than 5e-5 in 5 iterations, which may be 2e-3 above the minimum.
    """

    id = "owl-qn-star"
    name = "OWL-QN*"
    summary = "OWL-QN with directions that descend whichever subgradient it is given"
    paper = "Yu et al. 2010, sections 7.1 and 8.4"
    presets = as_printed(stagnation=5e-5)
    carries = ("line", "memory", "direction")

    stagnation: float = 1e-6
    epsilon: float = as_in(DirectionFindingMethod, "epsilon")
    kmax: int = as_in(DirectionFindingMethod, "kmax")
    finding: str = as_in(DirectionFindingMethod, "finding")

    @property
    def dense_vectors(self) -> int:
        return 6 + super().dense_vectors + (MOST_SUBGRADIENTS if self.finding == "qp" else 0)

    def _heading(self, point: Point, v: np.ndarray, memory: PairMemory) -> Heading:
        w, g, l1 = point.w, point.gradient(), point.problem.l1_strengths

        def sup(p: np.ndarray) -> tuple[np.ndarray, float]:
            steepest = steepest_subgradient(w, g, l1, p)
            return steepest, float(steepest @ p)

        how = {"epsilon": self.epsilon, "kmax": self.kmax, "combining": self.finding}
        found = descent_direction(v, memory, sup, pulse=point.problem.pulse, **how)
        return Heading(found.p, _signs(w, found.p), sup(found.p)[0], found)

    def _no_step(self) -> str:
        return "no step along a direction that Algorithm 2 finds decreases the objective beyond rounding"


def steepest_subgradient(w: np.ndarray, g: np.ndarray, l1: float | np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the subgradient of f with the largest product with p.

    ``g`` is the gradient of the smooth part, ``l1`` the strength of |w_j|. Entries for which both w and p are
    zero have the smallest absolute value possible.
    """
    signs = _signs(w, p)
    return g + np.where(signs != 0.0, l1 * signs, np.clip(-g, -l1, l1))


def _all_of(mask: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the logical and of masks; ``mask`` is overwritten."""
    for other in others:
        mask &= other
    return mask


def _signs(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the signs of w + td for a small t > 0."""
    return np.sign(np.where(w != 0.0, w, d))
