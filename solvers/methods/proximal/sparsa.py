"""SpaRSA, proximal gradient with Barzilai-Borwein steps: Wright, Nowak and Figueiredo, IEEE TSP 2009."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...declare import Trait, param
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import backtrack, decreases
from ...search.outcome import SearchLog, SearchResult, Trial
from ..iterate import Ending, Iterate
from ..solver import Solver
from .prox_gradient import first_step

#: Bounds of α.
MIN_ALPHA, MAX_ALPHA = 1e-30, 1e30


@dataclass(frozen=True)
class SpaRSA(Solver):
    """Proximal gradient steps w⁺ = prox_{λR/α}(w - ∇F(w)/α), with α = sᵀy/sᵀs of the last step.

    s is the last move, and y the change of ∇F along it. α is raised until f(w⁺) <= max(last M + 1 values of
    f) - ½σα‖w⁺ - w‖². With M > 0 the objective may rise for a while. If sᵀy <= 0 the last α is used again. α
    is clipped to between 1e-30 and 1e30, as in the authors' program.
    """

    id = "sparsa"
    name = "SpaRSA"
    summary = "proximal gradient steps of the length that the last step suggests"
    paper = "Wright et al. 2009; Blondel et al. 2013, section 5.2"
    needs = Trait.SMOOTH | Trait.PROX
    carries = ("line",)

    M: int = param(
        5,
        "earlier values of f that a step may rise to; 0 never rises",
        low=0,
        high=1000,
        title="earlier values of f, M",
    )
    sigma: float = param(
        0.01, "share of the decrease asked for", low=0.0, high=0.999, title="decrease asked for σ"
    )
    eta: float = param(
        2.0,
        "factor of α when a trial is refused",
        low=1.0,
        high=100.0,
        open_low=True,
        title="backtracking factor η",
    )

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        point = problem.at(w0)
        values = deque([point.objective], maxlen=self.M + 1)
        step, found, n, w = 0.0, None, 0, None
        while True:
            y, w, g = w, point.w, point.gradient()
            violation = point.violation()
            live = {"gradient": g, "prox_from": y}
            yield Iterate.at(point, n, found=found, violation=violation, live=live)
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
            step = step or first_step(problem, point)
            found = self._search(problem, point, step, max(values))
            if found.t == 0.0:
                return Ending("stalled", "no step decreases the objective beyond rounding")
            point, step, n = found.point, found.t, n + 1
            s, y = point.w - w, point.gradient() - g
            if (curvature := float(s @ y)) > 0.0:
                step = 1.0 / min(max(curvature / float(s @ s), MIN_ALPHA), MAX_ALPHA)
            values.append(point.objective)

    def _search(self, problem: Problem, point: Point, step: float, reference: float) -> SearchResult[Point]:
        """Return the outcome for the first of step, step/η, ... that decreases f enough below
        ``reference``."""

        def attempt(t: float) -> Trial[Point]:
            new = problem.moved(point, problem.prox_step(point.w, point.gradient(), t))
            d = new.w - point.w
            bound = -0.5 * self.sigma / t * float(d @ d)
            return Trial(new, new.objective, reference + bound, decreases(new.objective, reference, bound))

        search = SearchLog(point.objective, reference=reference)
        return backtrack(attempt, search, step, beta=1.0 / self.eta, max_trials=60)
