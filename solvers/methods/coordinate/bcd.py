"""Block coordinate descent over rows of W: Blondel, Seki and Uehara 2013, algorithms 1 to 3."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...declare import Trait, as_printed, param, random_seed
from ...parts.linesearch import Found, Search, unsearched
from ...problems.lipschitz import block_constants, constant_param
from ...problems.losses.feature_columns import ColumnData
from ...problems.point import REFRESH, Point
from ...problems.problem import Problem
from ..iterate import NAN, Ending, Iterate
from ..solver import Solver
from ..working_sets import weights_of
from .bcd_kernels import TRIALS, Blocks, Searching, Strengths, update_rows
from .moves import Moves

#: Entries of X times outputs that one kernel call handles: 5 to 60 ms, by how much the loss computes.
CHUNK = 500_000
#: ε of 𝓛_j >= ε, in units of s Σ_i x_ij²: the paper's, for features of unit length.
FLOOR = 1e-12
#: Trials of a search from which on it moved scores so far, and back, that they are computed afresh.
SHAKEN = 20
#: Where K_j takes the place of a search.
NO_SEARCH = Searching(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class BlockCoordinateDescent(Solver):
    """A block is the row of weights of one feature; an iterate is a pass: as many blocks as are active.

    In block j, W_j* = prox_{λR/𝓛_j}(W_j - G_j/𝓛_j), and W_j moves towards W_j*. The scores move with it, at
    the samples that have the feature, so that a block costs O(n̂ m). The run ends when the sum (``bcd-ls``) or
    the maximum (``bcd-cst``) of the violations met in a pass is at most ``tol`` times that of the first pass
    (section 4.5). With the min-norm rule the first pass is one from w = 0 even where the run is not (of
    ``bcd-cst``, whose random rows may miss those that are violated, one over all rows), and the violation
    over all rows must be as small against that at w = 0.

    Algorithms 1 to 3 have no shrinking: it is the extension of section 5.2.4, which ``preset=paper`` leaves
    out. With ``shrinking`` a row at zero that would stay optimal if λ fell by v_max/n is left out, v_max the
    largest violation of the pass before. All rows come back, and an epoch begins, when the violations of the
    rest are at most ``revisit`` times those of the whole pass that the epoch began with. (The paper waits
    until the rest has converged: that is ``revisit`` 0.) v_max is kept then: every row is looked at in that
    pass before it may go again.
    """

    paper = "Blondel et al. 2013, algorithms 1-3"
    dense_vectors = 3
    #: whether the violations of a pass are added up, or their maximum is taken
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
        passes = _Passes(self, problem, problem.at(w0))
        violation = problem.violation_at_zero() if w0 is None else NAN
        known = {"epoch": 0, "violation": violation, "events": ("epoch-start",)}
        yield Iterate.at(passes.point, 0, active=passes.working_set, **known)
        if violation <= problem.noise:
            return Ending("converged", "w = 0 is optimal")
        moves = Moves(problem, passes.updates.data, self.moves) if self.moves else None
        first, least = self.first(problem, w0), problem.noise * (passes.active.size if self.sums else 1)
        v_max, target, epoch, n = np.inf, 0.0, 0, 0
        events: tuple[str, ...] = ()
        while True:
            n, active, whole = n + 1, passes.working_set, passes.whole
            total, v_max, found = passes.run(self.sequence(passes.active, n), v_max)
            met = total if self.sums else v_max
            first = first or met
            done, violation = met <= max(self.tol * first, least), NAN
            if whole:
                target = max(self.revisit * met, self.tol * first, least)
                if done:
                    violation = passes.point.violation()
            if moves and moves.due and not done:
                before, passes.point = passes.point, moves.combine(passes.point, passes.active)
                events += ("extrapolated",) if passes.point is not before else ()
            known = {"violation": violation, "epoch": epoch, "events": events}
            known["phase"] = "shrink" if self.shrinking else None
            yield Iterate.at(passes.point, n, active=active, found=found, **known)
            # the paper's rule sees the rows of a pass, which need not be all where they are drawn
            printed = self.rule == "paper" and first and (self.sums or violation <= self.tol * first)
            if done and whole and (violation <= problem.aim(self.tol) or printed):
                return Ending("converged", f"no row violated by more than {v_max:.3g} in a whole pass")
            events = ()
            if met <= target and not whole:
                epoch, events = epoch + 1, ("epoch-start",)
                passes.activate()
            elif self.shrinking:
                passes.shrink()

    def first(self, problem: Problem, w0: np.ndarray | None) -> float:
        """Return the sum or maximum of the violations at w = 0, against which ``tol`` is measured; 0 where
        the first pass will meet just these (after a warm start it meets smaller ones)."""
        if self.rule == "paper" or (self.sums and w0 is None):
            return 0.0
        if not self.sums:
            return problem.violation_at_zero()
        zero, penalty = np.zeros(problem.size), problem.penalty
        v = penalty.subgradient(zero, problem.at().gradient()).reshape(problem.design.n_features, -1)
        each = np.linalg.norm(v, axis=1) if any(penalty.row_norms[1:]) else np.abs(v).max(axis=1)
        return float(each.sum())

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        """Return the features of pass n, in the order of their visits."""
        raise TypeError(f"{type(self).__name__} does not define sequence")

    def constants(self, problem: Problem) -> np.ndarray:
        """Return K_j of each feature; an empty array where a search takes their place."""
        return np.zeros(0)

    def searching(self) -> Searching:
        """Return the settings of that search."""
        return NO_SEARCH


class RowUpdates:
    """Updates of rows of W in turn, and what they read of a problem."""

    def __init__(self, problem: Problem, blocks: Blocks) -> None:
        self.problem, self.blocks, design, penalty = problem, blocks, problem.design, problem.penalty
        columns = design.starts, design.edges, design.rows, design.values
        self.data = ColumnData(problem.loss.term, problem.loss.labels, *columns)
        self.strengths = Strengths(problem.scale, penalty.ridge, *penalty.row_norms)

    def run(
        self, point: Point, order: np.ndarray, searching: Searching, slack: float, *, paper: bool
    ) -> tuple[float, float, int, np.ndarray]:
        """Update rows in turn, as :func:`.bcd_kernels.update_rows` does, in place of weights and scores of
        the point; return the sum and the largest of the violations met, the trials, and the longest
        search."""
        design = self.problem.design
        W, _ = design.split(point.w)
        work = np.cumsum(design.column_nnz[order] * design.n_outputs)
        cuts = np.searchsorted(work, np.arange(CHUNK, work[-1], CHUNK)) + 1 if work.size else []
        total, largest, trials, longest = 0.0, 0.0, 0, np.zeros((TRIALS + 1, 3))
        for part in np.split(order, cuts):
            given = part, self.blocks, self.strengths, searching, slack, paper, longest
            sums, most, tried, touched = update_rows(self.data, point.scores.Z, W, *given)
            total, largest, trials = total + sums, max(largest, most), trials + tried
            design.touched += touched
            self.problem.pulse()
        return total, largest, trials, longest


class _Passes:
    """Weights and scores, and the features that are not left out."""

    def __init__(self, solver: BlockCoordinateDescent, problem: Problem, point: Point) -> None:
        self.solver, self.problem, self.point = solver, problem, point
        design, n = problem.design, problem.design.n_features
        floor = FLOOR * problem.scale * design.column_squares()
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
        """Tell whether no feature is left out."""
        return self.active.size == self.blocks.keep.size

    def shrink(self) -> None:
        """Leave out the features that the last pass marked."""
        kept = self.blocks.keep[self.active]
        if not kept.all():
            self.active, design = self.active[kept], self.problem.design
            self.working_set = design.working_set(weights_of(self.active, design.n_outputs))

    def run(self, order: np.ndarray, v_max: float) -> tuple[float, float, Found[Point]]:
        """Make a pass; return the sum and the largest of the violations met, and the outcome of its
        searches."""
        solver, problem, search = self.solver, self.problem, self.blocks.K.size == 0
        kinks = sum(problem.penalty.row_norms)
        slack = v_max / problem.loss.n_instances / kinks if solver.shrinking and kinks else np.inf
        searching = solver.searching() if search else NO_SEARCH
        total, largest, trials, longest = self.updates.run(
            self.point, order, searching, slack, paper=solver.rule == "paper"
        )
        scores = self.point.scores
        self.count += 1
        if self.count % REFRESH == 0 or longest[0, 0] > SHAKEN:
            scores = problem.design.scores(self.point.w)
        self.point = Point(problem, self.point.w, scores, active=self.working_set)
        found = Found(self.point, NAN, _noted(longest), trials) if search else unsearched(self.point)
        return total, largest, found


def _noted(longest: np.ndarray) -> Search | None:
    """Turn what the kernel wrote of the longest search of a pass into a log; None if there was no search."""
    count, before, row = longest[0]
    if count == 0:
        return None
    search = Search(float(before), block=int(row))
    for trial in longest[1 : int(count) + 1].tolist():
        search.note(*trial)
    return search


@dataclass(frozen=True)
class BCDLS(BlockCoordinateDescent):
    """𝓛_j from the second derivatives h_j of eq. (6), and an Armijo search (7): Tseng and Yun 2009.

    h_j is computed in :mod:`...problems.losses.feature_columns`, the search is in
    :func:`.bcd_kernels.update_rows`.

    Three things go beyond the paper, whose method is ``order="cyclic"`` with ``lengthen=1`` and ``moves=0``,
    without shrinking. A pass takes every active row once, in a new random order each time, as the authors'
    program lightning does: with pixels for features, one after the other needs three times as many on MNIST.
    And 𝓛_j = s_j max(‖h_j‖_∞, ε_j), where s_j (at least 0.1) falls by the factor ``lengthen`` whenever the
    search takes the first step it tries, and doubles, up to 1, when it does not: ‖h_j‖_∞ overestimates the
    curvature along most steps. That halves the passes in random orders; in cyclic order it costs passes. ε_j
    is 1e-12 times the sum of squares of the feature (times 1/n of an average), which depends on no unit.
    At last, every few passes the best combination of the last ``moves`` moves is added where f is lower there
    (see :class:`.Moves`): that halves the passes once more where they are many.
    """

    id = "bcd-ls"
    name = "BCD (LS)"
    summary = "one feature at a time, with a line search"
    needs = Trait.SMOOTH | Trait.ROWS | Trait.GROUP_SEPARABLE
    presets = as_printed(shrinking=False, order="cyclic", lengthen=1.0, revisit=0.0, rule="paper", moves=0)
    carries = ("active", "line")
    sums = True

    order: str = param(
        "random", "order of rows in a pass", choices=("random", "cyclic"), title="order of rows"
    )
    omega: float = param(
        0.5, "factor of the line search ω", low=0.0, high=0.999, open_low=True, title="backtracking factor ω"
    )
    sigma: float = param(
        0.01,
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

    def searching(self) -> Searching:
        return Searching(self.omega, self.sigma, self.lengthen)

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        return active if self.order == "cyclic" else np.random.default_rng([self.seed, n]).permutation(active)


@dataclass(frozen=True)
class BCDCST(BlockCoordinateDescent):
    """Rows drawn uniformly, 𝓛_j a Lipschitz constant of the row, no search: Richtárik and Takáč 2012."""

    id = "bcd-cst"
    name = "BCD (CST)"
    summary = "one random feature at a time, with steps of constant length"
    needs = Trait.SMOOTH | Trait.ROWS | Trait.GROUP_SEPARABLE | Trait.LIPSCHITZ
    presets = as_printed(shrinking=False, constant="paper", revisit=0.0, rule="paper")
    carries = ("active",)
    sums = False

    constant: str = constant_param()
    seed: int = random_seed("seed of the random features")

    def sequence(self, active: np.ndarray, n: int) -> np.ndarray:
        return np.random.default_rng([self.seed, n]).choice(active, active.size)

    def constants(self, problem: Problem) -> np.ndarray:
        return block_constants(problem, self.constant)
