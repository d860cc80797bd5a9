"""Base class of all solvers."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..compute.blas import advanced_on_one_thread
from ..declare import Declared, Trait, parameters
from ..problems.optimality import Knows
from .iterate import Ending, Iterate

if TYPE_CHECKING:
    from ..problems.problem import Problem


class Solver(Declared):
    """Base of solvers: a frozen dataclass of hyper-parameters and one generator.

    A subclass gives ``id``, ``name``, ``summary``, ``paper``, what it ``needs`` of a problem, and
    ``iterate(problem, w0)``, which yields an :class:`Iterate` for the starting point and after every outer
    iteration and returns an :class:`Ending` (why it ended), if it ends by itself.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    needs: ClassVar[Trait] = Trait(0)
    #: which measure of optimality iterates carry, all or some; what they do not is measured now and then by
    #: the run that advances the solver
    knows: ClassVar[Knows] = Knows(violation=True, dual_gap=False)
    #: named sets of hyper-parameters; see :func:`as_printed`
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "iterate" in vars(cls):
            cls.iterate = advanced_on_one_thread(cls.iterate)

    @property
    def dense_vectors(self) -> int:
        """Return the number of vectors over all weights that the solver holds at a time."""
        return 6

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        raise TypeError(f"{type(self).__name__} does not define iterate(problem, w0)")

    def prepare(self, problem: Problem) -> Solver:
        """Return this solver with hyper-parameters tuned on the problem; the time for it counts as set-up."""
        return self

    def rehearsal(self) -> Solver:
        """Return this solver, or one like it that needs all kernels in its first few iterates: it is run on a
        tiny problem beforehand, so that they are there."""
        return self

    def refuses(self, problem: Problem) -> str | None:
        """Say in a sentence why this problem does not fit into memory with this solver; None if it does."""
        needed, free = self.dense_vectors * 8 * problem.size, available_memory()
        if needed <= free:
            return None
        size = f"{self.dense_vectors} vectors of {problem.size} weights"
        return (
            f"{self.id} needs {needed / 2**30:.1f} GiB for {size}, and {free / 2**30:.1f} GiB are free: "
            "take a smaller problem or a solver that needs fewer vectors"
        )

    def towards(self, tol: float | None) -> Solver:
        """Return this solver with its default ``tol`` replaced by the run's, if it has a ``tol`` at all."""
        declared = {p.name: p for p in parameters(type(self))}
        if tol and "tol" in declared and self.tol == declared["tol"].default:
            return replace(self, tol=tol)
        return self


def available_memory() -> float:
    """Return the bytes of memory that are free on this machine, infinite where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return math.inf
