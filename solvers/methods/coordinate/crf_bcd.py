"""Blockwise coordinate descent for CRFs: Sokolovska, Lavergne, Cappé and Yvon, IEEE JSTSP 2010."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...declare import Trait, as_printed, param
from ...linalg.scores import Scores
from ...problems.point import REFRESH, Point
from ...problems.problem import Problem
from ...search.line_search import MODEL_ARMIJO, Armijo
from ...search.outcome import SearchLog, SearchResult
from ...working_sets.policy import Cooling, ShrinkingPolicy
from ..common_params import as_in, cooling_param, cooling_start_param, tol_param
from ..iterate import NAN, Ending, Iterate
from ..solver import Solver

#: Least h, relative to s Σ x²: the paper's 1e-10 for a feature that is one in one place.
BLOCK_CURVATURE_FLOOR = 1e-10
#: The most that one step may add to a score (LIBLINEAR's longest step): with the least h it could be 1e10.
LONGEST_STEP = 10.0
#: Scores updated or tried per iterate, if a sweep takes more: some seconds.
SCORES_PER_ITERATE = 200_000_000


@dataclass(frozen=True)
class CRFBlockCoordinateDescent(Solver):
    """Block coordinate descent for chain CRFs; a block is the weights of one feature, or all transitions.

    An iterate is a sweep over the blocks, or a part of a long sweep.

    In a block, new = S(h w - g, λ)/h with h_y = Σ x² μ_y(1 - μ_y). This h ignores the covariance between
    positions and between labels. Zhong et al. 2014, section 6, add three things: an Armijo search along the
    step, on the instances that contain the feature; shrinking of single weights in epochs (section 2.3); and
    h >= 1e-10 s Σ x². ``damping`` replaces the search by the safeguard of Sokolovska et al., h times 1.5
    max(1, |g/h|).
    """

    id = "crf-bcd"
    name = "CRF-BCD"
    summary = "coordinate descent over the weights of one feature at a time"
    paper = "Sokolovska et al. 2010; Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.DIAGONAL_HESSIAN | Trait.INSTANCE_KERNELS | Trait.SEPARABLE | Trait.UNIFORM
    presets = as_printed(shrinking=False, damping=True)
    dense_vectors = 3
    carries = ("active", "line")

    shrinking: bool = param(True, "leave out weights that stay at zero, in epochs", title="shrinking")
    damping: bool = param(
        False, "damp the curvature instead of searching along the step", title="damped curvature"
    )
    beta: float = as_in(Armijo, "beta")
    sigma: float = as_in(Armijo, "sigma", default=MODEL_ARMIJO.sigma)
    cooling_start: float = cooling_start_param()
    cooling: float = cooling_param()
    tol: float = tol_param()

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        state = SweepState(self, problem, problem.at(w0))
        violation = problem.violation_at_zero() if w0 is None else NAN
        given = self.cooling_start, self.cooling, self.tol, problem.violation_at_zero()
        cooling = Cooling(*given, noise=problem.noise)
        policy = ShrinkingPolicy(cooling, problem.loss.n_instances, enabled=self.shrinking, resets=True)
        n, sweeps = 0, 0
        events: tuple[str, ...] = ("epoch-start",)
        while True:
            A = problem.design.working_set(np.flatnonzero(state.active))
            known = {"phase": "shrink" if self.shrinking else None, "epoch": policy.epoch}
            yield state.iterate(n, active=A, events=events, violation=violation, **known)
            if violation <= problem.noise:
                return Ending("converged", "w = 0 is optimal")
            n, sweeps, events, violation = n + 1, sweeps + 1, (), NAN
            if sweeps % REFRESH == 0:
                state.recompute()
            M = 0.0
            for number in range(state.n_blocks):
                M = max(M, self.update(state, number, policy.threshold))
                problem.pulse()
                if state.handled >= SCORES_PER_ITERATE:
                    yield state.iterate(n, active=A, **known)
                    n += 1
            policy.last_violation = M
            if problem.aim(self.tol) >= M and A.full:
                yield state.iterate(n, active=A, **known)
                return Ending("converged", f"no weight violated by more than {M:.3g} in a whole sweep")
            # a sweep over all weights ends its epoch too
            if self.shrinking and policy.epoch_is_over(M, whole=False):
                policy.end_epoch(M)
                events = ("epoch-start",)
                state.active[:] = True

    def update(self, state: SweepState, number: int, threshold: float) -> float:
        """Take one step in a block; return the largest violation of its active weights."""
        problem, penalty, scale = state.problem, state.problem.penalty, state.problem.scale
        at = state.place(number)
        w, active = state.w[at], np.flatnonzero(state.active[at])
        if not active.size:
            return 0.0
        block = state.block(number)
        if not block.instances.size:  # only the penalty depends on these weights
            if penalty.l1 or penalty.ridge:
                w[:] = 0.0
            state.active[at] = not self.shrinking
            return 0.0
        g, h = state.derivatives(block)
        g = scale * g + penalty.ridge * w
        h = np.maximum(scale * h + penalty.ridge, BLOCK_CURVATURE_FLOOR * scale * float(block.x @ block.x))
        keep = active[(w[active] != 0.0) | (np.abs(g[active]) > penalty.l1 - threshold)]
        state.active[at] = False
        state.active[at.start + keep] = True
        w, g, h = w[keep], g[keep], h[keep]
        violation = penalty.violation(w, g)
        if violation > problem.noise:
            step = self.step(w, g, h, penalty.l1, LONGEST_STEP / float(np.abs(block.x).max()))
            ray = _Ray(state, block, keep, step)
            if self.damping:
                ray.move(1.0, ray.f(1.0)[0])
            else:
                # g includes the ridge; the ℓ1 part of the decrease is added here
                predicted_decrease = float(g @ step) + penalty.l1 * float(
                    np.abs(w + step).sum() - np.abs(w).sum()
                )
                self.search(state, ray, predicted_decrease)
        return violation

    def step(self, w: np.ndarray, g: np.ndarray, h: np.ndarray, l1: float, longest: float) -> np.ndarray:
        """Return S(h w - g, λ)/h - w, with entries clipped to ±longest and curvature ``h``, damped if so
        set."""
        if self.damping:
            h = h * 1.5 * max(1.0, float(np.max(np.abs(g / h))))
        new = w - g / h
        new -= np.clip(new, -l1 / h, l1 / h)
        return np.clip(new - w, -longest, longest)

    def search(self, state: SweepState, ray: _Ray, predicted_decrease: float) -> None:
        """Move along a ray as far as Armijo's rule allows."""
        search = SearchLog(ray.before, ray.step, block=ray.block.number)
        values, t, _, trials, _ = Armijo(self.beta, self.sigma).search(ray.f, search, predicted_decrease)
        state.trials += trials
        if state.longest is None or trials > len(state.longest.trials):
            state.longest = search
        if t > 0.0:
            ray.move(t, values)


