"""Block coordinate descent with Anderson extrapolation: Bertrand and Massias, AISTATS 2021."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...declare import Trait, as_printed, param
from ...problems.lipschitz import block_constants, constant_param
from ...problems.point import REFRESH, Point
from ...problems.problem import Problem
from ...search.outcome import SearchResult, without_search
from ..common_params import tol_param
from ..working_sets import WorkingSetSolver, WorkingSetState, WorkingSetSteps, rule_param
from .bcd import NO_SEARCH, RowUpdates
from .bcd_kernels import Blocks


@dataclass(frozen=True)
class AndersonBCD(WorkingSetSolver):
    """Cyclic proximal steps on rows, with inverse Lipschitz constants as step lengths, and extrapolation.

    An iterate is M cyclic passes over the rows of the working set, and an extrapolation from the points w_k
    after them. The combination Σ_k c_k w_k, Σ c_k = 1, has the shortest residual Σ_k c_k (w_k - w_{k-1}) (eq.
    7). It is accepted if f is lower than after the last pass. Near the optimum the passes act as a linear
    map, and the combination is nearly its fixed point.

    The residual at an extrapolated point is the extrapolated dual point of celer, which ``rule=growing-dual``
    uses.
    """

    id = "anderson-bcd"
    name = "Anderson BCD"
    summary = "cyclic coordinate descent, extrapolated, on the working set of a rule"
    paper = "Bertrand and Massias 2021"
    needs = Trait.SMOOTH | Trait.ROW_KERNELS | Trait.GROUP_SEPARABLE | Trait.LIPSCHITZ
    presets = as_printed(rule="none")
    dense_vectors = 8
    carries = ("active",)

    rule: str = rule_param("growing")
    memory: int = param(5, "passes M before each extrapolation", low=2, high=100, title="passes M")
    extrapolate: bool = param(True, "try the extrapolated point", title="extrapolation")
    constant: str = constant_param()
    tol: float = tol_param()

    def begin(self, problem: Problem) -> ExtrapolatedPasses:
        return ExtrapolatedPasses(self, problem)


class ExtrapolatedPasses(WorkingSetSteps):
    """The steps of a run: passes over the rows of the working set, and extrapolation from the points after
    them."""

    def __init__(self, solver: AndersonBCD, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        K, none = block_constants(problem, solver.constant), np.empty(0)
        self.updates = RowUpdates(problem, Blocks(np.ones(K.size, dtype=np.bool_), K, none, none))
        self.count = 0

    def step(self, point: Point, state: WorkingSetState) -> SearchResult[Point]:
        """Make M passes, and try the extrapolated point."""
        members, m, M = state.members, self.problem.design.n_outputs, self.solver.memory
        features = np.arange(len(members) // m) if members.full else members.coordinates[::m] // m
        points = [members.take(point.w).copy()]
        for _ in range(M):
            self.updates.run(point, features, NO_SEARCH, np.inf, paper=False)
            points.append(members.take(point.w).copy())
        point = self._settled(point, state)
        self.known = {"inner_iterations": M}
        if np.array_equal(points[0], points[-1]):
            return SearchResult(point, 0.0, None, 0)
        combined = extrapolated(np.array(points)) if self.solver.extrapolate else None
        if combined is not None:
            line = self.problem.line(point, combined - points[-1], members)
            if line(1.0) < point.objective:
                point = line.move(1.0)
                self.events += ("extrapolated",)
        return without_search(point)

    def _settled(self, point: Point, state: WorkingSetState) -> Point:
        """Return the point at the current weights; its scores are recomputed from time to time."""
        self.count += self.solver.memory
        scores = point.scores
        if self.count >= REFRESH:
            self.count, scores = 0, self.problem.design.scores(state.members.take(point.w), state.members)
        return Point(self.problem, point.w, scores, active=state.members)


def extrapolated(points: np.ndarray) -> np.ndarray | None:
    """Return the combination Σ_k c_k w_k, k = 1 to M, of points w_0 to w_M (rows).

    The coefficients minimize ‖Σ_k c_k (w_k - w_{k-1})‖ subject to Σ c_k = 1. Return None if the differences
    do not determine c.
    """
    U = np.diff(points, axis=0)
    gram = U @ U.T
    if not np.all(np.isfinite(gram)) or gram[-1, -1] == 0.0:
        return None
    gram /= np.trace(gram)
    try:
        z = np.linalg.solve(gram, np.ones(len(U)))
    except np.linalg.LinAlgError:
        return None
    total = z.sum()
    if not np.isfinite(total) or total == 0.0:
        return None
    return (z / total) @ points[1:]
