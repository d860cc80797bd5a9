"""Proximal Newton by coordinate descent: newGLMNET (Yuan, Ho and Lin, JMLR 2012), with any working set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...declare import Trait, as_printed, param, random_seed
from ...parts.linesearch import Found
from ...problems.line import Line
from ...problems.penalties import soft_threshold
from ...problems.point import Point
from ...problems.problem import Problem
from ...problems.row_norms import row_prox
from ..usual import beta_param, sigma_param, tol_param
from ..working_sets import Look, Steps, WorkingSetSolver, rule_param
from .newton_kernels import FLAT, NO_DECREASE, promised, sweeps, sweeps_of_rows

#: Entries of X times outputs that one kernel call reads: some 20 ms.
CHUNK = 4_000_000
#: Share of the entries that a gradient reads up to which sweeps go on, and to what part of ``inner``.
CHEAP, STRICT = 0.25, 0.1


@dataclass(frozen=True)
class NewtonCD(WorkingSetSolver):
    """Newton's method for the smooth part, with the exact Hessian, on a working set that a rule chooses.

    The quadratic model at w is solved for d by sweeps of coordinate descent over the working set, and w moves
    along d by Armijo's rule. Losses of one score a sample go weight by weight; the softmax goes row by row,
    with a proximal step for each row, and its working set is one of rows. Of a chain CRF the Hessian is taken
    as if tokens were samples, each with its marginals, and transitions were independent of each other and of
    the features: an iteration then costs no more than one of the softmax, and convergence is linear. Where
    that model bends less than f along d, it is made to bend as much from the next iteration on: else steps
    would overshoot for ever once f tells them no more from better ones.

    Sweeps end when the violations of the model are at most ``inner`` times that of the iterate, or a tenth of
    it while sweeps have read less than a quarter of what a gradient reads: better steps then cost next to
    nothing. With ``inner=0`` they end as in the paper: when the sum of violations is at most ε_in times that
    of the first iterate, ε_in = 1 at first, and a quarter of it after each iteration that takes a single
    sweep. Within the sweeps weights sit out by the test of liblinear, and all are visited once more before
    the end.

    The paper adds ν = 1e-12 to the Hessian, which depends on the unit of the features; here the curvature
    of a weight has a floor that does not.
    """

    id = "newton-cd"
    name = "Newton-CD"
    summary = "quadratic models, solved by coordinate descent on the working set of a rule"
    paper = "Yuan, Ho and Lin 2012"
    needs = Trait.SMOOTH | Trait.DIAGONAL_HESSIAN | Trait.MARGINALS | Trait.GROUP_SEPARABLE
    presets = as_printed(rule="liblinear", inner=0.0, order="random", max_inner=1000)
    dense_vectors = 9
    carries = ("active", "line")

    rule: str = rule_param("growing")
    inner: float = param(
        0.3,
        "violation of the model, in units of that of the iterate, at which sweeps end; 0: the paper's ε_in",
        low=0.0,
        high=0.9,
        title="accuracy of the model's solution",
    )
    max_inner: int = param(
        100,
        "most sweeps of coordinate descent over a model",
        low=1,
        high=10_000,
        title="inner sweeps, at most",
    )
    order: str = param(
        "cyclic", "order of weights in a sweep", choices=("cyclic", "random"), title="order of weights"
    )
    beta: float = beta_param()
    sigma: float = sigma_param()
    tol: float = tol_param()
    seed: int = random_seed("seed of the random order")

    def begin(self, problem: Problem) -> _Model:
        return _Model(self, problem)


class _Model(Steps):
    """gᵀd + ½dᵀ∇²F d + kinks(w + d) on the working set, for coordinate descent."""

    def __init__(self, solver: NewtonCD, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.width, self.sweeps = problem.design.n_outputs, 0
        #: of a chain CRF: a factor of the model's Hessian, and what that is by transitions
        self.tau, self.bent = 1.0, None
        self.rng = np.random.default_rng(solver.seed)
        #: ε_in, and the sum of violations at the first iterate
        self.eps, self.first = 1.0, 0.0

    def step(self, point: Point, look: Look) -> Found[Point]:
        """Solve the model for d, and search along it."""
        d, shape, solver = self.solve(point, look), (-1, self.width), self.solver
        w, g, rows = self.w.reshape(shape), self.g.reshape(shape), d.reshape(shape)
        decrease = promised(w, g, rows, *self.problem.penalty.row_norms)
        self.known = {"inner_iterations": self.sweeps}
        if not decrease < -NO_DECREASE * abs(point.objective):
            return Found(point, 0.0, None, 0)
        line = self.problem.line(point, d, look.members)
        if self.bent is not None:
            self._bend(line, d)
        return line.armijo(decrease, beta=solver.beta, sigma=solver.sigma)

    def solve(self, point: Point, look: Look) -> np.ndarray:
        """Return d, an entry a member."""
        solver, n_members = self.solver, look.members.n_body // self.width
        self._begin(point, look)
        if self.problem.loss.n_tail:
            self._step_in_transitions(point, look)
        goal = solver.inner * look.largest
        everyone, nnz = np.arange(n_members), self.problem.design.nnz * self.width
        order, slack, self.sweeps, self.read = everyone, np.inf, 0, 0
        while self.sweeps < solver.max_inner:
            if solver.order == "random":
                order = self.rng.permutation(order)
            strict = max(0, int(CHEAP * nnz - self.read) // max(self.work, 1))
            aim = STRICT * goal if strict > 0 else goal
            done, visits, largest, total = self._sweeps(order, slack, aim, strict)
            self.sweeps += done
            self.first = self.first or total
            met = largest <= aim if solver.inner else total <= self.eps * self.first
            if met and visits == n_members:
                break
            # the rest is at rest: all are visited again, else those that have not too much room
            order = everyone if met else order[self.keep[order]]
            self.keep[order] = True
            slack = np.inf if met else largest / self.problem.loss.n_instances
        if self.sweeps == 1:
            self.eps *= 0.25
        return self.d

    def _begin(self, point: Point, look: Look) -> None:
        """Set d = 0, and the Hessian of the loss at the point."""
        problem, G, m = self.problem, point.residual.Z, self.width
        self.w, self.g = look.members.take(point.w), look.gradient
        self.d = np.zeros_like(self.w)
        members, self.n_body = look.members.n_body // m, look.members.n_body
        full = look.members.full
        features = np.arange(members) if full else look.members.coordinates[: self.n_body : m] // m
        self.lengths = problem.design.column_nnz[features] * m
        self.work = int(self.lengths.sum())
        (starts, rows, values), self.features = problem.design.columns_of(features)
        self.columns = starts, problem.design.edges, rows, values
        self.keep = np.ones(members, dtype=np.bool_)
        self.H = np.full((members, m), -1.0)
        if m == 1:
            self.h = problem.scale * problem.loss.diagonal(G, np.arange(len(G)))[:, 0]
            self.u = np.zeros(len(G))
        else:
            self.h = G.copy()
            self.h[np.arange(len(G)), problem.loss.y] += 1.0
            self.u = np.zeros_like(G)

    def _bend(self, line: Line, d: np.ndarray) -> None:
        """Make the model of a chain CRF bend as f does along d, if it bends less."""
        own = float(np.sum(line.delta.Z * self.u)) + float(self.bent @ d[self.n_body :] ** 2)
        ridge = self.problem.penalty.ridge * float(d @ d)
        ratio = self.tau * (line.curvature() - ridge) / own if own > 0.0 else 1.0
        self.tau = max(1.0, ratio, 0.5 * self.tau)

    def _step_in_transitions(self, point: Point, look: Look) -> None:
        """Minimize the model in each row of transitions, by one proximal step."""
        tail = look.members.tail
        l1, l2, sup = self.problem.penalty.row_norms
        loss, factor = self.problem.loss, self.tau * self.problem.scale
        h = factor * loss.tail_diagonal(point.scores)[tail]
        if not h.any():  # all marginals have underflown, or no label follows another
            h = factor * loss.bends().tail[tail]
        self.bent = np.maximum(h, FLAT * h.max(initial=0.0))
        H = self.problem.penalty.ridge + self.bent.reshape(-1, self.width)
        if l2 > 0.0 or sup > 0.0:
            H[:] = H.max(axis=1, keepdims=True)
        W, G, D = (v[self.n_body :].reshape(-1, self.width) for v in (self.w, self.g, self.d))
        if not H.any():  # no label follows another: only the penalty sees these weights
            D[:] = -W if l1 + l2 + sup > 0.0 else 0.0
            return
        V = W - G / H
        for row, curvature in zip(V, H, strict=True):
            if l2 > 0.0 or sup > 0.0:
                row_prox(row, l1 / curvature[0], l2 / curvature[0], sup / curvature[0])
            else:
                row[:] = soft_threshold(row, l1 / curvature)
        D[:] = V - W

    def _calls(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut the members to visit into those of one kernel call each."""
        if self.work <= CHUNK:
            return [order]
        work = np.cumsum(self.lengths[order])
        cuts = np.searchsorted(work, np.arange(CHUNK, work[-1], CHUNK)) + 1 if work.size else []
        return np.split(order, cuts)

    def _sweeps(
        self, order: np.ndarray, slack: float, goal: float, most: int
    ) -> tuple[int, int, float, float]:
        """Visit members in this order, until no violation of the model is above ``goal``, ``most`` sweeps are
        done (0: any number) or 20 ms are over; return the number of sweeps, and of the last one the visits,
        the largest violation met and their sum."""
        problem, solver, m = self.problem, self.solver, self.width
        l1, l2, sup = problem.penalty.row_norms
        ridge, n = problem.penalty.ridge, problem.loss.n_instances
        allowed = min(CHUNK // max(self.work, 1), solver.max_inner - self.sweeps)
        if most:
            allowed = min(most, allowed)
        if solver.inner == 0.0 or solver.order == "random":
            allowed = 1
        ends = slack, self.keep, n, goal, max(allowed, 1)
        done, visits, largest, total = 1, 0, 0.0, 0.0
        if m == 1:  # all norms of a row of one weight are the same
            visit, H, (w, g, d) = sweeps, self.H[:, 0], (self.w, self.g, self.d)
            strengths = problem.scale, l1 + l2 + sup
        else:
            w, g, d = (v[: self.n_body].reshape(-1, m) for v in (self.w, self.g, self.d))
            visit, H, strengths = sweeps_of_rows, self.H, (self.tau * problem.scale, l1, l2, sup)
        model = w, g, d, self.h, self.u, H, strengths, ridge
        for part in self._calls(order):
            done, members, worst, sums, touched = visit(self.columns, self.features, part, *model, *ends)
            visits, largest, total = visits + members, max(largest, worst), total + sums
            self.read += touched * m
            problem.design.touched += touched
            problem.pulse()
        return done, visits, largest, total