class _Block(NamedTuple):
    """A block of weights and the data that it affects.

    ``number`` is its index, and ``at`` its slice of w. ``instances`` are those that it scores. ``rows`` are
    the rows of X with its feature, and ``x`` the entries there. Each weight of the tail is treated as a
    feature that is 1 in every row.
    """

    number: int
    at: slice
    instances: np.ndarray
    tail: bool
    rows: np.ndarray
    x: np.ndarray


class SweepState:
    """The weights and scores of a run, and the loss and residual of each instance.

    Residuals are stale once the scores of their instance have moved.
    """

    def __init__(self, solver: CRFBlockCoordinateDescent, problem: Problem, point: Point) -> None:
        design = problem.design
        self.solver, self.problem = solver, problem
        self.w = point.w
        self.active = np.ones(problem.size, dtype=bool)
        self.recompute(point.scores)
        self.n_blocks = design.n_features + (1 if design.n_tail else 0)
        self.trials = 0
        #: the longest search since the last record
        self.longest: SearchLog | None = None
        #: scores updated or tried since the last record
        self.handled = 0

    def recompute(self, scores: Scores | None = None) -> None:
        """Recompute the scores from the weights, to remove drift, and all that depends on them."""
        loss = self.problem.loss
        self.scores = self.problem.design.scores(self.w) if scores is None else scores
        self.values, self.residual = loss.values(self.scores), loss.residual(self.scores)
        #: residuals whose scores have moved since
        self.stale = np.zeros(loss.n_instances, dtype=bool)

    def iterate(self, n: int, **known: Any) -> Iterate:
        """Return iterate n, with the searches since the previous iterate."""
        loss = self.problem.scale * float(np.sum(self.values))
        point = Point(self.problem, self.w, self.scores, loss=loss)
        found = SearchResult(
            point, NAN, self.longest, self.trials, "none" if self.solver.damping else "armijo"
        )
        self.trials, self.longest, self.handled = 0, None, 0
        return Iterate.at(point, n, found=found, **known)

    def place(self, number: int) -> slice:
        """Return the indices in w of the weights of a block."""
        design = self.problem.design
        first, m = number * design.n_outputs, design.n_outputs
        return slice(first, first + (design.n_tail if number == design.n_features else m))

    def block(self, number: int) -> _Block:
        """Return the block of a feature, or of the tail for the index after the last feature."""
        design, at = self.problem.design, self.place(number)
        if number == design.n_features:
            every = np.arange(self.values.size), True, np.arange(design.n_rows), np.ones(design.n_rows)
            return _Block(number, at, *every)
        rows, x = design.column(number)
        return _Block(number, at, self.problem.loss.instances_of(rows), False, rows, x)

    def derivatives(self, block: _Block) -> tuple[np.ndarray, np.ndarray]:
        """Return g and h of the weights of a block, for the loss summed over instances."""
        loss = self.problem.loss
        if block.tail:
            self.handled += self.scores.Z.size
            self.residual, self.stale[:] = loss.residual(self.scores), False
            return self.residual.tail, loss.tail_diagonal(self.scores)
        self._refresh(block.instances)
        self.problem.design.touched += block.rows.size
        G, x = self.residual.Z[block.rows], block.x
        return x @ G, (x * x) @ loss.diagonal(G, block.rows)

    def _refresh(self, instances: np.ndarray) -> None:
        """Recompute the residuals of those of the instances that are stale."""
        stale = instances[self.stale[instances]]
        if not stale.size:
            return
        loss, rows = self.problem.loss.subset(stale)
        self.handled += rows.size * self.problem.design.n_outputs
        fresh = loss.residual(Scores(self.scores.Z[rows], self.scores.tail))
        self.residual.Z[rows] = fresh.Z
        self.stale[stale] = False


