"""Smooth losses of numeric targets: least squares, Huber's and Poisson's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ....compute.lazy import lazy
from ....declare import Trait, param
from ....linalg.scores import Scores
from .target_loss import BoundTarget, TargetLoss, explained, total

#: Traits of smooth losses of one target.
CURVED = TargetLoss.traits | Trait.HESSIAN | Trait.DIAGONAL_HESSIAN | Trait.QUADRATIC_MODEL
CURVED |= Trait.CONJUGATE


@dataclass(frozen=True)
class Squared(TargetLoss):
    """The squared loss Σ_i ½(z_i - y_i)²."""

    id = "squared"
    name = "Squared"
    summary = "half the squared error: least squares, the Lasso's loss"
    paper = "Tibshirani 1996"
    traits = CURVED | Trait.LIPSCHITZ | Trait.LEAST_SQUARES
    smoothness = 1.0

    def derivatives(self, score: float, target: float) -> tuple[float, float, float]:
        r = score - target
        return 0.5 * r * r, r, 1.0

    def dual(self, slope: float, target: float) -> float:
        return -slope * (0.5 * slope + target)

    def bound(self, y: np.ndarray, n_outputs: int) -> BoundSquared:
        return BoundSquared(self, n_outputs, y)


@dataclass(frozen=True)
class MultitaskSquared(Squared):
    """The squared loss of several targets, ½‖Z - Y‖²_F."""

    id = "multitask-squared"
    name = "Multitask squared"
    summary = "half the squared error, summed over several targets"
    paper = "Obozinski, Taskar and Jordan 2010"
    kinds = ("multitask",)
    traits = Squared.traits & ~(Trait.ONE_SCORE | Trait.QUADRATIC_MODEL)


@dataclass(frozen=True, eq=False)
class BoundSquared(BoundTarget):
    """Half the squared error. Values and residual are computed for whole chunks, as NumPy is faster."""

    least = 0.0

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        Z -= y.reshape(Z.shape)
        np.einsum("ic,ic->i", Z, Z, out=out)
        out *= 0.5

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        np.subtract(Z, y.reshape(Z.shape), out=G)

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.ones_like(G)

    def second_derivatives(self, scores: Scores, residual: Scores) -> Scores:
        return Scores(np.ones_like(scores.Z), np.zeros(0))

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        out[:] = D


@dataclass(frozen=True)
class Huber(TargetLoss):
    """Huber's loss: Σ_i ½r_i² for |r_i| <= δ, else δ|r_i| - ½δ², where r_i = z_i - y_i."""

    id = "huber"
    name = "Huber"
    summary = "squared near the target, linear beyond δ: outliers pull no harder than δ"
    paper = "Huber 1964"
    traits = CURVED | Trait.LIPSCHITZ | Trait.HUBER
    smoothness = 1.0

    delta: float = param(
        1.35, "δ: errors beyond it count linearly, in units of the target", low=1e-12, title="threshold δ"
    )

    def derivatives(self, score: float, target: float) -> tuple[float, float, float]:
        r = score - target
        if abs(r) <= self.delta:
            return 0.5 * r * r, r, 1.0
        return self.delta * (abs(r) - 0.5 * self.delta), self.delta if r > 0.0 else -self.delta, 0.0

    def dual(self, slope: float, target: float) -> float:
        return -slope * (0.5 * slope + target)

    def bound(self, y: np.ndarray, n_outputs: int) -> BoundHuber:
        return BoundHuber(self, n_outputs, y)


@dataclass(frozen=True, eq=False)
class BoundHuber(BoundTarget):
    """Huber's loss for given targets."""

    declared: Huber
    least = 0.0

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.where(np.abs(G) < self.declared.delta, 1.0, 0.0)


@dataclass(frozen=True)
class Poisson(TargetLoss):
    """The Poisson loss Σ_i exp z_i - y_i z_i + y_i log y_i - y_i, y_i >= 0.

    It is half the deviance of counts y_i with mean exp z_i.
    """

    id = "poisson"
    name = "Poisson"
    summary = "half the deviance of counts, with a logarithmic link"
    paper = "McCullagh and Nelder 1989"
    traits = CURVED | Trait.POISSON
    metric_name = "D²"

    def derivatives(self, score: float, target: float) -> tuple[float, float, float]:
        mean = np.exp(score)
        logs = target * np.log(target) if target > 0.0 else 0.0
        return mean - target * score + logs - target, mean - target, mean

    def dual(self, slope: float, target: float) -> float:
        mean = max(slope + target, 0.0)
        logs = target * np.log(target) if target > 0.0 else 0.0
        return mean - (mean * np.log(mean) if mean > 0.0 else 0.0) + logs - target

    def why_not_targets(self, y: np.ndarray) -> str | None:
        if y.min(initial=0.0) < 0.0:
            return f"needs targets of at least 0, such as counts, and there is {y.min():g}"
        return None

    def bound(self, y: np.ndarray, n_outputs: int) -> BoundPoisson:
        return BoundPoisson(self, n_outputs, y)


@dataclass(frozen=True, eq=False)
class BoundPoisson(BoundTarget):
    """Half the deviance of counts.

    Values and residual are computed for whole chunks, as NumPy's exponentials are vectorized.
    """

    least = 0.0

    @lazy
    def _saturated(self) -> np.ndarray:
        """Return y log y - y, the part of each loss that does not depend on the score."""
        return xlogy(self.y, self.y) - self.y

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        out = super().values(scores, delta, t)
        out += self._saturated
        return out

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        z = Z[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            np.exp(z, out=out)
            z *= y
            out -= z

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            np.exp(Z, out=G)
        G -= y[:, None]

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return G + self.targets(rows)

    def cancelled(self, scores: Scores) -> float:
        """Return the size of the terms that cancel, including those of the deviance itself."""
        logs = float(np.sum(np.abs(self._saturated + self.y)))
        Z = scores.Z[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            own = float(np.sum(np.exp(Z) * (1.0 + np.abs(Z)) + self.y * (1.0 + np.abs(Z))))
        return super().cancelled(scores) + own + logs

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the predicted means."""
        return np.exp(scores.Z).reshape(self.y.shape)

    def metric(self, scores: Scores) -> float:
        """Return D², the fraction of the deviance from the mean that predictions explain."""
        weights = self.metric_weights
        mean = max(float(np.average(self.y, weights=weights)), np.finfo(float).tiny)
        whole = float(total(xlogy(self.y, self.y / mean), weights))
        left = float(total(self.values(scores), weights))
        return explained(np.array([left]), np.array([max(whole, 0.0)]))
