"""Orthant-wise limited-memory quasi-Newton: Andrew and Gao, ICML 2007."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..declare import Trait, param
from ..parts.linesearch import Found, Search, Trial, backtrack, decreases
from ..parts.memory import PairMemory
from .iterate import NAN, Ending, Iterate
from .solver import Solver
from .usual import beta_param

if TYPE_CHECKING:
    from ..problems.point import Point
    from ..problems.problem import Problem


@dataclass(frozen=True)
class OWLQN(Solver):
    """L-BFGS inside the orthant that the pseudo-gradient points to, with a projected backtracking search.

    The decrease is tested on the displacement after projection, f(w⁺) <= f(w) + σ ◇ᵀ(w⁺ - w), as in the
    paper. The first step tries t = 1/‖◇‖₂ and backs off by 0.1, as the authors' program does. Pairs are
    those of the smooth part alone.
    """

    id = "owl-qn"
    name = "OWL-QN"
    summary = "L-BFGS projected on orthants"
    paper = "Andrew and Gao 2007; Zhong et al. 2014, section 6"
    needs = Trait.SMOOTH | Trait.SEPARABLE

    memory: int = param(10, "pairs (s, y) kept", low=1, high=1000)
    beta: float = beta_param()
    sigma: float = param(1e-4, "share of the promised decrease asked for", low=0.0, high=0.5)

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + 8

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        penalty, memory = problem.penalty, PairMemory(self.memory, problem.pulse)
        point = problem.at(w0)
        found, known, n = None, {}, 0
        while True:
            w, g = point.w, point.gradient()
            v = problem.vector(penalty.subgradient, w, g)  # the pseudo-gradient ◇ of f
            violation = point.violation()
            seen = {"found": found, "memory": memory, "live": {"gradient": g}}
            yield Iterate.at(point, n, violation=violation, **seen, **known)
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")

            orthant = problem.vector(lambda w, v: np.sign(np.where(w != 0.0, w, -v)), w, v)
            found, events = self._search(problem, point, memory, v, orthant), ()
            if found.t == 0.0 and len(memory):
                memory.clear()
                failed, found = found, self._search(problem, point, memory, v, orthant)
                found, events = found._replace(trials=failed.trials + found.trials), ("memory-cleared",)
            if found.t == 0.0:
                return Ending("stalled", "no step in the orthant decreases the objective beyond rounding")
            s = problem.vector(np.subtract, found.point.w, w)
            y = problem.vector(np.subtract, found.point.gradient(), g)
            curvature = memory.push(s, y)
            point, n = found.point, n + 1
            known = {
                "gamma": memory.scaling("yy/sy") if len(memory) else NAN,
                "curvature": NAN if curvature is None else curvature,
                "events": (*events, "curvature-skipped") if curvature is None else events,
            }

    def _search(
        self, problem: Problem, point: Point, memory: PairMemory, v: np.ndarray, orthant: np.ndarray
    ) -> Found[Point]:
        """Backtrack along the projected path w(t) = P(w + t d), d = -H v aligned with -v.

        Without an ℓ1 part there are no kinks, hence no orthants: it is the path of L-BFGS.
        """
        kinks = problem.penalty.l1 > 0.0

        def direction(Hv: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.where(Hv * v <= 0.0, 0.0, -Hv) if kinks else -Hv

        d = problem.vector(direction, memory.inverse_product(v), v)

        def attempt(t: float) -> Trial[Point]:
            def ahead(w: np.ndarray, d: np.ndarray, orthant: np.ndarray) -> np.ndarray:
                w = w + t * d
                return np.where(w * orthant <= 0.0, 0.0, w) if kinks else w

            new = problem.moved(point, problem.vector(ahead, point.w, d, orthant))
            slope = problem.total(lambda v, new, w: v @ (new - w), v, new.w, point.w)
            bound = self.sigma * slope
            accepted = decreases(new.objective, point.objective, bound)
            return Trial(new, new.objective, point.objective + bound, accepted)

        t, beta = (1.0, self.beta) if len(memory) else (1.0 / np.linalg.norm(v), 0.1)
        search = Search(point.objective, d, active=None if kinks else problem.design.working_set())
        return backtrack(attempt, search, t, beta=beta, max_trials=40)
