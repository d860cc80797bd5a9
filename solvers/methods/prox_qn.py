"""Proximal quasi-Newton with aggressive shrinking: Zhong, Yen, Dhillon and Ravikumar, NIPS 2014."""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..compute.jit import kernel
from ..declare import Trait, as_printed, param
from ..parts.linesearch import armijo
from ..parts.memory import PairMemory
from ..problems.working_set import WorkingSet
from .iterate import NAN, Ending, Iterate, ShrinkTest
from .solver import Solver

if TYPE_CHECKING:
    from ..problems.problem import Point, Problem

#: Decrease, in units of |f|, below which a direction counts as none.
NO_DECREASE = 1e-22
#: Coordinates one kernel call visits in a sweep.
SWEEP_CHUNK = 100_000
#: Number of weights above which the first iteration is not done on all of them.
HUGE = 10_000_000


@dataclass(frozen=True)
class ProxQN(Solver):
    """Algorithm 2 of the paper; with ``shrinking=False`` the plain proximal quasi-Newton method.

    What the paper leaves open is decided as follows. The shrinking stop is V_A <= ε_s V_0, where V is the
    largest violation and V_0 that at w = 0; ε_s starts at ``cooling_start`` and becomes, after each epoch,
    max(ε, ``cooling`` · min(ε_s, V/V_0)) with V over all weights. γ of the very first iteration is the
    curvature of the loss along the first direction (the paper's 1 is ``gamma0=1``); it is kept when an epoch
    clears the memory. ``memory=full`` keeps all pairs and the first γ that a pair gives, as Theorem 1 asks.
    """

    id = "prox-qn"
    name = "Prox-QN"
    summary = "proximal quasi-Newton on a working set that shrinks in epochs"
    paper = "Zhong et al. 2014, Algorithm 2"
    needs = Trait.SMOOTH | Trait.ENTRYWISE
    presets = as_printed(gamma0=1.0, shrink_first="off")

    memory: int | str = param(10, "pairs (s, y) kept; full keeps all", low=1, high=1000, words=("full",))
    shrinking: bool = param(True, "confine iterations to a working set that shrinks within an epoch")
    shrink_first: str = param(
        "auto",
        "shrink before the first iteration too, with M̂ the violation at w0; auto: above 10 million weights",
        choices=("auto", "on", "off"),
    )
    max_inner: int = param(10, "most sweeps of coordinate descent over the inner problem", low=1, high=10_000)
    balance: bool = param(True, "fewer sweeps on large working sets: min(max_inner, ⌊d/|A|⌋)")
    order: str = param("cyclic", "order of coordinates in a sweep", choices=("cyclic", "random"))
    beta: float = param(0.5, "factor of the backtracking line search", low=0.0, high=0.999, open_low=True)
    sigma: float = param(
        0.01, "share of the promised decrease that Armijo's rule asks for", low=0.0, high=0.5
    )
    gamma: str = param("ys/ss", "scaling of B₀ from the newest pair", choices=("ys/ss", "yy/sy"))
    gamma0: float = param(0.0, "γ of the first iteration; 0 measures it along the first direction", low=0.0)
    cooling_start: float = param(
        0.1, "shrinking stop ε_s of the first epoch", low=0.0, high=1.0, open_low=True
    )
    cooling: float = param(0.1, "factor of ε_s from epoch to epoch", low=0.0, high=1.0, open_low=True)
    tol: float = param(1e-9, "ε: violation relative to that at w = 0 at which it ends", low=0.0, high=1.0)
    seed: int = param(0, "seed of the random order", low=0)

    @property
    def dense_vectors(self) -> int:
        return 4

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        lam, N = problem.penalty.l1, problem.loss.n_instances
        V0 = max(problem.violation_at_zero(), sys.float_info.min)
        inner = _InnerProblem(self, problem)
        memory = PairMemory(None if self.memory == "full" else self.memory)
        point = problem.at(w0)
        A, g = problem.design.working_set(), point.gradient()
        problem.pulse()
        gamma, M_hat = self.gamma0, self._first_threshold(problem, point)
        eps_s, epoch, dropped_from, exhausted = self.cooling_start, 0, None, False
        n, yielded, known, events = 0, -1, {}, ("epoch-start",)
        while True:
            full, asked, bound = A.full, (A, g), lam - M_hat / N
            problem.pulse()
            keep, M = shrink(A.take(point.w), g, lam, M_hat / N)
            problem.pulse()
            if self.shrinking and not keep.all():
                A, g = A.restrict(keep), g[keep]
                memory.restrict(keep)
            M_hat = M
            if not full and (exhausted or eps_s * V0 >= M):
                dropped_from, exhausted = A, False
                epoch, A, g = epoch + 1, problem.design.working_set(), point.gradient()
                eps_s = max(self.tol, self.cooling * min(eps_s, point.violation() / V0))
                memory.clear()
                events += ("epoch-start", "memory-cleared")
                continue
            if yielded < n:
                known |= {"epoch": epoch, "memory_pairs": len(memory), "events": events}
                known["violation"] = M if full else NAN
                returned = _returned(point, dropped_from)
                known["returned"] = returned.size
                if self.shrinking:
                    known["shrinking"] = ShrinkTest(*asked, lam, bound, M, eps_s * V0, returned)
                yield Iterate.at(point, n, active=A, gradient=g, memory=memory, **known)
                yielded, events = n, ()
            if full and self.tol * V0 >= M:
                return Ending("converged", f"violation {M:.3g} is at most {self.tol:g} times that at w = 0")

            if gamma == 0.0:
                gamma = self._first_curvature(problem, point, A, g)
            w, t = A.take(point.w), 0.0
            while t == 0.0:
                d, sweeps = inner.solve(w, g, lam, memory, gamma)
                decrease = promised(w, g, d, lam)
                if decrease < -NO_DECREASE * abs(point.objective):
                    line = problem.line(point, d, A)
                    line.decrease, line.sigma = decrease, self.sigma
                    t, trials = armijo(line, point.objective, decrease, beta=self.beta, sigma=self.sigma)
                if t == 0.0 and len(memory) == 0:
                    break
                if t == 0.0:
                    memory.clear()
                    events += ("memory-cleared",)
            if t == 0.0:
                if full:
                    return Ending("stalled", "no direction decreases the objective beyond rounding")
                exhausted = True
                events += ("stalled-on-working-set",)
                continue

            n, point = n + 1, line.move(t)
            g_new = point.gradient(A)
            curvature = memory.push(t * d, g_new - g)
            g = g_new
            if curvature is None:
                events += ("curvature-skipped",)
            elif self.memory != "full" or len(memory) == 1:
                gamma = memory.scaling(self.gamma)
            if trials > 1:
                events += ("backtracked",)
            known = {
                "phase": "shrink" if self.shrinking else None,
                "step": t,
                "ls_trials": trials,
                "ls_kind": "armijo",
                "gamma": gamma,
                "curvature": NAN if curvature is None else curvature,
                "inner_iterations": sweeps,
                "line": line,
            }

    def _first_threshold(self, problem: Problem, point: Point) -> float:
        """M̂ before the first iteration: ∞ as in line 1, or the violation at w0 (for a huge d)."""
        first = self.shrink_first == "on" or (self.shrink_first == "auto" and problem.size > HUGE)
        return point.violation() if first else np.inf

    @staticmethod
    def _first_curvature(problem: Problem, point: Point, A: WorkingSet, g: np.ndarray) -> float:
        """pᵀ∇²F p / pᵀp along p = S(w - g, λ) - w, the direction that B = I gives."""
        w = A.take(point.w)
        p = problem.penalty.prox(w - g, 1.0) - w
        length = float(p @ p)
        curvature = problem.line(point, p, A).curvature() if length else 0.0
        return curvature / length if curvature > 0.0 else 1.0


