"""Piecewise linear losses of a numeric target: quantiles and the ε-insensitive loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....compute.jit import kernel
from ....declare import Trait, param
from ....linalg.scores import Scores
from ..duals import of_rows
from ..envelope import TIE_TOL
from ..loss import Loss
from ..maxima import MaximumKernels, MaximumLoss
from ..score_rows import row_derivatives
from .target_loss import Targets, total


class LinesTerm(NamedTuple):
    """The maximum over k of slopes_k r - offsets_k in the error r = z - y.

    Slopes are ascending, and lines k and k + 1 meet at kinks_k. An error r is on a kink if it is within
    ``TIE_TOL`` (``unit`` + |y|) of it, ``unit`` the mean size of the targets.
    """

    slopes: np.ndarray
    offsets: np.ndarray
    kinks: np.ndarray
    unit: float


@dataclass(frozen=True)
class LinesLoss(Loss):
    """Base of losses that are a maximum of lines in the error z - y; a subclass defines ``lines``."""

    kinds = ("regression",)
    traits = Trait.DIRECTIONAL_DERIVATIVE | Trait.INSTANCE_KERNELS | Trait.CONJUGATE | Trait.ONE_SCORE
    average = True
    metric_name = "R²"

    def lines(self) -> tuple[list[float], list[float]]:
        """Return slopes and offsets of the lines, the slopes ascending."""
        raise TypeError(f"{type(self).__name__} does not define lines")

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundLines:
        y = np.ascontiguousarray(part.y, dtype=np.float64)
        return BoundLines(self, 1, y, float(np.mean(np.abs(y))))


@dataclass(frozen=True)
class Quantile(LinesLoss):
    """The quantile loss Σ_i max(τ(y_i - z_i), (1 - τ)(z_i - y_i)); half the absolute error for τ = ½."""

    id = "quantile"
    name = "Quantile"
    summary = "asymmetric absolute error, least at the τ-quantile; τ = ½ is the median"
    paper = "Koenker and Bassett 1978"
    traits = LinesLoss.traits | Trait.QUANTILE

    tau: float = param(
        0.5, "τ: share of the targets below the prediction", low=0.001, high=0.999, title="quantile τ"
    )

    def lines(self) -> tuple[list[float], list[float]]:
        return [-self.tau, 1.0 - self.tau], [0.0, 0.0]


@dataclass(frozen=True)
class EpsilonInsensitive(LinesLoss):
    """The ε-insensitive loss Σ_i max(0, |z_i - y_i| - ε)."""

    id = "epsilon-insensitive"
    name = "ε-insensitive"
    summary = "absolute error beyond ε: support vector regression"
    paper = "Vapnik 1995"
    traits = LinesLoss.traits | Trait.EPSILON_INSENSITIVE

    epsilon: float = param(
        0.1, "ε: errors up to it are free, in units of the target", low=0.0, title="width ε"
    )

    def lines(self) -> tuple[list[float], list[float]]:
        if self.epsilon == 0.0:
            return [-1.0, 1.0], [0.0, 0.0]
        return [-1.0, 0.0, 1.0], [self.epsilon, 0.0, self.epsilon]


@dataclass(frozen=True, eq=False)
class BoundLines(Targets, MaximumLoss):
    """A maximum of lines in the error, for targets ``y`` of mean size ``unit``."""

    declared: LinesLoss
    unit: float

    @property
    def term(self) -> LinesTerm:
        slopes, offsets = map(np.array, self.declared.lines())
        return LinesTerm(slopes, offsets, np.diff(offsets) / np.diff(slopes), self.unit)

    @property
    def most_breakpoints(self) -> int:
        return self.term.kinks.size

    @property
    def kernels(self) -> MaximumKernels:
        return MaximumKernels(steepest, drawn, breakpoints, settle)

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return the minimum over kinks k of φ(k) - g(k + y) for each row, g = αG and φ the loss of an
        error."""
        slopes, offsets, kinks, _ = self.term
        heights = slopes[1:] * kinks - offsets[1:]

        def terms(G: np.ndarray, part: slice) -> np.ndarray:
            g = alpha * G
            return (heights - g * kinks).min(axis=1) - g[:, 0] * self.y[part]

        return of_rows(self, residual.Z, terms)

    def tie_slack(self, value: float, weights: np.ndarray | None = None) -> float:
        """Return TIE_TOL (largest - smallest slope) Σ (unit + |y_i|), each term times its weight.

        The tolerance of ties is proportional to the size of the targets.
        """
        slopes = self.term.slopes
        size = float(total(self.unit + np.abs(self.y), weights))
        return TIE_TOL * float(slopes[-1] - slopes[0]) * size

    def cancelled(self, scores: Scores) -> float:
        return float(np.abs(self.term.slopes).max() * np.sum(np.abs(scores.Z[:, 0]) + np.abs(self.y)))


@kernel
def place(term, z, y):
    """Return the number of kinks below the error z - y, and whether the error is on the next kink."""
    r, near, k = z - y, TIE_TOL * (term.unit + abs(y)), 0
    while k < term.kinks.size and r > term.kinks[k] + near:
        k += 1
    return k, k < term.kinks.size and r >= term.kinks[k] - near


@row_derivatives.register(LinesTerm)
def lines_row(term, z, y, g, h):
    k, _ = place(term, z[0], y[0])
    if g is not None:
        g[0] = term.slopes[k]
    if h is not None:
        h[0] = 0.0
    r = z[0] - y[0]
    loss = term.slopes[k] * r - term.offsets[k]
    for j in range(k + 1, term.slopes.size):  # on a kink, line k may be below the maximum
        loss = max(loss, term.slopes[j] * r - term.offsets[j])
    return loss


@kernel
def steepest(term, Z, D, y, G):
    """Write the slope of each row's loss on the side of a kink to which D points."""
    for i in range(y.size):
        k, on = place(term, Z[i, 0], y[i])
        G[i, 0] = term.slopes[k + 1 if on and D[i, 0] > 0.0 else k]


@kernel
def drawn(term, Z, u, y, G):
    """Write the slope of each row's loss; on a kink, the left one if u < ½, else the right one."""
    for i in range(y.size):
        k, on = place(term, Z[i, 0], y[i])
        G[i, 0] = term.slopes[k + 1 if on and u[i] >= 0.5 else k]


@kernel
def breakpoints(term, Z, D, y, s, t, jump):
    """Write the steps t > 0 at which rows reach a kink along D, and the jumps of the slope there.

    Return the slope at 0 from the right, and the number of steps.
    """
    slope, n = 0.0, 0
    for i in range(y.size):
        r, d = Z[i, 0] - y[i], D[i, 0]
        k, on = place(term, Z[i, 0], y[i])
        if d > 0.0:
            k += 1 if on else 0
            ahead, last, step = k, term.kinks.size, 1
        else:
            ahead, last, step = k - 1, -1, -1
        slope += s[i] * d * term.slopes[k]
        if d != 0.0:
            for j in range(ahead, last, step):
                t[n] = (term.kinks[j] - r) / d
                jump[n] = s[i] * abs(d) * (term.slopes[j + 1] - term.slopes[j])
                n += 1
    return slope, n


@kernel
def settle(term, Z, y):
    """Set scores within the tie tolerance of a kink exactly onto it; return the largest change of a score."""
    most = 0.0
    for i in range(y.size):
        k, on = place(term, Z[i, 0], y[i])
        if on:
            there = y[i] + term.kinks[k]
            most = max(most, abs(Z[i, 0] - there))
            Z[i, 0] = there
    return most
