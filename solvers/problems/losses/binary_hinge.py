"""The binary hinge loss: Yu, Vishwanathan, Günter and Schraudolph 2010, section 4; and its smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait, param
from ...linalg.scores import Scores
from .envelope import ties
from .margin import BoundMargin, MarginLoss
from .maxima import MaximumKernels, MaximumLoss


@dataclass(frozen=True)
class BinaryHinge(MarginLoss):
    """The hinge loss Σ_i max(0, 1 - y_i z_i), y_i in {-1, +1}."""

    id = "binary-hinge"
    name = "Binary hinge"
    summary = "the lack of a margin of 1, with a kink where it is just reached"
    paper = "Yu et al. 2010, eq. (31)"
    traits = Trait.DIRECTIONAL_DERIVATIVE | Trait.INSTANCE_KERNELS | Trait.CONJUGATE
    traits |= Trait.DUAL_COORDINATES | Trait.ONE_SCORE | Trait.MARGINS | Trait.HINGES
    dual_bound = 1.0

    def derivatives(self, margin: float) -> tuple[float, float, float]:
        return max(1.0 - margin, 0.0), -(1.0 if margin < 1.0 else 0.0), 0.0

    def dual(self, beta: float) -> tuple[float, float, float]:
        return beta, 1.0, 0.0

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundBinaryHinge:
        return BoundBinaryHinge(self, 1, np.ascontiguousarray(part.y, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class BoundBinaryHinge(BoundMargin, MaximumLoss):
    """The hinge loss for labels ``y`` of -1 and +1."""

    most_breakpoints = 1

    @property
    def kernels(self) -> MaximumKernels:
        return MaximumKernels(steepest, drawn, breakpoints, settle)

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return αβ_i, where the residual is -β_i y_i."""
        return alpha * np.abs(residual.Z[:, 0])


@dataclass(frozen=True)
class SmoothedBinaryHinge(MarginLoss):
    """The smoothed hinge loss, Σ_i max over 0 <= β <= 1 of β(1 - y_i z_i) - ½δβ².

    This is the hinge for δ = 0, and otherwise at most ½δ below it (Nesterov, Smooth minimization of
    non-smooth functions, 2005).
    """

    id = "smoothed-binary-hinge"
    name = "Smoothed binary hinge"
    summary = "a hinge with a parabola of width δ in place of its kink"
    paper = "Yu et al. 2010, section 7.1.4; Nesterov 2005"
    traits = MarginLoss.traits | Trait.HESSIAN | Trait.LIPSCHITZ | Trait.CONJUGATE | Trait.DUAL_COORDINATES
    dual_bound = 1.0

    delta: float = param(
        0.5,
        "δ: width of the parabola; the hinge is more by half of it at most",
        low=1e-6,
        title="smoothing δ",
    )

    @property
    def smoothness(self) -> float:
        return 1.0 / self.delta

    def derivatives(self, margin: float) -> tuple[float, float, float]:
        beta = min(max((1.0 - margin) / self.delta, 0.0), 1.0)
        curvature = 1.0 / self.delta if beta > 0.0 else 0.0
        return beta * (1.0 - margin - 0.5 * self.delta * beta), -beta, curvature

    def dual(self, beta: float) -> tuple[float, float, float]:
        return beta - 0.5 * self.delta * beta * beta, 1.0 - self.delta * beta, self.delta

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundSmoothedHinge:
        return BoundSmoothedHinge(self, 1, np.ascontiguousarray(part.y, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class BoundSmoothedHinge(BoundMargin):
    """The smoothed hinge loss for labels ``y`` of -1 and +1."""

    least = 0.0

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return 1/δ on the parabola, and 0 on the linear parts."""
        return np.where((G != 0.0) & (np.abs(G) < 1.0), self.declared.smoothness, 0.0)


@kernel
def lack(z, y):
    """Return 1 minus the margin y z, set to exactly 0 if it is within the tie tolerance of the kink."""
    a = 1.0 - y * z
    return 0.0 if ties(abs(a), 0.0) else a


@kernel
def steepest(term, Z, D, y, G):
    """Write the subgradient with the largest slope along D: the oracle of section 4.1.

    β is 1 if the margin is below 1, and 0 if it is above. At the kink β is the value with the larger slope.
    """
    for i in range(y.size):
        a = lack(Z[i, 0], y[i])
        G[i, 0] = -y[i] if a > 0.0 or (a == 0.0 and y[i] * D[i, 0] < 0.0) else 0.0


@kernel
def drawn(term, Z, u, y, G):
    """Write a random subgradient: at the kink β is 0 if u < ½, else 1."""
    for i in range(y.size):
        a = lack(Z[i, 0], y[i])
        G[i, 0] = -y[i] if a > 0.0 or (a == 0.0 and u[i] >= 0.5) else 0.0


@kernel
def breakpoints(term, Z, D, y, s, t, jump):
    """Write the positive steps of eq. (38), and the jumps |Δf_i| there.

    Return the slope at 0 from the right, and the number of steps.
    """
    slope, n = 0.0, 0
    for i in range(y.size):
        a, rise = lack(Z[i, 0], y[i]), -y[i] * D[i, 0]
        if a > 0.0 or (a == 0.0 and rise > 0.0):
            slope += s[i] * rise
        if a * rise < 0.0:
            t[n], jump[n] = -a / rise, s[i] * abs(rise)
            n += 1
    return slope, n


@kernel
def settle(term, Z, y):
    """Set scores within the tie tolerance of the kink exactly onto it; return the largest change."""
    most = 0.0
    for i in range(y.size):
        if lack(Z[i, 0], y[i]) == 0.0:
            most = max(most, abs(Z[i, 0] - y[i]))
            Z[i, 0] = y[i]
    return most
