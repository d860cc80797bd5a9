"""Multiclass losses: one score per class, labels 0 to m - 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...compute.exponential import exp_in_place
from ...compute.jit import kernel
from ...declare import Trait
from ...linalg.scores import Scores
from .duals import cancelled_by_logs, of_rows, row_entropies
from .loss import Loss
from .row_loss import RowLoss
from .score_rows import SoftmaxTerm


@dataclass(frozen=True)
class MulticlassLogistic(Loss):
    """The multiclass logistic (softmax) loss Σ_i log Σ_c exp(z_ic - z_i,y_i)."""

    id = "multiclass-logistic"
    name = "Multiclass logistic"
    summary = "negative log-likelihood of one label among several (softmax)"
    paper = "Blondel et al. 2013, eq. (12)"
    kinds = ("multiclass",)
    traits = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.DIAGONAL_HESSIAN | Trait.ROW_KERNELS
    traits |= Trait.LIPSCHITZ | Trait.CONJUGATE | Trait.HESSIAN | Trait.LOG_LINEAR | Trait.QUADRATIC_MODEL
    average = True

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundSoftmax:
        return BoundSoftmax(self, n_classes, np.ascontiguousarray(part.y, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class BoundSoftmax(RowLoss):
    """The softmax loss for labels ``y`` from 0 to m - 1.

    Values and residual are also implemented for whole chunks, in addition to :func:`.score_rows.softmax_row`:
    exponentials of a chunk are faster than those of single rows.
    """

    least = 0.0

    term: ClassVar[SoftmaxTerm] = SoftmaxTerm()

    @staticmethod
    def chunk_values(Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        shift_rows(Z, y, out)
        exp_in_place(Z)
        out += np.log(Z.sum(axis=1))

    @staticmethod
    def chunk_residual(Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        exp_in_place(np.subtract(Z, Z.max(axis=1, keepdims=True), out=G))
        G /= G.sum(axis=1, keepdims=True)
        G[np.arange(y.size), y] -= 1.0

    def cancelled(self, scores: Scores) -> float:
        return cancelled_by_logs(scores)

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return the entropies of (1 - α) times the truth + α times the model's probabilities."""
        return of_rows(self, residual.Z, lambda G, part: row_entropies(with_truth(alpha * G, self.y[part])))

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return variances(G, self.y[rows])

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        """Write (diag(μ) - μμᵀ) D, μ the probabilities."""
        covariances(with_truth(G, self.y[rows]), D, out)

    def log_odds(self, scores: Scores, output: int) -> np.ndarray:
        odds = np.empty(self.n_instances)
        self._each_chunk(lambda k: odds_rows(scores.Z[k], output, odds[k]))
        return odds

    def truths(self, output: int) -> np.ndarray:
        return (self.y == output).astype(np.float64)

    def curvature(self, tight: bool) -> np.ndarray:
        """Return ½, which bounds the eigenvalues of diag(p) - ppᵀ (Blondel et al. 2013, section 5.3)."""
        return np.full(self.n_instances, 0.5)

    def predict(self, scores: Scores) -> np.ndarray:
        return scores.Z.argmax(axis=1)


def with_truth(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the probabilities P of a residual G = P - truth; row i of the truth is 1 at ``places[i]``."""
    μ = G.copy()
    μ[np.arange(places.size), places] += 1.0
    return μ


def variances(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return μ(1 - μ) for the probabilities μ of :func:`with_truth`."""
    out = np.empty_like(G)
    write_variances(G, places, out)
    return out


def covariances(μ: np.ndarray, D: np.ndarray, out: np.ndarray) -> None:
    """Write (diag(μ) - μμᵀ) D of each row to ``out``."""
    weighted = μ * D
    np.subtract(weighted, μ * weighted.sum(axis=1, keepdims=True), out=out)


@kernel
def write_variances(G, places, out):
    """Write μ(1 - μ) to ``out``, where μ = G plus the truth, without storing μ."""
    for i in range(G.shape[0]):
        for c in range(G.shape[1]):
            out[i, c] = G[i, c] * (1.0 - G[i, c])
        μ = G[i, places[i]] + 1.0
        out[i, places[i]] = μ * (1.0 - μ)


@kernel
def shift_rows(Z, y, out):
    """Write max_c Z[i, c] - Z[i, y_i] to out[i], and subtract the maximum of each row from Z."""
    for i in range(Z.shape[0]):
        top = Z[i, 0]
        for c in range(1, Z.shape[1]):
            top = max(top, Z[i, c])
        out[i] = top - Z[i, y[i]]
        for c in range(Z.shape[1]):
            Z[i, c] -= top


@kernel
def odds_rows(Z, c, odds):
    """Write z_c - log Σ_{k≠c} exp z_k of each row to ``odds``."""
    for i in range(Z.shape[0]):
        most = -np.inf
        for k in range(Z.shape[1]):
            if k != c:
                most = max(most, Z[i, k])
        total = 0.0
        for k in range(Z.shape[1]):
            if k != c:
                total += np.exp(Z[i, k] - most)
        odds[i] = Z[i, c] - most - np.log(total)
