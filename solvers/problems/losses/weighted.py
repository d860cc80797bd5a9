"""Sample weights: a loss whose instances count more or less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...compute.team import Team
from ...declare import Trait
from ...linalg.scores import Scores
from .loss import BoundLoss, Loss, delegated

#: What a loss still offers once its instances have weights: compiled kernels and conjugates know none.
WEIGHTED_TRAITS = (
    Trait.SMOOTH
    | Trait.HESSIAN
    | Trait.DIAGONAL_HESSIAN
    | Trait.LIPSCHITZ
    | Trait.QUADRATIC_MODEL
    | Trait.ONE_SCORE
)
#: Why a solver that needs more cannot take such a loss, the end of a sentence.
NEEDS_NO_WEIGHTS = "needs a loss without sample weights"
#: Kinds of labels of which an instance is no single row, or none.
OF_SEVERAL_ROWS = frozenset({"sequences", "tree", "function"})


def weighted_traits(traits: Trait) -> Trait:
    """Return what a loss with ``traits`` still offers once its instances have weights."""
    # the model of a softmax needs the probabilities, which a weighted residual does not tell
    unknown = Trait(0) if Trait.ONE_SCORE in traits else Trait.QUADRATIC_MODEL
    return traits & WEIGHTED_TRAITS & ~unknown


def takes_weights(loss: type[Loss]) -> bool:
    """Return whether a loss can have sample weights: it is smooth, and one of single samples."""
    return Trait.SMOOTH in loss.traits and OF_SEVERAL_ROWS.isdisjoint(loss.kinds)


@dataclass(frozen=True, eq=False)
class WeightedLoss(BoundLoss):
    """Σ_i s_i L_i of a smooth loss of single rows, ``inner``, with ``weights`` s_i > 0.

    The residual is s_i times that of the loss without weights. Curvatures are computed from the latter.
    Metrics are those of ``inner``, whose ``metric_weights`` need not be these.
    """

    inner: BoundLoss
    weights: np.ndarray
    weighted = True

    y = delegated("inner.y")
    n_instances = delegated("inner.n_instances")
    labelled = delegated("inner.labelled")
    ranks = delegated("inner.ranks")
    numeric = delegated("inner.numeric")
    averages = delegated("inner.averages")
    metric_name = delegated("inner.metric_name")
    metric_weights = delegated("inner.metric_weights")
    formula = delegated("inner.formula")
    truth = delegated("inner.truth")
    labels = delegated("inner.labels")

    @property
    def traits(self) -> Trait:
        return weighted_traits(self.inner.traits)

    @property
    def least(self) -> float:
        return self.inner.least * float(self.weights.max() if self.inner.least < 0.0 else self.weights.min())

    def attached(self, team: Team, pulse: Callable[[], None]) -> Self:
        return replace(self, inner=self.inner.attached(team, pulse), team=team, pulse=pulse)

    def first(self, n: int, most: int) -> tuple[Self, int]:
        inner, rows = self.inner.first(n, most)
        return replace(self, inner=inner, weights=self.weights[: inner.n_instances]), rows

    def subset(self, instances: np.ndarray) -> tuple[Self, np.ndarray]:
        inner, rows = self.inner.subset(instances)
        return replace(self, inner=inner, weights=self.weights[instances]), rows

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        return self.weights * self.inner.values(scores, delta, t)

    def residual(self, scores: Scores) -> Scores:
        return self._weighted(self.inner.residual(scores))

    def predict(self, scores: Scores) -> np.ndarray:
        return self.inner.predict(scores)

    def measured_by(self, data: Any) -> Self:
        return replace(self, inner=self.inner.measured_by(data))

    def metric(self, scores: Scores) -> float:
        return self.inner.metric(scores)

    def cancelled(self, scores: Scores) -> float:
        return float(self.weights.max()) * self.inner.cancelled(scores)

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        s = self.weights[rows, None]
        return s * self.inner.diagonal(G / s, rows)

    def second_derivatives(self, scores: Scores, residual: Scores) -> Scores:
        return self._weighted(self.inner.second_derivatives(scores, self._unweighted(residual)))

    def hessian(self, scores: Scores, residual: Scores) -> Callable[[Scores], Scores]:
        product = self.inner.hessian(scores, self._unweighted(residual))
        return lambda delta: self._weighted(product(delta))

    def curvature(self, tight: bool) -> np.ndarray:
        return self.weights * self.inner.curvature(tight)

    def block_curvature(self, sums: Callable[[np.ndarray], np.ndarray], tight: bool) -> np.ndarray:
        return self.inner.block_curvature(lambda C: sums(self.weights[:, None] * C), tight)

    def _unweighted(self, residual: Scores) -> Scores:
        return Scores(residual.Z / self.weights[:, None], residual.tail)

    def _weighted(self, scores: Scores) -> Scores:
        scores.Z[:] *= self.weights[:, None]
        return scores
