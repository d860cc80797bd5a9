"""The quadratic model of Prox-QN, and the search along its minimum: Zhong et al. 2014, Algorithm 2, from
line 19 on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..declare import Trait
from ..parts.linesearch import Found
from ..parts.memory import PairMemory, spread
from ..problems.penalties import soft_threshold
from ..problems.point import Point
from ..problems.problem import Problem
from ..problems.products.working_set import WorkingSet
from .coordinate.newton_kernels import NO_DECREASE, promised
from .iterate import NAN
from .prox_qn_kernels import sweep

#: Coordinates one kernel call visits in a sweep.
SWEEP_CHUNK = 100_000
#: What an iteration does for each score besides the inner problem, in updates of one number of d̂.
SCORE_WORK = 8
#: What an iteration does at least besides the inner problem, in the same unit: small arrays cost calls.
LEAST_WORK = 10_000
#: Fewest sweeps of the inner problem where ``balance`` is work and at most half of all weights are in it.
SWEEPS = 5
#: Fewest and most pairs where ``memory`` is auto, and products of matrices done in the time of one update.
PAIRS, GEMM = (30, 100), 5.0
#: Ratio of curvatures beyond which D is that of the Hessian where ``diagonal`` is auto; how many weights are
#: looked at; and the least curvature, in units of the mean.
SPREAD, SAMPLE, FLOOR = 100.0, 100_000, 1e-6


class Model:
    """min_d gᵀd + ½dᵀBd + λ‖w + d‖₁ on a working set, B by the pairs (s, y), γ and D, with the
    hyper-parameters of a ``solver``, :class:`.prox_qn.ProxQN`.

    Attributes
    ----------
    events : tuple of str
        What happened since the last record.
    """

    def __init__(self, solver: Any, problem: Problem) -> None:
        self.solver, self.problem, self.lam = solver, problem, problem.penalty.l1
        self.inner, self.sweeps = InnerProblem(solver, problem), 0
        self.metric = Metric(solver.diagonal, problem)
        self.memory = PairMemory(None if isinstance(solver.memory, str) else solver.memory)
        #: the working set of the pairs, and of D
        self.A: WorkingSet | None = None
        self.curvature: float | None = None
        self.gamma = solver.gamma0
        self.events: tuple[str, ...] = ()

    def follow(self, A: WorkingSet) -> tuple[np.ndarray, np.ndarray] | None:
        """Go over to another working set, with what is known of its weights; return which of the old members
        are kept, and which of the new ones known, None where it is the same set.

        A weight that comes in has not moved, and its y is not known: both are zero in the pairs, so that B is
        γD there until later pairs tell more. Without ``keep_pairs`` they are cleared where one comes in, and
        where ``memory`` is auto the oldest go that would cost more than the rest of an iteration.
        """
        old, self.A = self.A, A
        if old is None or old is A or (old.full and A.full):
            return None
        kept, known = old.overlap(A)
        if not (self.solver.keep_pairs or known.all()):
            self.clear()
            self.A = A
        if self.solver.memory == "auto" and not known.all():
            while len(self.memory) > max(1.0, self._paying(len(A))):
                self.memory.drop_oldest()
        self.memory.carry(kept, known)
        self.metric.carry(kept, known)
        return kept, known

    def clear(self) -> None:
        """Forget the pairs, and D, and on which working set they were."""
        self.memory.clear()
        self.metric.clear()
        self.A = None
        self.events += ("memory-cleared",)

    def search(self, point: Point, A: WorkingSet, g: np.ndarray) -> Found[Point]:
        """Search along the solution d of the inner problem (lines 19 to 33); where no step decreases f, clear
        the pairs and search once more."""
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

    def _search_once(self, point: Point, A: WorkingSet, w: np.ndarray, g: np.ndarray) -> Found[Point]:
        """Solve the inner problem on A at ``w``, the weights there, for d (lines 19 to 28), and backtrack
        along d until Armijo's rule holds (lines 29 to 33), unless it promises no more than rounding."""
        r = self.metric.root
        d, self.sweeps = self.inner.solve(r * w, g / r, self.lam / r, self.memory, self.gamma)
        d = np.where(d == -r * w, -w, d / r)
        decrease = promised(w[:, None], g[:, None], d[:, None], self.lam, 0.0, 0.0)
        if not decrease < -NO_DECREASE * abs(point.objective):
            return Found(point, 0.0, None, 0)
        line = self.problem.line(point, d, A)
        return line.armijo(decrease, beta=self.solver.beta, sigma=self.solver.sigma)

    def learn(self, s: np.ndarray, y: np.ndarray) -> None:
        """Add the pair (s, y), and set γ (lines 34 to 39). Q and Q̂ are made from the pairs, when the next
        direction needs them."""
        if self.solver.memory == "auto":
            self.memory.size = int(np.clip(self._paying(s.size), *PAIRS))
        self.curvature = self.memory.push(self.metric.root * s, y / self.metric.root)
        if self.curvature is None:
            self.events += ("curvature-skipped",)
        elif self.solver.memory != "full" or len(self.memory) == 1:
            self.gamma = self.memory.scaling(self.solver.gamma)

    def _paying(self, size: int) -> float:
        """Return how many pairs on ``size`` weights cost as much as the rest of an iteration does: Q̂ = QR
        takes 4k² products a weight."""
        design = self.problem.design
        return math.sqrt(GEMM * SCORE_WORK * design.n_rows * design.n_outputs / (4.0 * size))

    def record(self, *, stepped: bool = True) -> dict[str, Any]:
        """Return what the record should say of the model, and of the step that it made."""
        known: dict[str, Any] = {"memory": self.memory, "events": self.events}
        self.events = ()
        if stepped:
            known |= {"gamma": self.gamma, "inner_iterations": self.sweeps}
            known["curvature"] = NAN if self.curvature is None else self.curvature
        return known

    def _first_curvature(self, point: Point, A: WorkingSet, g: np.ndarray) -> float:
        """Measure γ as pᵀ∇²F p / pᵀDp along p = S(w - D⁻¹g, λD⁻¹) - w, the direction that B = D gives; where
        F is straight along p, γ is one over the step that :meth:`.line.Line.straight_step` takes."""
        w, D = A.take(point.w), self.metric.root**2
        p = soft_threshold(w - g / D, self.lam / D) - w
        length = float(p @ (D * p))
        if length == 0.0:
            return 1.0
        line = self.problem.line(point, p, A)
        curvature = line.curvature()
        return curvature / length if curvature > 0.0 else 1.0 / line.straight_step()


