"""Estimates B of the inverse Hessian as matrices: the identity, and BFGS with a dense matrix.

:class:`.memory.PairMemory` is a third estimate, of limited memory; all three have the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .memory import admitted

#: Entries of a matrix processed between two pulses.
ENTRIES_PER_PULSE = 4_000_000


class Inverse(Protocol):
    """A positive definite estimate B, updated so that B y = s for the newest pair."""

    def __len__(self) -> int:
        """Return the number of pairs in B; without pairs B is the identity."""
        ...

    def push(self, s: np.ndarray, y: np.ndarray) -> float | None:
        """Update B and return sᵀy; return None and leave B unchanged if sᵀy is too small."""
        ...

    def inverse_product(self, v: np.ndarray) -> np.ndarray:
        """Return B v."""
        ...

    def clear(self) -> None:
        """Reset B to the identity."""
        ...


class Identity:
    """B = I, which ignores pairs."""

    def __len__(self) -> int:
        return 0

    def push(self, s: np.ndarray, y: np.ndarray) -> float | None:
        """Return sᵀy."""
        return float(s @ y)

    def inverse_product(self, v: np.ndarray) -> np.ndarray:
        """Return v."""
        return v.copy()

    def clear(self) -> None:
        """Do nothing."""


class DenseInverse:
    """B as a dense d x d matrix, updated from B = I by eq. (6) of Yu et al. 2010.

    With ``scaled``, I is multiplied by sᵀy/yᵀy of the first pair before this enters (Nocedal and Wright, eq.
    (6.20)). ``h`` and ``H`` bound the spectrum of B, see :func:`.memory.admitted`.
    """

    def __init__(
        self,
        size: int,
        *,
        scaled: bool = False,
        h: float | None = None,
        H: float = 0.0,
        pulse: Callable[[], None] = lambda: None,
    ) -> None:
        """Start from B = I; ``pulse`` is called between pieces of work with the matrix."""
        self.size, self.scaled, self.h, self.H, self.pulse = size, scaled, h, H, pulse
        self.clear()

    def clear(self) -> None:
        """Reset B to the identity, for which no matrix is stored."""
        self.matrix: np.ndarray | None = None
        self._pairs = 0

    def __len__(self) -> int:
        return self._pairs

    def _slabs(self) -> list[slice]:
        rows = max(1, ENTRIES_PER_PULSE // self.size)
        return [slice(lo, lo + rows) for lo in range(0, self.size, rows)]

    def push(self, s: np.ndarray, y: np.ndarray) -> float | None:
        """Update B = (I - ρ s yᵀ) B (I - ρ y sᵀ) + ρ s sᵀ, ρ = 1/sᵀy, and return sᵀy.

        Return None and leave B unchanged if sᵀy is too small.
        """
        s, curvature = admitted(s, y, self.h, self.H)
        if curvature is None:
            return None
        if self.matrix is None:
            self.matrix = np.zeros((self.size, self.size))
            np.fill_diagonal(self.matrix, curvature / float(y @ y) if self.scaled else 1.0)
        rho, By = 1.0 / curvature, self.inverse_product(y)
        # the update is s qᵀ + q sᵀ
        q = 0.5 * rho * (1.0 + rho * float(y @ By)) * s - rho * By
        for slab in self._slabs():
            self.matrix[slab] += s[slab, None] * q
            self.matrix[slab] += q[slab, None] * s
            self.pulse()
        self._pairs += 1
        return curvature

    def inverse_product(self, v: np.ndarray) -> np.ndarray:
        """Return B v."""
        if self.matrix is None:
            return v.copy()
        out = np.empty(self.size)
        for slab in self._slabs():
            out[slab] = self.matrix[slab] @ v
            self.pulse()
        return out
