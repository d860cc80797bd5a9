"""Blockwise coordinate descent for CRFs: Sokolovska, Lavergne, Cappé and Yvon, IEEE JSTSP 2010."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declare import Trait, as_printed, param
from ..parts.epochs import Cooling
from ..parts.linesearch import Found, Search, armijo
from ..problems.point import REFRESH, Point
from ..problems.scores import Scores
from .iterate import NAN, Ending, Iterate
from .solver import Solver
from .usual import beta_param, cooling_param, cooling_start_param, sigma_param, tol_param

if TYPE_CHECKING:
    from ..problems.problem import Problem

#: Least h, in units of s Σ x²: the paper's, for a feature that is one in one place.
FLOOR = 1e-10
#: What one step may add to a score at most (LIBLINEAR's longest step): with h at its floor it could be 1e10.
LONGEST = 10.0
#: Scores brought up to date or tried after which a long sweep is shown in parts: some seconds.
PART = 200_000_000


@dataclass(frozen=True)
class CRFBlockCoordinateDescent(Solver):
    """Blocks are the weights of one feature, and the tail (transitions). An iterate is a sweep over them, or
    a part of a long one.

    In a block, new = S(h w - g, λ)/h with h_y = Σ x² μ_y(1 - μ_y), which ignores the covariance between
    positions and between labels. As in Zhong et al. 2014, section 6: an Armijo search along the step on the
    instances that contain the feature, shrinking of single weights in epochs (section 2.3), and
    h >= 1e-10 s Σ x². ``damping`` is the safeguard of the original instead of the search, h times
    1.5 max(1, |g/h|).
    """

    id = "crf-bcd"
    name = "CRF-BCD"
    summary = "coordinate descent over the weights of one feature at a time"
    paper = "Sokolovska et al. 2010; Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.DIAGONAL_HESSIAN | Trait.SAMPLES | Trait.SEPARABLE
    presets = as_printed(shrinking=False, damping=True)

    shrinking: bool = param(True, "leave out weights that stay at zero, in epochs", title="shrinking")
    damping: bool = param(
        False, "damp the curvature instead of searching along the step", title="damped curvature"
    )
    beta: float = beta_param()
    sigma: float = sigma_param()
    cooling_start: float = cooling_start_param()
    cooling: float = cooling_param()
    tol: float = tol_param()

    @property
    def dense_vectors(self) -> int:
        return 3

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        state = _State(self, problem, problem.at(w0))
        violation = problem.violation_at_zero() if w0 is None else NAN
        cooling = Cooling(self.cooling_start, self.cooling, self.tol, problem.violation_at_zero())
        N, M_hat, n, sweeps = problem.loss.n_instances, np.inf, 0, 0
        events: tuple[str, ...] = ("epoch-start",)
        while True:
            A = problem.design.working_set(np.flatnonzero(state.active))
            known = {"phase": "shrink" if self.shrinking else None, "epoch": cooling.epoch}
            yield state.iterate(n, active=A, events=events, violation=violation, **known)
            if violation <= problem.noise:
                return Ending("converged", "w = 0 is optimal")
            n, sweeps, events, violation = n + 1, sweeps + 1, (), NAN
            if sweeps % REFRESH == 0:
                state.recompute()
            slack = M_hat / N if self.shrinking else np.inf
            M = 0.0
            for block in range(state.n_blocks):
                M = max(M, state.update(block, slack))
                problem.pulse()
                if state.handled >= PART:
                    yield state.iterate(n, active=A, **known)
                    n += 1
            M_hat = M
            if problem.aim(self.tol) >= M and A.full:
                yield state.iterate(n, active=A, **known)
                return Ending("converged", f"no weight violated by more than {M:.3g} in a whole sweep")
            if max(cooling.target, problem.noise) >= M and self.shrinking:
                cooling.end_epoch(M)
                events = ("epoch-start",)
                state.active[:] = True
                M_hat = np.inf


class _State:
    """Weights and scores, and of every instance its loss and residual, stale once its scores have moved."""

    def __init__(self, solver: CRFBlockCoordinateDescent, problem: Problem, point: Point) -> None:
        design = problem.design
        self.solver, self.problem = solver, problem
        self.w = point.w
        self.active = np.ones(problem.size, dtype=bool)
        self.recompute(point.scores)
        self.n_blocks = design.n_features + (1 if design.n_tail else 0)
        self.trials = 0
        #: the longest search since the last record
        self.longest: Search | None = None
        #: scores brought up to date or tried since the last record
        self.handled = 0

    def recompute(self, scores: Scores | None = None) -> None:
        """Compute scores afresh from the weights, against drift, and all that follows from them."""
        loss = self.problem.loss
        self.scores = self.problem.design.scores(self.w) if scores is None else scores
        self.values, self.residual = loss.values(self.scores), loss.residual(self.scores)
        #: residuals whose scores have moved since
        self.stale = np.zeros(loss.n_instances, dtype=bool)

    def iterate(self, n: int, **known: Any) -> Iterate:
        """Describe iterate n, with the searches since the one before it."""
        loss = self.problem.scale * float(np.sum(self.values))
        point = Point(self.problem, self.w, self.scores, loss=loss)
        found = Found(point, NAN, self.longest, self.trials, "none" if self.solver.damping else "armijo")
        self.trials, self.longest, self.handled = 0, None, 0
        return Iterate.at(point, n, found=found, **known)

    def update(self, block: int, slack: float) -> float:
        """Take one step in a block; return the largest violation of its active weights."""
        design, penalty, scale = self.problem.design, self.problem.penalty, self.problem.scale
        m, tail = design.n_outputs, block == design.n_features
        at = slice(block * m, block * m + (design.n_tail if tail else m))
        active = np.flatnonzero(self.active[at])
        if not active.size:
            return 0.0
        rows, x = (np.zeros(0, np.int64), np.zeros(0)) if tail else design.column(block)
        if not (tail or rows.size):  # only the penalty sees these weights
            if penalty.l1 or penalty.ridge:
                self.w[at] = 0.0
            self.active[at] = not self.solver.shrinking
            return 0.0
        instances = np.arange(self.values.size) if tail else self.problem.loss.instances_of(rows)
        g, h = self._tail_derivatives() if tail else self._derivatives(instances, rows, x)
        w = self.w[at]
        squares, largest = (len(self.scores.Z), 1.0) if tail else (float(x @ x), float(np.abs(x).max()))
        g = scale * g + penalty.ridge * w
        h = np.maximum(scale * h + penalty.ridge, FLOOR * scale * squares)
        keep = active[(w[active] != 0.0) | (np.abs(g[active]) > penalty.l1 - slack)]
        self.active[at] = False
        self.active[at.start + keep] = True
        violation = penalty.violation(w[keep], g[keep])
        if not violation > self.problem.noise:
            return violation
        if self.solver.damping:
            h = h * 1.5 * max(1.0, float(np.max(np.abs(g[keep] / h[keep]))))
        old = w[keep].copy()
        new = old - g[keep] / h[keep]
        new -= np.clip(new, -penalty.l1 / h[keep], penalty.l1 / h[keep])
        step = np.clip(new - old, -LONGEST / largest, LONGEST / largest)
        self._move(block, tail, keep, step, g[keep], rows, x, instances)
        return violation

    def _refresh(self, instances: np.ndarray) -> None:
        """Compute the residuals of those instances whose scores have moved since."""
        stale = instances[self.stale[instances]]
        if not stale.size:
            return
        loss, rows = self.problem.loss.subset(stale)
        self.handled += rows.size * self.problem.design.n_outputs
        fresh = loss.residual(Scores(self.scores.Z[rows], self.scores.tail))
        self.residual.Z[rows] = fresh.Z
        self.stale[stale] = False

    def _tail_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return g and h of the tail, of the sum over instances."""
        self.handled += self.scores.Z.size
        self.residual, self.stale[:] = self.problem.loss.residual(self.scores), False
        return self.residual.tail, self.problem.loss.tail_diagonal(self.scores)

    def _derivatives(
        self, instances: np.ndarray, rows: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return g and h of the weights of one feature, of the sum over instances."""
        self._refresh(instances)
        self.problem.design.touched += rows.size
        G = self.residual.Z[rows]
        return x @ G, (x * x) @ self.problem.loss.diagonal(G, rows)

    def _move(self, block, tail, keep, step, g, rows, x, instances) -> None:
        """Search along the step by Armijo's rule (or take all of it), then move weights, scores and
        losses."""
        problem, penalty = self.problem, self.problem.penalty
        m = problem.design.n_outputs
        old = self.w[block * m + keep]
        loss, sub = (problem.loss, slice(None)) if tail else problem.loss.subset(instances)
        here = Scores(self.scores.Z[sub], self.scores.tail)
        delta = Scores(np.zeros_like(here.Z), np.zeros_like(here.tail))
        if tail:
            delta.tail[keep] = step
        else:
            change = np.zeros(m)
            change[keep] = step
            delta.Z[np.searchsorted(sub, rows)] = x[:, None] * change
        before = problem.scale * float(self.values[instances].sum()) + penalty.value(old)

        def phi(t: float) -> tuple[np.ndarray, float]:
            self.handled += here.Z.size
            values = loss.values(here, delta, t)
            return values, problem.scale * float(values.sum()) + penalty.value(old + t * step)

        if self.solver.damping:
            t, values = 1.0, phi(1.0)[0]
        else:
            # g holds the ridge's part already, the ℓ1 part of the promise is added here
            promised = float(g @ step) + penalty.l1 * float(np.abs(old + step).sum() - np.abs(old).sum())
            search = Search(before, step, block=block)
            values, t, _, trials, _ = armijo(
                phi, search, promised, beta=self.solver.beta, sigma=self.solver.sigma
            )
            self.trials += trials
            if self.longest is None or trials > len(self.longest.trials):
                self.longest = search
            if t == 0.0:
                return
        self.w[block * m + keep] = old + t * step
        if tail:
            self.scores.tail += t * delta.tail
        else:
            problem.design.touched += rows.size
            self.scores.Z[sub] += t * delta.Z
        self.values[instances] = values
        self.stale[instances] = True
