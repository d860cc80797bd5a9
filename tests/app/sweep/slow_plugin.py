"""Solvers for tests of sweeps: one that takes its time, one that fails. Each beginning is noted in a file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Slow(solvers.Solver):
    """Gradient steps, each after a nap. Whoever wants to count the runs lets it note that it begins."""

    id: ClassVar[str] = "slow"
    name: ClassVar[str] = "Slow"
    summary: ClassVar[str] = "gradient steps, each after a nap"
    needs: ClassVar = solvers.Trait.SMOOTH | solvers.Trait.PROX

    naps: int = solvers.param(40, "iterates", low=1)
    nap: float = solvers.param(0.05, "seconds of each nap", low=0.0)
    fails_at: int = solvers.param(-1, "iteration at which it raises", low=-1)
    lies: bool = solvers.param(False, "says that it has converged")
    number: int = solvers.param(0, "tells runs apart", low=0)

    def warm_up_solver(self):
        return solvers.make_solver("slow", naps=1, nap=0.0, fails_at=0)

    def iterate(self, problem, w0=None) -> Iterator[solvers.Iterate]:
        if self.fails_at != 0:
            with Path(__file__).with_name("begun").open("a") as file:
                file.write(f"{self.number}\n")
        w = np.zeros(problem.size)
        for k in range(self.naps + 1):
            if k == self.fails_at:
                raise ArithmeticError("this solver was told to fail")
            point = problem.at(w)
            yield solvers.Iterate.at(point, k, **({"violation": 0.0} if self.lies else {}))
            w = w - 0.1 * point.gradient()
            until = time.monotonic() + self.nap
            while time.monotonic() < until:
                problem.pulse()
                time.sleep(0.005)
