"""Bundle methods for regularized risks: BMRM (Teo et al. 2010), OCAS (Franc and Sonnenburg 2008), ls-BMRM,
and the level method (Lemaréchal, Nemirovskii and Nesterov 1995)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...curvature.cuts import GAP_ROUNDING, Cuts
from ...declare import Trait, param
from ...problems.certificates.optimality import Knows
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.outcome import SearchResult, without_search
from ..iterate import Ending, Iterate
from ..solver import Solver
from .progress import DescentProgress
from .quasi_newton import SubLBFGS

#: Accuracy to which the model is minimized, relative to the gap.
ACCURACY = 1e-7


class BundleStart(NamedTuple):
    """The start of a bundle method: the best point, the number of iterates so far, and a proved lower bound
    on f*."""

    best: Point
    n: int = 0
    bound: float = -math.inf


class BundleState(NamedTuple):
    """The state that a step reads: the cuts, the point of the newest cut, and a proved lower bound on f*."""

    cuts: Cuts
    last: Point
    bound: float


@dataclass(frozen=True)
class BundleMethod(Solver):
    """Base of methods that bound f(w) = ½λ‖w‖² + L(w) from below by cuts of L.

    Each iteration minimizes the model and adds a cut.

    The cut at w_i is L(w_i) + a_iᵀ(w - w_i), a_i a subgradient of L there. The minimum of the model is a
    lower bound on f*, and its distance from the best f so far is a proved gap. ``inner_iterations`` counts
    the cuts, and ``qp_iterations`` the linear systems solved to minimize the model. If the loss has a known
    least value, this is the first cut, at no cost.
    """

    needs = Trait.RIDGE | Trait.UNIFORM
    knows = Knows(violation=False, dual_gap=True)

    max_cuts: int = param(
        200,
        "number of cuts beyond which those without weight for 50 iterations are dropped",
        low=2,
        title="cuts kept, at most",
    )

    @property
    def dense_vectors(self) -> int:
        return self.max_cuts + 8

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        cuts = Cuts(problem.penalty.ridge, problem.pulse, most=self.max_cuts)
        least = problem.loss.least * problem.scale * problem.loss.n_instances
        if np.isfinite(least):
            cuts.add(np.zeros(problem.size), least)
        best, n, proved = yield from self.start(problem, w0, cuts)
        next_cut = best
        cuts.add(*cut(best))
        found, phase = None, "cuts" if n else None
        while True:
            f, before = best.objective, cuts.qp_iterations
            w, bound, above = cuts.minimize(ACCURACY * (f - max(cuts.bound, proved)))
            gap = max(f - max(bound, proved), 0.0)
            seen = {"found": found, "dual_gap": gap, "phase": phase, "live": {"cuts": cuts}}
            counted = {"inner_iterations": len(cuts), "qp_iterations": cuts.qp_iterations - before}
            yield Iterate.at(best, n, **counted, **seen)
            if gap <= GAP_ROUNDING * abs(f):
                return Ending("converged", f"f is above the minimum of the model by {gap:.3g}")
            found, next_cut = self.step(best, w, BundleState(cuts, next_cut, f - gap))
            best, n = found.point, n + 1
            if cuts.add(*cut(next_cut)) or best.objective < f:
                continue
            if not cuts.add(*cut(problem.at(w))):  # the model is exact at w, but w not its minimum
                hidden = f"rounding hides the next cut: the model is minimized to {above:.3g}"
                return Ending("stalled", f"{hidden}, and the gap is {gap:.3g}")

    def start(
        self, problem: Problem, w0: np.ndarray | None, cuts: Cuts
    ) -> Generator[Iterate, None, BundleStart]:
        """Yield the iterates of a method that runs first, if any, and add its cuts to ``cuts``.

        Return the starting point of the bundle method.
        """
        yield from ()
        return BundleStart(problem.at(w0))

    def step(self, best: Point, w: np.ndarray, state: BundleState) -> tuple[SearchResult[Point], Point]:
        """Take a step from the best point towards the minimum ``w`` of the model.

        Return its result, whose point is the new best point, and the point of the next cut.
        """
        raise TypeError(f"{type(self).__name__} does not define step")


def cut(point: Point) -> tuple[np.ndarray, float]:
    """Return a and b of the cut aᵀw + b of the loss at a point.

    b is computed from the conjugate if the loss has one. At the first points L(w) - aᵀw suffers cancellation:
    features of size 1000 give scores of 1e11.
    """
    problem, loss = point.problem, point.problem.loss
    a = problem.design.adjoint(point.residual)
    a *= problem.scale
    if Trait.CONJUGATE in loss.traits:
        return a, problem.scale * loss.dual_value(point.scores, point.residual, 1.0)
    return a, point.loss - float(a @ point.w)


@dataclass(frozen=True)
class BMRM(BundleMethod):
    """The bundle method whose next point, at which it also cuts, is the minimum w of the model.

    f oscillates, so an iterate shows the best point so far.
    """

    id = "bmrm"
    name = "BMRM"
    summary = "minimizes a model of cutting planes, and cuts at its minimum"
    paper = "Teo et al. 2010; Yu et al. 2010, section 8"
    carries = ("cuts",)

    def step(self, best: Point, w: np.ndarray, state: BundleState) -> tuple[SearchResult[Point], Point]:
        point = best.problem.at(w)
        return without_search(point if point.objective < best.objective else best, 1.0), point


@dataclass(frozen=True)
class LevelBundle(BMRM):
    """The level bundle method, whose next cut is at the nearest point at which the model is at most a level.

    The level is between the lower bound and the best f, which prevents oscillation.

    The model contains the ridge, so it has a minimum without restriction to a compact set. If rounding hides
    the level, the next cut is at the minimum of the model, as in BMRM.
    """

    id = "level-bundle"
    name = "Level bundle"
    summary = "cuts at the nearest point where the model is low enough"
    paper = "Lemaréchal, Nemirovskii and Nesterov 1995; Yu et al. 2010, section 7.1.2"

    level: float = param(
        0.3,
        "the level, as a share of the way from the lower bound to the best f",
        low=0.0,
        high=0.99,
        open_low=True,
        title="level, share of the gap",
    )

    def step(self, best: Point, w: np.ndarray, state: BundleState) -> tuple[SearchResult[Point], Point]:
        level = state.bound + self.level * (best.objective - state.bound)
        near = state.cuts.projection(state.last.w, level)
        return super().step(best, w if near is None else near, state)


@dataclass(frozen=True)
class LsBMRM(BundleMethod):
    """BMRM with an exact line search, of any length, from the best point w_b towards the minimum w_t.

    w_t is the minimum of the model. The next cut is at w_b + μ(w_t - w_b) with the new w_b. With μ = 1 it is
    at the same point as in BMRM.

    With ``warm="sublbfgs"`` subL-BFGS runs first, until its progress slows down. The combination of
    subgradients behind each of its directions gives a cut. The cutting-plane method continues from its last
    point, with the newest of these cuts. (Yu et al., section 9: one method is fast early, the other has a
    bound and is fast late.)
    """

    id = "ls-bmrm"
    name = "ls-BMRM"
    summary = "cutting planes with an exact line search towards the minimum of the model"
    paper = "Yu et al. 2010, section 8; Franc and Sonnenburg 2009"
    needs = Trait.RIDGE | Trait.DIRECTIONAL_DERIVATIVE | Trait.UNIFORM
    carries = ("cuts", "line")

    mu: float = param(
        0.1,
        "μ: share of the way to the model's minimum at which it cuts",
        low=0.0,
        high=1.0,
        title="place of the cut μ",
    )
    warm: str = param(
        "none", "method that runs first", choices=("none", "sublbfgs"), title="method that runs first"
    )
    switch: float = param(
        1e-2,
        "cutting planes take over once f fell by less than this share in 5 iterations",
        low=0.0,
        title="switch to cuts",
    )

    @property
    def dense_vectors(self) -> int:
        return super().dense_vectors + (SubLBFGS().dense_vectors if self.warm == "sublbfgs" else 0)

    def start(
        self, problem: Problem, w0: np.ndarray | None, cuts: Cuts
    ) -> Generator[Iterate, None, BundleStart]:
        if self.warm == "none":
            return (yield from super().start(problem, w0, cuts))
        collected: deque[tuple[np.ndarray, float]] = deque(maxlen=self.max_cuts // 2)
        progress, ridge = DescentProgress(0.0), problem.penalty.ridge
        for it in SubLBFGS(stagnation=0.0).iterate(problem, w0):
            it.phase = "warm"
            yield it
            point = it.point
            a = it.direction.combination - ridge * point.w
            collected.append((a, point.loss - float(a @ point.w)))
            progress.update(point, math.inf)
            if progress.recent_decrease() <= self.switch * abs(point.objective):
                break
        for a, b in collected:
            cuts.add(a, b)
        return BundleStart(point, it.iteration + 1, point.objective - it.dual_gap)

    def step(self, best: Point, w: np.ndarray, state: BundleState) -> tuple[SearchResult[Point], Point]:
        line = best.problem.line(best, w - best.w)
        found = line.exact()
        # from the new w_b on, 1 - t is left of the way to w
        ahead = self.mu * (1.0 - found.t)
        scores = found.point.scores.plus(ahead, line.delta)
        return found, Point(best.problem, found.point.w + ahead * line.d, scores)


@dataclass(frozen=True)
class OCAS(LsBMRM):
    """ls-BMRM for losses of one score per sample, as first published by Franc and Sonnenburg."""

    id = "ocas"
    name = "OCAS"
    summary = "cutting planes with an exact line search, for one score per sample"
    paper = "Franc and Sonnenburg 2008, 2009; Yu et al. 2010, section 8"
    needs = Trait.RIDGE | Trait.DIRECTIONAL_DERIVATIVE | Trait.ONE_SCORE | Trait.UNIFORM
