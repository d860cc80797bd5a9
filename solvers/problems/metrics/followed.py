"""A few instances whose predictions are recorded during a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from ...linalg.design import Design
from ...linalg.scores import Scores
from ..losses.loss import BoundLoss

#: Maximal number of instances.
MOST_EXAMPLES = 6


@dataclass(frozen=True)
class Examples:
    """The first instances of a part of the data: rows of X, (rows, d), and the loss with their labels or
    targets.

    ``held_out`` is whether they are test data, not used in training.
    """

    rows: sp.csr_array
    loss: BoundLoss
    held_out: bool

    @classmethod
    def of(cls, design: Design, loss: BoundLoss, test: Callable[[], tuple[Design, BoundLoss]] | None) -> Self:
        """Take the first instances of the test part that ``test`` returns; of the training part if it is
        None."""
        if test is not None:
            design, loss = test()
        few, rows = loss.first(MOST_EXAMPLES, int(design.edges[1]))
        return cls(design.first_rows(rows), few, test is not None)

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of rows of each instance."""
        offsets = getattr(self.loss, "offsets", None)
        return np.ones(self.loss.n_instances, dtype=np.int64) if offsets is None else np.diff(offsets)

    def predict(self, W: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """Return the predicted labels, coded as the ``truth`` of the loss, or numeric targets in single
        precision.

        A model that ranks labels predicts the top k for an instance that has k labels.
        """
        found = self.loss.predict(Scores(np.ascontiguousarray(self.rows @ W), tail.copy()))
        if self.loss.numeric:
            return np.asarray(found).astype(np.float32)
        if self.loss.ranks:
            found = found < self.loss.truth.sum(axis=1, keepdims=True)
        return np.asarray(found).astype(np.int32)
