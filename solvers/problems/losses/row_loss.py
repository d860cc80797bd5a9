"""Losses that are sums over rows of scores, one row per instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ...declare import Trait
from ...linalg.scores import Scores, recycled
from ..metrics.multilabel import ranking_loss
from .chunks import moved_rows, row_chunks
from .loss import BoundLoss
from .score_rows import residuals_of, values_of


@dataclass(frozen=True, eq=False)
class RowLoss(BoundLoss):
    """Base of bound losses that are sums over rows of scores, with labels ``y`` by row.

    Rows are processed in chunks that fit in the cache, on the threads of the team. A subclass defines
    ``predict`` and, unless it has a ``term`` of :mod:`.score_rows`, ``chunk_values`` and ``chunk_residual``.
    With ``Trait.HESSIAN`` it also defines ``chunk_curved``, unless the Hessian is diagonal.
    """

    y: np.ndarray
    metric_weights: np.ndarray | None = field(default=None, kw_only=True)

    @property
    def n_instances(self) -> int:
        return len(self.y)

    @property
    def metric_name(self) -> str:
        return self._with_weights(super().metric_name)

    def _with_weights(self, metric: str) -> str:
        return metric if self.metric_weights is None else f"weighted {metric}"

    def first(self, n: int, most: int) -> tuple[Self, int]:
        n = min(n, most, self.n_instances)
        return self._of(slice(n)), n

    def subset(self, instances: np.ndarray) -> tuple[Self, np.ndarray]:
        return self._of(instances), instances

    def _of(self, rows: slice | np.ndarray) -> Self:
        weights = None if self.metric_weights is None else self.metric_weights[rows]
        return replace(self, y=self.y[rows], metric_weights=weights)

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        """Write the loss of each row of Z to ``out``; Z is scratch memory and may be overwritten."""
        values_of(self.term, Z, y.reshape(len(y), -1), out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        """Write the derivatives of the loss with respect to Z (or one subgradient) to ``G``.

        Z is scratch memory and may be overwritten.
        """
        residuals_of(self.term, Z, y.reshape(len(y), -1), G)

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the change of the residual ``G`` of some ``rows`` along a change D of their scores Z to
        ``out``.

        D is scratch memory and may be overwritten.
        """
        np.multiply(self.diagonal(G, rows), D, out=out)

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        out = np.empty(self.n_instances)
        self._each_chunk(lambda k: self.chunk_values(moved_rows(scores, k, delta, t), self.y[k], out[k]))
        return out

    def residual(self, scores: Scores) -> Scores:
        G = recycled(*scores.Z.shape)
        self._each_chunk(lambda k: self.chunk_residual(moved_rows(scores, k), self.y[k], G[k]))
        return Scores(G, np.zeros(0))

    def hessian(self, scores: Scores, residual: Scores) -> Callable[[Scores], Scores]:
        def product(delta: Scores) -> Scores:
            out = recycled(*delta.Z.shape)

            def task(k: slice) -> None:
                here = scores.Z[k], residual.Z[k], np.arange(k.start, k.stop)
                self.chunk_curved(*here, moved_rows(delta, k), out[k])

            self._each_chunk(task)
            return Scores(out, np.zeros(0))

        return product

    def ties(self, scores: Scores) -> np.ndarray:
        if Trait.SMOOTH in self.traits:
            return np.zeros(0, dtype=np.int64)
        # no two functions of a row have the same slope along it
        apart = np.tile(np.sqrt(1.0 + np.arange(self.n_outputs)), (self.n_instances, 1))
        up, down = (self.subgradient_sup(scores, Scores(d, scores.tail)).Z for d in (apart, -apart))
        return np.flatnonzero((up != down).any(axis=1))

    def _each_chunk(self, task: Callable[[slice], object]) -> None:
        """Call ``task`` with consecutive slices of rows that fit in the cache, on the threads of the team."""
        self.team.each(task, row_chunks(self.n_instances, self.n_outputs), self.pulse)


class Ranking:
    """Base of bound losses for labels ``y`` of 0 and 1, (n, m), that rank the labels of a sample above the
    others."""

    y: np.ndarray
    ranks = True
    averages = False

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the ranks of the labels, 0 for the highest score."""
        return np.argsort(np.argsort(-scores.Z, axis=1, kind="stable"), axis=1)

    def metric(self, scores: Scores) -> float:
        """Return 1 minus the ranking loss.

        This is the mean fraction of pairs (label of the sample, other label) in the right order, over the
        samples that have such pairs.
        """
        return 1.0 - ranking_loss(scores.Z, self.y)
