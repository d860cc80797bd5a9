"""The clock of a run: seconds of its solver, of compiling and of set-up.

The clock counts the CPU seconds of the solver, including first steps and Lipschitz constants. BLAS stays on
the calling thread. Arrays that are computed once, and observations, are not on the clock:

=========================  ======================================  =======================================
solver                     made once                               observed
=========================  ======================================  =======================================
all                        X by columns, labels, the start, λ_max  metrics, violation and bound at the end
sgd-l1, fobos, ftrl        X by rows, search for η₀ (not ftrl)     objective, non-zeros, violation
prox-qn with a head start                                          objective of the pass
bcd-ls, bcd-cst            Σ x² of each feature
fis                        Σ |x| of each row
dual-cd                    X by rows                               objective, non-zeros, proved bound
subgd, subbfgs, sublbfgs   X by rows, once a few instances tie
=========================  ======================================  =======================================

The start is the best intercept with all other weights zero, and gradient and violation there. Of a large
sparse X with one output only the columns needed are computed. Violations are computed in at most 3 % of the
time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np

from ..compute.jit import compile_clock
from ..methods.iterate import Iterate
from ..problems.problem import Problem
from .gate import RunPulse


class SolverClock:
    """Seconds of a run, in the thread that advances the solver.

    Attributes
    ----------
    cpu, wall : float
        Seconds inside the solver, including those of the problem's helper threads. They exclude compiling,
        waiting at the gate, and arrays derived from the data once (rows of X).
    compile_seconds : float
        Wall seconds spent compiling.
    setup_seconds : float
        CPU seconds spent on tuning the solver.
    replay_seconds : float
        CPU seconds of the replay that led to the origin of a branch.
    """

    def __init__(self, pulse: RunPulse) -> None:
        self._pulse = pulse
        self.cpu = self.wall = 0.0
        self.compile_seconds = self.setup_seconds = self.replay_seconds = 0.0

    @property
    def seconds(self) -> tuple[float, float]:
        """Return the CPU and wall seconds of the solver so far."""
        return self.cpu, self.wall

    def advance(self, iterates: Iterator[Iterate], problem: Problem) -> Iterate:
        """Return the next iterate of a solver on ``problem``, computed on the clock; raise StopIteration at
        the end."""
        wall, cpu, waited = time.perf_counter(), time.thread_time(), self._pulse.waited
        helpers, compiled = problem.team.cpu_seconds, compile_clock.spent()
        derived = problem.design.derived.spent
        try:
            return next(iterates)
        finally:
            compiling = np.subtract(compile_clock.spent(), compiled)
            self.compile_seconds += compiling[0]
            off_wall, off_cpu = compiling + np.subtract(problem.design.derived.spent, derived)
            used = time.thread_time() - cpu + problem.team.cpu_seconds - helpers
            self.cpu += max(used - off_cpu, 0.0)
            self.wall += max(time.perf_counter() - wall - off_wall - (self._pulse.waited - waited), 0.0)

    def adopt(self, iterate: Iterate) -> None:
        """Set the clock to the seconds of an iterate that has its own, because it comes from a separate
        run."""
        if not np.isnan(iterate.cpu_seconds):
            self.cpu, self.wall = iterate.cpu_seconds, iterate.wall_seconds

    def deduct(self, seconds: float) -> None:
        """Subtract CPU seconds that an observation took inside the solver."""
        self.cpu, self.wall = max(self.cpu - seconds, 0.0), max(self.wall - seconds, 0.0)

    def end_replay(self, seconds: tuple[float, float]) -> None:
        """Count the time so far as replay, and continue from the old run's CPU and wall seconds."""
        self.replay_seconds, (self.cpu, self.wall) = self.cpu, seconds

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Book the wall seconds of the block as compiling."""
        began = time.perf_counter()
        yield
        self.compile_seconds += time.perf_counter() - began

    @contextlib.contextmanager
    def setting_up(self, problem: Problem) -> Iterator[None]:
        """Book the CPU seconds of the block as set-up, without those of arrays that ``problem`` has derived.

        The result of a run adds the latter itself.
        """
        began = compile_clock.net()[1]
        yield
        self.setup_seconds = compile_clock.net()[1] - began - problem.design.derived.spent[1]
