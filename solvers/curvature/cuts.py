"""Cutting planes of a convex loss, and the minimum of their model: the inner problem of bundle methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .inverse import Identity, Inverse

EPS = float(np.finfo(float).eps)
#: Relative distance below which two cuts count as equal, and below which they are compared entry by entry: Q
#: resolves distances only down to some roundings of the squares.
SAME_CUT, NEAR_CUT = 1e-14, 1e-12
#: Distance between the model and its bound, relative to |D|, that is rounding.
GAP_ROUNDING = 1e-14
#: Values of the multiplier of a level tried, at most, and how far below the level the model may end: a share
#: of the way to its minimum.
MULTIPLIERS, BELOW_LEVEL = 60, 0.1
#: Steps of refinement of one minimum at most, and the factor on the proximal term after one that fails.
REFINEMENTS, HEAVIER = 10, 10.0


class Minimum(NamedTuple):
    """Minimum of a model of f: the weights, a proved lower bound on its value, and the excess over that
    bound.

    The bound is also one on f*. The excess is that of the model at these weights.
    """

    w: np.ndarray
    bound: float
    gap: float


class SimplexPoint(NamedTuple):
    """A point of the dual: α, Aα, w = -BAα/λ, the value of each cut there, and D(α)."""

    alpha: np.ndarray
    combination: np.ndarray
    w: np.ndarray
    values: np.ndarray
    bound: float

    @property
    def gap(self) -> float:
        """Return the model at w minus D(α)."""
        return float(self.values.max() - self.values @ self.alpha)


class Cuts:
    """Cuts a_iᵀw + b_i <= L(w), and the model ½λ wᵀB⁻¹w + max_i(a_iᵀw + b_i).

    For B = I, which is omitted below, the model is a lower bound on f(w) = ½λ‖w‖² + L(w) (Teo et al. 2010).

    Its minimum is found from the dual: maximize D(α) = bᵀα - ½λ‖w‖² over the simplex, w = -Aα/λ, in steps δ
    from the last α. A step maximizes vᵀδ - ½δᵀ(Q/λ + μI)δ, where v_i = a_iᵀw + b_i and Q = AᵀA; then D, w and
    v are recomputed from A. With B, Q is AᵀBA and w is -BAα/λ. Entries of Q/λ are 1e12 and more for features
    of size 1000, so that a program in Q alone cannot resolve differences of order 1. Here their rounding
    affects only a small δ, not the sum of all steps. The proximal term μ, some units of that rounding, makes
    each step a strictly convex program, and does not change the limit.

    Each α of the simplex gives a lower bound on f*, even if the model is not minimized exactly. It is at most
    max v - vᵀα below the minimum of the model.

    Beyond ``most`` cuts, those without weight for the last ``patience`` minima are dropped. Aα and bᵀα of the
    last α are kept as a cut, so that the bound never decreases. A vector in ``A`` is never changed.
    """

    def __init__(
        self,
        ridge: float,
        pulse: Callable[[], None] = lambda: None,
        *,
        B: Inverse | None = None,
        most: int = 200,
        patience: int = 50,
    ) -> None:
        self.ridge, self.pulse, self.most, self.patience = ridge, pulse, most, patience
        self.B = Identity() if B is None else B
        self.A: list[np.ndarray] = []
        self.b, self.Q = np.zeros(0), np.zeros((0, 0))
        #: α of the last minimum, and the number of minima for which each entry has been 0
        self.alpha, self.idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        #: Aα, w = -BAα/λ, the value of each cut there, and D(α), for B = I a lower bound of f*
        self.combination, self.w = np.zeros(0), np.zeros(0)
        self.values, self.bound = np.zeros(0), -np.inf
        #: The index of each cut in order of creation, and whether it combines others.
        self.numbers, self.combined = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        #: The number of cuts added, and of those left out as duplicates.
        self.made, self.refused = 0, 0
        self._multiplier = 1.0
        #: Number of linear systems solved so far, one for each change of the cuts with weight.
        self.qp_iterations = 0

    def __len__(self) -> int:
        return len(self.A)

    def add(self, a: np.ndarray, b: float) -> bool:
        """Add a cut; return False, without adding it, if it exists already."""
        products = self._products(self.B.inverse_product(a), [*self.A, a])
        if self._has(a, b, products):
            self.refused += 1
            return False
        self.A.append(a)
        self.b = np.append(self.b, b)
        self.Q = np.pad(self.Q, (0, 1))
        self.Q[-1, :] = self.Q[:, -1] = products
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.numbers = np.append(self.numbers, self.made)
        self.combined = np.append(self.combined, False)
        self.made += 1
        if len(self) == 1:
            self._take(self._at(np.ones(1)))
        else:
            self.values = np.append(self.values, a @ self.w + b)
        return True

    def minimize(self, within: float = 0.0) -> Minimum:
        """Minimize the model until its value at the weights found exceeds the bound by at most ``within``.

        A difference of the size of rounding also suffices. If rounding prevents even that, stop when no
        step improves the bound.
        """
        H = self.Q / self.ridge
        diagonal = np.einsum("ii->i", H)
        # any weight would do for a model without slopes
        prox = 2.0 * EPS * diagonal.max() or 1.0
        for _ in range(REFINEMENTS):
            rounding = GAP_ROUNDING * abs(self.bound)
            if self.gap <= max(within, rounding):
                break
            diagonal += prox
            found, iterations = simplex_step(H, self.values, self.alpha)
            diagonal -= prox
            self.qp_iterations += iterations
            there = None if found is None else self._at(found)
            rise = -np.inf if there is None else there.bound - self.bound
            if there is not None and (rise > rounding or (rise >= -rounding and there.gap < self.gap)):
                self._take(there)
            elif rise < -rounding and prox < diagonal.max():
                prox *= HEAVIER
            else:
                break
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        found = Minimum(self.w, self.bound, self.gap)
        if len(self) > self.most:
            self._drop()
        return found

    def projection(self, w: np.ndarray, level: float) -> np.ndarray | None:
        """Return the point nearest to ``w`` at which the model, for B = I, is at most ``level``.

        The level must be above the minimum of the model. The model at the point returned is at the level, or
        below it by at most a tenth of the way to the bound. Return None if rounding hides the point.

        With a multiplier s of the level and weights β of the cuts, the point is (w - sAβ)/(1 + λs). Here β
        maximizes bᵀβ + wᵀAβ/(1 + λs) - ½s‖Aβ‖²/(1 + λs) over the simplex. The model falls with s, which is
        found by a search.
        """
        q, norm, beta = self._products(w, self.A), float(w @ w), self.alpha
        prox = 2.0 * EPS * self.Q.diagonal().max() or 1.0

        def model(s: float) -> float:
            nonlocal beta
            shrunk = 1.0 + self.ridge * s
            H = (s / shrunk) * (self.Q + prox * np.eye(len(self)))
            moved, _ = simplex_step(H, self.b + q / shrunk - H @ beta, beta)
            beta = beta if moved is None else moved
            down = self.Q @ beta
            squares = max(float(norm - 2.0 * s * (q @ beta) + s * s * (beta @ down)), 0.0) / shrunk**2
            return 0.5 * self.ridge * squares + float(((q - s * down) / shrunk + self.b).max())

        near, far, s = 0.0, np.inf, self._multiplier
        for _ in range(MULTIPLIERS):
            above = model(s) - level
            if 0.0 >= above >= -BELOW_LEVEL * (level - self.bound):
                self._multiplier = s
                combination = sum(beta[i] * self.A[i] for i in np.flatnonzero(beta))
                return (w - s * combination) / (1.0 + self.ridge * s)
            near, far = (s, far) if above > 0.0 else (near, s)
            s = 4.0 * near if far == np.inf else np.sqrt(near * far) if near else 0.25 * far
        return None

    @property
    def gap(self) -> float:
        """Return the model at w minus the bound."""
        return SimplexPoint(self.alpha, self.combination, self.w, self.values, self.bound).gap

    def _has(self, a: np.ndarray, b: float, products: np.ndarray) -> bool:
        """Return whether a cut exists, given the products of ``a`` with all cuts and with itself."""
        squares, own = np.diag(self.Q), products[-1]
        near = squares + own - 2.0 * products[:-1] <= NEAR_CUT * (squares + own)
        near &= np.abs(self.b - b) <= SAME_CUT * (np.abs(self.b) + abs(b))
        same = SAME_CUT * np.linalg.norm(a)
        return any(np.linalg.norm(self.A[i] - a) <= same for i in np.flatnonzero(near))

    def _products(self, w: np.ndarray, vectors: list[np.ndarray]) -> np.ndarray:
        """Return the product of ``w`` with each vector."""
        products = np.empty(len(vectors))
        for i, a in enumerate(vectors):
            products[i] = a @ w
            self.pulse()
        return products

    def _at(self, alpha: np.ndarray) -> SimplexPoint:
        combination = np.zeros_like(self.A[0])
        for i in np.flatnonzero(alpha):
            combination += alpha[i] * self.A[i]
            self.pulse()
        w = self.B.inverse_product(combination)
        w /= -self.ridge
        bound = float(self.b @ alpha + 0.5 * (w @ combination))
        return SimplexPoint(alpha, combination, w, self._products(w, self.A) + self.b, bound)

    def _take(self, point: SimplexPoint) -> None:
        self.alpha, self.combination, self.w, self.values, self.bound = point

    def _drop(self) -> None:
        """Drop cuts that have long had no weight, and add the combination of cuts by the last α as a cut."""
        kept = self.idle <= self.patience
        if kept.all():
            return
        a, b = self.combination, float(self.b @ self.alpha)
        self.A = [cut for cut, stays in zip(self.A, kept, strict=True) if stays]
        self.b, self.Q, self.values = self.b[kept], self.Q[np.ix_(kept, kept)], self.values[kept]
        self.alpha, self.idle = self.alpha[kept], self.idle[kept]
        self.numbers, self.combined = self.numbers[kept], self.combined[kept]
        if self.add(a, b):
            self.combined[-1] = True
            self.alpha[:], self.alpha[-1] = 0.0, 1.0


def simplex_step(H: np.ndarray, values: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Maximize vᵀδ - ½δᵀHδ over all δ that keep α + δ in the simplex.

    Return α + δ and the number of iterations. α + δ is None if rounding makes H indefinite, or if v is too
    large for it. H is positive definite; this is an active-set method (Nocedal and Wright 2006, Algorithm
    16.3), with a linear system in each iteration.

    ``free`` has the entries that may move. If the maximum over these is outside the simplex, the first entry
    to become 0 leaves the set. At the maximum the entry with the largest gradient enters it.
    """
    δ, g = np.zeros(alpha.size), values - values.max()
    v, free, iterations = g, np.flatnonzero(alpha), 0
    while iterations < 10 * alpha.size + 10:
        iterations += 1
        factor, info = dpotrf(H[free[:, None], free].T, overwrite_a=1)
        if info:
            return None, iterations
        # Hp = g - ν on the free entries, Σp = 0; ν goes first: H⁻¹g may be 1e16 times as long as p
        ones, _ = dpotrs(factor, np.ones(free.size))
        ν = ones @ g[free] / ones.sum()
        p, _ = dpotrs(factor, g[free] - ν)
        p -= p.sum() / ones.sum() * ones
        left = alpha[free] + δ[free]
        blocked = p < -left
        if blocked.any():
            ratios = np.divide(left, -p, out=np.full(p.size, np.inf), where=blocked)
            first = int(ratios.argmin())
            δ[free] += ratios[first] * p
            δ[free[first]] = -alpha[free[first]]
            free = np.delete(free, first)
            if not free.size:  # by rounding alone: some entry is above 0
                return None, iterations
            g = v - H @ δ
            continue
        δ[free] += p
        g = v - H @ δ
        level = g[free].mean()
        rise = g - level
        unsolved = np.abs(rise[free]).max()
        rise[free] = -np.inf
        best = int(rise.argmax())
        rounding = 4.0 * EPS * (abs(v[best]) + np.abs(H[best]) @ np.abs(δ))
        if rise[best] <= 2.0 * unsolved + rounding:
            break
        free = np.append(free, best)
    moved = np.maximum(alpha + δ, 0.0)
    total = moved.sum()
    return (moved / total if 0.0 < total < np.inf else None), iterations
