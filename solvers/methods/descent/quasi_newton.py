"""Gradient and quasi-Newton methods along straight lines, for smooth losses and for losses with kinks.

J. Yu, S. V. N. Vishwanathan, S. Günter, N. N. Schraudolph: A Quasi-Newton Approach to Nonsmooth Convex
Optimization Problems in Machine Learning, JMLR 11, 2010. Each method composes one descent for smooth f and
another for f with kinks.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...curvature.direction import COMBINING, MOST_SUBGRADIENTS
from ...curvature.inverse import Identity, Inverse
from ...declare import Trait, as_printed, param, random_seed
from ...problems.problem import Problem
from ...search.line_search import INEXACT, Armijo, Exact, LineSearch, Wolfe
from ..common_params import as_in
from ..iterate import Ending, Iterate
from ..solver import Solver
from . import rules
from .estimates import FullMatrix, LimitedMemory
from .loop import Descent, record_iterates
from .progress import DescentProgress

SEARCHES = (
    "search along the direction: to the minimum (exact), by the Wolfe conditions, by the same from a long "
    f"step downwards by {INEXACT.decay} (ils), or by Armijo's rule"
)
#: The search of the paper's experiments with inexact line searches.
PAPER_SEARCH = {"line_search": "ils", "c1": INEXACT.c1, "c2": INEXACT.c2}


@dataclass(frozen=True)
class LineSearchParams:
    """Mixin with the hyper-parameters of a line search along a straight line."""

    line_search: str = param(
        "exact", SEARCHES, choices=("exact", "wolfe", "ils", "armijo"), title="line search"
    )
    c1: float = as_in(Wolfe, "c1")
    c2: float = as_in(Wolfe, "c2")
    beta: float = as_in(Armijo, "beta")
    sigma: float = as_in(Armijo, "sigma")

    def search(self, *, to_last_kink: bool = False) -> LineSearch:
        """Return the line search; ``to_last_kink`` is the setting of an exact one."""
        match self.line_search:
            case "exact":
                return Exact(to_last_kink)
            case "wolfe":
                return Wolfe(self.c1, self.c2)
            case "ils":
                return Wolfe(self.c1, self.c2, INEXACT.decay)
            case _:
                return Armijo(self.beta, self.sigma)


@dataclass(frozen=True)
class LineMethod(LineSearchParams, Solver):
    """Base of gradient and quasi-Newton methods; a subclass defines B (``inverse``) and ``direction``."""

    paper = "Yu et al. 2010, section 2"
    needs = Trait.DIRECTIONAL_DERIVATIVE | Trait.SMOOTH_PENALTY
    dense_vectors = 8
    #: whether the first subgradient is drawn if it is at w = 0, and how long a step from there is
    random_at_zero = False
    first_step = "searched"

    subgradient: str = param(
        "sup",
        "subgradient at a kink: the steepest along the step, or a random extreme one",
        choices=("sup", "random"),
        title="choice of subgradient",
    )
    stagnation: float = param(
        1e-8,
        "end where f has kinks and fell by less than this share of itself, or of a hundredth of the first f, "
        "in 5 iterations",
        low=0.0,
        high=1.0,
        title="end at stagnation",
    )
    unbounded: str = param(
        "end",
        "if f is unbounded below along a direction: end, or step to the last kink on the way",
        choices=("end", "last-kink"),
        title="if f is unbounded below",
    )
    seed: int = random_seed("seed of random subgradients")

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        descent, progress = self.descent(smooth=problem.smooth), DescentProgress(problem.penalty.convexity)
        iterates = descent.iterates(problem.at(w0), self.inverse(problem), progress)
        return (yield from record_iterates(iterates, lambda iterate: iterate.record(iterate.t)))

    def descent(self, *, smooth: bool) -> Descent:
        """Return the descent for an f that is smooth, or that has kinks."""
        parts = self.direction(), self.search(to_last_kink=self.unbounded == "last-kink")
        if smooth:
            return Descent(*parts, rules.SmoothStop(), restarts=True)
        subgradients = rules.Subgradients(self.subgradient == "random", self.random_at_zero, self.seed)
        unit = self.first_step == "unit"
        return Descent(*parts, rules.NonsmoothStop(self.stagnation), subgradients, unit_first_step=unit)

    def direction(self) -> rules.DirectionRule:
        """Return the rule that computes the direction."""
        raise TypeError(f"{type(self).__name__} does not define direction()")

    def inverse(self, problem: Problem) -> Inverse:
        """Return B = I, which this method never updates."""
        return Identity()


@dataclass(frozen=True)
class OneSubgradientMethod(LineMethod):
    """Base of the methods with direction p = -B g, g one (sub)gradient.

    At a kink p may be an ascent direction. Then the search finds no step and the run ends: this is how these
    methods fail on losses with kinks. If f is smooth, B is cleared and -g is tried before the run ends.
    """

    first_step: str = param(
        "searched",
        "first step from w = 0 of a loss with kinks: searched, or of length 1 without a search",
        choices=("searched", "unit"),
        title="first step at w = 0",
    )

    def direction(self) -> rules.DirectionRule:
        return rules.one_subgradient


@dataclass(frozen=True)
class GradientDescent(OneSubgradientMethod):
    """Gradient descent, p = -g, with g a random subgradient at a kink."""

    id = "gd"
    name = "GD"
    summary = "gradient descent, at kinks by a random subgradient"
    paper = "Yu et al. 2010, section 2.2"
    carries = ("line",)

    subgradient: str = "random"
    first_step: str = "unit"


@dataclass(frozen=True)
class LBFGS(LimitedMemory, OneSubgradientMethod):
    """L-BFGS, p = -B g, with B from the newest pairs and B₀ scaled by sᵀy/yᵀy of the newest: Liu and Nocedal
    1989."""

    id = "lbfgs"
    name = "L-BFGS"
    summary = "quasi-Newton steps by limited-memory BFGS"
    paper = "Yu et al. 2010, sections 1 and 2.1; Liu and Nocedal 1989"
    presets = as_printed(**PAPER_SEARCH, first_step="unit")
    carries = ("line", "memory")

    line_search: str = "wolfe"


@dataclass(frozen=True)
class BFGS(FullMatrix, OneSubgradientMethod):
    """BFGS, p = -B g, with a dense d x d matrix B."""

    id = "bfgs"
    name = "BFGS"
    summary = "quasi-Newton steps with a full matrix"
    paper = "Yu et al. 2010, sections 1 and 2.1"
    presets = as_printed(**PAPER_SEARCH, scaled=False)
    carries = ("line",)
    lighter = "lbfgs"

    line_search: str = "wolfe"
    scaled: bool = param(True, "scale B by sᵀy/yᵀy before its first update", title="scaled first B")


@dataclass(frozen=True)
class DirectionFindingMethod(LineMethod):
    """Base of the methods that find a direction by Algorithm 2: a descent direction even at kinks."""

    presets = as_printed(subgradient="random")
    random_at_zero = True

    epsilon: float = param(1e-5, "ε: direction-finding tolerance", low=0.0, title="direction tolerance ε")
    epsilon_start: float = param(
        1.0,
        "ε at w = 0 in the first iteration, where all labels may tie",
        low=0.0,
        title="direction tolerance at w = 0",
    )
    kmax: int = param(
        1000, "direction-finding steps of an iteration, at most", low=1, title="direction steps, at most"
    )
    finding: str = param(
        "algorithm-2",
        "a new subgradient is combined with the last combination (Algorithm 2), or with all met by the exact "
        "QP (19), in fewer and dearer steps",
        choices=tuple(COMBINING),
        title="direction finding",
    )

    @property
    def dense_vectors(self) -> int:
        return 12 + (MOST_SUBGRADIENTS if self.finding == "qp" else 0)

    def direction(self) -> rules.DirectionRule:
        return rules.DirectionFinding(self.epsilon, self.epsilon_start, self.kmax, self.finding)


@dataclass(frozen=True)
class SubGD(DirectionFindingMethod):
    """Steepest descent, even at kinks: Algorithm 2 with B = I."""

    id = "subgd"
    name = "subGD"
    summary = "steepest descent, at kinks by direction finding"
    paper = "Yu et al. 2010, section 2.2"
    carries = ("line", "direction")


@dataclass(frozen=True)
class BoundedSpectrum:
    """Mixin with bounds on the spectrum of B, which decide which pairs enter it and how."""

    h: float = param(1e-8, "the least sᵀy/yᵀy that a pair is given", low=0.0, title="least curvature h")
    H: float = param(
        0.0, "H: pairs with sᵀy/sᵀs below 1/H are skipped, eq. (29); 0: none", low=0.0, title="bound H of B"
    )


@dataclass(frozen=True)
class SubBFGS(BoundedSpectrum, FullMatrix, DirectionFindingMethod):
    """subBFGS, Algorithm 1: BFGS with descent directions even at kinks."""

    id = "subbfgs"
    name = "subBFGS"
    summary = "BFGS with a full matrix for losses with kinks"
    paper = "Yu et al. 2010, Algorithm 1"
    carries = ("line", "direction")
    lighter = "sublbfgs"


@dataclass(frozen=True)
class SubLBFGS(BoundedSpectrum, LimitedMemory, DirectionFindingMethod):
    """subL-BFGS, Algorithm 1 with B from the newest pairs, B₀ scaled by sᵀy/yᵀy of the newest."""

    id = "sublbfgs"
    name = "subL-BFGS"
    summary = "limited-memory BFGS for losses with kinks"
    paper = "Yu et al. 2010, section 3.5"
    carries = ("line", "memory", "direction")
