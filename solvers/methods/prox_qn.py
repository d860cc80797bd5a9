"""Proximal quasi-Newton with aggressive shrinking: Zhong, Yen, Dhillon and Ravikumar, NIPS 2014."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ..declare import Trait, as_printed, param, random_seed
from ..parts.epochs import Cooling
from ..parts.linesearch import Found
from ..parts.memory import spread
from ..parts.rules import RULES, ShrinkTest
from ..problems.certificates.optimality import Knows
from ..problems.point import Point
from ..problems.problem import Problem
from ..problems.products.working_set import WorkingSet
from ..problems.shards.sharded import ShardedDesign
from .baton import ITERATIONS, Baton, growing_shares
from .ftrl import FTRL
from .iterate import NAN, Ending, Iterate
from .prox_qn_kernels import shrink
from .prox_qn_model import Model
from .solver import Solver
from .usual import beta_param, cooling_param, cooling_start_param, sigma_param, tol_param
from .working_sets import (
    Look,
    Selection,
    Steps,
    known_by,
    looked_once,
    rule_param,
    spent,
    stepped,
    why_not_rule,
)

#: Weights and sequences from which on a pass of FTRL-Proximal comes first.
START_SIZE, START_INSTANCES = 10_000, 2_000
#: How many times smaller a working set may become in an epoch that leaves its pairs to the next.
SETTLED = 8
#: Number of weights above which the first iteration is not done on all of them.
HUGE = 10_000_000


@dataclass(frozen=True)
class ProxQN(Solver):
    """Algorithm 2 of the paper; with ``shrinking=False`` the plain proximal quasi-Newton method.

    What the paper leaves open is decided as follows. The shrinking stop is V_A <= ε_s V_0, where V is the
    largest violation and V_0 that at w = 0; ε_s starts at ``cooling_start`` and becomes, after each epoch,
    max(ε, ``cooling`` · min(ε_s, V/V_0)) with V over all weights. γ of the very first iteration is the
    curvature of the loss along the first direction (the paper's 1 is ``gamma0=1``); it is kept when the
    memory is cleared. The paper's γ = sᵀy/sᵀs makes directions so long that most searches back off; the
    default ‖y‖/‖s‖ is the geometric mean of it and of the yᵀy/sᵀy usual for L-BFGS, whose steps are accepted
    but short. ``memory=full`` keeps all pairs and the first γ that a pair gives, as Theorem 1 asks.

    Line 20 allows ⌊d/|A|⌋ sweeps to balance the inner problem against the rest of an iteration; where that
    is 1 although a sweep costs next to nothing (few weights, many samples), steps are far too short, and
    where samples are few, sweeps take most of the time. So the default counts the work of both; it makes five
    sweeps at least as soon as half of the weights have left.

    An epoch begins with the pairs of the one before, the newest of them where all would cost more than the
    rest of an iteration. A weight that comes back has not moved, and how its gradient changed is not known:
    it is zero in s and y alike, so B is γD there at first. Where the working set has shrunk to less than an
    eighth in an epoch, its pairs tell of nearly another problem, and line 16 clears them;
    ``keep_pairs=False`` always does, as the paper has it. ``memory=auto`` has room for 30 pairs, and for up
    to 100 while products with them take no longer than the rest of an iteration.

    B₀ of section 2.1 is γD, D diagonal and fixed within an epoch. Weights of rare and of frequent features
    curve unlike each other; D = h^½, with h the diagonal of the Hessian where the epoch begins, makes them
    more alike, and does better than h itself. The pairs and the inner problem are those of the weights D^½w,
    in which B₀ is γI and each weight has a λ of its own, λ/D_j^½.

    Half of the time may go before the working set is small. ``start=sgd`` therefore makes a pass of
    :class:`.ftrl.FTRL` first: its weights are iterate 1, nearly as sparse as those of the optimum, and the
    first working set is shrunk at once. ``start=samples`` makes 15 iterations on a sixteenth of the
    instances, then on a quarter. ``auto`` makes the pass for ``START_INSTANCES`` sequences or more with
    ``START_SIZE`` weights, where it costs little more than one evaluation of the loss; with losses of single
    rows it gains next to nothing. Where weights to start from are given, nothing goes ahead.

    With ``look_back=False`` lines 15 and 16 are left out, to see what they are for. The run then ends at the
    optimum of the problem on the weights that are left, and says how far that is from the optimum of all.

    Another ``rule`` than the paper's chooses the working set in place of lines 3 to 16.
    """

    id = "prox-qn"
    name = "Prox-QN"
    summary = "proximal quasi-Newton on a working set that shrinks in epochs"
    paper = "Zhong et al. 2014, Algorithm 2"
    needs = Trait.SMOOTH | Trait.SEPARABLE
    presets = as_printed(
        **{"memory": 10, "keep_pairs": False, "max_inner": 10, "balance": "size"},
        **{"gamma": "ys/ss", "gamma0": 1.0, "diagonal": "off", "shrink_first": "off", "start": "none"},
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
        "keep the pairs where weights come back; without, an epoch clears them, as in the paper",
        title="pairs kept over epochs",
    )
    shrinking: bool = param(
        True, "confine iterations to a working set that shrinks within an epoch", title="shrinking"
    )
    rule: str = rule_param("zhong")
    look_back: bool = param(
        True,
        "take all weights back where an epoch ends; without, a weight that has left never comes back",
        title="looking back at all weights",
    )
    start: str = param(
        "auto",
        "sgd: a pass of ftrl first; samples: first on a sixteenth, then on a quarter of the instances; "
        "auto: sgd on large problems of sequences",
        choices=("auto", "none", "samples", "sgd"),
        title="head start",
    )
    shrink_first: str = param(
        "auto",
        "shrink before the first iteration too, with M̂ the violation at w0; auto: above 10 million weights, "
        "and after a head start",
        choices=("auto", "on", "off"),
        title="shrinking before the first step",
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
        title="sweeps on large sets",
    )
    order: str = param(
        "cyclic", "order of coordinates in a sweep", choices=("cyclic", "random"), title="order of weights"
    )
    beta: float = beta_param()
    sigma: float = sigma_param()
    gamma: str = param(
        "y/s",
        "scaling of B₀ from the newest pair",
        choices=("ys/ss", "y/s", "yy/sy"),
        title="scaling γ of B₀",
    )
    diagonal: str = param(
        "auto",
        "B₀ = γD, D = h^½ by the Hessian's diagonal h; off: γI; auto: where h spreads over more than 100",
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
            if RULES[self.rule].every:
                return f"rule={self.rule} would clear the pairs before each step: choose another rule"
            if reason := why_not_rule(self.rule, problem):
                return reason
        if self.start == "sgd" and Trait.SAMPLES not in problem.loss.traits:
            return "start=sgd needs a loss whose instances can be taken one at a time: choose start=none"
        if self.start == "samples" and isinstance(problem.design, ShardedDesign):
            return "start=samples needs the rows on this machine, and these are on shards: choose start=none"
        return super().refuses(problem)

    def starts_ahead(self, problem: Problem) -> str:
        """Return what the run begins with: "none", "samples" or "sgd"."""
        if self.start != "auto":
            return self.start
        chains = Trait.SAMPLES in problem.loss.traits and problem.loss.n_tail > 0
        large = START_SIZE <= problem.size <= HUGE and problem.loss.n_instances >= START_INSTANCES
        return "sgd" if chains and large else "none"

    def _head_start(self, problem: Problem) -> list[tuple[str, Solver, float, int]]:
        """Return what goes ahead, in turn: its name, the solver, the share of the instances, iterations."""
        start = self.starts_ahead(problem)
        if start == "sgd":
            return [(FTRL.id, FTRL(seed=self.seed), 1.0, 1)]
        if start == "samples":
            here = replace(self, start="none")
            shares = growing_shares(problem.loss.n_instances)
            return [(f"{self.id} of {share}", here, float(share), ITERATIONS) for share in shares]
        return []

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        ahead = self._head_start(problem) if w0 is None else []
        baton, last, shown = Baton(w0), sum(iterations for *_, iterations in ahead), -1
        for name, solver, share, iterations in ahead:
            part = problem if share == 1.0 else problem.sample(share, self.seed)
            some = islice(solver.iterate(part, baton.w), iterations + 1)
            for iterate in baton.carried(name, some, problem, part, goes_on=True):
                if iterate.iteration < last:
                    yield iterate
                    shown = iterate.iteration
        n, fresh, after = baton.iteration, baton.iteration > shown, ahead[-1][0] if ahead else None
        if self.rule != "zhong":
            selection = Selection(RULES[self.rule](), problem, self.tol, epoch=baton.epochs)
            steps = _Steps(self, problem)
            return (yield from stepped(problem.at(baton.w), selection, steps, n, shown=not fresh))
        # line 10 on a part of the weights ends an epoch, line 11 on all of them ends the run
        state, found = _State(self, problem, baton.w, after=after, epochs=baton.epochs), None  # line 1
        while True:
            test = state.shrink()  # lines 3 to 9
            if self.look_back and state.epoch_is_over(test):  # line 10
                state.begin_epoch()  # lines 15 and 16
                continue
            if fresh:
                yield state.iterate(n, test, found)
            if test.whole and state.aim >= test.largest:  # lines 11 and 12
                return Ending("converged", f"violation {test.largest:.3g} is at most {state.aim:.3g}")
            if not self.look_back and (ending := state.look_once(test)):
                return ending
            found = state.model.search(state.point, state.A, state.g)  # lines 19 to 33
            fresh = found.t > 0.0
            if fresh:
                n += 1
                state.update(found)  # lines 34 to 39
            elif test.whole:
                return Ending("stalled", "no direction decreases the objective beyond rounding")
            else:
                state.give_up()


class _State:
    """State of Algorithm 2 between iterations, by its letters: w (a point), A, g on A, M̂, the pairs and γ.

    The constructor is line 1.
    """

    def __init__(
        self,
        solver: ProxQN,
        problem: Problem,
        w0: np.ndarray | None,
        *,
        after: str | None = None,
        epochs: int = 0,
    ) -> None:
        """``after`` names the head start that led to w0, near the optimum, in so many ``epochs``."""
        self.solver, self.problem, self.after, self.epochs = solver, problem, after, epochs
        self.lam, self.N = problem.penalty.l1, problem.loss.n_instances
        self.cooling = Cooling(solver.cooling_start, solver.cooling, solver.tol, problem.violation_at_zero())
        self.aim, self.model = problem.aim(solver.tol), Model(solver, problem)
        self.point = problem.at(w0)
        self.A, self.g = problem.design.working_set(), self.point.gradient()
        problem.pulse()
        self.M_hat = self._first_threshold(after is not None)
        self.exhausted = False
        #: the working set with which the last epoch ended
        self.dropped_from: WorkingSet | None = None
        #: size of the working set at the first iterate of the epoch, 0 before that is known
        self.began_with = 0
        self.model.events += ("epoch-start",)
        #: CPU seconds of tests, and of looks at all weights
        self.cost = 0.0

    def _first_threshold(self, ahead: bool) -> float:
        """Return M̂ before the first iteration: ∞ as in line 1, or the violation at w0."""
        when = self.solver.shrink_first
        first = when == "on" or (when == "auto" and (ahead or self.problem.size > HUGE))
        return self.point.violation() if first else np.inf

    def shrink(self) -> ShrinkTest:
        """Shrink A, g and the pairs to the weights that pass the test, and set M̂ to M (lines 3 to 9)."""
        tested, g, slack, began = self.A, self.g, self.M_hat / self.N, spent(self.problem)
        self.problem.pulse()
        keep, M = shrink(tested.take(self.point.w), g, self.lam, slack)
        self.problem.pulse()
        if self.solver.shrinking and not keep.all():
            self.A, self.g = tested.restrict(keep), g[keep]
        self.model.follow(self.A)
        self.began_with = self.began_with or len(self.A)
        self.M_hat = M
        returned = _returned(self.point, self.dropped_from)
        self.cost += spent(self.problem) - began
        bounds = self.lam, self.lam - slack, M, self.cooling.target
        return ShrinkTest(tested, g, *bounds, returned, cost=self.cost)

    def epoch_is_over(self, test: ShrinkTest) -> bool:
        """Tell whether an epoch ends (line 10): violations on a part of the weights are at most the target,
        or no step decreases f on it."""
        return not test.whole and (self.exhausted or test.target >= test.largest)

    def begin_epoch(self) -> None:
        """Take all weights back and lower ε_s for the next epoch (lines 15 and 16)."""
        self.dropped_from, self.exhausted, began = self.A, False, spent(self.problem)
        self.A, self.g = self.problem.design.working_set(), self.point.gradient()
        self.cooling.end_epoch(self.point.violation())
        self.cost += spent(self.problem) - began
        self.model.events += ("epoch-start",)
        if not (self.solver.keep_pairs and self.began_with <= SETTLED * len(self.dropped_from)):
            self.model.clear()
        self.began_with = 0

    def look_once(self, test: ShrinkTest) -> Ending | None:
        """Look at all weights where none comes back and the problem on a part of them is solved, to the
        tolerance or to rounding; return how that ends the run, None where it is not solved yet."""
        if test.whole or not (self.exhausted or self.aim >= test.largest):
            return None
        solved = "no step decreases the objective" if self.exhausted else f"a violation of {test.largest:.3g}"
        return looked_once(self.point, self.A, self.aim, solved)

    def update(self, found: Found[Point]) -> None:
        """Move to the new point: g on A there, the pair (s, y) and γ (lines 34 to 39)."""
        self.point = found.point
        g = self.point.gradient(self.A)
        self.model.learn(found.displacement, g - self.g)
        self.g = g

    def give_up(self) -> None:
        """End the epoch: no step decreases f on this working set."""
        self.exhausted = True
        self.model.events += ("stalled-on-working-set",)

    def iterate(self, n: int, test: ShrinkTest, found: Found[Point] | None) -> Iterate:
        """Describe iterate n, to which the step ``found`` led, and the shrinking ``test`` made there."""
        live = {"gradient": self.g, "shrinking": test if self.solver.shrinking else None}
        known: dict[str, Any] = {"epoch": self.epochs + self.cooling.epoch, "returned": test.returned.size}
        known["violation"] = test.largest if test.whole else NAN
        known["phase"] = self.after if found is None else "shrink" if self.solver.shrinking else None
        known |= self.model.record(stepped=found is not None)
        return Iterate.at(self.point, n, active=self.A, found=found, live=live, **known)


class _Steps(Steps):
    """Lines 19 to 39 on the working set of any rule."""

    def __init__(self, solver: ProxQN, problem: Problem) -> None:
        self.model = Model(solver, problem)
        self.g = self.s = np.empty(0)

    def step(self, point: Point, look: Look) -> Found[Point]:
        """Search along the solution d of the inner problem (lines 19 to 33)."""
        self.model.follow(look.members)
        found, self.g = self.model.search(point, look.members, look.gradient), look.gradient
        self.s = found.displacement if found.t > 0.0 else np.zeros_like(self.g)
        return found

    def meet(self, look: Look) -> None:
        """Add the pair (s, y), zero on weights that came in with the look (lines 34 to 39)."""
        stepped, g = self.model.A is not None, look.gradient
        change = self.model.follow(look.members)
        if change is not None:
            kept, known = change
            if self.model.solver.keep_pairs or known.all():
                self.model.learn(spread(self.s[kept], known), spread(g[known] - self.g[kept], known))
        elif stepped:
            self.model.learn(self.s, g - self.g)
        self.known = self.model.record(stepped=stepped)


def _returned(point: Point, dropped_from: WorkingSet | None) -> np.ndarray:
    """List non-zero weights that were outside the working set when the last epoch ended."""
    if dropped_from is None:
        return np.empty(0, dtype=np.int64)
    support = np.flatnonzero(point.w != 0.0) if point.active is None else point.active.support(point.w)
    return support[~dropped_from.mask()[support]]
