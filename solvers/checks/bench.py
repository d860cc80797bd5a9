"""A solver on a case: its runs, each made once, and the optimum of a trusted solver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..compute.lazy import lazy
from ..declare import Trait, unmet_needs
from ..methods.solver import Solver
from ..problems.problem import Problem
from ..registry import LOSSES, PENALTIES, make_solver
from ..rivals.external_solver import ExternalSolver
from ..runs.solve import solve
from .case import CheckCase
from .observed import MOST_ITERATES, MOST_SECONDS, ObservedRun, observe

#: Solvers whose optimum is trusted, the first that takes a problem.
TRUSTED = ("fista-ls", "prox-qn", "newton-cd", "lbfgs", "dual-cd", "subbfgs", "level-bundle", "bmrm")
#: Tolerance, iterations and CPU seconds of a trusted solver.
TRUSTED_TOL, TRUSTED_ITERATES, TRUSTED_SECONDS = 1e-9, 20_000, 2.0


def why_not(solver: Solver, loss: str, penalty: str) -> str | None:
    """Return why a solver, which need not be registered, does not accept a loss with a penalty; None if it
    does."""
    offered = LOSSES[loss].traits | PENALTIES[penalty].traits | Trait.UNIFORM
    one_of = solver.formulas if isinstance(solver, ExternalSolver) else None
    return unmet_needs(solver.needs, offered, one_of)


@dataclass
class Bench:
    """A solver under test on one case.

    Attributes
    ----------
    solver : Solver
        The solver.
    case : CheckCase
        Data, loss, penalty and λ.
    max_iter, seconds
        Limits of each run.
    twin : Solver, optional
        The solver whose iterates should be the same, and whose optimum is trusted.
    """

    solver: Solver
    case: CheckCase
    max_iter: int = MOST_ITERATES
    seconds: float = MOST_SECONDS
    twin: Solver | None = None
    _runs: dict[str, ObservedRun] = field(default_factory=dict)

    @lazy
    def problem(self) -> Problem:
        return self.case.problem()

    @lazy
    def refused(self) -> str | None:
        """Return why the solver does not accept the problem; return None if it does."""
        return self.solver.refuses(self.problem)

    def on(self, case: CheckCase, **limits: Any) -> Bench:
        """Return a bench of the same solver on another case, optionally with other limits."""
        given = {"max_iter": self.max_iter, "seconds": self.seconds, "twin": self.twin} | limits
        return Bench(self.solver, case, **given)

    @property
    def run(self) -> ObservedRun:
        """Return the run from the problem's start."""
        if "cold" not in self._runs:
            self._runs["cold"] = self.observe()
        return self._runs["cold"]

    @property
    def warm(self) -> ObservedRun | None:
        """Return a run from random weights; return None if the solver cannot start from given weights."""
        if not self.solver.takes_start:
            return None
        if "warm" not in self._runs:
            self._runs["warm"] = self.observe(w0=self.random_start)
        return self._runs["warm"]

    @property
    def runs(self) -> list[ObservedRun]:
        """Return the runs whose iterates are checked."""
        return [self.run] if self.warm is None else [self.run, self.warm]

    @property
    def made(self) -> list[ObservedRun]:
        """Return the runs that have been made so far."""
        return [*self._runs.values()]

    @lazy
    def random_start(self) -> np.ndarray:
        """Return random starting weights, some of them zero."""
        rng = np.random.default_rng(1)
        w0 = np.round(rng.normal(size=self.problem.size), 2)
        w0[1::3] = 0.0
        return w0

    def observe(self, **how: Any) -> ObservedRun:
        """Run the solver on the problem; keyword arguments are those of :func:`.observed.observe`."""
        given = {"max_iter": self.max_iter, "seconds": self.seconds} | how
        return observe(self.solver, self.problem, **given)

    @lazy
    def trusted(self) -> tuple[str, np.ndarray, float] | None:
        """Return id, weights and f of a trusted solver at the optimum; None if no such solver converges."""
        return optimum(self.problem, self.case, self.twin, but=self.solver.id)

    @property
    def least(self) -> float:
        """Return the smallest known value of f."""
        known = [math.inf] if self.trusted is None else [self.trusted[2]]
        for run in self._runs.values():
            known += [f for point in run.points if math.isfinite(f := point.objective)]
        return min(known)


def optimum(
    problem: Problem, case: CheckCase, twin: Solver | None = None, *, but: str = ""
) -> tuple[str, np.ndarray, float] | None:
    """Return id, weights and f of the first trusted solver that converges on a problem; None if none does.

    The twin is tried first, and the solver with the id ``but`` is left out.
    """
    trusted = [make_solver(id) for id in TRUSTED if id != but]
    for solver in trusted if twin is None else [twin, *trusted]:
        certain = problem.smooth or solver.knows.dual_gap or problem.penalty.convexity > 0.0
        if why_not(solver, case.loss, case.penalty) or not certain:
            continue
        tol = TRUSTED_TOL if problem.smooth else 1e-6
        limits = {"max_iter": TRUSTED_ITERATES, "max_seconds": TRUSTED_SECONDS}
        trace = solve(problem, solver, tol=tol, on_error="keep", **limits)
        ended = trace.status in ("converged", "stalled") and np.isfinite(trace.result["objective"])
        if ended and trace.w is not None:
            return solver.id, trace.w, float(trace.result["objective"])
    return None


def scaled(case: CheckCase, factor: float) -> CheckCase | None:
    """Return the case with X times ``factor`` and λ times ``factor``: f there at w/factor is f here at w.

    Return None if the penalty is not a norm, or if weights have no unit.
    """
    if case.offsets is not None or not PENALTIES[case.penalty].sparse or case.penalty == "elastic-net":
        return None
    lam = None if case.lam is None else case.lam * factor
    return replace(case, X=case.X * factor, lam=lam)
