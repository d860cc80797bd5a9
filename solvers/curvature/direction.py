"""Descent directions at kinks: Yu et al. 2010, Algorithm 2 and appendix A."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .cuts import Cuts
from .inverse import Inverse

#: A duality gap below this fraction of the dual value is rounding: no further step can close it.
CLOSED_GAP = 1e-14
#: A combination is 0 up to rounding if its squared norm, relative to a subgradient's, is below this.
VANISHED = float(np.finfo(float).eps) ** 2
#: Maximal number of entries in the subgradients stored for observers.
OBSERVED_ENTRIES = 100_000
#: Maximal number of subgradients in the QP; more are combined into one.
MOST_SUBGRADIENTS = 200
#: Number of steps whose coefficients are stored for observers.
OBSERVED_STEPS = 60


class DirectionStep(NamedTuple):
    """Step i of direction finding: M(p⁽ⁱ⁾), D(α⁽ⁱ⁾), ε⁽ⁱ⁾ of eq. (77), sup gᵀp⁽ⁱ⁾, and ‖g‖² of the g that
    attains it."""

    model: float
    dual: float
    gap: float
    sup: float
    square: float


@dataclass
class Direction:
    """A direction p = -B ḡ, where ḡ is a convex combination of the subgradients computed.

    ``sup`` is the largest gᵀp over all subgradients g, negative if p descends (nan: not computed). ``model``
    is M(p) = ½pᵀB⁻¹p + sup of eq. (10), and ``gap`` a bound on M(p) - min M. ``least`` is the smallest ‖ḡ‖²
    over all combinations computed. ``steps`` counts steps of direction finding, with one steepest subgradient
    each (-1: it was not used). ``qp_iterations`` counts linear systems solved for the QPs (19) (-1: none were
    solved). ``met`` has the subgradients in the order of computation, and ``weights`` their coefficients in
    ḡ; both are empty if they would need much memory.

    ``path`` has the steps of the last attempt, with the tolerance ``epsilon``. ``shares`` has the
    coefficients after each of its first :data:`OBSERVED_STEPS` steps.
    """

    p: np.ndarray
    combination: np.ndarray
    sup: float = math.nan
    model: float = math.nan
    gap: float = math.nan
    steps: int = -1
    qp_iterations: int = -1
    least: float = math.inf
    met: list[np.ndarray] = field(default_factory=list, repr=False)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    path: list[DirectionStep] = field(default_factory=list, repr=False)
    shares: list[np.ndarray] = field(default_factory=list, repr=False)
    epsilon: float = math.nan

    @property
    def descends(self) -> bool:
        """Return whether f is known to decrease along p."""
        return self.sup < 0.0


def quasi_newton(g: np.ndarray, B: Inverse) -> Direction:
    """Return p = -B g of eq. (2), for one subgradient; at a kink it may not descend."""
    p = B.inverse_product(g)
    np.negative(p, out=p)  # in place: g may have many millions of entries
    return Direction(p, g, least=float(g @ g), met=[g], weights=np.ones(1))


class TwoAtATime:
    """Lines 3 and 7 to 9 of Algorithm 2: combine each new subgradient g with ḡ, the combination so far."""

    qp_iterations = -1

    def __init__(self, g: np.ndarray, B: Inverse, most: int, pulse: Callable[[], None]) -> None:
        """Start from the subgradient ``g``; store the coefficients of at most ``most`` subgradients."""
        self.B, self.most = B, most
        self.combination, self.p, self.weights = g, -B.inverse_product(g), np.ones(1)  # 3

    def add(self, g: np.ndarray) -> bool:
        """Combine ḡ with g; return False if the dual cannot increase."""
        Bg = self.B.inverse_product(g)
        change, B_change = self.combination - g, -self.p - Bg  # ḡ - g, B(ḡ - g)
        across = float(change @ B_change)
        mu = -float(change @ self.p) / across if across > 0.0 else 0.0  # 7, eq. (97)
        mu = min(max(mu, 0.0), 1.0)
        if mu == 0.0:
            return False
        self.combination = (1.0 - mu) * self.combination + mu * g  # 8
        self.p = (1.0 - mu) * self.p - mu * Bg  # 9
        if self.weights.size < self.most:
            self.weights = np.append((1.0 - mu) * self.weights, mu)
        return True


class AllAtOnce:
    """The QP (19) solved exactly: p minimizes the model M⁽ⁱ⁾ of eq. (17), over all subgradients so far.

    This is the model of a bundle method whose cuts go through 0, with B⁻¹ for its ridge. At most
    :data:`MOST_SUBGRADIENTS` subgradients are stored, and their combination so far.
    """

    def __init__(self, g: np.ndarray, B: Inverse, most: int, pulse: Callable[[], None]) -> None:
        self.cuts, self._empty = None, lambda: Cuts(1.0, pulse, B=B, most=MOST_SUBGRADIENTS)
        self.combination, self.p, self.weights, self.qp_iterations = g, -B.inverse_product(g), np.ones(1), 0

    def add(self, g: np.ndarray) -> bool:
        """Minimize the model with g added; return False if g is not new.

        In that case p is the minimum of M.
        """
        if self.cuts is None:  # most points have a single subgradient, and need no QP
            self.cuts = self._empty()
            self.cuts.add(self.combination, 0.0)
        if not self.cuts.add(g, 0.0):
            return False
        self.p = self.cuts.minimize().w
        self.combination, self.qp_iterations = self.cuts.combination, self.cuts.qp_iterations
        self.weights = self.cuts.alpha if self.cuts.made == len(self.cuts) else np.zeros(0)
        return True


#: Ways to combine the subgradients, by name.
COMBINING = {"algorithm-2": TwoAtATime, "qp": AllAtOnce}


def descent_direction(
    g: np.ndarray,
    B: Inverse,
    sup: Callable[[np.ndarray], tuple[np.ndarray, float]],
    *,
    epsilon: float,
    kmax: int,
    combining: str = "algorithm-2",
    pulse: Callable[[], None] = lambda: None,
) -> Direction:
    """Decrease M(p) = ½pᵀB⁻¹p + sup_g gᵀp until it is within ``epsilon`` of its minimum and p descends.

    ``g`` is any subgradient, ``sup(p)`` returns the one with the largest gᵀp, and that product. The direction
    may not descend after ``kmax`` steps, or if 0 is a subgradient up to rounding. The letters and numbers of
    lines are those of Algorithm 2, where g̅ is ``g_bar``; its lines 7 to 9 are those of ``combining``, a key
    of :data:`COMBINING`.
    """
    most = max(OBSERVED_ENTRIES // g.size, 1)
    held, met = COMBINING[combining](g, B, most, pulse), [g]
    longest = least = float(g @ g)
    lowest, best, i = math.inf, None, 1
    path: list[DirectionStep] = []
    shares: list[np.ndarray] = []
    while True:
        p, g_bar = held.p, held.combination
        g, top = sup(p)  # 4, 10
        half = 0.5 * float(p @ g_bar)
        model, dual = top - half, half  # M(p⁽ⁱ⁾), D(α⁽ⁱ⁾)
        lowest = min(lowest, model)
        # 14: the smallest M, though one that descends goes before all that do not
        if best is None or (top >= 0.0, model) < (best.sup >= 0.0, best.model):
            best = Direction(p, g_bar, top, model, weights=held.weights)
        gap = lowest - dual  # 5, 11
        square = float(g @ g)
        least, longest = min(least, float(g_bar @ g_bar)), max(longest, square)
        path.append(DirectionStep(model, dual, gap, top, square))
        if i <= min(OBSERVED_STEPS, most):
            shares.append(held.weights.copy())
        if (top < 0.0 and gap <= epsilon) or gap <= CLOSED_GAP * abs(dual) or i >= kmax:  # 6
            break
        if least <= VANISHED * longest:  # 0 is a subgradient: no direction descends
            break
        if not held.add(g):
            break
        if i < most:
            met.append(g)
        i += 1
    if i <= most:
        best.met = met[: best.weights.size]
    else:
        best.weights = np.zeros(0)
    best.gap, best.steps, best.least = best.model - dual, i - 1, least
    best.qp_iterations, best.path, best.shares, best.epsilon = held.qp_iterations, path, shares, epsilon
    return best
