"""Cutting planes below a convex loss, and the minimum of the model that they make: bundle methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import daqp
import numpy as np
import piqp

#: Cuts up to which the active-set solver is the faster one.
ACTIVE_SET = 200
#: By how much an answer may miss a constraint: with the 1e-6 usual for daqp bounds stay far below f* where it
#: is small.
FEASIBLE = 1e-12
#: Relative distance below which two cuts count as one.
SAME = 1e-14


class Minimum(NamedTuple):
    """Minimum of a model: the weights, and the value there, a lower bound of f*."""

    w: np.ndarray
    bound: float


class Cuts:
    """Cuts a_iᵀw + b_i <= L(w), and the model ½λ‖w‖² + max_i(a_iᵀw + b_i) <= f(w) (Teo et al. 2010).

    Its minimum is found by the dual, max D(α) = bᵀα - αᵀQα/(2λ) over the simplex, Q = AᵀA and w = -Aα/λ.
    Whatever α the quadratic program returns, its D is computed from it here: each α of the simplex gives a
    lower bound of f*, so that the bound holds even where the program was not solved exactly.

    Beyond ``most`` cuts, those without weight for the last ``patience`` minima are dropped, and Aα, bᵀα of
    the last α is kept as a cut, so that the bound never falls. A vector in ``A`` is never changed.
    """

    def __init__(
        self,
        ridge: float,
        pulse: Callable[[], None] = lambda: None,
        *,
        most: int = 200,
        patience: int = 50,
    ) -> None:
        self.ridge, self.pulse, self.most, self.patience = ridge, pulse, most, patience
        self.A: list[np.ndarray] = []
        self.b, self.Q = np.zeros(0), np.zeros((0, 0))
        #: α of the last minimum, and for how many minima each has been 0
        self.alpha, self.idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        #: The number of each cut, counted as they were made, and whether it combines others.
        self.numbers, self.combined = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        #: How many were made, and how many were left out because they were there already.
        self.made, self.refused = 0, 0

    def __len__(self) -> int:
        return len(self.A)

    def add(self, a: np.ndarray, b: float) -> bool:
        """Add a cut; return False, and leave it out, where it is there already."""
        products = np.empty(len(self) + 1)
        for i, other in enumerate([*self.A, a]):
            products[i] = other @ a
            self.pulse()
        own = products[-1]
        squares = np.diag(self.Q)
        apart = squares + own - 2.0 * products[:-1]
        same = (apart <= SAME * (squares + own)) & (np.abs(self.b - b) <= SAME * (np.abs(self.b) + abs(b)))
        if same.any():
            self.refused += 1
            return False
        self.A.append(a)
        self.b = np.append(self.b, b)
        self.Q = np.pad(self.Q, (0, 1))
        self.Q[-1, :] = self.Q[:, -1] = products
        # a first cut has all the weight: some α of the simplex is always at hand
        self.alpha = np.append(self.alpha, 0.0 if len(self) > 1 else 1.0)
        self.idle = np.append(self.idle, 0)
        self.numbers = np.append(self.numbers, self.made)
        self.combined = np.append(self.combined, False)
        self.made += 1
        return True

    def minimize(self) -> Minimum:
        """Minimize the model."""
        candidates = [self.alpha, *simplex_program(self.Q / self.ridge, self.b, self.alpha)]
        self.alpha = max(candidates, key=self._dual)
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        found = Minimum(self._combined() / -self.ridge, self._dual(self.alpha))
        if len(self) > self.most:
            self._drop()
        return found

    @property
    def bound(self) -> float:
        """Return the value of the last minimum, a lower bound of f*."""
        return self._dual(self.alpha)

    def _dual(self, alpha: np.ndarray) -> float:
        return float(self.b @ alpha - 0.5 * (alpha @ self.Q @ alpha) / self.ridge)

    def _combined(self) -> np.ndarray:
        """Return Aα."""
        out = np.zeros_like(self.A[0])
        for i in np.flatnonzero(self.alpha):
            out += self.alpha[i] * self.A[i]
            self.pulse()
        return out

    def _drop(self) -> None:
        """Forget cuts without weight for long; what the last α makes of the others becomes a cut."""
        kept = self.idle <= self.patience
        if kept.all():
            return
        a, b = self._combined(), float(self.b @ self.alpha)
        self.A = [cut for cut, stays in zip(self.A, kept, strict=True) if stays]
        self.b, self.Q = self.b[kept], self.Q[np.ix_(kept, kept)]
        self.alpha, self.idle = self.alpha[kept], self.idle[kept]
        self.numbers, self.combined = self.numbers[kept], self.combined[kept]
        if self.add(a, b):
            self.combined[-1] = True
            self.alpha[:], self.alpha[-1] = 0.0, 1.0


def simplex_program(H: np.ndarray, b: np.ndarray, start: np.ndarray) -> list[np.ndarray]:
    """Maximize bᵀα - ½ αᵀHα over α >= 0, Σα = 1, from ``start``; return the answers, none where no program
    finds one.

    daqp is the faster one for few cuts, and not used for many; piqp takes over where it gives up.
    """
    found = []
    if b.size <= ACTIVE_SET:
        found = _on_simplex(*_by_active_set(H, b, start))
    return found or _on_simplex(*_by_interior_point(H, b))


def _by_active_set(H: np.ndarray, b: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, bool]:
    t = b.size
    upper, lower = np.append(np.full(t, 1e30), 1.0), np.append(np.zeros(t), 1.0)
    kinds = np.zeros(t + 1, dtype=np.int32)
    kinds[t] = 5  # Σα = 1 is an equality
    alpha, _, flag, _ = daqp.solve(
        H, -b, np.ones((1, t)), upper, lower, kinds, primal_start=start.copy(), primal_tol=FEASIBLE
    )
    return np.asarray(alpha), flag == 1


def _by_interior_point(H: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, bool]:
    t = b.size
    program = piqp.DenseSolver()
    program.settings.eps_abs, program.settings.eps_rel = 1e-12, 1e-12
    program.setup(np.asfortranarray(H), -b, np.ones((1, t)), np.ones(1), None, None, None, np.zeros(t))
    status = program.solve()
    return np.asarray(program.result.x), status == piqp.PIQP_SOLVED


def _on_simplex(alpha: np.ndarray, solved: bool) -> list[np.ndarray]:
    """Return α brought exactly onto the simplex; nothing where there is no answer."""
    alpha = np.maximum(alpha, 0.0)
    total = alpha.sum()
    return [alpha / total] if solved and np.isfinite(total) and total > 0.5 else []
