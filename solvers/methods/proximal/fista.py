"""Accelerated proximal gradient: Beck and Teboulle, SIAM Journal on Imaging Sciences 2009."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...declare import Trait, as_printed, param
from ...problems.lipschitz import constant_param, overall_constant
from ...problems.penalties import sup_norm
from ...problems.point import Drift, Point
from ...problems.problem import Problem
from ...search.outcome import SearchResult, without_search
from ..common_params import as_in, tol_param
from ..iterate import NAN, Ending, Iterate
from ..solver import Solver
from .prox_gradient import ProxGD, first_step, proximal_search


@dataclass(frozen=True)
class FISTA(Solver):
    """Base of accelerated proximal gradient methods, x_k = prox_{λR/K}(y_k - ∇F(y_k)/K).

    Here y_{k+1} = x_k + ((t_k - 1)/t_{k+1})(x_k - x_{k-1}) and t_{k+1} = (1 + √(1 + 4t_k²))/2; an iterate is
    x_k.

    The scores of y are a combination of those of the last two x, so an iteration costs one gradient, and one
    product per trial. The violation at x_k costs another gradient. So it is computed only once K(y_k - x_k),
    which tends to zero with the violation, is as small as ``tol`` requires.

    A subclass defines ``_start`` and ``_step``.
    """

    paper = "Beck and Teboulle 2009; Blondel et al. 2013, section 5.2"
    dense_vectors = 9

    restart: bool = param(
        False,
        "forget the momentum when it points uphill (O'Donoghue and Candès)",
        title="restart of the momentum",
    )
    tol: float = tol_param()

    def _start(self, problem: Problem, x: Point) -> float:
        """Return the first step 1/K."""
        raise TypeError(f"{type(self).__name__} does not define _start")

    def _step(self, problem: Problem, y: Point, step: float) -> SearchResult[Point]:
        """Return the outcome of a step from y, where ``step`` is the previous step length."""
        raise TypeError(f"{type(self).__name__} does not define _step")

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        x = y = problem.at(w0)
        target = problem.aim(self.tol)
        violation = x.violation()
        yield Iterate.at(x, 0, violation=violation, live={"gradient": x.gradient()})
        t, step, n = 1.0, self._start(problem, x) if violation > 0.0 else 0.0, 0
        while violation > target or np.isnan(violation):
            found = self._step(problem, y, step)
            if found.t == 0.0:
                return Ending("stalled", "no step decreases the objective beyond rounding")
            before, x, step, n = x, found.point, found.t, n + 1
            violation = NAN
            if sup_norm(y.w - x.w) <= step * target:
                violation = x.violation()
            yield Iterate.at(x, n, found=found, violation=violation, live={"prox_from": y.w})
            if self.restart and (y.w - x.w) @ (x.w - before.w) > 0.0:
                t = 1.0
            t_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            y, t = extrapolate(problem, x, before, (t - 1.0) / t_next), t_next
        return Ending("converged", f"no weight violated by more than {violation:.3g}")


def extrapolate(problem: Problem, x: Point, before: Point, momentum: float) -> Point:
    """Return the point x + momentum (x - before); computing its scores needs no product with X."""
    if momentum == 0.0:
        return x
    scores = x.scores.plus(momentum, x.scores.plus(-1.0, before.scores))
    rounding = (1.0 + momentum) * x.drift.rounding + momentum * before.drift.rounding
    drift = Drift(max(x.drift.updates, before.drift.updates), rounding)
    return Point(problem, x.w + momentum * (x.w - before.w), scores, drift=drift)


@dataclass(frozen=True)
class FISTALS(FISTA):
    """FISTA with backtracking on the step 1/K.

    1/K is multiplied by ``beta`` until F(x) <= F(y) + ∇F(y)ᵀ(x - y) + ½K‖x - y‖². K never decreases.
    """

    id = "fista-ls"
    name = "FISTA (LS)"
    summary = "accelerated proximal gradient steps with backtracking"
    needs = Trait.SMOOTH | Trait.PROX
    carries = ("line",)

    beta: float = as_in(ProxGD, "beta")

    def _start(self, problem: Problem, x: Point) -> float:
        return first_step(problem, x)

    def _step(self, problem: Problem, y: Point, step: float) -> SearchResult[Point]:
        return proximal_search(problem, y, step, beta=self.beta)


@dataclass(frozen=True)
class FISTACST(FISTA):
    """FISTA with a constant step 1/K, K a Lipschitz constant of ∇F."""

    id = "fista-cst"
    name = "FISTA (CST)"
    summary = "accelerated proximal gradient steps of constant length"
    needs = Trait.SMOOTH | Trait.PROX | Trait.LIPSCHITZ
    presets = as_printed(constant="paper")
    carries = ()

    constant: str = constant_param()

    def _start(self, problem: Problem, x: Point) -> float:
        return 1.0 / overall_constant(problem, self.constant)

    def _step(self, problem: Problem, y: Point, step: float) -> SearchResult[Point]:
        return without_search(problem.moved(y, problem.prox_step(y.w, y.gradient(), step)), step)
