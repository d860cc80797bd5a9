"""Iterates with two weights, recorded by a probe: the point, and the direction taken from there."""

from __future__ import annotations

import copy

import numpy as np

from ..methods.iterate import Iterate


def plane(it: Iterate) -> dict[str, np.ndarray] | None:
    """Return a copy of the two weights and f; return None unless there are exactly two weights.

    If the solver has directions, p is included, and the subgradients ``met``, without repetition, with their
    coefficients ``shares`` in the convex combination ḡ. If it only has a gradient, this is the only
    subgradient. ``B`` is the estimate of the inverse Hessian, if there is one.
    """
    if it.w is None or it.w.size != 2:
        return None
    seen = {"w": it.w.copy(), "f": np.array(it.objective)}
    direction, gradient, inverse = (it.live.get(name) for name in ("direction", "gradient", "inverse"))
    if direction is not None:
        met, place = np.unique(np.array(direction.met).reshape(-1, 2), axis=0, return_inverse=True)
        shares = np.bincount(place.ravel(), direction.weights, len(met))
        seen |= {"met": met, "shares": shares}
        seen |= {"p": direction.p.copy(), "combination": direction.combination.copy()}
    elif gradient is not None and np.shape(gradient) == (2,):
        seen |= {"met": gradient[None].copy(), "shares": np.ones(1)}
    if inverse is not None:
        quiet = copy.copy(inverse)  # an observation is no work of the solver, and waits for nothing
        quiet.pulse = lambda: None
        seen["B"] = np.stack([quiet.inverse_product(unit) for unit in np.eye(2)], axis=1)
    return seen
