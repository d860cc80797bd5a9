"""The steps of direction finding (Yu et al. 2010, Algorithm 2), recorded by a probe."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..curvature.inverse import Inverse
from ..curvature.memory import as_memory
from ..methods.iterate import Iterate

#: Maximal number of steps recorded: the first ones.
MOST_DIRECTION_STEPS = 2000
#: Weights up to which the largest eigenvalue of B is computed, and up to which it is that of the matrix.
MOST_SPECTRUM_WEIGHTS, MOST_MATRIX_WEIGHTS = 20_000, 100
#: Products with B by which it is approached from below for more weights.
POWER_STEPS = 30


def direction_steps(it: Iterate) -> dict[str, np.ndarray] | None:
    """Return M(p⁽ⁱ⁾), D(α⁽ⁱ⁾), ε⁽ⁱ⁾ and the largest gᵀp⁽ⁱ⁾ over the steps i, and the tolerance.

    ``shares`` has α⁽ⁱ⁾ of the first steps, one row each, nan for subgradients that come later. For Theorem 7,
    ``G`` is the largest ‖g‖ so far, and ``H`` the largest eigenvalue of B, nan if unknown. Return None if the
    solver does not use Algorithm 2.
    """
    direction = it.live.get("direction")
    if direction is None or not direction.path:
        return None
    steps = np.array(direction.path[:MOST_DIRECTION_STEPS])
    rows = len(direction.shares)
    shares = np.full((rows, rows), np.nan, dtype=np.float32)
    for row, share in zip(shares, direction.shares, strict=True):
        row[: min(share.size, rows)] = share[:rows]
    first = float(direction.met[0] @ direction.met[0]) if direction.met else 0.0
    seen = {name: steps[:, k].copy() for k, name in enumerate(("model", "dual", "gap", "sup"))}
    return seen | {
        "shares": shares,
        "epsilon": np.array(direction.epsilon),
        "steps": np.array(len(direction.path)),
        "descends": np.array(direction.descends),
        "G": np.array(math.sqrt(max(first, float(steps[:, 4].max())))),
        "H": np.array(largest_eigenvalue(_inverse(it), direction.p.size)),
    }


def _inverse(it: Iterate) -> Inverse | None:
    inverse = as_memory(it.live.get("inverse", it.live.get("memory")))
    return inverse if hasattr(inverse, "inverse_product") else None


def largest_eigenvalue(B: Inverse | None, size: int) -> float:
    """Return the largest eigenvalue of B for up to 100 weights; nan if there are more, or B is unknown."""
    if B is None or size > MOST_SPECTRUM_WEIGHTS:
        return math.nan
    if not len(B):
        return 1.0
    of = quiet(B)
    if size <= MOST_MATRIX_WEIGHTS:
        return float(np.linalg.eigvalsh(np.stack([of.inverse_product(unit) for unit in np.eye(size)]))[-1])
    v = np.random.default_rng(0).normal(size=size)
    for _ in range(POWER_STEPS):
        v = of.inverse_product(v / np.linalg.norm(v))
    return float(np.linalg.norm(v))


def quiet(B: Inverse) -> Any:
    """Return a copy of B without a pulse: an observation is not work of the solver, and must not wait."""
    copied: Any = copy.copy(B)
    copied.pulse = lambda: None
    return copied


def gap_bound(seen: Mapping[str, Any]) -> np.ndarray:
    """Return the bound on ε⁽ⁱ⁾ by Theorem 7 for each step; nan if H is unknown.

    From 1/ε⁽ⁱ⁺¹⁾ ≥ 1/ε⁽ⁱ⁾ + c with c = 1/(8 G²H) follows ε⁽ⁱ⁾ ≤ 1/(1/ε⁽¹⁾ + c (i − 1)). Lemma 8 has i in
    place of i − 1, which does not hold for i = 1.
    """
    gap, c = seen["gap"], 1.0 / (8.0 * float(seen["G"]) ** 2 * float(seen["H"]))
    with np.errstate(divide="ignore"):
        return 1.0 / (1.0 / np.maximum(gap[0], 0.0) + c * np.arange(gap.size))
