"""Squared hinges over several outputs: Blondel, Seki and Uehara 2013."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...compute.jit import kernel
from ...declare import Trait
from ...linalg.scores import Scores
from .duals import of_rows
from .loss import Loss
from .row_loss import Ranking, RowLoss
from .score_rows import (
    MulticlassHingeTerm,
    MultilabelHingeTerm,
    MultitaskHingeTerm,
    seconds_of,
    squared_hinge,
)

#: Traits of all squared hinges.
TRAITS = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.ROW_KERNELS | Trait.LIPSCHITZ
TRAITS |= Trait.CONJUGATE | Trait.HESSIAN


@dataclass(frozen=True, eq=False)
class BoundSquaredHinge(RowLoss):
    """Base of squared hinges: sums of max(a, 0)², each a being 1 minus a score or a difference of two."""

    least = 0.0

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return Σ 2αa - α²a² over the active terms a of each row, where Σ a² is its loss."""
        twice = of_rows(self, residual.Z, lambda G, part: self._twice_active(G))
        return alpha * twice - alpha**2 * self.values(scores)

    def _twice_active(self, G: np.ndarray) -> np.ndarray:
        """Return Σ 2a over the active terms of each row, computed from its residual.

        Each term adds 2a to the residual of the score that should be lower.
        """
        return np.maximum(G, 0.0).sum(axis=1)


