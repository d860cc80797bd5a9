"""Proximal Newton by coordinate descent: newGLMNET (Yuan, Ho and Lin, JMLR 2012), with any working set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.lazy import lazy
from ...declare import Trait, as_printed, param, random_seed
from ...linalg.row_norms import row_prox
from ...problems.line import Line
from ...problems.losses.weighted import WeightedLoss
from ...problems.penalties import soft_threshold
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import MODEL_ARMIJO, Armijo
from ...search.outcome import SearchResult
from ..common_params import as_in, tol_param
from ..working_sets import WorkingSetSolver, WorkingSetState, WorkingSetSteps, rule_param
from .covariances import COVARIANCE_OPERATIONS_PER_CALL, Covariances, covariance_sweeps, curvatures
from .newton_kernels import MIN_CURVATURE_RATIO, NO_DECREASE, predicted_decrease, sweeps, sweeps_of_rows

#: Entries of X times outputs per kernel call: some 20 ms.
NEWTON_ENTRIES_PER_CALL = 4_000_000
#: Entries that sweeps may read, relative to a gradient, while their accuracy is ``STRICT_RATIO`` · ``inner``.
CHEAP_READS, STRICT_RATIO = 0.25, 0.1
#: Accuracy of sweeps, relative to ``inner``, over a model that is the objective itself.
EXACT_RATIO = 0.03
#: The curvature h of the loss where it is s everywhere.
CONSTANT = np.zeros(0)


@dataclass(frozen=True)
class NewtonCD(WorkingSetSolver):
    """Newton's method for the smooth part, with the exact Hessian, on a working set that a rule chooses.

    Sweeps of coordinate descent over the working set minimize the quadratic model at w over d. Then w moves
    along d by Armijo's rule. For losses with one score per sample a sweep visits single weights. For the
    softmax it visits rows, with a proximal step for each, and the working set consists of rows. For a chain
    CRF the Hessian is that of a softmax with tokens as samples and node marginals as probabilities.
    Transitions are treated as independent of each other and of the features: an iteration then costs no more
    than one of the softmax, and convergence is linear. If the curvature of that model along d is less than
    that of f, the model is scaled up from the next iteration on. Otherwise steps would overshoot indefinitely
    once rounding of f hides the difference.

    Sweeps end when the violations of the model are at most ``inner`` times that of the iterate. The factor is
    a tenth while sweeps have read less than a quarter of the entries that a gradient reads: better steps then
    cost next to nothing. It is 0.03 for a squared loss, whose model is the objective itself. With ``inner=0``
    they end as in the paper: when the sum of violations is at most ε_in times that of the first iterate. ε_in
    is 1 at first, and a quarter of it after each iteration that takes a single sweep. Within the sweeps
    weights are left out by the shrinking test of liblinear, and all are visited once more before the end.

    With one score per sample, ``covariance_updates`` store XᵀHX of the working set once sweeps have read as
    much of X as computing it costs. From then on sweeps do not read X (Friedman, Hastie and Tibshirani 2010).
    They alternate with steps to the minimum on the support, from a Cholesky factor. A growing set begins with
    a twentieth of the blocks, but at least 30 and at most 100.

    The paper adds ν = 1e-12 to the Hessian, which depends on the unit of the features; here the curvature
    of a weight has a floor that does not.
    """

    id = "newton-cd"
    name = "Newton-CD"
    summary = "quadratic models, solved by coordinate descent on the working set of a rule"
    paper = "Yuan, Ho and Lin 2012"
    needs = Trait.SMOOTH | Trait.DIAGONAL_HESSIAN | Trait.QUADRATIC_MODEL | Trait.GROUP_SEPARABLE
    presets = as_printed(rule="liblinear", inner=0.0, order="random", covariance_updates=False)
    dense_vectors = 9
    #: its sweeps cost little next to a screening of all weights
    largest_first_size = 100
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
        1000,
        "most sweeps of coordinate descent over a model",
        low=1,
        high=10_000,
        title="inner sweeps, at most",
    )
    order: str = param(
        "cyclic", "order of weights in a sweep", choices=("cyclic", "random"), title="order of weights"
    )
    covariance_updates: bool = param(
        True,
        "with one score: hold XᵀHX of the working set once sweeps have read as much of X as it costs",
        title="covariance updates",
    )
    beta: float = as_in(Armijo, "beta")
    sigma: float = as_in(Armijo, "sigma", default=MODEL_ARMIJO.sigma)
    tol: float = tol_param()
    seed: int = random_seed("seed of the random order")

    def begin(self, problem: Problem) -> NewtonModel:
        return NewtonModel(self, problem)


class NewtonModel(WorkingSetSteps):
    """The model gᵀd + ½dᵀ∇²F d + kinks(w + d) on the working set, minimized by coordinate descent."""

    def __init__(self, solver: NewtonCD, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.width, self.sweeps = problem.design.n_outputs, 0
        self.exact = Trait.LEAST_SQUARES in problem.loss.traits
        #: entries that sweeps have read so far, and whether a matrix is held since then
        self.total, self.used = 0, False
        #: whether the curvature of all samples is the same
        self.constant = self.exact and not isinstance(problem.loss, WeightedLoss)
        #: of a chain CRF: a factor of the model's Hessian, and its diagonal in transitions
        self.tau, self.bent = 1.0, None
        shared, here = solver.shared if self.constant else None, (Covariances, problem.family)
        same = None if shared is None else shared.get(here)  # not those of a warm-up
        if same is None:
            same = Covariances(problem.design, problem.scale)
            if shared is not None:
                shared[here] = same
        self.covariances = same.on(problem.design)
        #: ε_in, and the sum of violations at the first iterate
        self.eps, self.first = 1.0, 0.0

    @lazy
    def rng(self) -> np.random.Generator:
        """Return the generator of random orders; a cyclic order does not use it."""
        return np.random.default_rng(self.solver.seed)

    def step(self, point: Point, state: WorkingSetState) -> SearchResult[Point]:
        """Solve the model for d, and search along it."""
        d, shape, solver = self.solve(point, state), (-1, self.width), self.solver
        w, g, rows = self.w.reshape(shape), self.g.reshape(shape), d.reshape(shape)
        decrease = predicted_decrease(w, g, rows, *self.problem.penalty.row_norms, self.factors)
        self.known = {"inner_iterations": self.sweeps}
        if not decrease < -NO_DECREASE * abs(point.objective):
            return SearchResult(point, 0.0, None, 0)
        line = self.problem.line(point, d, state.members)
        if self.bent is not None:
            self._bend(line, d)
        return line.armijo(decrease, Armijo(solver.beta, solver.sigma))

    def solve(self, point: Point, state: WorkingSetState) -> np.ndarray:
        """Return d, with an entry per member."""
        solver, n_members = self.solver, state.members.n_body // self.width
        self._begin(point, state)
        if self.problem.loss.n_tail:
            self._step_in_transitions(point, state)
        goal = solver.inner * state.largest * (EXACT_RATIO if self.exact else 1.0)
        everyone, nnz = np.arange(n_members), self.problem.design.nnz * self.width
        order, threshold, self.sweeps, self.read = everyone, np.inf, 0, 0
        affordable = self._cost_of_covariances()
        while self.sweeps < solver.max_inner:
            if solver.order == "random":
                order = self.rng.permutation(order)
            strict = max(0, int(CHEAP_READS * nnz - self.read) // max(self.work, 1))
            aim = STRICT_RATIO * goal if strict > 0 else goal
            most = strict
            if affordable < np.inf:
                most = max(0, int(affordable - self.total) // max(self.work, 1))
                if most == 0:
                    self._solve_by_covariances(STRICT_RATIO * goal)
                    break
                most = min(most, strict) if strict else most
            done, visits, largest, total = self._sweeps(order, threshold, aim, most)
            self.sweeps += done
            self.first = self.first or total
            met = largest <= aim if solver.inner else total <= self.eps * self.first
            if met and visits == n_members:
                break
            # the active set has converged: all are visited again; else those within the threshold
            order = everyone if met else order[self.keep[order]]
            self.keep[order] = True
            threshold = np.inf if met else largest / self.problem.loss.n_instances
        if self.sweeps == 1:
            self.eps *= 0.25
        return self.d

    def _begin(self, point: Point, state: WorkingSetState) -> None:
        """Set d = 0, and compute the Hessian of the loss at the point."""
        problem, G, m = self.problem, point.residual.Z, self.width
        self.w, self.g = state.members.take(point.w), state.gradient
        self.d = np.zeros_like(self.w)
        members, self.n_body = state.members.n_body // m, state.members.n_body
        full = state.members.full
        self.of = features = np.arange(members) if full else state.members.coordinates[: self.n_body : m] // m
        self.lengths = problem.design.column_nnz[features] * m
        self.work = int(self.lengths.sum())
        (starts, rows, values), self.features = problem.design.columns_of(features)
        self.columns = starts, problem.design.edges, rows, values
        self.factors = problem.penalty_on(state.members).factor_array[::m]
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
        """Scale the model of a chain CRF up to the curvature of f along d, if its own is smaller."""
        own = float(np.sum(line.delta.Z * self.u)) + float(self.bent @ d[self.n_body :] ** 2)
        ridge = self.problem.penalty_on(line.active).ridge_product(d, d)
        ratio = self.tau * (line.curvature() - ridge) / own if own > 0.0 else 1.0
        self.tau = max(1.0, ratio, 0.5 * self.tau)

    def _step_in_transitions(self, point: Point, state: WorkingSetState) -> None:
        """Minimize the model in each row of transitions with one proximal step."""
        tail = state.members.tail
        l1, l2, sup = self.problem.penalty.row_norms
        loss, factor = self.problem.loss, self.tau * self.problem.scale
        h = factor * loss.tail_diagonal(point.scores)[tail]
        if not h.any():  # all marginals underflow, or no label follows another
            h = factor * loss.bends().tail[tail]
        self.bent = np.maximum(h, MIN_CURVATURE_RATIO * h.max(initial=0.0))
        H = self.problem.penalty.ridge + self.bent.reshape(-1, self.width)
        if l2 > 0.0 or sup > 0.0:
            H[:] = H.max(axis=1, keepdims=True)
        W, G, D = (v[self.n_body :].reshape(-1, self.width) for v in (self.w, self.g, self.d))
        if not H.any():  # no label follows another: only the penalty depends on these weights
            D[:] = -W if l1 + l2 + sup > 0.0 else 0.0
            return
        V = W - G / H
        for row, curvature in zip(V, H, strict=True):
            if l2 > 0.0 or sup > 0.0:
                row_prox(row, l1 / curvature[0], l2 / curvature[0], sup / curvature[0])
            else:
                row[:] = soft_threshold(row, l1 / curvature)
        D[:] = V - W

    def _cost_of_covariances(self) -> float:
        """Return the number of entries of X that sweeps may read before the matrix of the model is computed.

        Return ∞ if it never is.
        """
        if not self.solver.covariance_updates or self.width > 1 or self.solver.inner == 0.0:
            return np.inf
        if self.used:
            return 0.0
        return self.covariances.cost(self.of, self._curved)

    @property
    def _curved(self) -> np.ndarray:
        """Return the curvature of each score; an empty array if it is s for all scores."""
        return CONSTANT if self.constant else self.h

    def _solve_by_covariances(self, goal: float) -> None:
        """Minimize the model from d on with its stored matrix, until no violation is above ``goal``."""
        self.used = True
        problem, v, H = self.problem, self.w + self.d, self.H[:, 0]
        strength, ridges = sum(problem.penalty.row_norms), np.full(v.size, problem.penalty.ridge)
        if self.factors.size:
            ridges *= self.factors
        l1 = strength * self.factors if self.factors.size else np.full(v.size, strength)
        curvatures(self.columns, self.features, self.h, problem.scale, ridges, H)
        Q = self.covariances.of(self.of, self._curved)
        Q.flat[:: v.size + 1] += ridges
        c, over = self.g + Q @ self.d, False
        while not over and self.sweeps < self.solver.max_inner:
            most = self.solver.max_inner - self.sweeps
            ends = self.exact, goal, most, COVARIANCE_OPERATIONS_PER_CALL
            done, over = covariance_sweeps(Q, v, c, H, l1, *ends)
            self.sweeps += done
            problem.pulse()
        self.d = v - self.w

    def _calls(self, order: np.ndarray) -> list[np.ndarray]:
        """Split the members to visit into parts, one for each kernel call."""
        if self.work <= NEWTON_ENTRIES_PER_CALL:
            return [order]
        work = np.cumsum(self.lengths[order])
        most = work[-1] if work.size else 0
        cuts = np.searchsorted(work, np.arange(NEWTON_ENTRIES_PER_CALL, most, NEWTON_ENTRIES_PER_CALL)) + 1
        return np.split(order, cuts)

    def _sweeps(
        self, order: np.ndarray, threshold: float, goal: float, most: int
    ) -> tuple[int, int, float, float]:
        """Visit members in this order; return the number of sweeps, and three numbers of the last one.

        These are its visits, the largest violation met and their sum. Sweeps end when no violation of the
        model is above ``goal``, after ``most`` of them (0: any number), or after 20 ms.
        """
        problem, solver, m = self.problem, self.solver, self.width
        l1, l2, sup = problem.penalty.row_norms
        ridge, n, n_rows = problem.penalty.ridge, problem.loss.n_instances, len(self.keep)
        allowed = min(NEWTON_ENTRIES_PER_CALL // max(self.work, 1), solver.max_inner - self.sweeps)
        if most:
            allowed = min(most, allowed)
        if solver.inner == 0.0 or solver.order == "random":
            allowed = 1
        ends = threshold, self.keep, n, goal, max(allowed, 1)
        done, visits, largest, total = 1, 0, 0.0, 0.0
        if m == 1:  # all norms of a row of one weight are the same
            visit, H, (w, g, d) = sweeps, self.H[:, 0], (self.w, self.g, self.d)
            strengths = problem.scale, l1 + l2 + sup, ridge
        else:
            w, g, d = (v[: self.n_body].reshape(-1, m) for v in (self.w, self.g, self.d))
            visit, H, strengths = sweeps_of_rows, self.H, (self.tau * problem.scale, l1, l2, sup, ridge)
        model = w, g, d, self.h, self.u, H, strengths, self.factors[:n_rows]
        for part in self._calls(order):
            done, members, worst, sums, touched = visit(self.columns, self.features, part, *model, *ends)
            visits, largest, total = visits + members, max(largest, worst), total + sums
            self.read += touched * m
            self.total += touched * m
            problem.design.touched += touched
            problem.pulse()
        return done, visits, largest, total
