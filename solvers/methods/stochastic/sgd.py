"""Stochastic gradient descent with cumulative ℓ1 penalty: Tsuruoka, Tsujii and Ananiadou, ACL 2009."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...compute.jit import inlined, kernel
from ...declare import Trait, as_printed, param, random_seed
from ...linalg.by_rows import Rows
from ...problems.certificates.optimality import Knows
from ...problems.losses.instances import weighted_residual
from ...problems.problem import Problem
from ..iterate import Ending, Iterate
from ..solver import Solver

#: Entries times outputs that one kernel call handles, which takes 5 to 60 ms depending on the loss.
PRODUCTS_PER_CALL = 1_000_000
#: Instances on which η0 is tuned.
SUBSAMPLE = 1000


@dataclass(frozen=True)
class SGDL1(Solver):
    """Stochastic gradient descent for f = Σ_i ℓ_i(w) + λ‖w‖₁, with one instance per step.

    An iterate is a pass over a random permutation. Step k is w ← w - η_k ∇ℓ_i(w), and every weight then owes
    η_k λ/N of penalty. The penalty is only applied at instances that use the weight (u and q of the paper),
    before the weight is used. So the result is the same as if it were applied at every step. With
    ``stale=True``, as in the paper, it is applied after the step only. At a kink of ℓ_i, ∇ℓ_i is a
    subgradient. ``schedule="inverse"`` is η0/(1 + k/N) (Zhong et al. 2014), ``"exponential"`` η0 0.85^(k/N)
    (Tsuruoka et al.). With ``eta0=0`` η0 is tuned on up to 1,000 instances (Bottou's recipe). Among powers of
    two around 1/max ‖x_i‖² it is the one with the lowest objective after a pass. This counts as set-up time.
    """

    id = "sgd-l1"
    name = "SGD-ℓ1"
    summary = "stochastic gradient steps with cumulative ℓ1 penalty"
    paper = "Tsuruoka et al. 2009; Zhong et al. 2014, section 6"
    needs = Trait.INSTANCE_KERNELS | Trait.SEPARABLE | Trait.NO_RIDGE | Trait.UNIFORM
    knows = Knows(violation=False, dual_gap=False)
    presets = as_printed(schedule="exponential", stale=True)
    dense_vectors = 4
    carries = ()

    eta0: float = param(0.0, "first step η0; 0 tunes it on a subsample", low=0.0, title="first step η₀")
    schedule: str = param(
        "inverse", "schedule of the step length", choices=("inverse", "exponential"), title="step schedule"
    )
    stale: bool = param(
        False, "use weights that have not paid their penalty yet, as the paper does", title="stale weights"
    )
    seed: int = random_seed("seed of the permutations")

    def prepare(self, problem: Problem) -> SGDL1:
        if self.eta0 > 0.0:
            return self
        return replace(self, eta0=tune(self, problem))

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        solver = self.prepare(problem)
        rng = np.random.default_rng(self.seed)
        w = problem.at(w0).w
        state = SgdState(problem, w, problem.loss.n_instances)
        iteration = 0
        while True:
            shown = w.copy() if self.stale else w
            if self.stale:
                state.settle(shown, state.q.copy())
            yield Iterate(iteration, w=shown, step=solver.eta(state.k / state.N), ls_kind="none")
            state.steps(solver, rng.permutation(state.N))
            if not self.stale:
                state.settle(w, state.q)
            if not np.isfinite(state.loss):
                return Ending("failed", f"diverged in pass {iteration + 1}: take a smaller eta0")
            iteration += 1

    def eta(self, passes: float) -> float:
        """Return the step length η after this many passes."""
        return self.eta0 * 0.85**passes if self.schedule == "exponential" else self.eta0 / (1.0 + passes)


class SgdState:
    """Weights w, the penalty applied to each (q), the largest that could have been (u), and arrays for
    kernels."""

    def __init__(self, problem: Problem, w: np.ndarray, N: int) -> None:
        design, loss = problem.design, problem.loss
        self.problem, self.w, self.N, self.k, self.u, self.loss = problem, w, N, 0, 0.0, 0.0
        # an average objective times n is a sum with λ n
        self.lam = problem.penalty.l1 / problem.scale * N / loss.n_instances
        self.q = np.zeros(problem.size)
        self.rows: Rows = design.by_rows()
        self.instances = loss.instances()
        places = np.full(design.n_features, -1, dtype=np.int64)
        self.marks = FeatureMarks(places, np.zeros(design.n_features, dtype=np.bool_))

    def steps(self, solver: SGDL1, order: np.ndarray, eta0: float | None = None) -> None:
        """Take one step for each instance of ``order``, and set ``loss`` to the sum of the losses met."""
        design = self.problem.design
        weights, paid = Weights(*design.split(self.w)), Weights(*design.split(self.q))
        decay = 0.85 if solver.schedule == "exponential" else 0.0
        eta0 = solver.eta0 if eta0 is None else eta0
        schedule = Schedule(self.N, eta0, decay, self.lam, solver.stale)
        self.loss = 0.0
        for part in runs_of(order, self.problem):
            self.u, loss, touched = sgd_steps(
                self.rows, self.instances, weights, paid, part, self.k, self.u, schedule, self.marks
            )
            self.k += part.size
            self.loss += loss
            design.touched += touched

    def settle(self, w: np.ndarray, q: np.ndarray) -> None:
        """Apply the penalty that the weights ``w`` still owe; ``q`` is the penalty applied to each so far."""
        split = self.problem.design.split
        settle(Weights(*split(w)), Weights(*split(q)), self.u, self.marks.seen)


def runs_of(order: np.ndarray, problem: Problem) -> Iterator[np.ndarray]:
    """Yield consecutive slices of instances, one per kernel call, and call the pulse after each."""
    design = problem.design
    per_instance = max(1, design.nnz * design.n_outputs // max(problem.loss.n_instances, 1))
    size = max(1, PRODUCTS_PER_CALL // per_instance)
    for lo in range(0, order.size, size):
        yield order[lo : lo + size]
        problem.pulse()


def tune(solver: SGDL1, problem: Problem) -> float:
    """Return the η0 with the lowest objective after trial passes over a subsample."""
    rng = np.random.default_rng(solver.seed)
    N = min(SUBSAMPLE, problem.loss.n_instances)
    chosen = rng.choice(problem.loss.n_instances, N, replace=False)

    @functools.cache
    def objective(eta0: float) -> float:
        w = np.zeros(problem.size)
        state = SgdState(problem, w, N)
        with np.errstate(all="ignore"):
            state.steps(solver, chosen, eta0)
            state.settle(w, state.q)
            state.steps(solver, chosen, 0.0)  # steps of length zero only add up the losses
        value = state.loss + state.lam * float(np.abs(w[w != 0.0]).sum())
        return value if np.isfinite(value) else np.inf

    _, offsets, _, weights = problem.loss.instances()
    norms = np.add.reduceat(problem.design.by_rows().squared_norms(), offsets[:-1])
    if problem.design.n_tail:
        # the transitions of a chain count as features that are one
        norms += np.diff(offsets) - 1 + 2 * (problem.design.n_tail > problem.loss.n_outputs**2)
    if weights.size:
        norms *= weights
    eta0 = 2.0 ** -np.ceil(np.log2(norms[chosen].max() or 1.0))
    factor = 2.0 if objective(2.0 * eta0) <= objective(eta0) else 0.5
    for _ in range(30):
        if objective(factor * eta0) >= objective(eta0):
            break
        eta0 *= factor
    return float(eta0)


class Weights(NamedTuple):
    """Weights of features, (n_features, outputs), and of the tail; or the penalty applied to each."""

    W: np.ndarray
    tail: np.ndarray


class Schedule(NamedTuple):
    """Parameters of the steps of a pass.

    ``N`` is the number of instances per pass, and ``lam`` the λ of a pass. Step lengths are η0/(1 + passes)
    or, with a ``decay``, η0 decay^passes. With ``stale`` weights are used before their penalty is applied.
    """

    N: int
    eta0: float
    decay: float
    lam: float
    stale: bool


class FeatureMarks(NamedTuple):
    """Marks of each feature for the current instance, and for all so far.

    ``place`` is its index among the features of the current instance, -1 if that does not have it. ``seen``
    is whether any instance so far had it.
    """

    place: np.ndarray
    seen: np.ndarray


@kernel
def _pay(w, q, u):
    """Move a weight towards zero, but not beyond, by the penalty it owes, u + q or u - q.

    Return the weight and the new q (APPLYPENALTY of Tsuruoka et al. 2009).
    """
    new = w
    if w > 0.0:
        new = max(0.0, w - (u + q))
    elif w < 0.0:
        new = min(0.0, w + (u - q))
    return new, q + (new - w)


@kernel
def sgd_steps(rows, instances, weights, paid, order, k, u, schedule, marks):
    """Take steps k, k + 1, ... for the instances of ``order``.

    Return u, the sum of the losses met, and the entries of X read.
    """
    starts, features, values = rows
    offsets = instances.offsets
    W, tail = weights
    Q, q_tail = paid
    N, eta0, decay, lam, stale = schedule
    m = W.shape[1]
    total, touched = 0.0, 0
    G_tail = np.zeros(tail.size)
    for i in order:
        lo, hi = offsets[i], offsets[i + 1]
        mine = np.empty(starts[hi] - starts[lo], np.int64)
        n = meet(starts, features, lo, hi, marks, mine)
        if not stale:
            for q in range(n):
                j = mine[q]
                for c in range(m):
                    W[j, c], Q[j, c] = _pay(W[j, c], Q[j, c], u)
            for c in range(tail.size):
                tail[c], q_tail[c] = _pay(tail[c], q_tail[c], u)
        Z, G = np.zeros((hi - lo, m)), np.empty((hi - lo, m))
        for t in range(lo, hi):
            for p in range(starts[t], starts[t + 1]):
                x = values[p] if values.size else 1.0
                for c in range(m):
                    Z[t - lo, c] += x * W[features[p], c]
        total += weighted_residual(instances, i, Z, tail, G, G_tail)
        passes = k / N
        eta = eta0 * decay**passes if decay > 0.0 else eta0 / (1.0 + passes)
        u += eta * lam / N
        # the gradient is summed over positions first: one by one, a weight would be clipped in between
        g = np.zeros((n, m))
        for t in range(lo, hi):
            for p in range(starts[t], starts[t + 1]):
                x = values[p] if values.size else 1.0
                for c in range(m):
                    g[marks.place[features[p]], c] += x * G[t - lo, c]
        for q in range(n):
            j = mine[q]
            marks.place[j] = -1
            for c in range(m):
                W[j, c], Q[j, c] = _pay(W[j, c] - eta * g[q, c], Q[j, c], u)
        for c in range(tail.size):
            tail[c], q_tail[c] = _pay(tail[c] - eta * G_tail[c], q_tail[c], u)
        touched += 2 * (starts[hi] - starts[lo])
        k += 1
    return u, total, touched


@inlined
def meet(starts, features, lo, hi, marks, mine):
    """Write the features of rows lo to hi - 1 of X to ``mine``, each once, and mark them; return their
    number."""
    n = 0
    for t in range(lo, hi):
        for p in range(starts[t], starts[t + 1]):
            j = features[p]
            if marks.place[j] < 0:
                marks.place[j], mine[n] = n, j
                n += 1
                marks.seen[j] = True
    return n


@kernel
def settle(weights, paid, u, seen):
    """Apply the penalty that weights still owe: those of every feature seen so far, and those of the tail."""
    W, tail = weights
    Q, q_tail = paid
    for j in range(W.shape[0]):
        if seen[j]:
            for c in range(W.shape[1]):
                W[j, c], Q[j, c] = _pay(W[j, c], Q[j, c], u)
    for c in range(tail.size):
        tail[c], q_tail[c] = _pay(tail[c], q_tail[c], u)
