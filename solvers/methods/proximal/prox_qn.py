"""Proximal quasi-Newton with aggressive shrinking: Zhong, Yen, Dhillon and Ravikumar, NIPS 2014."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...declare import Trait, as_printed, param, random_seed
from ...problems.certificates.optimality import Knows
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import MODEL_ARMIJO, Armijo
from ...search.outcome import SearchResult
from ...working_sets.rule import Rule
from ...working_sets.rules import RULES
from ...working_sets.shrinking import Zhong
from ..common_params import as_in, cooling_param, cooling_start_param, tol_param
from ..iterate import Ending, Iterate
from ..solver import Solver
from ..working_sets import (
    Selection,
    WorkingSetState,
    WorkingSetSteps,
    known_by,
    rule_param,
    run_on_working_sets,
    why_not_rule,
)
from .prox_qn_model import QuadraticModel
from .prox_qn_start import HUGE, WarmUp, warm_up, why_no_start

#: How many times smaller a working set may become in an epoch that leaves its pairs to the next.
MAX_SHRINKAGE = 8


@dataclass(frozen=True)
class ProxQN(Solver):
    """Proximal quasi-Newton, Algorithm 2 of the paper; ``preset=paper`` follows it as printed.

    :func:`.working_sets.run_on_working_sets` is the outer loop. The rule chooses the working set (lines 3 to
    16), see :class:`.shrinking.Zhong`; ``shrinking=False`` is the same as ``rule=none``, and
    ``look_back=False`` as ``rule=no-return``: the run then ends at the optimum on the remaining weights, and
    reports how far that is from the optimum on all. :class:`QuasiNewtonSteps` takes the steps (lines 19 to
    39), with the model of :class:`.prox_qn_model.QuadraticModel`.

    What the paper leaves open is decided as follows. The shrinking stop is V_A <= ε_s V_0, where V is the
    largest violation and V_0 that at w = 0; ε_s starts at ``cooling_start`` and becomes, after each epoch,
    max(ε, ``cooling`` · min(ε_s, V/V_0)) with V over all weights. If the working set has shrunk to less than
    an eighth in an epoch, its pairs describe a very different problem. Line 16 then clears them. With
    ``keep_pairs=False`` it always does, as in the paper. Half of the run may pass before the working set is
    small, so :func:`.prox_qn_start.warm_up` may run first.
    """

    id = "prox-qn"
    name = "Prox-QN"
    summary = "proximal quasi-Newton on a working set that shrinks in epochs"
    paper = "Zhong et al. 2014, Algorithm 2"
    needs = Trait.SMOOTH | Trait.SEPARABLE
    presets = as_printed(
        memory=10,
        keep_pairs=False,
        max_inner=10,
        balance="size",
        gamma="ys/ss",
        gamma0=1.0,
        diagonal="off",
        shrink_first="off",
        start="none",
    )
    dense_vectors = 4
    carries = ("active", "line", "memory")

    memory: int | str = param(
        "auto",
        "pairs (s, y) kept; auto: 30, and up to 100 while they cost less than the rest of an iteration; full "
        "keeps all",
        low=1,
        high=1000,
        words=("auto", "full"),
        title="pairs kept m",
    )
    keep_pairs: bool = param(
        True,
        "keep the pairs when weights come back; without, an epoch clears them, as in the paper",
        title="pairs kept over epochs",
    )
    shrinking: bool = param(
        True,
        "confine iterations to a working set that shrinks within an epoch; without, as rule=none",
        title="shrinking",
    )
    rule: str = rule_param("zhong")
    look_back: bool = param(
        True,
        "take all weights back at the end of an epoch; without, none comes back, as rule=no-return",
        title="re-check all weights each epoch",
    )
    start: str = param(
        "auto",
        "sgd: a pass of ftrl first; samples: first on a sixteenth, then on a quarter of the instances; "
        "auto: sgd on large problems of sequences",
        choices=("auto", "none", "samples", "sgd"),
        title="warm start",
    )
    shrink_first: str = param(
        "auto",
        "shrink before the first iteration too, with M̂ the violation at w0; auto: above 10 million weights, "
        "and after a head start",
        choices=("auto", "on", "off"),
        title="shrink before the first step",
    )
    max_inner: int = param(
        30,
        "most sweeps of coordinate descent over the inner problem",
        low=1,
        high=10_000,
        title="inner sweeps, at most",
    )
    balance: str = param(
        "work",
        "fewer sweeps on large working sets: ⌊d/|A|⌋ (size), or as many as cost no more than the rest (work)",
        choices=("work", "size", "off"),
        title="budget sweeps by",
    )
    order: str = param(
        "cyclic", "order of coordinates in a sweep", choices=("cyclic", "random"), title="order of weights"
    )
    beta: float = as_in(Armijo, "beta")
    sigma: float = as_in(Armijo, "sigma", default=MODEL_ARMIJO.sigma)
    gamma: str = param(
        "y/s",
        "scaling of B₀ from the newest pair",
        choices=("ys/ss", "y/s", "yy/sy"),
        title="scaling γ of B₀",
    )
    diagonal: str = param(
        "auto",
        "B₀ = γD, D = h^½ by the Hessian's diagonal h; off: γI; auto: D if h spreads over more than 100",
        choices=("auto", "on", "off"),
        title="diagonal D of B₀",
    )
    gamma0: float = param(
        0.0,
        "γ of the first iteration; 0 measures it along the first direction",
        low=0.0,
        title="first scaling γ₀",
    )
    cooling_start: float = cooling_start_param()
    cooling: float = cooling_param()
    tol: float = tol_param()
    seed: int = random_seed("seed of the random order")

    @property
    def knows(self) -> Knows:
        return known_by(self.rule)

    def refuses(self, problem: Problem) -> str | None:
        if self.rule != "zhong":
            if not (self.shrinking and self.look_back):
                return "rule=none and no-return do what shrinking and look_back do: leave these out"
            if RULES[self.rule].dynamic:
                return f"rule={self.rule} would clear the pairs before each step: choose another rule"
            if reason := why_not_rule(self.rule, problem):
                return reason
        return why_no_start(self.start, problem) or super().refuses(problem)

    def working_set_rule(self) -> Rule:
        """Return the rule in effect, with ``shrinking=False`` and ``look_back=False`` taken into account."""
        rule = RULES["none" if not self.shrinking else self.rule if self.look_back else "no-return"]
        return rule(self.cooling_start, self.cooling) if issubclass(rule, Zhong) else rule()

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        start = yield from warm_up(self, problem, w0)
        point, steps = problem.at(start.w), QuasiNewtonSteps(self, problem, start.warm_up)
        given = {"epoch": start.epochs, "violation": self._first_violation(point, start)}
        selection = Selection(self.working_set_rule(), problem, self.tol, **given)
        return (yield from run_on_working_sets(point, selection, steps, start.iteration, shown=start.shown))

    def _first_violation(self, point: Point, start: WarmUp) -> float:
        """Return M̂ before the first iteration: ∞ as in line 1, or the violation at the starting point."""
        auto = start.warm_up is not None or point.problem.size > HUGE
        first = self.shrink_first == "on" or (self.shrink_first == "auto" and auto)
        return point.violation() if first else np.inf


class QuasiNewtonSteps(WorkingSetSteps):
    """Lines 16 and 19 to 39 of Algorithm 2, on the working set A that lines 3 to 15 chose."""

    def __init__(self, solver: ProxQN, problem: Problem, warm_up: str | None = None) -> None:
        self.solver, self.warm_up = solver, warm_up
        self.model, self.stepped = QuadraticModel(solver, problem), False
        #: size of the working set at the first iterate of the epoch, 0 before that is known
        self.first_size = 0

    @property
    def events(self) -> tuple[str, ...]:
        return self.model.events

    @events.setter
    def events(self, events: tuple[str, ...]) -> None:
        self.model.events = events

    @property
    def known(self) -> Mapping[str, Any]:
        record = self.model.record(stepped=self.stepped)
        return record if self.stepped else record | {"phase": self.warm_up}

    def step(self, point: Point, state: WorkingSetState) -> SearchResult[Point]:
        """Search along the minimum d of the model on A (lines 19 to 33)."""
        self.g = state.gradient
        found = self.model.search(point, state.members, self.g)
        if found.t == 0.0 and not state.all_remaining:
            self.events += ("stalled-on-working-set",)
        return found

    def on_step(self, found: SearchResult[Point], gradient: np.ndarray) -> None:
        """Add the pair s = td, y = the change of g on A, and set γ (lines 34 to 39)."""
        self.model.push_pair(found.displacement, gradient - self.g)
        self.stepped = True

    def on_epoch(self) -> None:
        """Clear the pairs, unless they are to be kept and the working set has not shrunk too much (line
        16)."""
        if not (self.solver.keep_pairs and self.first_size <= MAX_SHRINKAGE * self.model.size):
            self.model.clear()
        self.first_size = 0

    def on_working_set(self, state: WorkingSetState) -> None:
        """Restrict the pairs and D to A: shrinking, section 2.3."""
        self.model.restrict_to(state.members)
        self.first_size = self.first_size or len(state.members)
