"""Compilation of a solver's kernels before its run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from ..methods.solver import Solver
from ..problems.problem import Problem

#: Iterates of a solver on the tiny problem: they need all of its kernels.
ITERATES = 4


def warm_up(solver: Solver, problem: Problem, pulse: Callable[[], None]) -> None:
    """Compile, or load from disk, the kernels that a solver needs, by a run on a tiny copy of the problem.

    ``pulse`` is called between its iterates.
    """
    # a solver that fails on the copy fails again, and is heard, in the run itself
    with contextlib.suppress(Exception, SystemExit), np.errstate(all="ignore"):
        iterates = solver.warm_up_solver().iterate(problem.tiny(), None)
        for _, _ in zip(range(ITERATES), iterates, strict=False):
            pulse()
        iterates.close()
