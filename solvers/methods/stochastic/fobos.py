"""Forward-backward splitting with one instance per step: Duchi and Singer, JMLR 2009."""

from __future__ import annotations

import functools
import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...compute.jit import inlined, kernel
from ...declare import Trait, param, random_seed
from ...linalg.row_norms import row_prox
from ...problems.certificates.optimality import Knows
from ...problems.losses.instances import weighted_residual
from ...problems.problem import Problem
from ..iterate import Ending, Iterate
from ..solver import Solver
from .sgd import runs_of

#: Powers of ten of η0 that are tried first, and the largest ones ever.
GRID, WIDEST = range(-3, 4), 100
#: Instances held out to compare values of η0.
HELD_OUT = 1_000


@dataclass(frozen=True)
class FOBOS(Solver):
    """Stochastic proximal (sub)gradient: V = W - η_t ∇ℓ_i(W), W = prox_{η_t λR}(V), η_t = η0/√t.

    An iterate is a pass over a random permutation. At a kink of ℓ_i, ∇ℓ_i is a subgradient.

    Rows of features that an instance does not have only take proximal steps. These are deferred until an
    instance has the feature. They are then taken in one prox of the summed steps if that is exact (ℓ1, ℓ1/ℓ2,
    ℓ1/ℓ∞), step by step otherwise. η0 = 0 chooses it among 10^-3 ... 10^3, or around 1/mean ‖x_i‖² if that is
    not among them. Each candidate makes a pass over 4/5 of the instances, and the one with the lowest
    objective on the others is chosen. This counts as set-up time. If the first or the last is best, powers of
    ten beyond it are tried until none is better. The best step after one pass is often too short, by up to a
    factor of 10, for runs of hundreds of passes.
    """

    id = "fobos"
    name = "FOBOS"
    summary = "stochastic gradient steps, each followed by a proximal step"
    paper = "Duchi and Singer 2009; Blondel et al. 2013, section 5.2"
    needs = Trait.INSTANCE_KERNELS | Trait.GROUP_SEPARABLE
    knows = Knows(violation=False, dual_gap=False)
    dense_vectors = 3
    carries = ()

    eta0: float = param(0.0, "first step η0; 0 chooses it on held-out data", low=0.0, title="first step η₀")
    seed: int = random_seed("seed of the permutations")

    def prepare(self, problem: Problem) -> FOBOS:
        return self if self.eta0 > 0.0 else replace(self, eta0=choose(problem, self.seed))

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        solver, n = self.prepare(problem), 0
        rng = np.random.default_rng(self.seed)
        state = FobosState(problem, problem.at(w0).w, solver.eta0)
        while True:
            yield Iterate(n, w=state.w, step=solver.eta0 / np.sqrt(max(state.t, 1)), ls_kind="none")
            state.steps(rng.permutation(problem.loss.n_instances))
            n += 1
            if not np.all(np.isfinite(state.w)):
                return Ending("failed", f"diverged in pass {n}: take a smaller eta0")


class FobosState:
    """Weights, and the number of proximal steps taken by the row of each feature (``settled``)."""

    def __init__(self, problem: Problem, w: np.ndarray, eta0: float) -> None:
        loss = problem.loss
        self.problem, self.w, self.eta0, self.t, self.length = problem, w, eta0, 0, 0.0
        # single instances have the loss of the average objective
        share = 1.0 / (problem.scale * loss.n_instances)
        strengths = np.array([share * s for s in (*problem.penalty.row_norms, problem.penalty.ridge)])
        self.rows = problem.design.by_rows()
        self.instances = loss.instances()
        n_features = problem.design.n_features
        factors = problem.penalty.factor_array[: n_features * loss.n_outputs : loss.n_outputs]
        self.factors = factors if factors.size else np.ones(n_features)
        self.settled = Settled(strengths, np.zeros(n_features, dtype=np.int64), np.zeros(n_features))
        self.place = np.full(n_features, -1, dtype=np.int64)

    def steps(self, order: np.ndarray) -> None:
        """Take one step for each instance of ``order``; then all rows are brought up to date."""
        design = self.problem.design
        W, tail = design.split(self.w)
        for part in runs_of(order, self.problem):
            self.length, touched = fobos_steps(
                self.rows, self.instances, W, tail, part, self.t, self.eta0, self.length, self.settled,
                self.factors, self.place,
            )  # fmt: skip
            self.t += part.size
            design.touched += touched
        settle(W, self.t, self.eta0, self.length, self.settled, self.factors)


