"""Quasi-Newton methods that in some iterations optimize clusters of weights instead of single weights.

A. Mathur, S. Chakrabarti: Accelerating Newton Optimization for Log-Linear Models through Feature Redundancy,
ICDM 2006. Line numbers in comments are those of Figure 4.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from ...curvature.clusters import COLUMN_SCALES, Clusters, chunked, crossed, kmeans, within_error
from ...curvature.inverse import Inverse
from ...declare import Trait, as_printed, param
from ...problems.coarse import coarse_problem, lifted
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.outcome import SearchResult
from ..common_params import as_in
from ..iterate import Ending, Iterate
from ..solver import Solver
from .estimates import FullMatrix, LimitedMemory
from .loop import Descent, DescentIterate, record_iterates
from .progress import DescentProgress
from .quasi_newton import BFGS, LineSearchParams
from .rules import SmoothStop, one_subgradient


@dataclass(frozen=True)
class Clustered(LineSearchParams, Solver):
    """Base of the clustered solvers: rounds of a fine and a coarse phase, then the patch-up.

    The patch-up is a fine phase that lasts until the end of the run.

    In a coarse phase each cluster of weights is one weight γ_k, β = Cγ. Products are those of eq. (14) or,
    with ``aggregate``, of eq. (15). Eq. (15) is faster if there is one output. If there are many, clusters
    differ between outputs, and X̂ = XC has almost as many entries for each output as X has for all. The phase
    starts at the averages over the clusters, which may raise f. It ends when the relative change of f over
    the last ``window`` iterates is below ``delta``.

    Weights of different outputs (classes, labels) are clustered separately, and features without data form
    one cluster. Weights after W, the transitions of a chain, are not clustered. An ``error`` above 0 replaces
    ``cluster_factor``. Then each output has the largest factor among d, d/2, d/4, ... for which at most the
    fraction ``error`` of the weights' variance is inside clusters.

    All phases are descents on a smooth f, composed as in :mod:`.quasi_newton`. A new phase starts without
    pairs (s, y). With ``keep_memory`` a fine phase keeps the pairs of the earlier fine phases, which are
    pairs of f itself; no pair spans a coarse phase.

    The ``phase`` of an iterate names the activity that took the CPU time since the previous iterate. So the
    time differences of all iterates of a phase add up to the time of the phase (Table IV). A phase ``fine``,
    ``coarse`` or ``patch-up`` begins with an iterate at its starting point. In a coarse phase that is the
    projected point, at which X̂ is computed. Between a fine and a coarse phase there is an iterate
    ``cluster``: w has not moved, and its time is that of clustering.

    ``epoch`` counts rounds, and w is β in every phase. ``crossovers`` counts the weights whose cluster
    changed from the previous clustering. In coarse iterates ``working_set`` is the number of entries of γ,
    which is also the length of pairs.
    """

    paper = "Mathur and Chakrabarti 2006, Figure 4"
    needs = Trait.SMOOTH | Trait.SMOOTH_PENALTY | Trait.UNIFORM
    dense_vectors = 12

    rounds: int = param(
        2,
        "numRounds: fine and coarse phases before the patch-up",
        low=0,
        high=1000,
        title="fine and coarse rounds",
    )
    fine_iterations: int = param(
        100, "fineIters: iterations of a fine phase, at most", low=1, title="fine iterations"
    )
    coarse_iterations: int = param(
        0, "coarseIters: iterations of a coarse phase, at most; 0: no bound", low=0, title="coarse iterations"
    )
    cluster_factor: int = param(
        20, "clusterFactor: weights per cluster, on average", low=1, title="weights in a cluster"
    )
    clustering: str = param(
        "chunks",
        "clusters: neighbours of the sorted weights, or k-means on each weight and its last change",
        choices=("chunks", "kmeans"),
        title="clusters made by",
    )
    aggregate: str = param(
        "auto",
        "add up the features of each cluster once, eq. (15), or in each product, eq. (14); auto: once where "
        "there is one output",
        choices=("auto", "true", "false"),
        title="features of a cluster",
    )
    window: int = param(
        5,
        "w: iterates over which the change of f in a coarse phase is measured",
        low=2,
        title="window of a coarse phase w",
    )
    delta: float = param(
        1e-4,
        "δ: change of f over them, relative to f, that ends a coarse phase",
        low=0.0,
        title="end of a coarse phase δ",
    )
    keep_memory: bool = param(
        False, "keep pairs from one fine phase to the next", title="memory kept across phases"
    )
    split_signs: bool = param(
        False, "chunks: keep negative, zero and positive weights apart", title="signs kept apart"
    )
    scale: str = param(
        "deviation",
        "k-means: divide weights and changes by their standard deviation",
        choices=COLUMN_SCALES,
        title="scaling for k-means",
    )
    error: float = param(
        0.0,
        "share of the variance left inside clusters, in place of a factor",
        low=0.0,
        high=1.0,
        title="variance left in clusters",
    )
    line_search: str = "wolfe"

    def inverse(self, problem: Problem) -> Inverse:
        """Return an estimate B of the inverse Hessian that has no pairs yet."""
        raise TypeError(f"{type(self).__name__} does not define inverse")

    def warm_up_solver(self) -> Self:
        return replace(self, rounds=1, fine_iterations=1)

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        """Yield the iterates of Figure 4, of fine and coarse phases; return why the run ends."""
        descent = Descent(one_subgradient, self.search(), SmoothStop(), restarts=True)
        course = Course(problem)
        aggregated = problem.design.n_outputs == 1 if self.aggregate == "auto" else self.aggregate == "true"
        point, B = problem.at(w0), self.inverse(problem)  # 1
        for _ in range(self.rounds):  # 2
            fine = descent.iterates(point, B, course.progress)
            if ending := (yield from record_iterates(fine, course.fine, self._fine_is_enough)):  # 3-6
                return ending
            point, change = course.iterate.here.point, course.iterate.s
            assert change is not None  # there has been a fine iteration
            clusters = self._cluster(problem, point.w, change)  # 7, 8
            yield course.clustered(clusters)
            coarse = coarse_problem(problem, clusters, aggregated=aggregated)
            gamma = coarse.at(clusters.down(point.w))  # 9
            iterates = descent.iterates(gamma, self.inverse(coarse), DescentProgress(0.0))
            ending = yield from record_iterates(iterates, course.coarse, self._coarse_is_enough())  # 10-13
            if ending is not None and ending.status == "unbounded":
                return ending
            point = course.lifted  # 14
            if not self.keep_memory:
                B = self.inverse(problem)
            course.round += 1
        patch_up = descent.iterates(point, B, course.progress)
        return (yield from record_iterates(patch_up, partial(course.fine, phase="patch-up")))  # 16-19

    def _fine_is_enough(self, iterate: DescentIterate) -> bool:
        return iterate.t >= self.fine_iterations

    def _coarse_is_enough(self) -> Callable[[DescentIterate], bool]:
        """Return a function of an iterate: whether the coarse phase ends there.

        It ends once max f - min f < δ |min f| over the last w iterates, or after coarseIters iterations.
        """
        recent: deque[float] = deque(maxlen=self.window)

        def enough(iterate: DescentIterate) -> bool:
            recent.append(iterate.here.point.objective)
            if 0 < self.coarse_iterations <= iterate.t:
                return True
            return len(recent) == self.window and max(recent) - min(recent) < self.delta * abs(min(recent))

        return enough

    def _cluster(self, problem: Problem, w: np.ndarray, change: np.ndarray) -> Clusters:
        """Return clusters of the weights of each output separately: CLUSTER of Figure 4."""
        design = problem.design

        def cluster(members: np.ndarray) -> np.ndarray:
            weights = w[members]
            points = np.stack([weights, change[members]], axis=1) if self.clustering == "kmeans" else None

            def by(factor: int) -> np.ndarray:
                problem.pulse()
                if points is None:
                    return chunked(weights, factor, split_signs=self.split_signs)
                return kmeans(points, -(-members.size // factor), scale=self.scale, pulse=problem.pulse)

            return within_error(weights, self.error, by) if self.error else by(self.cluster_factor)

        return Clusters.of_columns(
            cluster,
            problem.size,
            design.n_features,
            design.n_outputs,
            still=design.column_nnz == 0,
            pulse=problem.pulse,
        )


class Course:
    """The state of a run of feature clustering, Figure 4, which records the iterates of all phases."""

    #: the newest iterate of the descent
    iterate: DescentIterate
    #: the current point, in a coarse phase that of Cγ
    lifted: Point

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.progress = DescentProgress(problem.penalty.convexity)
        self.round, self.iteration = 0, -1
        self.clusters: Clusters | None = None

    def fine(self, iterate: DescentIterate, phase: str = "fine") -> Iterate:
        """Return the record of an iterate of a fine phase."""
        self.iterate = iterate
        return iterate.record(self._next(), **self._where(phase))

    def clustered(self, clusters: Clusters) -> Iterate:
        """Return the record of a clustering at the point of the newest iterate, which does not move."""
        before, self.clusters = self.clusters, clusters
        known = {"violation": self.iterate.here.point.violation(), "dual_gap": self.iterate.gap}
        if before is not None:
            known["crossovers"] = self._crossovers(before, clusters)
        where = self._where("cluster")
        return Iterate.at(self.iterate.here.point, self._next(), events=("reclustered",), **known, **where)

    def coarse(self, iterate: DescentIterate) -> Iterate:
        """Return the record of an iterate of a coarse phase, for the fine point that it represents."""
        assert self.clusters is not None
        self.iterate = iterate
        self.lifted = point = lifted(self.problem, self.clusters, iterate.here.point)
        found = self._lifted_search(iterate.found, self.clusters)
        known = iterate.known() | {"found": found, "working_set": self.clusters.size}
        known["dual_gap"] = self.progress.update(point, math.inf)
        return Iterate.at(point, self._next(), **known, **self._where("coarse"))

    def _next(self) -> int:
        self.iteration += 1
        return self.iteration

    def _where(self, phase: str) -> dict[str, Any]:
        where: dict[str, Any] = {"phase": phase, "epoch": self.round}
        if self.clusters is not None:
            where |= {"clusters": self.clusters.count, "live": {"clustering": self.clusters}}
        return where

    def _crossovers(self, before: Clusters, after: Clusters) -> int:
        """Return the number of weights whose cluster changed from ``before`` to ``after``, summed over
        outputs."""
        design, count = self.problem.design, 0
        old, new = (design.split(labels)[0] for labels in (before.labels, after.labels))
        for c in range(design.n_outputs):
            self.problem.pulse()
            count += int(np.count_nonzero(crossed(old[:, c], new[:, c])))
        return count

    def _lifted_search(
        self, found: SearchResult[Point] | None, clusters: Clusters
    ) -> SearchResult[Point] | None:
        """Return the result of a coarse search as one of a search along Cd; None if there was none."""
        if found is None or found.search is None or found.search.d is None:
            return found
        search = found.search.along(clusters.up(found.search.d), self.problem.design.working_set())
        return found._replace(search=search)


@dataclass(frozen=True)
class ClusteredLBFGS(LimitedMemory, Clustered):
    """Clustered L-BFGS: section III-E, and section IV for chains.

    ``preset=paper`` has the settings of section III-E for text; fineIters is printed only for chains. The
    paper's settings for chains are rounds=1 and cluster_factor=10.
    """

    id = "clustered-lbfgs"
    name = "Clustered L-BFGS"
    summary = "limited-memory BFGS, in turns on weights and on clusters of them"
    paper = "Mathur and Chakrabarti 2006, sections III-E and IV"
    presets = as_printed(aggregate="false", scaled=False)
    carries = ("clustering", "line", "memory")

    memory: int = 5


@dataclass(frozen=True)
class ClusteredBFGS(FullMatrix, Clustered):
    """Clustered BFGS: section III-D.

    ``preset=paper`` sets numRounds 1, fineIters 5, clusterFactor 15 and k-means on raw values. The coarse
    phase then lasts until the end.
    """

    id = "clustered-bfgs"
    name = "Clustered BFGS"
    summary = "BFGS with a full matrix, in turns on weights and on clusters of them"
    paper = "Mathur and Chakrabarti 2006, section III-D"
    presets = as_printed(
        rounds=1, cluster_factor=15, scale="none", delta=0.0, aggregate="false", scaled=False
    )
    carries = ("clustering", "line")
    lighter = "clustered-lbfgs"

    fine_iterations: int = 5
    clustering: str = "kmeans"
    scaled: bool = as_in(BFGS, "scaled")
