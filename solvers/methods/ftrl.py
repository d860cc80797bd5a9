"""FTRL-Proximal, a step of its own for each weight: McMahan, AISTATS 2011; McMahan et al., KDD 2013."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ..compute.jit import inlined, kernel
from ..declare import Trait, param, random_seed
from ..problems.certificates.optimality import Knows
from ..problems.losses.instances import residual_of
from ..problems.problem import Problem
from .iterate import Ending, Iterate
from .sgd import CHUNK, Weights
from .solver import Solver


@dataclass(frozen=True)
class FTRL(Solver):
    """f = Σ_i ℓ_i(w) + R(w), R = λ‖w‖₁ + ½ridge ‖w‖²; an iterate is a pass over a random permutation.

    Step t takes ``batch`` instances, whose gradients sum to g_t. After k instances,

        w_{t+1} = argmin_w (g_1 + ... + g_t)ᵀw + k/N R(w) + ½ Σ_s Σ_j σ_sj (w_j - w_sj)²,

    (McMahan 2011, Table 1, FTRL-Proximal), with σ_1j + ... + σ_tj = r_j √n_j / η0, n_j the sum of the squares
    of g_sj (McMahan et al. 2013, Algorithm 1): a weight whose instances are rare goes far at each. r_j is the
    root mean square of the entries of feature j, so that η0 has no unit and needs no search. The minimum is
    in closed form from n and z = Σ_s g_s - σ_s w_s; only weights of the instances at hand are computed. Where
    ℓ_i has a kink, its gradient is a subgradient. Weights that no gradient has met stay where they were.
    """

    id = "ftrl"
    name = "FTRL-Proximal"
    summary = "stochastic steps of a length for each weight, with the whole penalty so far"
    paper = "McMahan 2011; McMahan et al. 2013"
    needs = Trait.SAMPLES | Trait.SEPARABLE
    knows = Knows(violation=False, dual_gap=False)
    dense_vectors = 4
    carries = ()

    eta0: float = param(
        0.25,
        "length η0 of a weight's first step, in units of its feature",
        low=0.0,
        open_low=True,
        title="first step η₀",
    )
    batch: int = param(8, "instances a step", low=1, high=1_000_000, title="instances a step")
    seed: int = random_seed("seed of the permutations")

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        rng, n = np.random.default_rng(self.seed), 0
        state = _State(self, problem, problem.at(w0).w)
        while True:
            yield Iterate(n, w=state.w, ls_kind="none")
            state.steps(rng.permutation(problem.loss.n_instances))
            n += 1
            if not (np.isfinite(state.loss) and np.all(np.isfinite(state.w))):
                return Ending("failed", f"diverged in pass {n}: take a smaller eta0")


class _State:
    """Weights w, sums z and sums of squares n by their letters, and the instances k so far."""

    def __init__(self, solver: FTRL, problem: Problem, w: np.ndarray) -> None:
        design, loss = problem.design, problem.loss
        self.solver, self.problem, self.w, self.k = solver, problem, w, 0
        self.loss = 0.0
        self.rows, self.instances = design.by_rows(), loss.instances()
        self.W = Weights(*design.split(w))
        self.z, self.n = (Weights(*design.split(np.zeros(problem.size))) for _ in range(2))
        counts = np.bincount(self.rows.features, minlength=design.n_features)
        r = np.sqrt(design.column_squares() / np.maximum(counts, 1))
        self.r = np.where(r > 0.0, r, 1.0)
        # single instances have the loss of the average objective, and each its share of R
        self.share = 1.0 / (problem.scale * loss.n_instances)
        self.place = np.full(design.n_features, -1, dtype=np.int64)

    def steps(self, order: np.ndarray) -> None:
        """Go over the instances of ``order`` in batches, then compute all weights; set ``loss`` to the sum of
        their losses on the way."""
        problem, design, penalty = self.problem, self.problem.design, self.problem.penalty
        per_instance = max(1, design.nnz * design.n_outputs // max(problem.loss.n_instances, 1))
        batch = self.solver.batch
        size = batch * max(1, CHUNK // per_instance // batch)
        strengths = self.share * penalty.l1, self.share * penalty.ridge
        arrays, self.loss = (self.W, self.z, self.n, self.r, self.place), 0.0
        for lo in range(0, order.size, size):
            part = order[lo : lo + size]
            loss, touched = ftrl_steps(
                self.rows, self.instances, *arrays, part, batch, self.k, self.solver.eta0, strengths
            )
            self.loss += loss
            design.touched += touched
            self.k += part.size
            problem.pulse()
        owed, ridge = (self.k * s for s in strengths)
        at_place(self.W.tail, self.z.tail, self.n.tail, 1.0 / self.solver.eta0, owed, ridge, self.W.tail)
        every_row(self.W.W, self.z.W, self.n.W, self.r / self.solver.eta0, owed, ridge)
        problem.pulse()


@inlined
def at_place(start, z, n, reach, owed, ridge, w):
    """Write the weights of one feature, or of the tail, to ``w``; tell whether any is not zero. ``reach`` is
    r/η0, ``owed`` the λ and ``ridge`` the ridge of the instances so far; where n = 0 it is ``start``."""
    alive = False
    for c in range(w.size):
        beyond = abs(z[c]) - owed
        if beyond > 0.0:
            w[c] = -np.sign(z[c]) * beyond / (reach * np.sqrt(n[c]) + ridge)
        else:
            w[c] = start[c] if n[c] == 0.0 else 0.0
        if w[c] != 0.0:
            alive = True
    return alive


@kernel
def every_row(W, z, n, reach, owed, ridge):
    """Compute the weights of all features in place."""
    for j in range(W.shape[0]):
        at_place(W[j], z[j], n[j], reach[j], owed, ridge, W[j])


@inlined
def add_gradient(z, n, g, w, alive, reach):
    """Add a step to z and n: z ← z + g - σw, σ the rise of r√n/η0."""
    if alive:
        for c in range(w.size):
            if w[c] != 0.0:
                z[c] -= reach * (np.sqrt(n[c] + g[c] * g[c]) - np.sqrt(n[c])) * w[c]
    for c in range(g.size):
        z[c] += g[c]
    for c in range(g.size):
        n[c] += g[c] * g[c]


@kernel
def ftrl_steps(rows, instances, weights, sums, squares, r, place, order, batch, k, eta0, strengths):
    """Take the steps for the instances of ``order``, after k others; return the sum of their losses and
    the entries of X touched. Weights stay as they are: those at hand are computed from ``sums`` and
    ``squares``."""
    starts, features, values = rows
    term, offsets, y = instances
    (start, tail_start), (z, z_tail), (n, n_tail) = weights, sums, squares
    m, width = start.shape[1], y.size // offsets[-1]
    total, touched = 0.0, 0
    tail, G_tail = np.empty(tail_start.size), np.zeros(tail_start.size)
    for first in range(0, order.size, batch):
        some, owed, ridge = order[first : first + batch], k * strengths[0], k * strengths[1]
        mine = meet(starts, features, offsets, some, place)
        w, g = np.empty((mine.size, m)), np.zeros((mine.size, m))
        alive, g_tail = np.empty(mine.size, np.bool_), np.zeros(tail.size)
        for q in range(mine.size):
            j = mine[q]
            alive[q] = at_place(start[j], z[j], n[j], r[j] / eta0, owed, ridge, w[q])
        at_place(tail_start, z_tail, n_tail, 1.0 / eta0, owed, ridge, tail)
        for i in some:
            lo, hi = offsets[i], offsets[i + 1]
            Z, G = np.zeros((hi - lo, m)), np.empty((hi - lo, m))
            for t in range(lo, hi):
                for p in range(starts[t], starts[t + 1]):
                    q = place[features[p]]
                    if alive[q]:
                        add(values[p] if values.size else 1.0, w[q], Z[t - lo])
            total += residual_of(term, Z, tail, y[lo * width : hi * width], G, G_tail)
            for t in range(lo, hi):
                for p in range(starts[t], starts[t + 1]):
                    add(values[p] if values.size else 1.0, G[t - lo], g[place[features[p]]])
            add(1.0, G_tail, g_tail)
            touched += 2 * (starts[hi] - starts[lo])
        for q in range(mine.size):
            j = mine[q]
            place[j] = -1
            add_gradient(z[j], n[j], g[q], w[q], alive[q], r[j] / eta0)
        add_gradient(z_tail, n_tail, g_tail, tail, True, 1.0 / eta0)
        k += some.size
    return total, touched


@inlined
def add(x, v, out):
    """Add x v to ``out``."""
    for c in range(v.size):
        out[c] += x * v[c]


@inlined
def meet(starts, features, offsets, some, place):
    """List the features that some instances have, each once, and set their ``place`` in the list."""
    most = 0
    for i in some:
        most += starts[offsets[i + 1]] - starts[offsets[i]]
    mine, n = np.empty(min(most, place.size), np.int64), 0
    for i in some:
        for p in range(starts[offsets[i]], starts[offsets[i + 1]]):
            j = features[p]
            if place[j] < 0:
                place[j], mine[n] = n, j
                n += 1
    return mine[:n]
