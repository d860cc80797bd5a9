"""Semismooth Newton on the support, globalized by proximal gradient steps, on any working set: after the
forward-backward truncated Newton method of Themelis, Ahookhosh and Patrinos 2019."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..declare import Trait, param
from ..parts.linesearch import NOWHERE, Found, Search, Trial, backtrack, decreases, unsearched
from ..problems.penalties import soft_threshold
from ..problems.point import Point
from ..problems.problem import Problem
from ..problems.products.working_set import WorkingSet
from ..problems.scores import Scores
from .coordinate.newton_kernels import NO_DECREASE
from .usual import beta_param, tol_param
from .working_sets import Look, Steps, WorkingSetSolver, rule_param

#: Trials between the Newton point and the proximal one, at most.
TRIALS = 10


@dataclass(frozen=True)
class SemismoothNewton(WorkingSetSolver):
    """Newton's method for w = prox_{γλR}(w - γ∇F(w)), whose right side is p and piecewise smooth in w.

    Where p is zero the Newton point v is zero; on the others, α, it solves
    H_αα (v - w)_α = -(∇F + λ sign(p))_α + H_αβ w_β by conjugate gradients. So a step costs products with the
    columns of the support alone, and with the Hessian of the loss in the scores. Where that jumps, as for
    squared hinges, H is an element of the generalized Hessian, and ∇F is piecewise smooth as p is. The next
    iterate is (1 - τ) p + τ v with the first τ of 1, β, β², ... at which f is low enough: at most
    φ_γ(w) - σ/γ ‖w - p‖², φ_γ the forward-backward envelope, a lower bound of f(w). For γ below (1 - 2σ)/L
    that holds at τ = 0, which is the proximal gradient step, so one of these τ is accepted, and after
    ``TRIALS`` of them the proximal step itself is taken. γ is halved until it holds.

    The paper asks it of φ_γ at the new iterate, which is at most f there: what is accepted here is accepted
    by its rule, and no gradient is needed at a trial. Close to an optimum with H_αα positive definite τ = 1
    passes, and convergence is superlinear.

    Conjugate gradients end at a residual of η times the right side, η = min(``forcing``, V/V₀), V the largest
    violation on the working set and V₀ that of the first iterate. They are scaled by the diagonal D of H, and
    μ D V/V₀ is added to H, which may be singular where there are more weights than samples; at most 1/γ, as
    more would lead less far than p. Far from the optimum a plain Newton point is seldom of use: μ is
    ``damping`` at least, grows fourfold where τ < 1 and falls by as much where τ = 1; and weights of v with
    another sign than in p are zero. Whatever v is, the run converges; close to the optimum neither changes
    the rate.
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
    beta: float = beta_param()
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


