"""Cutting planes recorded by a probe, and their model along a line, rebuilt from the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..methods.iterate import Iterate

#: Weights of a problem whose cuts are kept, and bytes of the cuts of one iterate, at most.
MAX_CUT_WEIGHTS = 5_000
MAX_CUT_BYTES = 16 * 2**20


def cuts(it: Iterate) -> dict[str, Any] | None:
    """Return a copy of the model of a bundle method; return None if the iterate has none.

    It has the indices of the cuts in order of creation, and their α at the model's last minimum. The model's
    value there is a lower bound. It also has whether each cut combines others, and the number ``refused`` as
    duplicates. If there are few weights, it also has w, the cuts a_iᵀw + b_i, and the ridge.
    """
    model = it.live.get("cuts")
    if model is None:
        return None
    seen: dict[str, Any] = {
        "numbers": model.numbers.astype(np.int32),
        "alpha": model.alpha.copy(),
        "bound": np.array(model.bound),
        "best": np.array(it.objective),
        "combined": model.combined.copy(),
        "refused": np.array(model.refused),
    }
    size = model.A[0].size
    if it.w is not None and size <= MAX_CUT_WEIGHTS and sum(a.nbytes for a in model.A) <= MAX_CUT_BYTES:
        seen |= {"A": tuple(model.A), "b": model.b.copy()}
        seen |= {"w": it.w.copy(), "ridge": np.array(model.ridge)}
    return seen


class Slices(NamedTuple):
    """Cuts along a line w + t d.

    Cut i is ``heights[i] + t slopes[i]``, and the ridge is ``square[0] + t square[1] + t² square[2]``.
    """

    heights: np.ndarray
    slopes: np.ndarray
    square: tuple[float, float, float]

    def cuts_at(self, t: np.ndarray) -> np.ndarray:
        """Return the value of each cut at each step, shape (n_cuts, t.size)."""
        return self.heights[:, None] + np.outer(self.slopes, t)

    def ridge_at(self, t: np.ndarray) -> np.ndarray:
        """Return ½λ‖w + t d‖² at each step."""
        start, slope, curved = self.square
        return start + t * (slope + t * curved)


def sliced(seen: Mapping[str, Any], w: np.ndarray, d: np.ndarray) -> Slices:
    """Return the cuts recorded by :func:`cuts` along the line w + t d."""
    products = np.array([(a @ w, a @ d) for a in seen["A"]]).reshape(-1, 2)
    ridge = float(seen["ridge"])
    square = 0.5 * ridge * float(w @ w), ridge * float(w @ d), 0.5 * ridge * float(d @ d)
    return Slices(products[:, 0] + seen["b"], products[:, 1], square)


def lowest(seen: Mapping[str, Any]) -> np.ndarray:
    """Return the minimum w = -Aα/λ of the model."""
    out = np.zeros(seen["w"].size)
    for share, a in zip(seen["alpha"], seen["A"], strict=True):
        if share > 0.0:
            out += share * a
    return out / -float(seen["ridge"])
