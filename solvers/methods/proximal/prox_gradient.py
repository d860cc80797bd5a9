"""Proximal gradient with backtracking."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...declare import Trait, param
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import OBJECTIVE_ROUNDING, Armijo, backtrack
from ...search.outcome import SearchLog, SearchResult, Trial
from ..common_params import as_in
from ..iterate import Ending, Iterate
from ..solver import Solver


@dataclass(frozen=True)
class ProxGD(Solver):
    """Proximal gradient steps w⁺ = prox_{λR/K}(w - ∇F(w)/K), F being the smooth part of f.

    K is increased until F(w⁺) <= F(w) + ∇F(w)ᵀ(w⁺ - w) + ½K‖w⁺ - w‖². K starts at the curvature of F along
    the first direction; each iteration first tries the last accepted K divided by ``growth`` (with 1, K never
    decreases). If the two sides of the test differ by less than their rounding, gradients decide instead.
    """

    id = "prox-gd"
    name = "Prox-GD"
    summary = "proximal gradient steps with backtracking"
    paper = "Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.PROX
    carries = ("line",)

    beta: float = as_in(Armijo, "beta", help="factor of the step when a trial is refused")
    growth: float = param(
        1.2,
        "factor of the step tried first in the next iteration",
        low=1.0,
        high=10.0,
        title="growth of the first trial",
    )

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        point = problem.at(w0)
        step, found, n, y = 0.0, None, 0, None
        while True:
            violation = point.violation()
            live = {"gradient": point.gradient(), "prox_from": y}
            yield Iterate.at(point, n, found=found, violation=violation, live=live)
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
            if step == 0.0:
                step = first_step(problem, point)
            found = proximal_search(problem, point, step * (self.growth if n else 1.0), beta=self.beta)
            if found.t == 0.0:
                return Ending("stalled", "no step decreases the objective beyond rounding")
            y, point, step, n = point.w, found.point, found.t, n + 1


def first_step(problem: Problem, point: Point) -> float:
    """Return 1/K, K the curvature of the smooth part along the minimum-norm subgradient.

    At w = 0 every proximal step has this direction, and K does not depend on its length; see
    :meth:`.line.Line.first_step`.
    """
    v = problem.subgradient(point.w, point.gradient())
    moved = problem.support(v)
    return problem.line(point, -moved.take(v), moved).first_step()


def proximal_search(problem: Problem, point: Point, step: float, *, beta: float) -> SearchResult[Point]:
    """Backtrack along w⁺(t) = prox_{tλR}(w - t∇F(w)) from t = ``step`` until the quadratic model bounds F.

    The condition is F(w⁺) - F(w) - ∇F(w)ᵀs <= ‖s‖²/2t, s = w⁺ - w.

    Once ‖s‖²/2t is below the rounding of F, any step would pass, and growing steps would carry w away again.
    The left side is then replaced by half of (∇F(w⁺) - ∇F(w))ᵀs, which it equals for a quadratic F. Its
    rounding decreases with s, and the next iteration needs the gradient at w⁺ anyway.
    """
    w, g = point.w, point.gradient()

    def attempt(t: float) -> Trial[Point]:
        new = problem.moved(point, problem.prox_step(w, g, t))
        slope = squares = 0.0
        for part in problem.pieces():
            s = new.w[part] - w[part]
            slope, squares = slope + float(g[part] @ s), squares + float(s @ s)
        F, f, above = new.smooth_part, new.objective, squares / (2.0 * t)
        model, rounding = point.smooth_part + slope + above, OBJECTIVE_ROUNDING * abs(F)
        if above > rounding:
            accepted = model + rounding >= F
        else:
            end_slope = problem.total(lambda w, new, g: g @ (new - w), w, new.w, new.gradient())
            accepted = 0.5 * (end_slope - slope) <= above
        return Trial(new, f, model + (f - F), accepted)  # F may be the model's value, f that and the penalty

    return backtrack(attempt, SearchLog(point.objective), step, beta=beta, max_trials=60)
