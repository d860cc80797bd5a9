"""Measurements at the newest iterate of a run, from its weights only, independent of the solver's claims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..problems.point import Drift, Point
from ..problems.problem import Problem
from .cpu_budget import CpuBudget

#: Fraction of a run's CPU time for violations or gaps that its solver does not compute.
OPTIMALITY_SHARE = 0.03


class Observer:
    """An observer of the newest iterate of a run.

    Its computations do not affect the solver, its clock or its passes.

    Attributes
    ----------
    problem : Problem
        The problem at the current λ.
    budget : CpuBudget
        Budget of CPU seconds for violations and gaps.
    drift : Drift
        A bound on the difference between the solver's scores at the newest iterate and the scores of its
        weights.
    """

    def __init__(self, problem: Problem, pulse: Callable[[], None]) -> None:
        self.problem, self._pulse = problem, pulse
        self.budget = CpuBudget(OPTIMALITY_SHARE)
        self.drift = Drift()
        self._newest: Point | None = None

    def forget(self) -> None:
        """Discard the newest iterate."""
        self._newest, self.drift = None, Drift()

    def newest(self, w: np.ndarray) -> Point:
        """Return the point at ``w``, the weights of the newest iterate; it is computed at the first call."""
        if self._newest is None:
            self._newest = self.point(w)
        return self._newest

    def last(self, w: np.ndarray) -> Point:
        """Return the point at the last weights of a run: the newest point if it has these weights, else a new
        one."""
        point = self._newest
        return self.point(w) if point is None or not np.array_equal(point.w, w) else point

    def point(self, w: np.ndarray) -> Point:
        """Return a point at ``w`` that is used only for observation."""
        problem = self.problem.with_pulse(self._pulse)
        return Point(problem, w, problem.design.scores(w))