class Newton(Steps):
    """Steps on a working set; γ and the first violation are kept between them."""

    def __init__(self, solver: SemismoothNewton, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.l1 = problem.penalty.row_norms[0]
        self.gamma, self.first, self.inner = 0.0, 0.0, 0
        self.damping = solver.damping

    def step(self, point: Point, look: Look) -> Found[Point]:
        """Take p, and from there on the way to the Newton point as much as lowers f."""
        members, problem = look.members, self.problem
        w, g, f = members.take(point.w).copy(), look.gradient, point.objective
        self.first = self.first or look.largest
        if self.gamma == 0.0:
            v = problem.penalty.subgradient(w, g)
            self.gamma = problem.line(point, -v, members).first_step()
        while True:
            y = w - self.gamma * g
            p = soft_threshold(y, self.gamma * self.l1)
            squares = float((w - p) @ (w - p)) / self.gamma
            if not squares > NO_DECREASE * abs(f):
                return Found(point, 0.0, None, 0)
            ahead = problem.line(point, p - w, members)
            falls = float(g @ (p - w)) + 0.5 * squares + self.l1 * float(np.abs(p).sum() - np.abs(w).sum())
            bound = falls - self.solver.sigma * squares  # φ_γ(w) - f(w) - σ/γ ‖w - p‖²
            if decreases(ahead(1.0), f, bound):
                break
            self.gamma *= 0.5
        v = self._newton_point(point, look, w, y, p)
        self.known = {"inner_iterations": self.inner}
        point = ahead.move(1.0)
        found = self._search(point, v - p, members, f, bound)
        self.damping = max(self.damping * (0.25 if found.t == 1.0 else 4.0), self.solver.damping)
        if found.t == 0.0:
            self.known |= {"events": ("proximal-step",), "ls_trials": found.trials}
            return unsearched(point)
        return found

    def _search(
        self, point: Point, e: np.ndarray, members: WorkingSet, f: float, bound: float
    ) -> Found[Point]:
        """Search from p along e to the Newton point, the longest step first, for f <= f(w) + ``bound``."""
        line = self.problem.line(point, e, members)
        search = Search(point.objective, e, active=members, reference=f + bound)

        def attempt(t: float) -> Trial[None]:
            value = line(t)
            return Trial(None, value, f + bound, decreases(value, f, bound))

        found = backtrack(attempt, search, beta=self.solver.beta, max_trials=TRIALS)
        return found.leading_to(line.move(found.t) if found.t > 0.0 else NOWHERE)

    def _newton_point(
        self, point: Point, look: Look, w: np.ndarray, y: np.ndarray, p: np.ndarray
    ) -> np.ndarray:
        """Return v: zero where p is, and on the rest the solution of the Newton equation."""
        free = p != 0.0
        v = np.zeros_like(w)
        self.inner = 0
        if not free.any():
            return v
        alpha = self._part(look.members, free)
        times = self.hessian(point, alpha)
        rhs = -(look.gradient[free] + self.l1 * np.sign(y[free]))
        leaving = ~free & (w != 0.0)
        if leaving.any():
            beta = self._part(look.members, leaving)
            rhs += self._pulled_back(self._curved(self.problem.design.scores(w[leaving], beta)), alpha)
        near = min(look.largest / self.first, 1.0)
        diagonal = point.hessian_diagonal(alpha)
        top = float(diagonal.max(initial=0.0))
        # where nothing bends, rounding of the right side is not to be taken for a long way
        diagonal = np.where(diagonal > 1e-10 * top, diagonal, top if top > 0.0 else 1.0)
        shift = np.minimum(self.damping * near * diagonal, 1.0 / self.gamma)
        d = self._conjugate_gradients(
            lambda u: times(u) + shift * u, rhs, diagonal + shift, min(self.solver.forcing, near)
        )
        v[free] = w[free] + d
        v[v * p < 0.0] = 0.0
        return v

    def _part(self, members: WorkingSet, mask: np.ndarray) -> WorkingSet:
        """Return the members where ``mask`` holds as a set of their own: products with it gather its columns,
        and those of the members are needed again."""
        return members if mask.all() else self.problem.design.working_set(members.coordinates[mask])

    def hessian(self, point: Point, alpha: WorkingSet) -> Callable[[np.ndarray], np.ndarray]:
        """Return u -> H_αα u at a point, H = s Aᵀ∇²L A + ridge I."""
        problem = self.problem
        self._curved = problem.loss.hessian(point.scores, point.residual)

        def times(u: np.ndarray) -> np.ndarray:
            return self._pulled_back(self._curved(problem.design.scores(u, alpha)), alpha) + (
                problem.penalty.ridge * u
            )

        return times

    def _pulled_back(self, scores: Scores, alpha: WorkingSet) -> np.ndarray:
        self.problem.pulse()
        return self.problem.scale * self.problem.design.adjoint(scores, alpha)

    def _conjugate_gradients(
        self,
        times: Callable[[np.ndarray], np.ndarray],
        rhs: np.ndarray,
        diagonal: np.ndarray,
        forcing: float,
    ) -> np.ndarray:
        """Return x with ‖D^-½(times(x) - rhs)‖ <= forcing · ‖D^-½ rhs‖, or as near as ``max_inner`` steps
        come."""
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
