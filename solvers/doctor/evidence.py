"""The evidence about a run: its record, and costs and curvature measured with a few products."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..compatibility import why_not_solver_on
from ..compute.lazy import lazy
from ..declare import parameters
from ..methods.solver import Solver
from ..problems.line import Line
from ..problems.point import Point
from ..problems.problem import Problem
from ..registry import SOLVERS, make_solver
from ..traces.run_info import RunInfo
from ..traces.trace import Trace
from .finding import Remedy

#: Number of measurements of a cost, of which the least is used.
MEASUREMENTS = 3


class Evidence:
    """The data for rules: the record of a run, its problem, and measurements.

    Attributes
    ----------
    rows : mapping
        The columns of the record.
    solver : Solver or None
        The solver with its hyper-parameters; None if it does not exist here.
    iterations : int
        The index of the last iterate.
    seconds, setup : float
        CPU seconds of the solver, and of the set-up.
    w : array or None
        The last weights; None while the run continues.
    """

    def __init__(self, trace: Trace, problem: Problem) -> None:
        self.trace, self.problem = trace, problem
        self.rows, _, _ = trace.since(None)
        if not len(self.rows["iteration"]):
            raise ValueError(f"{trace.info.label} has no iterate yet: let it run for a moment")
        self.solver = solver_of(trace.info)
        self.iterations = int(self.rows["iteration"][-1])
        self.seconds = float(self.rows["cpu_seconds"][-1])
        self.setup = float(trace.result.get("setup_seconds") or problem.setup_seconds)
        w = trace.w
        self.w = w if w is not None and w.size == problem.size and np.isfinite(w).all() else None

    # the record

    @property
    def id(self) -> str:
        return self.trace.info.solver

    def known(self, name: str) -> np.ndarray:
        """Return the known values of a numeric field, without that of iterate 0."""
        column = self.rows[name][self.rows["iteration"] > 0]
        return column[column >= 0] if column.dtype.kind == "i" else column[np.isfinite(column)]

    def total(self, name: str) -> float:
        """Return the sum of a field over all iterates, estimated from the rows of the trace."""
        values = self.known(name)
        return float(values.mean()) * self.iterations if values.size else 0.0

    def last(self, name: str) -> float:
        """Return the last known value of a field; nan if there is none."""
        values = self.known(name)
        return float(values[-1]) if values.size else np.nan

    def param(self, name: str) -> Any:
        """Return a hyper-parameter of the solver; return None if it does not exist."""
        return getattr(self.solver, name, None)

    def usual(self, name: str) -> Any:
        """Return the default value of a hyper-parameter."""
        return next(p.default for p in parameters(type(self.known_solver)) if p.name == name)

    @property
    def known_solver(self) -> Solver:
        """Return the solver, which must be known."""
        assert self.solver is not None
        return self.solver

    # changes

    def changing(self, **params: Any) -> Remedy:
        """Return the remedy of a run with other hyper-parameters."""
        says = ", ".join(f"{name}={_text(value)}" for name, value in params.items())
        return Remedy(says, replace(self.known_solver, **params))

    def first_solver(self, *ids: str) -> Remedy | None:
        """Return the remedy of a run with the first of these solvers that accepts the problem; None if none
        does."""
        for id in ids:
            if id != self.id and why_not_solver_on(id, self.problem) is None:
                solver = make_solver(id)
                if solver.refuses(self.problem) is None:
                    return Remedy(id, solver)
        return None

    # measured

    @lazy
    def own(self) -> Problem:
        """Return a copy of the problem whose products are not counted."""
        return self.problem.with_pulse(self.problem.pulse)

    @lazy
    def point(self) -> Point:
        """Return the point at the last weights; at the start while the run continues."""
        return self.own.at(None if self.w is None else self.w.copy())

    @lazy
    def line(self) -> Line:
        """Return the line along the negative of the shortest subgradient at the last point."""
        d = -self.own.subgradient(self.point.w, self.point.gradient())
        return self.own.line(self.point, d)

    @lazy
    def trial_seconds(self) -> float:
        """Return the CPU seconds of one trial along a line, including its slope unless the search is
        Armijo's."""
        line = self.own.line(self._fresh(), np.ones(self.own.size))
        # another step each time: what is known at one is not computed again
        steps = iter(1e-3 * (1.0 + np.arange(MEASUREMENTS + 1)))
        if "armijo" in self.rows["ls_kind"]:
            return _cost(lambda: line(next(steps)))
        return _cost(lambda: line.slope(next(steps)))

    @lazy
    def step_seconds(self) -> float:
        """Return the CPU seconds of computing f and its gradient."""

        def step() -> None:
            self._fresh().gradient()

        return _cost(step)

    def _fresh(self) -> Point:
        """Return a point at which nothing has been computed yet.

        Before the run ends it is next to w = 0, since the gradient at w = 0 may be cached.
        """
        return self.own.at(np.full(self.own.size, 1e-9) if self.w is None else self.w.copy())


def _cost(work: Callable[[], object]) -> float:
    took = []
    for _ in range(MEASUREMENTS + 1):  # the first may compile
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return min(took[1:])


def solver_of(info: RunInfo) -> Solver | None:
    """Return the solver of a run with its hyper-parameters; return None if it does not exist here."""
    if info.solver not in SOLVERS:
        return None
    declared = {p.name for p in parameters(SOLVERS[info.solver])}
    try:
        return make_solver(info.solver, **{k: v for k, v in info.params.items() if k in declared})
    except ValueError:  # a record from another version
        return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