def choose(problem: Problem, seed: int) -> float:
    """Return η0, the power of ten with the lowest objective on a fifth of the instances after a pass over the
    others.

    On small data each fifth is held out in turn, until ``HELD_OUT`` instances have been. On only a few dozen
    labels the shortest step sometimes looks best by chance.
    """
    loss, n = problem.loss, problem.loss.n_instances
    order = np.random.default_rng(seed).permutation(n)
    part = np.arange(n) % 5
    folds = min(5, -(-5 * HELD_OUT // n))

    @functools.cache
    def objective(power: int) -> float:
        eta0, total = 10.0**power, 0.0
        for fold in range(folds):
            held_out, state = order[part == fold], FobosState(problem, np.zeros(problem.size), eta0)
            state.steps(order[part != fold])
            if not np.all(np.isfinite(state.w)):
                return np.inf
            share = problem.scale * n / max(held_out.size, 1)
            total += share * loss.values(problem.design.scores(state.w))[held_out].sum()
            total += problem.penalty.value(state.w)
        return float(total) if np.isfinite(total) else np.inf

    with np.errstate(all="ignore"):
        # far from it the objective is flat: steps do nothing, or the ridge undoes them
        expected = -round(math.log10(float(problem.design.column_squares().sum()) / n or 1.0))
        grid = GRID if expected in GRID else [expected + power for power in GRID]
        best = min(grid, key=objective)
        for end, step in ((grid[0], -1), (grid[-1], 1)):
            while (best == end or objective(best) == np.inf) and abs(end) < WIDEST:
                end += step
                best = min(best, end, key=objective)
        return 10.0**best


class Settled(NamedTuple):
    """Strengths of the penalty (ℓ1, ℓ2, ℓ∞ of a row, ridge), and the proximal steps taken per feature.

    ``steps`` is their number for the row of each feature, and ``length`` the sum of their lengths.
    """

    strengths: np.ndarray
    steps: np.ndarray
    length: np.ndarray


@kernel
def settle_row(W, j, t, eta0, length, settled, factor):
    """Take the deferred proximal steps of row j, up to step t.

    ``length`` is the sum of the lengths of all steps so far, and ``factor`` the row's penalty factor.
    """
    w, (l1, l2, _, ridge) = W[j], settled.strengths
    at_once = ridge == 0.0 and (l1 == 0.0 or l2 == 0.0)  # proximal steps of one norm add up
    for s in range(t if at_once else settled.steps[j] + 1, t + 1):
        zero = True
        for c in range(w.size):
            zero = zero and w[c] == 0.0
        if zero:
            break
        step = length - settled.length[j] if at_once else eta0 / np.sqrt(s)
        proximal_step(w, factor * step, settled.strengths)


@inlined
def proximal_step(w, step, strengths):
    """Replace a row w by the prox of the whole penalty, ridge included."""
    l1, l2, sup, ridge = strengths
    row_prox(w, step * l1, step * l2, step * sup)
    if ridge > 0.0:
        for c in range(w.size):
            w[c] /= 1.0 + step * ridge


@kernel
def fobos_steps(rows, instances, W, tail, order, t, eta0, length, settled, factors, place):
    """Take steps t + 1, t + 2, ... for the instances of ``order``.

    Return the sum of the lengths of all steps, and the entries of X read. ``place`` (all -1) is work space.
    """
    starts, features, values = rows
    offsets, m, touched = instances.offsets, W.shape[1], 0
    G_tail = np.zeros(tail.size)
    transitions = tail.reshape((-1, m))
    for i in order:
        lo, hi = offsets[i], offsets[i + 1]
        Z, G = np.zeros((hi - lo, m)), np.empty((hi - lo, m))
        mine = np.empty(starts[hi] - starts[lo], np.int64)
        n = 0
        for row in range(lo, hi):
            for p in range(starts[row], starts[row + 1]):
                j, x = np.int64(features[p]), values[p] if values.size else 1.0
                if place[j] < 0:
                    place[j], mine[n] = n, j
                    n += 1
                    settle_row(W, j, t, eta0, length, settled, factors[j])
                for c in range(m):
                    Z[row - lo, c] += x * W[j, c]
        weighted_residual(instances, i, Z, tail, G, G_tail)
        t += 1
        eta = eta0 / np.sqrt(t)
        length += eta
        for row in range(lo, hi):
            for p in range(starts[row], starts[row + 1]):
                j, x = features[p], values[p] if values.size else 1.0
                for c in range(m):
                    W[j, c] -= eta * x * G[row - lo, c]
        for c in range(tail.size):
            tail[c] -= eta * G_tail[c]
        for q in range(n):
            proximal_step(W[mine[q]], factors[mine[q]] * eta, settled.strengths)
        for q in range(transitions.shape[0]):
            proximal_step(transitions[q], eta, settled.strengths)
        for q in range(n):
            j = mine[q]
            settled.steps[j], settled.length[j], place[j] = t, length, -1
        touched += 2 * (starts[hi] - starts[lo])
    return length, touched


@kernel
def settle(W, t, eta0, length, settled, factors):
    """Take the deferred proximal steps of every row."""
    for j in range(W.shape[0]):
        settle_row(W, j, t, eta0, length, settled, factors[j])
        settled.steps[j], settled.length[j] = t, length
