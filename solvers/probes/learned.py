"""The model that a run has learned, recorded by a probe."""

from __future__ import annotations

import math

import numpy as np

from ..methods.iterate import Iterate
from ..problems.metrics.followed import Examples
from ..problems.problem import Problem
from .trajectories import SEARCHED, largest

#: Maximal number of largest weights recorded.
MAX_RECORDED_WEIGHTS = 5000
#: Weights of pixels, and weights after W, up to which they are recorded.
MOST_PIXELS, MOST_TAIL = 40_000, 10_000


class Learner:
    """A recorder of the model at each iterate of one run, in single precision.

    It records the largest weights, the rows of W for pixels, and the weights after W. It also records
    predictions of labels or numeric targets for a few examples.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem: Problem | None = problem
        self._examples: Examples | None = None

    def __call__(self, it: Iterate) -> dict[str, np.ndarray] | None:
        w = it.w
        if w is None or w.size > SEARCHED:
            return None
        if self._problem is not None:
            self._begin(self._problem)
            self._problem = None  # the data need not stay in memory for what is kept of them
        if self._examples is None:
            return None
        body = w[: self._features * self._outputs]
        W, tail = body.reshape(-1, self._outputs), w[body.size :]
        indices = np.sort(largest(w, it.live.get("active"), MAX_RECORDED_WEIGHTS))
        seen = {
            "indices": indices,
            "values": w[indices].astype(np.float32),
            "predicted": self._examples.predict(W, tail),
        }
        if 0 < self._pixels * self._outputs <= MOST_PIXELS:
            seen["pixels"] = W[: self._pixels].astype(np.float32)
        if 0 < tail.size <= MOST_TAIL:
            seen["tail"] = tail.astype(np.float32)
        return seen

    def _begin(self, problem: Problem) -> None:
        self._features, self._outputs = problem.design.n_features, problem.design.n_outputs
        self._pixels = math.prod(problem.names.picture_shape or (0,))
        if problem.loss.labelled:
            self._examples = problem.examples()
