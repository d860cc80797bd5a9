"""What bound losses of one score share that tells two labels apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ..scores import Scores
from .row_loss import RowLoss

#: Names of the measures of predictions, by their ids.
MEASURES = {"accuracy": "accuracy", "f1": "F1"}


@dataclass(frozen=True, eq=False)
class TwoLabels(RowLoss):
    """Base of bound losses of labels -1 and +1, the sign of the score; the ``measure`` of predictions is a
    choice."""

    measure: str = field(default="accuracy", kw_only=True)

    @property
    def metric_name(self) -> str:
        return MEASURES[self.measure]

    def measured_by(self, measure: str) -> Self:
        return replace(self, measure=measure) if measure in MEASURES else self

    @property
    def averages(self) -> bool:
        return self.measure == "accuracy"

    def predict(self, scores: Scores) -> np.ndarray:
        return np.where(scores.Z[:, 0] >= 0, 1, -1)

    def metric(self, scores: Scores) -> float:
        predicted = self.predict(scores)
        return f1(self.y > 0, predicted > 0) if self.measure == "f1" else float(np.mean(predicted == self.y))


def f1(true: np.ndarray, found: np.ndarray) -> float:
    """Return the harmonic mean of precision and recall of what was found, 2 TP/(2 TP + FP + FN); 0 where
    there is nothing to find and nothing found."""
    among = np.count_nonzero(true) + np.count_nonzero(found)
    return 2.0 * np.count_nonzero(true & found) / among if among else 0.0
