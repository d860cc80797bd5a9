"""Groups of weights that move together: Mathur and Chakrabarti 2006, Figures 2, 3, 10 and 11.

A sweep does not store weights, so a run is repeated to record the weights of each iterate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from solverscope.app.settings.experiment import Experiment
from solverscope.solvers import Problem
from solverscope.solvers.curvature.clusters import crossed, kmeans, spreads

#: Weights that a picture has lines of, the largest at the end, and the groups that are coloured alike.
MAX_PICTURE_LINES, COLOR_GROUPS = 60, 6


@dataclass(frozen=True)
class GroupWatch:
    """The weights whose clusters are examined: clusters of about ``size`` weights by k-means on (β, Δβ).

    They are examined at the iterates ``at``, and again ``later`` iterates after each. If the loss is a chain
    CRF, only weights of the label ``output`` are examined. If there are more than ``most``, only those that
    are largest at the end.
    """

    size: int
    at: tuple[int, ...]
    later: int = 20
    output: str = ""
    most: int = 500


@dataclass(frozen=True)
class Row:
    """The number of ``clusters`` at iterate ``t``, and how stable they are.

    ``inside`` is the fraction of the variance of β within clusters at that iterate, and ``later`` the same
    fraction some iterates later. ``crossed`` is the fraction of weights that have changed to another cluster
    by then.
    """

    t: int
    clusters: int
    inside: float
    later: float
    crossed: float


@dataclass(frozen=True)
class Groups:
    """The weights W of all iterates, shape (iterates, weights), and their clusters at some of these."""

    W: np.ndarray
    rows: tuple[Row, ...]

    @property
    def inside(self) -> float | None:
        """Return the largest fraction of the variance within clusters, or None if there are none."""
        return max((row.inside for row in self.rows), default=None)

    @property
    def stays(self) -> float | None:
        """Return the largest fraction of the variance within the same clusters some iterates
        later, or None."""
        return max((row.later for row in self.rows), default=None)

    @property
    def crossed(self) -> float | None:
        """Return the mean fraction of weights that change clusters, or None if there are none."""
        return float(np.mean([row.crossed for row in self.rows])) if self.rows else None

    def lines(self) -> Iterator[np.ndarray]:
        """Yield the column indices of groups of the largest weights, ordered by their final values."""
        largest = np.argsort(-np.abs(self.W[-1]))[:MAX_PICTURE_LINES]
        yield from np.array_split(largest[np.argsort(self.W[-1][largest])], COLOR_GROUPS)


def groups(W: np.ndarray, watch: GroupWatch) -> Groups:
    """Find clusters of weights; each row of W is an iterate."""

    def clusters(t: int) -> np.ndarray:
        return kmeans(np.stack([W[t], W[t] - W[t - 1]], axis=1), -(-W.shape[1] // watch.size))

    rows = []
    for t in (t for t in watch.at if 0 < t < len(W)):
        later, labels = min(t + watch.later, len(W) - 1), clusters(t)
        left = [
            within / ((within + between) or 1.0)
            for within, between in (spreads(W[k], labels) for k in (t, later))
        ]
        rows.append(Row(t, int(labels.max()) + 1, *left, float(crossed(labels, clusters(later)).mean())))
    return Groups(W, tuple(rows))


def of_run(cell: Experiment, watch: GroupWatch, iterations: int) -> Groups:
    """Repeat the run of a cell up to its last iterate, and find groups of its weights."""
    from solverscope.app.sweep.cells import problem_of

    problem = problem_of(cell.problem)
    kept = _kept(problem, watch.output)
    iterates = islice(cell.entrant.make().iterate(problem), iterations + 1)
    W = np.array([it.w[kept].astype(np.float32) for it in iterates if it.w is not None])
    if W.shape[1] > watch.most:
        W = W[:, np.argsort(-np.abs(W[-1]))[: watch.most]]
    return groups(W, watch)


def _kept(problem: Problem, output: str) -> np.ndarray | slice:
    """Return the indices of the weights of one label, or of all weights if there is no such label."""
    if output not in (names := list(problem.names.outputs)):
        return slice(None)
    emissions, _ = problem.unpack(np.arange(problem.size))
    return emissions[:, names.index(output)]
