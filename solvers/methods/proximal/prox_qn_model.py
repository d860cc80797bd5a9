"""The quadratic model of Prox-QN, and the search along its minimum: Zhong et al. 2014, Algorithm 2, from
line 19 on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...curvature.memory import PairMemory, spread
from ...declare import Trait
from ...linalg.working_set import WorkingSet
from ...problems.penalties import soft_threshold
from ...problems.point import Point
from ...problems.problem import Problem
from ...search.line_search import Armijo
from ...search.outcome import SearchResult
from ..coordinate.newton_kernels import NO_DECREASE, predicted_decrease
from ..iterate import NAN
from .prox_qn_kernels import sweep

#: Coordinates that one kernel call visits in a sweep.
SWEEP_CHUNK = 100_000
#: Work of an iteration per score, without the inner problem, in updates of one number of d̂.
SCORE_WORK = 8
#: Least work of an iteration without the inner problem, in the same unit: small arrays cost calls.
MIN_WORK = 10_000
#: Fewest sweeps with ``balance=work`` if at most half of all weights are in the working set.
MIN_SWEEPS = 5
#: Fewest and most pairs with ``memory=auto``; multiplications of a matrix product in the time of one update.
AUTO_PAIRS, GEMM_SPEEDUP = (30, 100), 5.0
#: Ratio of curvatures beyond which ``diagonal=auto`` takes D from the Hessian; weights sampled for it;
#: and the least curvature, relative to the mean.
MIN_SPREAD, SAMPLED_WEIGHTS, DIAGONAL_FLOOR = 100.0, 100_000, 1e-6


class QuadraticModel:
    """The model gᵀd + ½dᵀBd + λ‖w + d‖₁ on a working set, B given by the pairs (s, y), γ and D.

    Its hyper-parameters are those of a ``solver``, :class:`.prox_qn.ProxQN`. γ of the very first iteration is
    the curvature of the loss along the first direction (``gamma0=1`` gives the paper's 1). It is not changed
    when the memory is cleared. The paper's γ = sᵀy/sᵀs makes directions so long that most searches backtrack.
    With yᵀy/sᵀy, usual for L-BFGS, steps are accepted but short. The default ‖y‖/‖s‖ is the geometric mean of
    the two. ``memory=full`` keeps all pairs and the γ of the first pair, as Theorem 1 requires.
    ``memory=auto`` keeps 30 pairs, and up to 100 while products with them take no longer than the rest of an
    iteration.

    Attributes
    ----------
    events : tuple of str
        Events since the last record.
    """

    def __init__(self, solver: Any, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.inner, self.sweeps = InnerProblem(solver, problem), 0
        self.metric = DiagonalMetric(solver.diagonal, problem)
        self.memory = PairMemory(None if isinstance(solver.memory, str) else solver.memory)
        #: the working set of the pairs, and of D
        self.A: WorkingSet | None = None
        self.curvature: float | None = None
        self.gamma = solver.gamma0
        self.events: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the size of the working set on which the pairs are stored."""
        return 0 if self.A is None else len(self.A)

    def restrict_to(self, A: WorkingSet) -> None:
        """Change to another working set, and keep the entries of the pairs that both sets share.

        A weight that enters has s = 0, since it has not moved, and its y is unknown. Both are zero in the
        pairs, so that B is γD there until new pairs come. With ``memory=auto`` the oldest pairs are dropped
        until products cost no more than the rest of an iteration.
        """
        old, self.A = self.A, A
        if old is None or old is A or (old.full and A.full):
            return
        kept, known = old.overlap(A)
        if self.solver.memory == "auto" and not known.all():
            while len(self.memory) > max(1.0, self._affordable(len(A))):
                self.memory.drop_oldest()
        self.memory.carry(kept, known)
        self.metric.carry(kept, known)

    def clear(self) -> None:
        """Discard the pairs, D, and their working set."""
        self.memory.clear()
        self.metric.clear()
        self.A = None
        self.events += ("memory-cleared",)

    def search(self, point: Point, A: WorkingSet, g: np.ndarray) -> SearchResult[Point]:
        """Search along the solution d of the inner problem (lines 19 to 33).

        If no step decreases f, clear the pairs and search once more.
        """
        if (factors := self.metric.measure(point, A)) is not None:
            self.memory.rescale(factors)
        if self.gamma == 0.0:
            self.gamma = self._first_curvature(point, A, g)
        w = A.take(point.w)
        found = self._search_once(point, A, w, g)
        if found.t == 0.0 and len(self.memory):
            self.memory.clear()
            self.events += ("search-failed", "memory-cleared")
            found = self._search_once(point, A, w, g)
        return found

    def _search_once(self, point: Point, A: WorkingSet, w: np.ndarray, g: np.ndarray) -> SearchResult[Point]:
        """Solve the inner problem on A for d, then backtrack along d until Armijo's rule holds (lines 19 to
        33).

        ``w`` has the weights on A. There is no search if the predicted decrease is at rounding level.
        """
        r, penalty = self.metric.root, self.problem.penalty_on(A)
        d, self.sweeps = self.inner.solve(r * w, g / r, penalty.each(penalty.l1) / r, self.memory, self.gamma)
        d = np.where(d == -r * w, -w, d / r)
        rows = w[:, None], g[:, None], d[:, None]
        decrease = predicted_decrease(*rows, penalty.l1, 0.0, 0.0, penalty.factor_array)
        if not decrease < -NO_DECREASE * abs(point.objective):
            return SearchResult(point, 0.0, None, 0)
        line = self.problem.line(point, d, A)
        return line.armijo(decrease, Armijo(self.solver.beta, self.solver.sigma))

    def push_pair(self, s: np.ndarray, y: np.ndarray) -> None:
        """Add the pair (s, y), and set γ (lines 34 to 39).

        Q and Q̂ are computed from the pairs when the next direction needs them.
        """
        if self.solver.memory == "auto":
            self.memory.size = int(np.clip(self._affordable(s.size), *AUTO_PAIRS))
        self.curvature = self.memory.push(self.metric.root * s, y / self.metric.root)
        if self.curvature is None:
            self.events += ("curvature-skipped",)
        elif self.solver.memory != "full" or len(self.memory) == 1:
            self.gamma = self.memory.scaling(self.solver.gamma)

    def _affordable(self, size: int) -> float:
        """Return the number k of pairs on ``size`` weights that cost as much as the rest of an iteration.

        Q̂ = QR takes 4k² products per weight.
        """
        design = self.problem.design
        return math.sqrt(GEMM_SPEEDUP * SCORE_WORK * design.n_rows * design.n_outputs / (4.0 * size))

    def record(self, *, stepped: bool = True) -> dict[str, Any]:
        """Return the fields of the record that describe the model, and its step if ``stepped``."""
        known: dict[str, Any] = {"memory": self.memory}
        if stepped:
            known |= {"gamma": self.gamma, "inner_iterations": self.sweeps}
            known["curvature"] = NAN if self.curvature is None else self.curvature
        return known

    def _first_curvature(self, point: Point, A: WorkingSet, g: np.ndarray) -> float:
        """Return γ as pᵀ∇²F p / pᵀDp along p = S(w - D⁻¹g, λD⁻¹) - w, the direction that B = D gives.

        If F is linear along p, γ is the inverse of the step of :meth:`.line.Line.straight_step`.
        """
        w, D, penalty = A.take(point.w), self.metric.root**2, self.problem.penalty_on(A)
        p = soft_threshold(w - g / D, penalty.each(penalty.l1) / D) - w
        length = float(p @ (D * p))
        if length == 0.0:
            return 1.0
        line = self.problem.line(point, p, A)
        curvature = line.curvature()
        return curvature / length if curvature > 0.0 else 1.0 / line.straight_step()


class DiagonalMetric:
    """D of B₀ = γD on the working set, as ``root`` = D^½.

    D is computed when weights enter, and stored until others do. Curvatures of rare and of frequent features
    differ. D = h^½, h the diagonal of the Hessian at the start of the epoch, makes them more alike, and does
    better than h itself. The pairs and the inner problem are those of the weights D^½w. For these B₀ is γI,
    and each weight has its own λ/D_j^½.
    """

    def __init__(self, choice: str, problem: Problem) -> None:
        known = Trait.DIAGONAL_HESSIAN in problem.loss.traits
        self.choice = choice if known else "off"
        self.clear()

    def clear(self) -> None:
        """Discard D, so that it is computed before the next direction."""
        self._root: np.ndarray | None = None
        #: whether D is to be measured anew
        self.stale = True

    @property
    def root(self) -> np.ndarray:
        """Return D^½, which must have been computed."""
        assert self._root is not None
        return self._root

    def carry(self, kept: np.ndarray, known: np.ndarray) -> None:
        """Change to other members, as :meth:`.memory.PairMemory.carry` does; D of new members is 1 at
        first."""
        if self._root is not None:
            self._root = spread(self._root[kept], known) + ~known
            self.stale = self.stale or not known.all()

    def measure(self, point: Point, active: WorkingSet) -> np.ndarray | None:
        """Compute D from the diagonal of the Hessian at ``point`` if weights have entered.

        Return the factor by which D^½ changed for each weight; return None if no pairs have to be rescaled.
        """
        if not self.stale:
            return None
        before, self._root, self.stale = self._root, np.ones(len(active)), False
        if self.choice != "off":
            h = point.hessian_diagonal(active)
            if self.choice == "auto":
                self.choice = "on" if spreads(h) else "off"
            mean = float(h.mean())
            if self.choice == "on" and mean > 0.0:
                self._root = np.maximum(h, DIAGONAL_FLOOR * mean) ** 0.25
        return None if before is None else self._root / before


class InnerProblem:
    """min_d gᵀd + ½dᵀBd + Σ_j λ_j|w_j + d_j| by coordinate descent (section 2.2).

    Line 20 allows ⌊d/|A|⌋ sweeps to balance the inner problem against the rest of an iteration. If that is 1
    although a sweep costs next to nothing (few weights, many samples), steps are far too short. If samples
    are few, sweeps take most of the time. So the default compares the work of both, with at least five sweeps
    once half of the weights have left.
    """

    def __init__(self, solver: Any, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.rng = np.random.default_rng(solver.seed)

    def _most(self, size: int, rank: int) -> int:
        """Return the maximal number of sweeps over ``size`` weights with B of this rank (line 20)."""
        most, design = self.solver.max_inner, self.problem.design
        if self.solver.balance == "off":
            return most
        fair = self.problem.size // size
        if self.solver.balance == "work":
            least, rest = MIN_SWEEPS if fair >= 2 else 1, SCORE_WORK * design.n_rows * design.n_outputs
            fair = max(least, max(rest, MIN_WORK) // (rank * size))
        return max(1, min(most, fair))

    def solve(
        self, w: np.ndarray, g: np.ndarray, lam: np.ndarray, memory: PairMemory, gamma: float
    ) -> tuple[np.ndarray, int]:
        """Return d and the number of sweeps, at least one (lines 19 to 28); ``lam`` has a λ for each
        weight."""
        B = memory.compact(gamma)
        if B.rank == 0:  # B = γI separates: one closed-form step is exact
            return soft_threshold(w - g / gamma, lam / gamma) - w, 1
        most = self._most(w.size, B.rank)
        d = np.zeros_like(w)
        sweeps, moved = 0, np.inf
        while sweeps < most and moved > 0.0:
            sweeps += 1
            order = self.rng.permutation(w.size) if self.solver.order == "random" else np.arange(w.size)
            # recomputed in each sweep, against drift
            d_hat = B.Q_hat.T @ d
            moved = 0.0
            for lo in range(0, w.size, SWEEP_CHUNK):
                part = order[lo : lo + SWEEP_CHUNK]
                moved = max(moved, sweep(part, w, g, lam, gamma, B.diagonal, B.Q, B.Q_hat, d, d_hat))
                self.problem.pulse()
        return d, sweeps


def spreads(h: np.ndarray) -> bool:
    """Return whether curvatures differ by more than ``MIN_SPREAD`` between the least and the largest
    hundredth."""
    h = h[:: max(1, h.size // SAMPLED_WEIGHTS)]
    low, high = np.quantile(h[h > 0.0], [0.01, 0.99]) if np.any(h > 0.0) else (1.0, 1.0)
    return bool(high > MIN_SPREAD * low)
