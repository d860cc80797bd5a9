"""Finding a descent direction at a kink: Yu et al. 2010, Algorithm 2 and appendix A."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .inverse import Inverse

#: A duality gap below this share of the dual value is rounding: no further step can close it.
CLOSED = 1e-14
#: A combination whose squared norm is below this share of that of a subgradient in it is rounding of 0.
VANISHED = float(np.finfo(float).eps) ** 2
#: Numbers in the subgradients that are kept for observers, at most.
KEPT = 100_000


@dataclass
class Direction:
    """p = -B ḡ, where ḡ is a convex combination of the subgradients met.

    ``sup`` is the largest gᵀp over all subgradients g, negative where p goes down (nan: not asked for),
    ``model`` the value M(p) = ½pᵀB⁻¹p + sup of eq. (10), and ``gap`` a bound of M(p) - min M. ``least`` is
    the smallest ‖ḡ‖² over all combinations looked at. ``steps`` counts those of Algorithm 2 (-1: it was not
    run). ``met`` lists the subgradients in the order met, and
    ``weights`` their shares in ḡ; both are empty where they would take much room.
    """

    p: np.ndarray
    combination: np.ndarray
    sup: float = math.nan
    model: float = math.nan
    gap: float = math.nan
    steps: int = -1
    least: float = math.inf
    met: list[np.ndarray] = field(default_factory=list, repr=False)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def descends(self) -> bool:
        """Tell whether f is known to fall along p."""
        return self.sup < 0.0


def quasi_newton(g: np.ndarray, B: Inverse) -> Direction:
    """Return p = -B g of eq. (2), for one subgradient, which may not descend at a kink."""
    p = B.inverse_product(g)
    np.negative(p, out=p)  # in place: g may have many millions of entries
    return Direction(p, g, least=float(g @ g), met=[g], weights=np.ones(1))


def descent_direction(
    g: np.ndarray,
    B: Inverse,
    sup: Callable[[np.ndarray], tuple[np.ndarray, float]],
    *,
    epsilon: float,
    kmax: int,
) -> Direction:
    """Lower M(p) = ½pᵀB⁻¹p + sup_g gᵀp until it is within ``epsilon`` of its minimum and p descends.

    ``g`` is any subgradient, ``sup(p)`` returns the one with the largest gᵀp, and that product. At most
    ``kmax`` steps are taken; then, and where 0 is a subgradient up to rounding, the direction may not
    descend. The letters and numbers of lines are those of Algorithm 2, where g̅ is ``g_bar``.
    """
    g_bar, p = g, -B.inverse_product(g)  # 3
    met, weights, most = [g], np.ones(1), max(KEPT // g.size, 1)
    longest = least = float(g @ g)
    lowest, best, i = math.inf, None, 1
    while True:
        g, top = sup(p)  # 4, 10
        half = 0.5 * float(p @ g_bar)
        model, dual = top - half, half  # M(p⁽ⁱ⁾), D(α⁽ⁱ⁾)
        lowest = min(lowest, model)
        # 14: the smallest M, though one that descends goes before all that do not
        if best is None or (top >= 0.0, model) < (best.sup >= 0.0, best.model):
            best = Direction(p, g_bar, top, model, weights=weights)
        gap = lowest - dual  # 5, 11
        least, longest = min(least, float(g_bar @ g_bar)), max(longest, float(g @ g))
        if (top < 0.0 and gap <= epsilon) or gap <= CLOSED * abs(dual) or i >= kmax:  # 6
            break
        if least <= VANISHED * longest:  # 0 is a subgradient: no direction descends
            break
        Bg = B.inverse_product(g)
        change, B_change = g_bar - g, -p - Bg  # g̅ - g, B(g̅ - g)
        across = float(change @ B_change)
        mu = -float(change @ p) / across if across > 0.0 else 0.0  # 7, eq. (97)
        mu = min(max(mu, 0.0), 1.0)
        if mu == 0.0:
            break
        g_bar = (1.0 - mu) * g_bar + mu * g  # 8
        p = (1.0 - mu) * p - mu * Bg  # 9
        if i < most:
            met.append(g)
            weights = np.append((1.0 - mu) * weights, mu)
        i += 1
    if i <= most:
        best.met = met[: best.weights.size]
    else:
        best.weights = np.zeros(0)
    best.gap, best.steps, best.least = best.model - dual, i - 1, least
    return best