class _Ray:
    """The weights ``keep`` of a block plus t times a step, and the part of f that depends on them."""

    def __init__(self, state: SweepState, block: _Block, keep: np.ndarray, step: np.ndarray) -> None:
        problem, scores = state.problem, state.scores
        self.state, self.block, self.keep, self.step = state, block, keep, step
        self.w = state.w[block.at][keep]
        whole = problem.loss, slice(None)
        self.loss, self.rows = whole if block.tail else problem.loss.subset(block.instances)
        self.here = Scores(scores.Z[self.rows], scores.tail)
        self.delta = Scores(np.zeros_like(self.here.Z), np.zeros_like(self.here.tail))
        if block.tail:
            self.delta.tail[keep] = step
        else:
            change = np.zeros(problem.design.n_outputs)
            change[keep] = step
            assert isinstance(self.rows, np.ndarray)  # those of the instances
            self.delta.Z[np.searchsorted(self.rows, block.rows)] = block.x[:, None] * change
        self.before = self._sum(state.values[block.instances], self.w)

    def _sum(self, values: np.ndarray, w: np.ndarray) -> float:
        problem = self.state.problem
        return problem.scale * float(values.sum()) + problem.penalty.value(w)

    def f(self, t: float) -> tuple[np.ndarray, float]:
        """Return the loss of each instance of the block at t, and f."""
        self.state.handled += self.here.Z.size
        values = self.loss.values(self.here, self.delta, t)
        return values, self._sum(values, self.w + t * self.step)

    def move(self, t: float, values: np.ndarray) -> None:
        """Move weights, scores and losses (to ``values``) to t."""
        state, block = self.state, self.block
        state.w[block.at.start + self.keep] = self.w + t * self.step
        if block.tail:
            state.scores.tail += t * self.delta.tail
        else:
            state.problem.design.touched += block.rows.size
            state.scores.Z[self.rows] += t * self.delta.Z
        state.values[block.instances] = values
        state.stale[block.instances] = True
