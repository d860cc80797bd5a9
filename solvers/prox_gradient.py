"""Proximal gradient with backtracking."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .iterate import Ending, Iterate
from .linesearch import ROUNDING, Search, backtrack
from .solver import Solver, Trait, param

if TYPE_CHECKING:
    from .problem import Point, Problem


@dataclass(frozen=True)
class ProxGD(Solver):
    """w⁺ = prox_{λR/K}(w - ∇F(w)/K), K raised until F(w⁺) <= F(w) + ∇F(w)ᵀ(w⁺ - w) + ½K‖w⁺ - w‖².

    F is the smooth part. K starts at the curvature of F along the first direction; each iteration first
    tries a K smaller than the last accepted one (``growth`` of the step; 1 keeps K from ever falling).
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
            if violation == 0.0:
                return Ending("converged", "the violation is zero")
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
    """1/K, K the curvature of the smooth part along the proximal step of length 1."""
    ahead = problem.prox_step(point.w, point.gradient(), 1.0)
    moved = problem.where(np.not_equal, ahead, point.w)
    p = moved.take(ahead) - moved.take(point.w)
    curvature = problem.line(point, p, moved).curvature()
    return float(p @ p) / curvature if curvature > 0.0 else 1.0


class ProximalSearch(Search):
    """Tests w⁺(t) = prox_{tλR}(w - t∇F(w)) against the quadratic model; ``trial`` is the last point tried."""

    def __init__(self, problem: Problem, point: Point, g: np.ndarray) -> None:
        super().__init__(point.objective)
        self.problem, self.point, self.g = problem, point, g
        self.trial = point

    def __call__(self, t: float) -> bool:
        w, g, problem = self.point.w, self.g, self.problem
        self.trial = problem.moved(self.point, problem.prox_step(w, g, t))

        def rise(w: np.ndarray, new: np.ndarray, g: np.ndarray) -> float:
            s = new - w
            return g @ s + s @ s / (2.0 * t)

        F, f = self.trial.smooth, self.trial.objective
        model = self.point.smooth + problem.total(rise, w, self.trial.w, g)
        self.note(t, f, model + (f - F))  # F may be the model's value, and f that and the penalty
        return model + ROUNDING * abs(F) >= F
