"""Proximal quasi-Newton with aggressive shrinking: Zhong, Yen, Dhillon and Ravikumar, NIPS 2014."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..declare import Trait, as_printed, param, random_seed
from ..parts.epochs import Cooling
from ..parts.linesearch import Found
from ..parts.memory import PairMemory
from ..parts.rules import ShrinkTest
from ..problems.penalties import soft_threshold
from ..problems.point import Point
from ..problems.problem import Problem
from ..problems.products.working_set import WorkingSet
from ..problems.shards.sharded import ShardedDesign
from .baton import ITERATIONS, Baton, growing_shares
from .ftrl import FTRL
from .iterate import NAN, Ending, Iterate
from .prox_qn_kernels import promised, shrink, sweep
from .solver import Solver
from .usual import beta_param, cooling_param, cooling_start_param, sigma_param, tol_param

#: Decrease, in units of |f|, below which a direction counts as none.
NO_DECREASE = 1e-22
#: Coordinates one kernel call visits in a sweep.
SWEEP_CHUNK = 100_000
#: What an iteration does for each score besides the inner problem, in updates of one number of d̂.
SCORE_WORK = 8
#: Ratio of curvatures beyond which D is that of the Hessian where ``diagonal`` is auto; how many weights are
#: looked at; and the least curvature, in units of the mean.
SPREAD, SAMPLE, FLOOR = 100.0, 100_000, 1e-6
#: Weights and sequences from which on a pass of FTRL-Proximal comes first.
START_SIZE, START_INSTANCES = 10_000, 2_000
#: Number of weights above which the first iteration is not done on all of them.
HUGE = 10_000_000


@dataclass(frozen=True)
class ProxQN(Solver):
    """Algorithm 2 of the paper; with ``shrinking=False`` the plain proximal quasi-Newton method.

    What the paper leaves open is decided as follows. The shrinking stop is V_A <= ε_s V_0, where V is the
    largest violation and V_0 that at w = 0; ε_s starts at ``cooling_start`` and becomes, after each epoch,
    max(ε, ``cooling`` · min(ε_s, V/V_0)) with V over all weights. γ of the very first iteration is the
    curvature of the loss along the first direction (the paper's 1 is ``gamma0=1``); it is kept when an epoch
    clears the memory. The paper's γ = sᵀy/sᵀs makes directions so long that most searches back off; the
    default ‖y‖/‖s‖ is the geometric mean of it and of the yᵀy/sᵀy usual for L-BFGS, whose steps are accepted
    but short. ``memory=full`` keeps all pairs and the first γ that a pair gives, as Theorem 1 asks.

    Line 20 allows ⌊d/|A|⌋ sweeps to balance the inner problem against the rest of an iteration; where that
    is 1 although a sweep costs next to nothing (few weights, many samples), steps are far too short. So the
    default counts the work of both.

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
    """

    id = "prox-qn"
    name = "Prox-QN"
    summary = "proximal quasi-Newton on a working set that shrinks in epochs"
    paper = "Zhong et al. 2014, Algorithm 2"
    needs = Trait.SMOOTH | Trait.SEPARABLE
    presets = as_printed(
        **{"memory": 10, "max_inner": 10, "balance": "size"},
        **{"gamma": "ys/ss", "gamma0": 1.0, "diagonal": "off", "shrink_first": "off", "start": "none"},
    )
    dense_vectors = 4
    carries = ("active", "line", "memory")

    memory: int | str = param(
        30, "pairs (s, y) kept; full keeps all", low=1, high=1000, words=("full",), title="pairs kept m"
    )
    shrinking: bool = param(
        True, "confine iterations to a working set that shrinks within an epoch", title="shrinking"
    )
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
        "fewer sweeps on large working sets: ⌊d/|A|⌋ (size), or more while they cost less than the rest",
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

    def refuses(self, problem: Problem) -> str | None:
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
        # line 10 on a part of the weights ends an epoch, line 11 on all of them ends the run
        n, fresh = baton.iteration, baton.iteration > shown
        after = ahead[-1][0] if ahead else None
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
            if not self.look_back and state.is_solved(test):
                return state.look_once(test)
            found = state.search()  # lines 19 to 33
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
        self.aim = problem.aim(solver.tol)
        self.inner, self.sweeps = _InnerProblem(solver, problem), 0
        self.metric = Metric(solver.diagonal, problem)
        self.memory = PairMemory(None if solver.memory == "full" else solver.memory)
        self.curvature: float | None = None
        self.point = problem.at(w0)
        self.A, self.g = problem.design.working_set(), self.point.gradient()
        problem.pulse()
        self.gamma, self.M_hat = solver.gamma0, self._first_threshold(after is not None)
        self.exhausted = False
        #: the working set with which the last epoch ended
        self.dropped_from: WorkingSet | None = None
        #: what happened since the last iterate
        self.events: tuple[str, ...] = ("epoch-start",)

    def _first_threshold(self, ahead: bool) -> float:
        """Return M̂ before the first iteration: ∞ as in line 1, or the violation at w0."""
        when = self.solver.shrink_first
        first = when == "on" or (when == "auto" and (ahead or self.problem.size > HUGE))
        return self.point.violation() if first else np.inf

    def shrink(self) -> ShrinkTest:
        """Shrink A, g and the pairs to the weights that pass the test, and set M̂ to M (lines 3 to 9)."""
        tested, g, slack = self.A, self.g, self.M_hat / self.N
        self.problem.pulse()
        keep, M = shrink(tested.take(self.point.w), g, self.lam, slack)
        self.problem.pulse()
        if self.solver.shrinking and not keep.all():
            self.A, self.g = tested.restrict(keep), g[keep]
            self.memory.restrict(keep)
            self.metric.restrict(keep)
        self.M_hat = M
        returned = _returned(self.point, self.dropped_from)
        return ShrinkTest(tested, g, self.lam, self.lam - slack, M, self.cooling.target, returned)

    def epoch_is_over(self, test: ShrinkTest) -> bool:
        """Tell whether an epoch ends (line 10): violations on a part of the weights are at most the target,
        or no step decreases f on it."""
        return not test.whole and (self.exhausted or test.target >= test.largest)

    def begin_epoch(self) -> None:
        """Take all weights back, clear the pairs and lower ε_s for the next epoch (lines 15 and 16)."""
        self.dropped_from, self.exhausted = self.A, False
        self.A, self.g = self.problem.design.working_set(), self.point.gradient()
        self.cooling.end_epoch(self.point.violation())
        self.memory.clear()
        self.metric.clear()
        self.events += ("epoch-start", "memory-cleared")

    def is_solved(self, test: ShrinkTest) -> bool:
        """Tell whether the problem on a part of the weights is solved, to the tolerance or to rounding."""
        return not test.whole and (self.exhausted or self.aim >= test.largest)

    def look_once(self, test: ShrinkTest) -> Ending:
        """Look at all weights in the end, where none has come back: is it their optimum too?"""
        violation, left = self.point.violation(), f"{len(self.A):,} of {self.problem.size:,} weights"
        if self.aim >= violation:
            return Ending(
                "converged", f"violation {violation:.3g} over all weights is at most {self.aim:.3g}"
            )
        solved = "no step decreases the objective" if self.exhausted else f"a violation of {test.largest:.3g}"
        told = f"the optimum on the {left} that are left ({solved}); over all weights the violation is"
        return Ending("stalled", f"{told} {violation:.3g}, and {self.aim:.3g} was asked for")

    def search(self) -> Found[Point]:
        """Search along the solution d of the inner problem (lines 19 to 33); where no step decreases f, clear
        the pairs and search once more."""
        self.metric.measure(self.point, self.A)
        if self.gamma == 0.0:
            self.gamma = self._first_curvature()
        w = self.A.take(self.point.w)
        found = self._search_along(self._direction(w), w)
        if found.t == 0.0 and len(self.memory):
            self.memory.clear()
            self.events += ("memory-cleared",)
            found = self._search_along(self._direction(w), w)
        return found

    def _direction(self, w: np.ndarray) -> np.ndarray:
        """Solve the inner problem on A at ``w``, the weights there, for d (lines 19 to 28)."""
        r = self.metric.root
        d, self.sweeps = self.inner.solve(r * w, self.g / r, self.lam / r, self.memory, self.gamma)
        return np.where(d == -r * w, -w, d / r)

    def _search_along(self, d: np.ndarray, w: np.ndarray) -> Found[Point]:
        """Backtrack along d until Armijo's rule holds (lines 29 to 33), unless d promises no more than
        rounding."""
        decrease = promised(w, self.g, d, self.lam)
        if not decrease < -NO_DECREASE * abs(self.point.objective):
            return Found(self.point, 0.0, None, 0)
        line = self.problem.line(self.point, d, self.A)
        return line.armijo(decrease, beta=self.solver.beta, sigma=self.solver.sigma)

    def update(self, found: Found[Point]) -> None:
        """Move to the new point: g on A there, the pair (s, y) and γ (lines 34 to 39). Q and Q̂ are made from
        the pairs, when the next direction needs them."""
        self.point = found.point
        g = self.point.gradient(self.A)
        s, y = found.t * found.search.d, g - self.g
        self.curvature = self.memory.push(self.metric.root * s, y / self.metric.root)
        self.g = g
        if self.curvature is None:
            self.events += ("curvature-skipped",)
        elif self.solver.memory != "full" or len(self.memory) == 1:
            self.gamma = self.memory.scaling(self.solver.gamma)

    def give_up(self) -> None:
        """End the epoch: no step decreases f on this working set."""
        self.exhausted = True
        self.events += ("stalled-on-working-set",)

    def iterate(self, n: int, test: ShrinkTest, found: Found[Point] | None) -> Iterate:
        """Describe iterate n, to which the step ``found`` led, and the shrinking ``test`` made there."""
        live = {"gradient": self.g, "shrinking": test if self.solver.shrinking else None}
        known = {
            "epoch": self.epochs + self.cooling.epoch,
            "returned": test.returned.size,
            "events": self.events,
        }
        known["violation"] = test.largest if test.whole else NAN
        if found is None:
            known["phase"] = self.after
        if found is not None:
            known["phase"] = "shrink" if self.solver.shrinking else None
            known |= {"gamma": self.gamma, "inner_iterations": self.sweeps}
            known["curvature"] = NAN if self.curvature is None else self.curvature
        self.events = ()
        return Iterate.at(self.point, n, active=self.A, found=found, memory=self.memory, live=live, **known)

    def _first_curvature(self) -> float:
        """Measure γ as pᵀ∇²F p / pᵀDp along p = S(w - D⁻¹g, λD⁻¹) - w, the direction that B = D gives."""
        w, D = self.A.take(self.point.w), self.metric.root**2
        p = soft_threshold(w - self.g / D, self.lam / D) - w
        length = float(p @ (D * p))
        curvature = self.problem.line(self.point, p, self.A).curvature() if length else 0.0
        return curvature / length if curvature > 0.0 else 1.0


class Metric:
    """D of B₀ = γD on the working set, by ``root`` = D^½: made where an epoch begins, and kept in it."""

    def __init__(self, choice: str, problem: Problem) -> None:
        known = Trait.DIAGONAL_HESSIAN in problem.loss.traits
        self.choice = choice if known else "off"
        self.clear()

    def clear(self) -> None:
        """Forget D, so that it is measured where the next epoch begins."""
        self.root: np.ndarray | None = None

    def restrict(self, mask: np.ndarray) -> None:
        """Keep only the members where ``mask`` holds."""
        if self.root is not None:
            self.root = self.root[mask]

    def measure(self, point: Point, active: WorkingSet) -> None:
        """Make D for an epoch, if it has none yet: the roots of the Hessian's diagonal at ``point``."""
        if self.root is not None:
            return
        self.root = np.ones(len(active))
        if self.choice == "off":
            return
        h = point.hessian_diagonal(active)
        if self.choice == "auto":
            self.choice = "on" if spreads(h) else "off"
        mean = float(h.mean())
        if self.choice == "on" and mean > 0.0:
            self.root = np.maximum(h, FLOOR * mean) ** 0.25


class _InnerProblem:
    """min_d gᵀd + ½dᵀBd + Σ_j λ_j|w_j + d_j| by coordinate descent (section 2.2)."""

    def __init__(self, solver: ProxQN, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.rng = np.random.default_rng(solver.seed)

    def _most(self, size: int, rank: int) -> int:
        """Return the most sweeps over ``size`` weights with B of this rank (line 20)."""
        most, design = self.solver.max_inner, self.problem.design
        if self.solver.balance == "off":
            return most
        fair = self.problem.size // size
        if self.solver.balance == "work":
            fair = max(fair, SCORE_WORK * design.n_rows * design.n_outputs // (rank * size))
        return max(1, min(most, fair))

    def solve(
        self, w: np.ndarray, g: np.ndarray, lam: np.ndarray, memory: PairMemory, gamma: float
    ) -> tuple[np.ndarray, int]:
        """Return d and the sweeps it took (lines 19 to 28): at least one. ``lam`` has a λ for each weight."""
        B = memory.compact(gamma)
        if B.rank == 0:  # B = γI separates: one closed-form step is exact
            return soft_threshold(w - g / gamma, lam / gamma) - w, 1
        most = self._most(w.size, B.rank)
        d = np.zeros_like(w)
        sweeps, moved = 0, np.inf
        while sweeps < most and moved > 0.0:
            sweeps += 1
            order = self.rng.permutation(w.size) if self.solver.order == "random" else np.arange(w.size)
            # computed afresh every sweep, against drift
            d_hat = B.Q_hat.T @ d
            moved = 0.0
            for lo in range(0, w.size, SWEEP_CHUNK):
                part = order[lo : lo + SWEEP_CHUNK]
                moved = max(moved, sweep(part, w, g, lam, gamma, B.diagonal, B.Q, B.Q_hat, d, d_hat))
                self.problem.pulse()
        return d, sweeps


def _returned(point: Point, dropped_from: WorkingSet | None) -> np.ndarray:
    """List non-zero weights that were outside the working set when the last epoch ended."""
    if dropped_from is None:
        return np.empty(0, dtype=np.int64)
    active = point.active
    support = np.flatnonzero(point.w if active is None else active.take(point.w))
    if active is not None and not active.full:
        support = active.coordinates[support]
    return support[np.isin(support, dropped_from.coordinates, assume_unique=True, invert=True)]


def spreads(h: np.ndarray) -> bool:
    """Tell whether curvatures differ by more than ``SPREAD`` between the least and the largest hundredth."""
    h = h[:: max(1, h.size // SAMPLE)]
    low, high = np.quantile(h[h > 0.0], [0.01, 0.99]) if np.any(h > 0.0) else (1.0, 1.0)
    return bool(high > SPREAD * low)
