"""Rules that end a run at an iterate: its limits, and checks of claims of convergence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..methods.iterate import Ending
from ..problems.certificates import optimality
from ..problems.certificates.certificate import KnownMinimum
from ..problems.point import Point
from ..problems.problem import Problem
from .observer import Observer
from .stopping import USUAL_TOL, Stopping


class EndRules:
    """The limits of a run, which are applied to each record.

    A point that seems to have converged is measured again, with scores computed from its weights. A claim
    that then proves false ends the run, too.

    Attributes
    ----------
    stopping : Stopping
        The limits at the current λ.
    known : KnownMinimum
        The known upper bound on f* at the current λ.
    excess : float or None
        A lower bound on f - f* at a point that the solver or the tolerance took for converged; None if there
        was no such point.
    """

    def __init__(self, problem: Problem, stopping: Stopping, observer: Observer) -> None:
        self.stopping, self._observer = stopping, observer
        self.known = KnownMinimum(math.inf)
        self.excess: float | None = None
        self._met = partial(optimality.met, problem)
        #: no f above this has converged
        self._bar = math.inf

    def begin(self, problem: Problem) -> None:
        """Begin at the λ of ``problem``, where f at the start is the only known bound on f*."""
        self.known, self._bar = KnownMinimum(problem.at().objective), math.inf
        self._met = partial(optimality.met, problem)

    def ending(self, record: Mapping[str, Any], w: np.ndarray | None) -> Ending | None:
        """Return why the run ends at the newest iterate, with this record and weights ``w``.

        Return None if the run continues.
        """
        limit = self.stopping.ending(record, self._met)
        if limit is None or limit.status != "converged" or w is None:
            return limit
        if record["objective"] > self._bar:  # nothing new
            return self._without_tol(record)
        with self._observer.budget.charged():
            point, drift = self._observer.newest(w), self._observer.drift
            if optimality.contradictions(point, record, drift):
                return limit
            if drift.updates:
                more = max(point.objective - record["objective"], 0.0)
                gap = self.known.claimed(point.objective, record["dual_gap"] + more)
                found = {"objective": point.objective, "violation": point.violation(), "dual_gap": gap}
                limit = self.stopping.ending({**record, **found}, self._met)
                if limit is None or limit.status != "converged":
                    return limit
        if self.stopping.tol is not None and not self.near_minimum(point):
            return self._without_tol(record)
        return limit

    def _without_tol(self, record: Mapping[str, Any]) -> Ending | None:
        return replace(self.stopping, tol=None).ending(record, self._met)

    def near_minimum(self, point: Point) -> bool:
        """Return whether no known bound contradicts that a point has converged."""
        excess = optimality.excess(point, self.known, self.stopping.tol or USUAL_TOL)
        if excess is not None:
            self.excess, self._bar = excess, point.objective - 0.5 * excess
        return excess is None