@dataclass(frozen=True)
class MulticlassSquaredHinge(Loss):
    """The multiclass squared hinge loss Σ_i Σ_{r ≠ y_i} max(1 - (z_i,y_i - z_ir), 0)²."""

    id = "multiclass-squared-hinge"
    name = "Multiclass squared hinge"
    summary = "the true class against each other class, by a margin of 1"
    paper = "Blondel et al. 2013, eq. (2)"
    kinds = ("multiclass",)
    traits = TRAITS | Trait.DIAGONAL_HESSIAN
    average = True

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMulticlassHinge:
        return BoundMulticlassHinge(self, n_classes, np.ascontiguousarray(part.y, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class BoundMulticlassHinge(BoundSquaredHinge):
    """The multiclass squared hinge for labels ``y`` from 0 to m - 1."""

    term: ClassVar[MulticlassHingeTerm] = MulticlassHingeTerm()

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return 2 for each active other class, and the sum of these for the true class (eq. (6))."""
        h = 2.0 * (G > 0.0)
        h[np.arange(rows.size), self.y[rows]] = h.sum(axis=1)
        return h

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        """Write 2(d_r - d_y) for each active other class r, and minus the sum of these for the true class
        y."""
        own = np.arange(rows.size), self.y[rows]
        np.multiply(2.0 * (G > 0.0), D - D[own][:, None], out=out)
        out[own] = -out.sum(axis=1)

    def curvature(self, tight: bool) -> np.ndarray:
        """Return 2m if ``tight``, else the Lipschitz constant 4(m - 1) of appendix A.

        2m follows from the largest eigenvalue m of the Laplacian of a star with m nodes.
        """
        m = self.n_outputs
        return np.full(self.n_instances, 2.0 * m if tight else 4.0 * (m - 1))

    def block_curvature(self, sums: Callable[[np.ndarray], np.ndarray], tight: bool) -> np.ndarray:
        """Return min(2m s_j, 2(m max_c s_jc + s_j)) if tight, where s_jc = Σ x_ij² over the samples of class
        c.

        The second term is far below the first if a feature occurs in samples of many classes.
        """
        if not tight:
            return super().block_curvature(sums, tight)
        by_class = sums(np.eye(self.n_outputs)[self.y])
        total, most, m = by_class.sum(axis=1), by_class.max(axis=1), self.n_outputs
        return 2.0 * np.minimum(m * total, m * most + total)

    def predict(self, scores: Scores) -> np.ndarray:
        return scores.Z.argmax(axis=1)


@dataclass(frozen=True)
class MultitaskSquaredHinge(Loss):
    """The multitask squared hinge loss Σ_i Σ_r max(1 - y_ir z_ir, 0)²: one against the rest.

    y_ir is 1 for labels that sample i has, else -1.
    """

    id = "multitask-squared-hinge"
    name = "Multitask squared hinge"
    summary = "each label for itself, one against the rest"
    paper = "Blondel et al. 2013, eq. (11)"
    kinds = ("multiclass", "multilabel")
    traits = TRAITS | Trait.DIAGONAL_HESSIAN | Trait.MARGINS | Trait.HINGES
    average = True

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMultitaskHinge:
        return BoundMultitaskHinge(self, n_classes, indicators(part.y, n_classes), not sp.issparse(part.y))


@dataclass(frozen=True, eq=False)
class BoundMultitaskHinge(BoundSquaredHinge):
    """The multitask squared hinge for labels ``y`` of 0 and 1, (n, m)."""

    #: whether each sample has exactly one label
    single: bool

    term: ClassVar[MultitaskHingeTerm] = MultitaskHingeTerm()

    def _twice_active(self, G: np.ndarray) -> np.ndarray:
        return np.abs(G).sum(axis=1)

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return 2.0 * (G != 0.0)

    def curvature(self, tight: bool) -> np.ndarray:
        return np.full(self.n_instances, 2.0)

    @property
    def truth(self) -> np.ndarray:
        if not self.single:
            return self.y
        # a class that training lacks has no column, and is none of the others
        return np.where(self.y.any(axis=1), self.y.argmax(axis=1), -1)

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the class with the highest score.

        If samples may have several labels, return 1 for scores above 0, else 0.
        """
        return scores.Z.argmax(axis=1) if self.single else (scores.Z > 0.0).astype(np.int64)


@dataclass(frozen=True)
class MultilabelSquaredHinge(Loss):
    """The multilabel squared hinge loss Σ_i Σ_{r in Y_i, q not in Y_i} max(1 - (z_ir - z_iq), 0)².

    It ranks the labels Y_i of sample i above the others.
    """

    id = "multilabel-squared-hinge"
    name = "Multilabel squared hinge"
    summary = "each label of a sample against each other label, by a margin of 1"
    paper = "Blondel et al. 2013, section 4.7"
    kinds = ("multilabel",)
    traits = TRAITS
    average = True
    metric_name = "pairs ranked right"

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMultilabelHinge:
        return BoundMultilabelHinge(self, n_classes, indicators(part.y, n_classes))


@dataclass(frozen=True, eq=False)
class BoundMultilabelHinge(Ranking, BoundSquaredHinge):
    """The multilabel squared hinge for labels ``y`` of 0 and 1, (n, m)."""

    term: ClassVar[MultilabelHingeTerm] = MultilabelHingeTerm()

    def second_derivatives(self, scores: Scores, residual: Scores) -> Scores:
        H = np.empty_like(scores.Z)
        self._each_chunk(lambda k: seconds_of(self.term, scores.Z[k], self.y[k], H[k]))
        return Scores(H, np.zeros(0))

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        curved_pairs(Z, self.y[rows], D, out)

    def curvature(self, tight: bool) -> np.ndarray:
        """Return the curvature of each row: 4|Y_i|(m - |Y_i|), as in appendix A.

        If ``tight``, return 2m for rows with labels of both kinds (a complete bipartite graph), and 0 for all
        others.
        """
        labels, m = self.y.sum(axis=1), self.n_outputs
        pairs = labels * (m - labels)
        return 2.0 * m * (pairs > 0) if tight else 4.0 * pairs


def indicators(y: Any, m: int) -> np.ndarray:
    """Return labels as 0 and 1, int64 (n, m), from classes (n,) or a sparse matrix of ones (n, m)."""
    if sp.issparse(y):
        return np.ascontiguousarray(y.toarray() != 0, dtype=np.int64)
    return (np.arange(m) == np.asarray(y)[:, None]).astype(np.int64)


@kernel
def curved_pairs(Z, Y, D, out):
    """Write ∇²L D: each active pair of a label r and another q adds 2(d_q - d_r) at q, and minus that at
    r."""
    for i in range(Z.shape[0]):
        z, y, d, v = Z[i], Y[i], D[i], out[i]
        v[:] = 0.0
        for r in range(z.size):
            if y[r]:
                for q in range(z.size):
                    if not y[q]:
                        _, _, second = squared_hinge(1.0 - z[r] + z[q])
                        change = second * (d[q] - d[r])
                        v[q] += change
                        v[r] -= change
