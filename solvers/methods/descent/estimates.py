"""Mixins of quasi-Newton methods that provide the estimate of the inverse Hessian and its hyper-parameters.

They precede the base class with the loop, as in ``class LBFGS(LimitedMemory, LineMethod)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import psutil

from ...curvature.inverse import DenseInverse
from ...curvature.memory import PairMemory
from ...declare import param
from ...problems.problem import Problem

if TYPE_CHECKING:
    from ..solver import Solver as Mixin  # the bases are mixed into a solver
else:
    Mixin = object

#: Fraction of the free memory that a dense matrix may take.
MOST_OF_MEMORY = 0.5


@dataclass(frozen=True)
class LimitedMemory(Mixin):
    """Mixin with B from the newest pairs (s, y), by limited-memory BFGS."""

    #: bounds of the spectrum of B, see :func:`.memory.admitted`
    h: ClassVar[float | None] = None
    H: ClassVar[float] = 0.0
    memory: int = param(15, "pairs (s, y) kept", low=1, high=1000, title="pairs kept m")
    scaled: bool = param(True, "B₀ = I sᵀy/yᵀy of the newest pair; without, B₀ = I", title="scaled B₀")

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + super().dense_vectors

    def inverse(self, problem: Problem) -> PairMemory:
        """Return B without pairs."""
        return PairMemory(self.memory, problem.pulse, scaled=self.scaled, h=self.h, H=self.H)


class FullMatrix(Mixin):
    """Mixin with B as a dense d x d matrix, by BFGS."""

    #: id of the solver with limited memory, to recommend instead
    lighter: ClassVar[str]
    #: bounds of the spectrum of B, see :func:`.memory.admitted`, and whether its first update scales it
    h: ClassVar[float | None] = None
    H: ClassVar[float] = 0.0
    scaled: ClassVar[bool] = False

    def inverse(self, problem: Problem) -> DenseInverse:
        """Return B₀ = I, which :meth:`.Inverse.push` updates."""
        return DenseInverse(problem.size, scaled=self.scaled, h=self.h, H=self.H, pulse=problem.pulse)

    def refuses(self, problem: Problem) -> str | None:
        needed, free = 8 * problem.size**2, psutil.virtual_memory().available
        if needed <= MOST_OF_MEMORY * free:
            return super().refuses(problem)
        return (
            f"{self.id} keeps a matrix of {problem.size} x {problem.size} entries, {needed / 2**30:.1f} GiB, "
            f"and {free / 2**30:.1f} GiB are free: take {self.lighter}, or a smaller problem"
        )
