"""Sample weights: a weighted sum of the losses of instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...compute.team import Team
from ...declare import Trait
from ...linalg.scores import Scores
from ...search.outcome import Breakpoints
from .instances import Instances
from .loss import BoundLoss, delegated
from .maxima import MaximumLoss
from .row_loss import RowLoss

#: Traits that remain once instances have weights: kernels of rows and of the dual do not support these.
WEIGHTED_TRAITS = (
    Trait.SMOOTH
    | Trait.DIRECTIONAL_DERIVATIVE
    | Trait.INSTANCE_KERNELS
    | Trait.CONJUGATE
    | Trait.HESSIAN
    | Trait.DIAGONAL_HESSIAN
    | Trait.LIPSCHITZ
    | Trait.QUADRATIC_MODEL
    | Trait.ONE_SCORE
)
#: Why a solver that needs more cannot use such a loss: the predicate of a sentence.
NEEDS_NO_WEIGHTS = "needs a loss without sample weights"


def weighted_traits(traits: Trait) -> Trait:
    """Return the traits that a loss with ``traits`` keeps once its instances have weights."""
    # the model of a softmax needs the probabilities, which a weighted residual does not tell
    unknown = Trait(0) if Trait.ONE_SCORE in traits else Trait.QUADRATIC_MODEL
    return traits & WEIGHTED_TRAITS & ~unknown


def takes_weights(loss: BoundLoss) -> bool:
    """Return whether a loss can have sample weights.

    It must be a sum over rows, and a loss with kinks must be a :class:`MaximumLoss` if it knows its
    directional derivatives.
    """
    kinks = Trait.DIRECTIONAL_DERIVATIVE in loss.traits
    return isinstance(loss, MaximumLoss if kinks else RowLoss) and not loss.n_tail


@dataclass(frozen=True, eq=False)
class WeightedLoss(BoundLoss):
    """The weighted loss Σ_i s_i L_i for a loss of single rows, ``inner``, with ``weights`` s_i > 0.

    The residual is s_i times that of the loss without weights. Curvatures and conjugates are computed from
    the latter: the conjugate of s_i L_i at G_i is s_i L_i*(G_i/s_i). Metrics are those of ``inner``, whose
    ``metric_weights`` may differ from ``weights``.
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
    piecewise_linear = delegated("inner.piecewise_linear")
    truth = delegated("inner.truth")
    labels = delegated("inner.labels")

    @property
    def traits(self) -> Trait:
        whole_only = type(self.inner).dual_values is BoundLoss.dual_values
        return weighted_traits(self.inner.traits) & ~(Trait.CONJUGATE if whole_only else Trait(0))

    @property
    def instance_weights(self) -> np.ndarray:
        return self.weights

    @property
    def largest_weight(self) -> float:
        return float(self.weights.max())

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

    def instances(self) -> Instances:
        return self.inner.instances()._replace(weights=self.weights)

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
        return self.largest_weight * self.inner.cancelled(scores)

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        return self.weights * self.inner.dual_values(scores, self._unweighted(residual), alpha)

    def subgradient_sup(self, scores: Scores, delta: Scores) -> Scores:
        return self._weighted(self.inner.subgradient_sup(scores, delta))

    def random_subgradient(self, scores: Scores, rng: np.random.Generator) -> Scores:
        return self._weighted(self.inner.random_subgradient(scores, rng))

    def ties(self, scores: Scores) -> np.ndarray:
        return self.inner.ties(scores)

    def tie_slack(self, value: float, weights: np.ndarray | None = None) -> float:
        return self.inner.tie_slack(value, self.weights)

    def breakpoints(self, scores: Scores, delta: Scores) -> Breakpoints:
        if not isinstance(self.inner, MaximumLoss):
            return super().breakpoints(scores, delta)
        return self.inner.breakpoints(scores, delta, self.weights)

    def settle(self, scores: Scores) -> float:
        return self.inner.settle(scores)

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
