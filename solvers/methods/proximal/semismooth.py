"""Semismooth Newton method on the support, globalized by proximal gradient steps, on any working set.

It follows the forward-backward truncated Newton method of Themelis, Ahookhosh and Patrinos 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...declare import Trait, param
from ...linalg.scores import Scores
from ...linalg.working_set import WorkingSet
from ...problems.penalties import soft_threshold
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import Armijo, backtrack, decreases
from ...search.outcome import NOWHERE, SearchLog, SearchResult, Trial, without_search
from ..common_params import as_in, tol_param
from ..coordinate.newton_kernels import NO_DECREASE
from ..working_sets import WorkingSetSolver, WorkingSetState, WorkingSetSteps, rule_param

#: Trials between the Newton point and the proximal one, at most.
MAX_BLEND_TRIALS = 10


@dataclass(frozen=True)
class SemismoothNewton(WorkingSetSolver):
    """Newton's method for w = p(w), p = prox_{γλR}(w - γ∇F(w)), which is piecewise smooth in w.

    The Newton point v is zero where p is zero. On the other weights, α, it solves H_αα (v - w)_α = -(∇F + λ
    sign(p))_α + H_αβ w_β by conjugate gradients. So a step only costs products with the columns of the
    support, and with the Hessian of the loss in the scores. If this Hessian jumps, as for squared hinges, H
    is an element of the generalized Hessian, and ∇F is piecewise smooth as p is. The next iterate is (1 - τ)
    p + τ v with the first τ of 1, β, β², ... at which f is low enough: at most φ_γ(w) - σ/γ ‖w - p‖². φ_γ is
    the forward-backward envelope, a lower bound on f(w). For γ below (1 - 2σ)/L that holds at τ = 0, which is
    the proximal gradient step. So some τ is accepted; after ``MAX_BLEND_TRIALS`` trials the proximal step
    itself is taken. γ is halved until the condition holds.

    The paper requires the condition of φ_γ at the new iterate, which is at most f there: a step accepted here
    is accepted by its rule, and a trial needs no gradient. Close to an optimum with H_αα positive definite τ
    = 1 is accepted, and convergence is superlinear.

    Conjugate gradients end at a residual of η times the right side, η = min(``forcing``, V/V₀). V is the
    largest violation on the working set, and V₀ that of the first iterate. The system is scaled by the
    diagonal D of H. μ D V/V₀ is added to H, which may be singular if there are more weights than samples. At
    most 1/γ is added, as more would make the step shorter than that to p. Far from the optimum a plain Newton
    point is rarely useful: μ is at least ``damping``, multiplied by 4 if τ < 1 and divided by 4 if τ = 1.
    Weights of v whose sign differs from that in p are set to zero. Convergence does not depend on v; close to
    the optimum neither safeguard changes the rate.
    """

    id = "ssn"
    name = "SSN"
    summary = "semismooth Newton steps on the support, with proximal gradient steps to fall back on"
    paper = "after Themelis, Ahookhosh and Patrinos 2019"
    needs = Trait.SMOOTH | Trait.HESSIAN | Trait.SEPARABLE
    dense_vectors = 9
    carries = ("active", "line")

    rule: str = rule_param("growing")
    max_inner: int = param(
        200, "most steps of conjugate gradients for a direction", low=1, high=100_000, title="inner steps"
    )
    forcing: float = param(
        0.1,
        "residual of the Newton equation at which they end, relative to its right side",
        low=0.0,
        high=1.0,
        title="largest forcing η",
    )
    damping: float = param(
        0.1, "least part of the diagonal that is added to H far from the optimum", low=0.0, title="damping δ"
    )
    beta: float = as_in(Armijo, "beta")
    sigma: float = param(
        0.05,
        "share of ‖w - p‖²/γ by which f must fall below the envelope",
        low=0.0,
        high=0.49,
        open_low=True,
        title="decrease asked for σ",
    )
    tol: float = tol_param()

    def begin(self, problem: Problem) -> Newton:
        return Newton(self, problem)


class Newton(WorkingSetSteps):
    """Newton steps on a working set; γ and the first violation are stored between steps."""

    def __init__(self, solver: SemismoothNewton, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.gamma, self.first, self.inner = 0.0, 0.0, 0
        self.damping = solver.damping

    def step(self, point: Point, state: WorkingSetState) -> SearchResult[Point]:
        """Move to p, and from there towards the Newton point while f is low enough."""
        members, problem = state.members, self.problem
        w, g, f = members.take(point.w).copy(), state.gradient, point.objective
        self.first, penalty = self.first or state.largest, problem.penalty_on(members)
        l1 = penalty.each(penalty.row_norms[0])
        if self.gamma == 0.0:
            v = penalty.subgradient(w, g)
            self.gamma = problem.line(point, -v, members).first_step()
        while True:
            y = w - self.gamma * g
            p = soft_threshold(y, self.gamma * l1)
            squares = float((w - p) @ (w - p)) / self.gamma
            if not squares > NO_DECREASE * abs(f):
                return SearchResult(point, 0.0, None, 0)
            proximal_line = problem.line(point, p - w, members)
            grown = penalty.row_norms[0] * (penalty.size(p) - penalty.size(w))
            falls = float(g @ (p - w)) + 0.5 * squares + grown
            bound = falls - self.solver.sigma * squares  # φ_γ(w) - f(w) - σ/γ ‖w - p‖²
            if decreases(proximal_line(1.0), f, bound):
                break
            self.gamma *= 0.5
        v = self._newton_point(point, state, w, y, p)
        self.known = {"inner_iterations": self.inner}
        point = proximal_line.move(1.0)
        found = self._search(point, v - p, members, f, bound)
        self.damping = max(self.damping * (0.25 if found.t == 1.0 else 4.0), self.solver.damping)
        if found.t == 0.0:
            self.events += ("proximal-step",)
            self.known |= {"ls_trials": found.trials}
            return without_search(point)
        return found

    def _search(
        self, point: Point, e: np.ndarray, members: WorkingSet, f: float, bound: float
    ) -> SearchResult[Point]:
        """Search between p and the Newton point p + e, the longest step first, for f <= f(w) + ``bound``."""
        line = self.problem.line(point, e, members)
        search = SearchLog(point.objective, e, active=members, reference=f + bound)

        def attempt(t: float) -> Trial[None]:
            value = line(t)
            return Trial(None, value, f + bound, decreases(value, f, bound))

        found = backtrack(attempt, search, beta=self.solver.beta, max_trials=MAX_BLEND_TRIALS)
        return found.leading_to(line.move(found.t) if found.t > 0.0 else NOWHERE)

    def _newton_point(
        self, point: Point, state: WorkingSetState, w: np.ndarray, y: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        """Return v, which is zero wherever p is zero, and solves the Newton equation elsewhere."""
        free = p != 0.0
        v, penalty = np.zeros_like(w), self.problem.penalty_on(state.members)
        self.inner = 0
        if not free.any():
            return v
        alpha = self._part(state.members, free)
        times = self.hessian(point, alpha)
        own = penalty.on(free)
        rhs = -(state.gradient[free] + own.each(own.row_norms[0]) * np.sign(y[free]))
        leaving = ~free & (w != 0.0)
        if leaving.any():
            beta = self._part(state.members, leaving)
            rhs += self._adjoint(self._curved(self.problem.design.scores(w[leaving], beta)), alpha)
        near = min(state.largest / self.first, 1.0)
        diagonal = point.hessian_diagonal(alpha)
        top = float(diagonal.max(initial=0.0))
        # where the curvature is zero, do not mistake round-off for a step
        diagonal = np.where(diagonal > 1e-10 * top, diagonal, top if top > 0.0 else 1.0)
        shift = np.minimum(self.damping * near * diagonal, 1.0 / self.gamma)
        d = self._conjugate_gradients(
            lambda u: times(u) + shift * u, rhs, diagonal + shift, min(self.solver.forcing, near)
        )
        v[free] = w[free] + d
        crossed = v * p < 0.0
        if penalty.factors is not None:
            crossed &= penalty.factors > 0.0
        v[crossed] = 0.0
        return v

    def _part(self, members: WorkingSet, mask: np.ndarray) -> WorkingSet:
        """Return the members for which ``mask`` holds, as a separate set.

        Products with it gather its columns, while those of the members stay available.
        """
        return members if mask.all() else self.problem.design.working_set(members.coordinates[mask])

    def hessian(self, point: Point, alpha: WorkingSet) -> Callable[[np.ndarray], np.ndarray]:
        """Return u -> H_αα u at a point, H = s Aᵀ∇²L A + ridge I."""
        problem, penalty = self.problem, self.problem.penalty_on(alpha)
        self._curved = problem.loss.hessian(point.scores, point.residual)

        def times(u: np.ndarray) -> np.ndarray:
            curved = self._curved(problem.design.scores(u, alpha))
            return self._adjoint(curved, alpha) + penalty.ridge_gradient(u)

        return times

    def _adjoint(self, scores: Scores, alpha: WorkingSet) -> np.ndarray:
        self.problem.pulse()
        return self.problem.scale * self.problem.design.adjoint(scores, alpha)

    def _conjugate_gradients(
        self,
        times: Callable[[np.ndarray], np.ndarray],
        rhs: np.ndarray,
        diagonal: np.ndarray,
        forcing: float,
    ) -> np.ndarray:
        """Return x with ‖D^-½(times(x) - rhs)‖ <= forcing · ‖D^-½ rhs‖, or the result of ``max_inner``
        steps."""
        x, r = np.zeros_like(rhs), rhs.copy()
        z = r / diagonal
        u, rho = z.copy(), float(r @ z)
        goal = forcing * forcing * rho
        while self.inner < self.solver.max_inner and rho > goal:
            Hu = times(u)
            curvature = float(u @ Hu)
            if not curvature > 0.0:
                break
            x += rho / curvature * u
            r -= rho / curvature * Hu
            z = r / diagonal
            before, rho = rho, float(r @ z)
            u = z + rho / before * u
            self.inner += 1
        return x
