"""Measurements of the newest iterate of a run, from its weights alone, independent of the solver's claims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..problems.point import Drift, Point
from ..problems.problem import Problem
from .cpu_budget import CpuBudget

#: Share of a run's CPU time that may go into violations or gaps that its solver does not know.
OPTIMALITY_SHARE = 0.03


class Observer:
    """An observer of the newest iterate of a run, whose computations do not reach the solver, its clock or
    its passes.

    Attributes
    ----------
    problem : Problem
        The problem at the present λ.
    budget : CpuBudget
        CPU seconds for violations and gaps.
    drift : Drift
        A bound of the difference of the solver's scores of the newest iterate from those of its weights.
    """

    def __init__(self, problem: Problem, pulse: Callable[[], None]) -> None:
        self.problem, self._pulse = problem, pulse
        self.budget = CpuBudget(OPTIMALITY_SHARE)
        self.drift = Drift()
        self._newest: Point | None = None

    def forget(self) -> None:
        """Drop the newest iterate."""
        self._newest, self.drift = None, Drift()

    def newest(self, w: np.ndarray) -> Point:
        """Return the point at ``w``, the weights of the newest iterate; made at the first call."""
        if self._newest is None:
            self._newest = self.point(w)
        return self._newest

    def last(self, w: np.ndarray) -> Point:
        """Return the point at the last weights of a run: that of the newest iterate, if they are its own."""
        point = self._newest
        return self.point(w) if point is None or not np.array_equal(point.w, w) else point

    def point(self, w: np.ndarray) -> Point:
        """Return a point for observing."""
        problem = self.problem.with_pulse(self._pulse)
        return Point(problem, w, problem.design.scores(w))
