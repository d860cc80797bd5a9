"""Binary losses: one score a sample, labels -1 and +1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait
from ..scores import Scores
from .base import Loss
from .row_loss import RowLoss
from .rows import LOGISTIC


@dataclass(frozen=True)
class Logistic(Loss):
    """Σ_i log(1 + exp(-y_i z_i)), y_i in {-1, +1}."""

    id = "logistic"
    name = "Logistic"
    summary = "negative log-likelihood of a binary label"
    paper = "Zhong et al. 2014; Yu et al. 2010; Mathur and Chakrabarti 2006, eq. (3)"
    kinds = ("binary",)
    traits = Trait.SMOOTH | Trait.SAMPLES | Trait.DIAGONAL | Trait.ROWS | Trait.BOUNDED
    sample_code = LOGISTIC
    average = True

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundLogistic:
        return BoundLogistic(self, 1, np.ascontiguousarray(part.y, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class BoundLogistic(RowLoss):
    """The logistic loss for labels ``y`` of -1 and +1."""

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        logistic_values(Z[:, 0], y, out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        logistic_residual(Z[:, 0], y, G[:, 0])

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.abs(G) * (1.0 - np.abs(G))

    def curvature(self, tight: bool) -> np.ndarray:
        return np.full(self.n_instances, 0.25)

    def predict(self, scores: Scores) -> np.ndarray:
        return np.where(scores.Z[:, 0] >= 0, 1.0, -1.0)


@kernel
def logistic_values(z, y, out):
    """out = log(1 + exp(-y z)), without overflow for any finite z."""
    for i in range(z.size):
        margin = y[i] * z[i]
        out[i] = np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0)


@kernel
def logistic_residual(z, y, out):
    """out = -y σ(-y z)."""
    for i in range(z.size):
        margin = y[i] * z[i]
        e = np.exp(-abs(margin))
        out[i] = -y[i] * (e if margin > 0 else 1.0) / (1.0 + e)
