"""Block coordinate descent over rows of W: Blondel, Seki and Uehara 2013, algorithms 1 to 3."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...declare import Trait, as_printed, param, random_seed
from ...problems.lipschitz import block_constants, constant_param
from ...problems.losses.feature_columns import ColumnData
from ...problems.point import REFRESH, Point
from ...problems.problem import Problem
from ...search.line_search import MODEL_ARMIJO
from ...search.outcome import SearchLog, SearchResult, without_search
from ...working_sets.policy import FixedShare, ShrinkingPolicy
from ..iterate import NAN, Ending, Iterate
from ..solver import Solver
from ..working_sets import weights_of
from .bcd_kernels import MAX_ARMIJO_TRIALS, Blocks, RowSearch, Strengths, update_rows
from .moves import RecentMoves

#: Entries of X times outputs per kernel call: 5 to 60 ms, depending on the loss.
BCD_ENTRIES_PER_CALL = 500_000
#: Least 𝓛_j, relative to s Σ_i x_ij²: the paper's ε for features of unit length.
LIPSCHITZ_FLOOR = 1e-12
#: Trials of a search above which scores are recomputed: so many moves back and forth leave rounding.
RECOMPUTE_TRIALS = 20
#: Settings of no search, if K_j takes its place.
NO_SEARCH = RowSearch(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class BlockCoordinateDescent(Solver):
    """Block coordinate descent: a block is the row of weights of one feature, an iterate is one pass.

    A pass visits all active blocks. In block j, W_j* = prox_{λR/𝓛_j}(W_j - G_j/𝓛_j), and W_j moves towards
    W_j*. The scores move with it, at the samples that have the feature, so that a block costs O(n̂ m). The
    run ends when the violations met in a pass are at most ``tol`` times those of the first pass (section
    4.5). ``bcd-ls`` compares their sums, ``bcd-cst`` their maxima. With the min-norm rule the reference is a
    pass from w = 0, even if the run starts elsewhere. For ``bcd-cst``, whose random rows may miss violated
    ones, the reference is a pass over all rows. Finally the violation over all rows must also be at most
    ``tol`` times that at w = 0.

    Shrinking is not part of algorithms 1 to 3: it is the extension of section 5.2.4, which ``preset=paper``
    switches off. With ``shrinking`` a zero row is left out if it would stay optimal for λ - v_max/n. Here
    v_max is the largest violation of the previous pass, see :class:`.policy.ShrinkingPolicy`. All rows come
    back, and an epoch begins, when the other rows' violations are at most ``revisit`` times those of the
    epoch's first pass. (The paper waits until the other rows have converged, as with ``revisit=0``.) The
    first pass of an epoch visits every row.
    """

    paper = "Blondel et al. 2013, algorithms 1-3"
    dense_vectors = 3
    #: whether violations of a pass are summed; else their maximum is taken
    sums: ClassVar[bool]
    #: how many moves of passes are combined
    moves: ClassVar[int] = 0

    shrinking: bool = param(
        True, "leave out rows that stay at zero, until the rest has converged", title="shrinking"
    )
    revisit: float = param(
        0.1,
        "share of an epoch's first violations at which the rows left out come back; 0 waits until the rest "
        "has converged, as the paper does",
        low=0.0,
        high=1.0,
        title="return of shrunk rows",
    )
    rule: str = param(
        "min-norm",
        "violation of a row: distance to optimality, or the paper's (9), which ignores direction",
        choices=("min-norm", "paper"),
        title="violation of a row",
    )
    tol: float = param(
        1e-9,
        "τ: violation relative to the first pass at which it ends",
        low=0.0,
        high=1.0,
        title="own tolerance τ",
    )

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        passes = RowPasses(self, problem, problem.at(w0))
        violation = problem.violation_at_zero() if w0 is None else NAN
        known = {"epoch": 0, "violation": violation, "events": ("epoch-start",)}
        yield Iterate.at(passes.point, 0, active=passes.working_set, **known)
        if violation <= problem.noise:
            return Ending("converged", "w = 0 is optimal")
        moves = RecentMoves(problem, passes.updates.data, self.moves) if self.moves else None
        first, least = self.first(problem, w0), problem.noise * (passes.active.size if self.sums else 1)
        schedule, n = FixedShare(self.revisit, least), 0
        policy = ShrinkingPolicy(schedule, problem.loss.n_instances, enabled=self.shrinking)
        events: tuple[str, ...] = ()
        while True:
            n, active, whole = n + 1, passes.working_set, passes.whole
            total, v_max, found = passes.run(self.sequence(passes.active, n), policy.threshold)
            policy.last_violation, met = v_max, total if self.sums else v_max
            first = first or met
            done, violation = met <= max(self.tol * first, least), NAN
            if whole:
                schedule.least = max(self.tol * first, least)
                schedule.screen_all(met)
                if done:
                    violation = passes.point.violation()
            if moves and moves.due and not done:
                before, passes.point = passes.point, moves.combine(passes.point, passes.active)
                events += ("extrapolated",) if passes.point is not before else ()
            known = {"violation": violation, "epoch": policy.epoch, "events": events}
            known["phase"] = "shrink" if self.shrinking else None
            yield Iterate.at(passes.point, n, active=active, found=found, **known)
            # the paper's rule knows the rows of a pass, which are not all rows if they are drawn at random
            printed = self.rule == "paper" and first and (self.sums or violation <= self.tol * first)
            if done and whole and (violation <= problem.aim(self.tol) or printed):
                return Ending("converged", f"no row violated by more than {v_max:.3g} in a whole pass")
            events = ()
            if policy.epoch_is_over(met, whole=whole):
                policy.end_epoch(met)
                events = ("epoch-start",)
                passes.activate()
            elif self.shrinking:
                passes.shrink()

    def first(self, problem: Problem, w0: np.ndarray | None) -> float:
        """Return the violations at w = 0, to which ``tol`` is relative: their sum or their maximum.

        Return 0 if the first pass measures them anyway. After a warm start that pass would meet smaller
        violations.
        """
        if self.rule == "paper" or (self.sums and w0 is None):
            return 0.0
        if not self.sums:
            return problem.violation_at_zero()
        zero, penalty = np.zeros(problem.size), problem.penalty
        v = penalty.subgradient(zero, problem.at().gradient()).reshape(problem.design.n_features, -1)
        each = np.linalg.norm(v, axis=1) if any(penalty.row_norms[1:]) else np.abs(v).max(axis=1)
        return float(each.sum())

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        """Return the features that pass n visits, in order."""
        raise TypeError(f"{type(self).__name__} does not define sequence")

    def constants(self, problem: Problem) -> np.ndarray:
        """Return K_j of each feature; an empty array if a search is used instead."""
        return np.zeros(0)

    def searching(self) -> RowSearch:
        """Return the settings of the line search in a block."""
        return NO_SEARCH


class RowUpdates:
    """Updates of rows of W one after another, and the data that they read."""

    def __init__(self, problem: Problem, blocks: Blocks) -> None:
        self.problem, self.blocks, design, penalty = problem, blocks, problem.design, problem.penalty
        columns = design.starts, design.edges, design.rows, design.values
        self.data = ColumnData(problem.loss.term, problem.loss.labels, *columns)
        self.strengths = Strengths(problem.scale, penalty.ridge, *penalty.row_norms)
        self.factors = penalty.factor_array[:: design.n_outputs]

    def run(
        self, point: Point, order: np.ndarray, searching: RowSearch, threshold: float, *, paper: bool
    ) -> tuple[float, float, int, np.ndarray]:
        """Update rows one after another with :func:`.bcd_kernels.update_rows`, in place of weights and
        scores.

        Return the sum and the largest of the violations met, the number of trials, and the log of the longest
        search.
        """
        design = self.problem.design
        W, _ = design.split(point.w)
        work = np.cumsum(design.column_nnz[order] * design.n_outputs)
        most = work[-1] if work.size else 0
        cuts = np.searchsorted(work, np.arange(BCD_ENTRIES_PER_CALL, most, BCD_ENTRIES_PER_CALL)) + 1
        total, largest, trials, longest = 0.0, 0.0, 0, np.zeros((MAX_ARMIJO_TRIALS + 1, 3))
        for part in np.split(order, cuts):
            given = part, self.blocks, self.strengths, self.factors, searching, threshold, paper, longest
            sums, most, tried, touched = update_rows(self.data, point.scores.Z, W, *given)
            total, largest, trials = total + sums, max(largest, most), trials + tried
            design.touched += touched
            self.problem.pulse()
        return total, largest, trials, longest


class RowPasses:
    """The passes of a run: weights, scores, and the active features."""

    def __init__(self, solver: BlockCoordinateDescent, problem: Problem, point: Point) -> None:
        self.solver, self.problem, self.point = solver, problem, point
        design, n = problem.design, problem.design.n_features
        floor = LIPSCHITZ_FLOOR * problem.scale * design.column_squares()
        self.blocks = Blocks(np.ones(n, dtype=np.bool_), solver.constants(problem), floor, np.ones(n))
        self.updates = RowUpdates(problem, self.blocks)
        self.count = 0
        self.activate()

    def activate(self) -> None:
        """Make all features active."""
        self.active = np.arange(self.problem.design.n_features)
        self.blocks.keep[:] = True
        self.working_set = self.problem.design.working_set()

    @property
    def whole(self) -> bool:
        """Return whether no feature is left out."""
        return self.active.size == self.blocks.keep.size

    def shrink(self) -> None:
        """Leave out the features that the last pass marked to leave."""
        kept = self.blocks.keep[self.active]
        if not kept.all():
            self.active, design = self.active[kept], self.problem.design
            self.working_set = design.working_set(weights_of(self.active, design.n_outputs))

    def run(self, order: np.ndarray, threshold: float) -> tuple[float, float, SearchResult[Point]]:
        """Make a pass, and mark rows to leave with the ``threshold`` v_max/n.

        Return the sum and the largest of the violations met, and the outcome of the searches.
        """
        solver, problem, search = self.solver, self.problem, self.blocks.K.size == 0
        kinks = sum(problem.penalty.row_norms)
        share = threshold / kinks if kinks else np.inf
        searching = solver.searching() if search else NO_SEARCH
        total, largest, trials, longest = self.updates.run(
            self.point, order, searching, share, paper=solver.rule == "paper"
        )
        scores = self.point.scores
        self.count += 1
        if self.count % REFRESH == 0 or longest[0, 0] > RECOMPUTE_TRIALS:
            scores = problem.design.scores(self.point.w)
        self.point = Point(problem, self.point.w, scores, active=self.working_set)
        found = (
            SearchResult(self.point, NAN, _search_log(longest), trials)
            if search
            else without_search(self.point)
        )
        return total, largest, found


def _search_log(longest: np.ndarray) -> SearchLog | None:
    """Return the log of the longest search of a pass, from the array that the kernel wrote.

    Return None if there was no search.
    """
    count, before, row = longest[0]
    if count == 0:
        return None
    search = SearchLog(float(before), block=int(row))
    for trial in longest[1 : int(count) + 1].tolist():
        search.note(*trial)
    return search


@dataclass(frozen=True)
class BCDLS(BlockCoordinateDescent):
    """Block coordinate descent with an Armijo search (7), as in Tseng and Yun 2009.

    𝓛_j is computed from the second derivatives h_j of eq. (6): see :mod:`...problems.losses.feature_columns`.
    The search is in :func:`.bcd_kernels.update_rows`.

    ``preset=paper`` gives the paper's method: ``order="cyclic"``, ``lengthen=1``, ``moves=0``,
    ``rule="paper"``, ``revisit=0`` and no shrinking. The defaults go beyond it in three ways.

    First, a pass visits every active row once, in a new random order each time, as the authors' program
    lightning does. If features are pixels, visiting them one after the other takes three times as many passes
    on MNIST.

    Second, 𝓛_j = s_j max(‖h_j‖_∞, ε_j), with s_j from 0.1 to 1. s_j is multiplied by ``lengthen`` whenever
    the search accepts its first step, and doubled when it does not: ‖h_j‖_∞ overestimates the curvature along
    most steps. This halves the number of passes in random orders, but costs passes in cyclic order. ε_j is
    1e-12 times the sum of squares of the feature (times 1/n if the loss is an average). So ε_j does not
    depend on the units of the features.

    Third, every few passes the best combination of the last ``moves`` moves is added if it lowers f (see
    :class:`.RecentMoves`). This halves the number of passes once more if it is large.
    """

    id = "bcd-ls"
    name = "BCD (LS)"
    summary = "one feature at a time, with a line search"
    needs = Trait.SMOOTH | Trait.ROW_KERNELS | Trait.GROUP_SEPARABLE
    presets = as_printed(shrinking=False, order="cyclic", lengthen=1.0, revisit=0.0, rule="paper", moves=0)
    carries = ("active", "line")
    sums = True

    order: str = param(
        "random", "order of rows in a pass", choices=("random", "cyclic"), title="order of rows"
    )
    omega: float = param(
        MODEL_ARMIJO.beta,
        "factor of the line search ω",
        low=0.0,
        high=0.999,
        open_low=True,
        title="backtracking factor ω",
    )
    sigma: float = param(
        MODEL_ARMIJO.sigma,
        "share of the promised decrease that the search asks for",
        low=0.0,
        high=0.999,
        title="decrease asked for σ",
    )
    lengthen: float = param(
        0.8,
        "factor of 𝓛_j at rows whose first step is taken; 1 keeps the paper's 𝓛_j",
        low=0.1,
        high=1.0,
        title="stretch of 𝓛_j",
    )
    moves: int = param(
        5,
        "moves of passes whose best combination is tried; 0 takes passes as they are",
        low=0,
        high=20,
        title="moves combined",
    )
    seed: int = random_seed("seed of the random order")

    def searching(self) -> RowSearch:
        return RowSearch(self.omega, self.sigma, self.lengthen)

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        return active if self.order == "cyclic" else np.random.default_rng([self.seed, n]).permutation(active)


@dataclass(frozen=True)
class BCDCST(BlockCoordinateDescent):
    """Block coordinate descent on random rows, with Lipschitz constants 𝓛_j and no search.

    Richtárik and Takáč 2012.
    """

    id = "bcd-cst"
    name = "BCD (CST)"
    summary = "one random feature at a time, with steps of constant length"
    needs = Trait.SMOOTH | Trait.ROW_KERNELS | Trait.GROUP_SEPARABLE | Trait.LIPSCHITZ
    presets = as_printed(shrinking=False, constant="paper", revisit=0.0, rule="paper")
    carries = ("active",)
    sums = False

    constant: str = constant_param()
    seed: int = random_seed("seed of the random features")

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        return np.random.default_rng([self.seed, n]).choice(active, active.size)

    def constants(self, problem: Problem) -> np.ndarray:
        return block_constants(problem, self.constant)
