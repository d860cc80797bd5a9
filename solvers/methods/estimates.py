"""What quasi-Newton methods may keep of the inverse Hessian: parts of their classes.

Each is a base that comes before the one with the loop: ``class LBFGS(LimitedMemory, OneSubgradientMethod)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..declare import param
from ..parts.inverse import DenseInverse, Identity, Inverse
from ..parts.memory import PairMemory
from .solver import available_memory

if TYPE_CHECKING:
    from ..problems.problem import Problem

#: Share of the free memory that a full matrix may take.
MOST_OF_MEMORY = 0.5


class NoMemory:
    """B = I."""

    def _inverse(self, problem: Problem) -> Inverse:
        return Identity()


@dataclass(frozen=True)
class LimitedMemory:
    """B from the newest pairs (s, y), B₀ scaled by sᵀy/yᵀy of the newest."""

    memory: int = param(15, "pairs (s, y) kept", low=1, high=1000, title="pairs kept m")

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + super().dense_vectors

    def _inverse(self, problem: Problem) -> Inverse:
        return PairMemory(self.memory, problem.pulse)


class FullMatrix:
    """B with all its d x d entries; ``scaled`` by sᵀy/yᵀy before its first update, or not."""

    #: the solver that needs no matrix
    lighter: ClassVar[str]
    scaled = False

    def _inverse(self, problem: Problem) -> Inverse:
        return DenseInverse(problem.size, scaled=self.scaled, pulse=problem.pulse)

    def refuses(self, problem: Problem) -> str | None:
        needed, free = 8 * problem.size**2, available_memory()
        if needed <= MOST_OF_MEMORY * free:
            return super().refuses(problem)
        return (
            f"{self.id} keeps a matrix of {problem.size} x {problem.size} entries, {needed / 2**30:.1f} GiB, "
            f"and {free / 2**30:.1f} GiB are free: take {self.lighter}, or a smaller problem"
        )


@dataclass(frozen=True)
class LengthenedPairs:
    """Pairs are given as much of y as B ≻ 0 asks for (Yu et al. 2010, Algorithm 1)."""

    h: float = param(1e-8, "the least sᵀy/yᵀy that a pair is given", low=0.0, title="least curvature h")

    def _lengthened(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return s as it enters a pair: with so much of y that sᵀy/yᵀy is at least h. The point stays where
        it is."""
        squares = float(y @ y)
        short = self.h - float(s @ y) / squares if squares > 0.0 else 0.0
        return s + short * y if short > 0.0 else s