class _InnerProblem:
    """min_d gᵀd + ½dᵀBd + λ‖w + d‖₁ by coordinate descent (section 2.2)."""

    def __init__(self, solver: ProxQN, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.rng = np.random.default_rng(solver.seed)

    def solve(
        self, w: np.ndarray, g: np.ndarray, lam: float, memory: PairMemory, gamma: float
    ) -> tuple[np.ndarray, int]:
        """The direction on the working set, and the sweeps it took: min(max_inner, ⌊d/|A|⌋), at least one."""
        B = memory.compact(gamma)
        if B.rank == 0:  # B = γI separates: one closed-form step is exact
            return self.problem.penalty.prox(w - g / gamma, 1.0 / gamma) - w, 1
        most = self.solver.max_inner
        if self.solver.balance:
            most = max(1, min(most, self.problem.size // w.size))
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


def _returned(point: Point, dropped_from: WorkingSet | None) -> np.ndarray:
    """Non-zero weights that were outside the working set when the last epoch ended."""
    if dropped_from is None:
        return np.empty(0, dtype=np.int64)
    active = point.active
    support = np.flatnonzero(point.w if active is None else active.take(point.w))
    if active is not None and not active.full:
        support = active.coordinates[support]
    return support[np.isin(support, dropped_from.coordinates, assume_unique=True, invert=True)]


def shrink(w: np.ndarray, g: np.ndarray, lam: float, slack: float) -> tuple[np.ndarray, float]:
    """Lines 3 to 9 of Algorithm 2: who stays (w_j ≠ 0 or |g_j| > λ - M̂/N), and M by eq. (16)."""
    keep = np.empty(w.size, dtype=np.bool_)
    return keep, _shrink(w, g, lam, slack, keep)


@kernel
def _shrink(w, g, lam, slack, keep):
    M = 0.0
    for j in range(w.size):
        keep[j] = w[j] != 0.0 or abs(g[j]) - lam + slack > 0.0
        if keep[j]:
            violation = abs(g[j]) - lam if w[j] == 0.0 else abs(g[j] + np.sign(w[j]) * lam)
            M = max(M, violation)
    return M


@kernel
def promised(w, g, d, lam):
    """Δ = gᵀd + λ(‖w + d‖₁ - ‖w‖₁), term by term: near the optimum the two sums cancel to all digits."""
    total = 0.0
    for j in range(w.size):
        if w[j] > 0.0 and w[j] + d[j] >= 0.0:
            total += (g[j] + lam) * d[j]
        elif w[j] < 0.0 and w[j] + d[j] <= 0.0:
            total += (g[j] - lam) * d[j]
        else:
            total += g[j] * d[j] + lam * (abs(w[j] + d[j]) - abs(w[j]))
    return total


@kernel
def sweep(order, w, g, lam, gamma, diagonal, Q, Q_hat, d, d_hat):
    """Lines 22 to 27: one pass of coordinate descent; d and d̂ = Q̂ d move in place. Returns max |z|."""
    rank = d_hat.size
    moved = 0.0
    for j in order:
        Bd = gamma * d[j]
        for k in range(rank):
            Bd -= Q[j, k] * d_hat[k]
        a, b, c = diagonal[j], g[j] + Bd, w[j] + d[j]
        u, threshold = c - b / a, lam / a
        target = max(u - threshold, 0.0) + min(u + threshold, 0.0)
        z = target - c
        if z != 0.0:
            d[j] = target - w[j]  # not d[j] + z: w + d is exactly zero where the target is
            moved = max(moved, abs(z))
            for k in range(rank):
                d_hat[k] += z * Q_hat[j, k]
    return moved
