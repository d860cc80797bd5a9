"""Recording of iterates, from the object that a solver yields to the row of a trace."""

from __future__ import annotations

import math

import numpy as np

from ..methods.iterate import Iterate
from ..methods.solver import Solver
from ..problems.certificates import optimality
from ..problems.certificates.certificate import KnownMinimum, dual_bound
from ..traces.trace import Trace
from .cpu_budget import CpuBudget
from .observer import Observer
from .solver_clock import SolverClock

#: Weights up to this length are copied at every iterate, so that a stopped run has a complete iterate.
COPIED_WEIGHTS = 2_000_000
#: Fraction of a run's CPU time for test metrics.
METRIC_SHARE = 0.02
#: Maximal number of test metrics of a run.
MOST_METRICS = 2_000


class Recorder:
    """A recorder of iterates in a trace, which adds values that the solver does not compute.

    These are seconds, passes and, from time to time and off the clock, the violation or gap and the test
    metric.

    Attributes
    ----------
    trace : Trace
        The trace to which rows are added.
    """

    def __init__(self, trace: Trace, clock: SolverClock, observer: Observer) -> None:
        self.trace, self._clock, self._observer = trace, clock, observer
        self._metrics = CpuBudget(METRIC_SHARE)
        #: coordinates and values of the last whole iterate's weights that are not zero
        self._support: tuple[np.ndarray, np.ndarray] | None = None

    def complete(self, iterate: Iterate, solver: Solver, known: KnownMinimum) -> None:
        """Set the fields of an iterate that its solver leaves out; ``known`` checks its proved gap."""
        observer, clock = self._observer, self._clock
        observer.forget()
        iterate.cpu_seconds, iterate.wall_seconds = clock.cpu, clock.wall
        iterate.passes = observer.problem.passes if solver.counts_passes else math.nan
        if "point" not in iterate.live and iterate.w is not None:
            self._evaluate(iterate, iterate.w)
        elif "point" in iterate.live:
            observer.drift = iterate.live["point"].drift
        measure = optimality.missing(observer.problem, solver.knows)
        unknown = measure is not None and np.isnan(getattr(iterate, measure))
        if measure is not None and unknown and iterate.w is not None and observer.budget.allows(clock.cpu):
            with observer.budget.charged():
                setattr(iterate, measure, optimality.measured(measure, observer.newest(iterate.w)))
        believed = known.checked if unknown and measure == "dual_gap" else known.claimed
        iterate.dual_gap = believed(iterate.objective, iterate.dual_gap)

    def _evaluate(self, iterate: Iterate, w: np.ndarray) -> None:
        """Compute the objective of an iterate that has weights but no point, such as those of external
        programs."""
        point = self._observer.newest(w)
        iterate.live = {**iterate.live, "point": point}
        iterate.objective, iterate.loss, iterate.penalty = point.objective, point.loss, point.penalty
        iterate.nnz, iterate.nnz_rows = point.sparsity()
        if "dual" in iterate.live:
            bound = dual_bound(point.problem, iterate.live["dual"]())
            iterate.dual_gap = max(point.objective - bound + point.rounding(), 0.0)

    def append(self, iterate: Iterate) -> None:
        """Append a complete iterate to the trace, call the probes, and compute the test metric."""
        if iterate.w is not None:
            if iterate.w.size <= COPIED_WEIGHTS:
                support = np.flatnonzero(iterate.w != 0.0)
                self._support = support, iterate.w[support]
            self.trace.w = iterate.w
        first = len(self.trace) == 0
        # before what is observed of it, which waits at the gate: a reader finds a row for all that it sees
        self.trace.append(iterate.record())
        self.trace.probes.observe(iterate)
        if self._observer.problem.has_test and (first or self._metrics.allows(self._clock.cpu)):
            with self._metrics.charged():
                self._measure_metric(iterate.iteration)

    def _measure_metric(self, iteration: int) -> None:
        weights = self.weights()
        if weights is not None:
            measured = (iteration, self._clock.cpu, self._observer.problem.test_metric(weights))
            if len(self.trace.test_metric) >= MOST_METRICS:
                self.trace.test_metric = self.trace.test_metric[::2]
            self.trace.test_metric.append(measured)

    def weights(self) -> np.ndarray | None:
        """Return the weights of the last complete iterate; return None if no iterate had weights."""
        if self._support is None:
            return self.trace.w
        weights = np.zeros(self._observer.problem.size)
        weights[self._support[0]] = self._support[1]
        return weights
