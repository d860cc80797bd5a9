"""Proximal gradient with backtracking."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..declare import Trait, param
from ..parts.linesearch import ROUNDING, Search, backtrack
from .iterate import Ending, Iterate
from .solver import Solver

if TYPE_CHECKING:
    from ..problems.problem import Point, Problem


@dataclass(frozen=True)
class ProxGD(Solver):
    """w⁺ = prox_{λR/K}(w - ∇F(w)/K), K raised until F(w⁺) <= F(w) + ∇F(w)ᵀ(w⁺ - w) + ½K‖w⁺ - w‖².

    F is the smooth part. K starts at the curvature of F along the first direction; each iteration first
    tries a K smaller than the last accepted one (``growth`` of the step; 1 keeps K from ever falling). Where
    the two sides of the test differ by less than their rounding, gradients decide in their place.
    """

    id = "prox-gd"
    name = "Prox-GD"
    summary = "proximal gradient steps with backtracking"
    paper = "Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.PROX

    beta: float = param(0.5, "factor of the step when a trial is refused", low=0.0, high=0.999, open_low=True)
    growth: float = param(1.2, "factor of the step tried first in the next iteration", low=1.0, high=10.0)

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        point = problem.at(w0)
        step, known, n = 0.0, {}, 0
        while True:
            g, violation = point.gradient(), point.violation()
            yield Iterate.at(point, n, violation=violation, gradient=g, **known)
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
            if step == 0.0:
                step = first_step(problem, point)
            search = ProximalSearch(problem, point, g)
            step, trials = backtrack(
                search, step * (self.growth if n else 1.0), beta=self.beta, max_trials=60
            )
            if step == 0.0:
                return Ending("stalled", "no step decreases the objective beyond rounding")
            point = search.trial
            n += 1
            events = ("backtracked",) if trials > 1 else ()
            known = {"step": step, "ls_trials": trials, "ls_kind": "armijo", "events": events, "line": search}


def first_step(problem: Problem, point: Point) -> float:
    """1/K, K the curvature of the smooth part along the minimum-norm subgradient: at w = 0 that is the way
    of every proximal step, and it depends on no length."""
    v = problem.vector(problem.penalty.subgradient, point.w, point.gradient())
    moved = problem.support(v)
    p = -moved.take(v)
    curvature = problem.line(point, p, moved).curvature()
    return float(p @ p) / curvature if curvature > 0.0 else 1.0


class ProximalSearch(Search):
    """Tests w⁺(t) = prox_{tλR}(w - t∇F(w)) against the quadratic model; ``trial`` is the last point tried.

    F(w⁺) - F(w) - ∇F(w)ᵀs <= ‖s‖²/2t, s = w⁺ - w. Once ‖s‖²/2t is below the rounding of F, any step would
    pass, and lengths that grow would carry w away again. The left side is then taken to be half of
    (∇F(w⁺) - ∇F(w))ᵀs, which it is for a quadratic F: its rounding falls with s, and the gradient at w⁺ is
    what the next iteration begins with.
    """

    def __init__(self, problem: Problem, point: Point, g: np.ndarray) -> None:
        super().__init__(point.objective)
        self.problem, self.point, self.g = problem, point, g
        self.trial = point

    def __call__(self, t: float) -> bool:
        w, g, problem = self.point.w, self.g, self.problem
        self.trial = problem.moved(self.point, problem.prox_step(w, g, t))
        slope = squares = 0.0
        for part in problem.pieces():
            s = self.trial.w[part] - w[part]
            slope, squares = slope + float(g[part] @ s), squares + float(s @ s)
        F, f, allowed = self.trial.smooth, self.trial.objective, squares / (2.0 * t)
        model, rounding = self.point.smooth + slope + allowed, ROUNDING * abs(F)
        self.note(t, f, model + (f - F))  # F may be the model's value, and f that and the penalty
        if allowed > rounding:
            return model + rounding >= F
        ahead = problem.total(lambda w, new, g: g @ (new - w), w, self.trial.w, self.trial.gradient())
        return 0.5 * (ahead - slope) <= allowed