class Metric:
    """D of B₀ = γD on the working set, by ``root`` = D^½: made where weights come in, and kept until then."""

    def __init__(self, choice: str, problem: Problem) -> None:
        known = Trait.DIAGONAL_HESSIAN in problem.loss.traits
        self.choice = choice if known else "off"
        self.clear()

    def clear(self) -> None:
        """Forget D, so that it is measured before the next direction."""
        self._root: np.ndarray | None = None
        #: whether D is to be measured anew
        self.stale = True

    @property
    def root(self) -> np.ndarray:
        """Return D^½, which has been measured."""
        assert self._root is not None
        return self._root

    def carry(self, kept: np.ndarray, known: np.ndarray) -> None:
        """Go over to other members, as :meth:`.memory.PairMemory.carry` does; D of new ones is 1 at first."""
        if self._root is not None:
            self._root = spread(self._root[kept], known) + ~known
            self.stale = self.stale or not known.all()

    def measure(self, point: Point, active: WorkingSet) -> np.ndarray | None:
        """Make D where weights came in: the roots of the Hessian's diagonal at ``point``. Return by what the
        unit of each weight D^½w grew, None where there are no pairs in the unit before."""
        if not self.stale:
            return None
        before, self._root, self.stale = self._root, np.ones(len(active)), False
        if self.choice != "off":
            h = point.hessian_diagonal(active)
            if self.choice == "auto":
                self.choice = "on" if spreads(h) else "off"
            mean = float(h.mean())
            if self.choice == "on" and mean > 0.0:
                self._root = np.maximum(h, FLOOR * mean) ** 0.25
        return None if before is None else self._root / before


class InnerProblem:
    """min_d gᵀd + ½dᵀBd + Σ_j λ_j|w_j + d_j| by coordinate descent (section 2.2)."""

    def __init__(self, solver: Any, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.rng = np.random.default_rng(solver.seed)

    def _most(self, size: int, rank: int) -> int:
        """Return the most sweeps over ``size`` weights with B of this rank (line 20)."""
        most, design = self.solver.max_inner, self.problem.design
        if self.solver.balance == "off":
            return most
        fair = self.problem.size // size
        if self.solver.balance == "work":
            least, rest = SWEEPS if fair >= 2 else 1, SCORE_WORK * design.n_rows * design.n_outputs
            fair = max(least, max(rest, LEAST_WORK) // (rank * size))
        return max(1, min(most, fair))

    def solve(
        self, w: np.ndarray, g: np.ndarray, lam: np.ndarray, memory: PairMemory, gamma: float
    ) -> tuple[np.ndarray, int]:
        """Return d and the sweeps it took (lines 19 to 28): at least one. ``lam`` has a λ for each weight."""
        B = memory.compact(gamma)
        if B.rank == 0:  # B = γI separates: one closed-form step is exact
            return soft_threshold(w - g / gamma, lam / gamma) - w, 1
        most = self._most(w.size, B.rank)
        d = np.zeros_like(w)
        sweeps, moved = 0, np.inf
        while sweeps < most and moved > 0.0:
            sweeps += 1
            order = self.rng.permutation(w.size) if self.solver.order == "random" else np.arange(w.size)
            # computed afresh every sweep, against drift
            d_hat = B.Q_hat.T @ d
            moved = 0.0
            for lo in range(0, w.size, SWEEP_CHUNK):
                part = order[lo : lo + SWEEP_CHUNK]
                moved = max(moved, sweep(part, w, g, lam, gamma, B.diagonal, B.Q, B.Q_hat, d, d_hat))
                self.problem.pulse()
        return d, sweeps


def spreads(h: np.ndarray) -> bool:
    """Tell whether curvatures differ by more than ``SPREAD`` between the least and the largest hundredth."""
    h = h[:: max(1, h.size // SAMPLE)]
    low, high = np.quantile(h[h > 0.0], [0.01, 0.99]) if np.any(h > 0.0) else (1.0, 1.0)
    return bool(high > SPREAD * low)
