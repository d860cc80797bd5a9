"""FTRL-Proximal, with a step length per weight: McMahan, AISTATS 2011; McMahan et al., KDD 2013."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...compute.jit import inlined, kernel
from ...declare import Trait, param, random_seed
from ...problems.certificates.optimality import Knows
from ...problems.losses.instances import weighted_residual
from ...problems.problem import Problem
from ..iterate import Ending, Iterate
from ..solver import Solver
from .sgd import PRODUCTS_PER_CALL

#: Parts that features are cut into: scores are summed in them, then over them, whatever the threads.
LANES = 4
#: Entries of X, about, that are sorted into batches at once: instances are shuffled within such a span.
ENTRIES_PER_SPAN = 2_000_000
#: Entries times outputs of a step from which on threads share it: synchronization takes 0.1 ms.
TEAM_WORK = 150_000
#: No values.
NO_VALUES = np.empty(0)


@dataclass(frozen=True)
class FTRL(Solver):
    """FTRL-Proximal for f = Σ_i ℓ_i(w) + R(w), R = λ‖w‖₁ + ½ridge ‖w‖².

    An iterate is a pass over a random permutation. Step t takes ``batch`` instances, whose gradients sum to
    g_t. After k instances,

        w_{t+1} = argmin_w (g_1 + ... + g_t)ᵀw + k/N R(w) + ½ Σ_s Σ_j σ_sj (w_j - w_sj)²,

    (McMahan 2011, Table 1, FTRL-Proximal), with σ_1j + ... + σ_tj = r_j √n_j / η0, n_j the sum of the squares
    of g_sj (McMahan et al. 2013, Algorithm 1): a weight with few instances takes a long step at each. r_j is
    the root mean square of the entries of feature j, so that η0 has no unit and needs no search. The minimum
    has a closed form in n and z = Σ_s g_s - σ_s w_s; only weights of the current instances are computed. At a
    kink of ℓ_i, its gradient is a subgradient. Weights that have never had a non-zero gradient keep their
    start value.

    X is stored by columns. A permutation permutes spans of rows, and the instances of each span. The entries
    of a span are sorted into its steps, feature by feature, so that X is not also stored by rows. Features
    are cut into lanes, which threads share.
    """

    id = "ftrl"
    name = "FTRL-Proximal"
    summary = "stochastic steps with a step length per weight, and the whole penalty so far"
    paper = "McMahan 2011; McMahan et al. 2013"
    needs = Trait.INSTANCE_KERNELS | Trait.SEPARABLE
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
    batch: int = param(16, "instances per step", low=1, high=1_000_000, title="instances per step")
    seed: int = random_seed("seed of the permutations")

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        rng, n = np.random.default_rng(self.seed), 0
        state = FtrlState(self, problem, problem.at(w0).w)
        while True:
            yield Iterate(n, w=state.w, ls_kind="none")
            state.pass_over(rng)
            n += 1
            if not (np.isfinite(state.loss) and np.all(np.isfinite(state.w))):
                return Ending("failed", f"diverged in pass {n}: take a smaller eta0")


class Batches(NamedTuple):
    """Instances in the order of the steps, ``size`` per step, and the entries of X in their rows.

    The entries of step b and lane l begin at ``starts[LANES * b + l]``, sorted by feature. ``tokens`` has the
    index of each entry's row within the step. ``values`` is empty for a matrix of ones.
    """

    order: np.ndarray
    size: int
    starts: np.ndarray
    features: np.ndarray
    tokens: np.ndarray
    values: np.ndarray


class Sums(NamedTuple):
    """Quantities that determine the weights: start value, z, n, r/η0, and penalty factors, one row per
    feature."""

    start: np.ndarray
    z: np.ndarray
    n: np.ndarray
    reach: np.ndarray
    factors: np.ndarray


class FtrlState:
    """The state of a run: weights w, sums z, sums of squares n, and the number k of instances so far."""

    def __init__(self, solver: FTRL, problem: Problem, w: np.ndarray) -> None:
        design, loss, penalty = problem.design, problem.loss, problem.penalty
        self.solver, self.problem, self.w, self.k = solver, problem, w, 0
        self.loss, self.instances = 0.0, loss.instances()
        self.W, self.W_tail = design.split(w)
        (z, z_tail), (n, n_tail) = (design.split(np.zeros(problem.size)) for _ in range(2))
        r = np.sqrt(design.column_squares() / np.maximum(design.column_nnz, 1))
        factors = np.ones(design.n_features)
        if penalty.factors is not None:
            factors = penalty.factors[: self.W.size : design.n_outputs]
        self.sums = Sums(self.W, z, n, np.where(r > 0.0, r, 1.0) / solver.eta0, factors)
        tail = self.W_tail[None], z_tail[None], n_tail[None]
        self.tail = Sums(*tail, np.full(1, 1.0 / solver.eta0), np.ones(1))
        # single instances have the loss of the average objective, and each its share of R
        share = 1.0 / (problem.scale * loss.n_instances)
        self.strengths = share * penalty.l1, share * penalty.ridge
        cuts = np.arange(1, LANES) * (design.nnz / LANES)
        inner = np.searchsorted(np.cumsum(design.column_nnz), cuts)
        #: the features of each lane: lanes have about as many entries
        self.lanes = list(pairwise([0, *inner.tolist(), design.n_features]))
        pieces = -(-design.nnz // (ENTRIES_PER_SPAN * max(design.n_blocks, 1)))
        marks = [np.linspace(lo, hi, pieces + 1)[:-1] for lo, hi in pairwise(design.edges)]
        #: the first instance of each span
        firsts = np.searchsorted(self.instances.offsets[:-1], np.concatenate([*marks, design.edges[-1:]]))
        self.firsts = np.unique(firsts)

    def pass_over(self, rng: np.random.Generator) -> None:
        """Make a pass over all instances, then compute all weights; set ``loss`` to the sum of the losses
        met."""
        self.loss = 0.0
        for span in rng.permutation(self.firsts.size - 1):
            first, end = self.firsts[span : span + 2]
            self._take(self._batches(first + rng.permutation(end - first), first, end))
        owed, ridge = (self.k * s for s in self.strengths)
        every_row(self.sums, owed, ridge, self.W)
        every_row(self.tail, owed, ridge, self.W_tail[None])
        self.problem.pulse()

    def _batches(self, order: np.ndarray, first: int, end: int) -> Batches:
        """Return the batches of the instances from ``first`` to ``end`` - 1, taken in the given order."""
        design, offsets, size = self.problem.design, self.instances.offsets, self.solver.batch
        lo, hi = int(offsets[first]), int(offsets[end])
        step, token = np.empty(hi - lo, np.int32), np.empty(hi - lo, np.int32)
        number_rows(offsets, order, size, lo, step, token)
        blocks = (
            int(np.searchsorted(design.edges, lo, side="right")) - 1,
            int(np.searchsorted(design.edges, hi)),
        )
        rows = design.starts, design.rows, design.values, design.edges, blocks, lo, step, token
        at, no_one = np.zeros(-(-order.size // size) * LANES, np.int64), np.empty(0, np.int32)
        self._each_lane(
            lambda lane: place_entries(*rows, lane, *self.lanes[lane], at, no_one, no_one, NO_VALUES)
        )
        starts = np.concatenate([[0], np.cumsum(at)])
        features, tokens = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
        values, at = np.empty(0 if design.binary else starts[-1]), starts[:-1].copy()
        self._each_lane(
            lambda lane: place_entries(*rows, lane, *self.lanes[lane], at, features, tokens, values)
        )
        return Batches(order, size, starts, features, tokens, values)

    def _take(self, batches: Batches) -> None:
        """Take the steps of these batches: many per call, or one by one with the team if that is faster."""
        problem, entries = self.problem, int(batches.starts[-1])
        n_steps = -(-batches.order.size // batches.size)
        work = max(1, 2 * entries * problem.design.n_outputs // n_steps)
        if problem.team.threads > 1 and work >= TEAM_WORK:
            self._take_together(batches, n_steps)
        else:
            size = max(1, PRODUCTS_PER_CALL // work)
            for lo in range(0, n_steps, size):
                hi = min(lo + size, n_steps)
                at = self.instances, self.sums, self.tail, self.k, self.strengths
                self.loss += steps(batches, lo, hi, *at)
                self.k += batches.order[lo * batches.size : hi * batches.size].size
                problem.pulse()
        problem.design.touched += 2 * entries

    def _take_together(self, batches: Batches, n_steps: int) -> None:
        """Take the steps as :func:`steps` does, with lanes shared by the team.

        Each thread adds the gradient of the previous step, then computes its scores. So threads wait for each
        other only once per step.
        """
        work = last = owed = None
        for b in range(n_steps + 1):
            (last, was), owed = (work, owed), (self.k * self.strengths[0], self.k * self.strengths[1])
            members = batches.order[b * batches.size : (b + 1) * batches.size]
            work = new_step_arrays(members, self.instances.offsets, self.W.shape[1], self.W_tail.size)

            def lane(
                number: int,
                b: int = b,
                work: Any = work,
                owed: tuple[float, float] = owed,
                last: Any = last,
                was: tuple[float, float] | None = was,
                size: int = members.size,
            ) -> None:
                if was is not None:
                    add_lane(batches, b - 1, number, self.sums, *was, last.G)
                if size:
                    scores_of_lane(batches, b, number, self.sums, *owed, work.Z[number])

            self._each_lane(lane)
            every_row(self.tail, *owed, work.tail[None])
            residuals_of(members, self.instances, work)
            self.loss += add_tail(self.tail, work)
            self.k += members.size

    def _each_lane(self, task: Callable[[int], None]) -> None:
        self.problem.team.each(task, range(LANES), self.problem.pulse)


@inlined
def at_place(sums, j, owed, ridge, w):
    """Write the weights of feature j, or of the tail, to ``w``; return whether any of them is not zero.

    ``owed`` is λ times the fraction of instances so far, and ``ridge`` the same of the ridge. If n = 0 the
    weight has its start value. Without branches the compiler vectorizes the loop over weights.
    """
    start, z, n, reach = sums.start[j], sums.z[j], sums.n[j], sums.reach[j]
    alive, owed, ridge = 0, sums.factors[j] * owed, sums.factors[j] * ridge
    for c in range(w.size):
        beyond = max(abs(z[c]) - owed, 0.0)
        there = 0.0 - np.copysign(beyond, z[c]) / (reach * np.sqrt(n[c]) + ridge)
        w[c] = start[c] if n[c] == 0.0 else there
        alive += w[c] != 0.0
    return alive > 0


@kernel
def every_row(sums, owed, ridge, W):
    """Compute the weights of all features, or those of the tail, which is one row."""
    for j in range(W.shape[0]):
        at_place(sums, j, owed, ridge, W[j])


@inlined
def add_gradient(z, n, g, w, alive, reach):
    """Add the gradient g of a step to z and n: z ← z + g - σw, σ the increase of r√n/η0."""
    if alive:
        for c in range(w.size):
            if w[c] != 0.0:
                z[c] -= reach * (np.sqrt(n[c] + g[c] * g[c]) - np.sqrt(n[c])) * w[c]
    for c in range(g.size):
        z[c] += g[c]
    for c in range(g.size):
        n[c] += g[c] * g[c]


@kernel
def number_rows(offsets, order, size, lo, step, token):
    """Write for each row, counted from ``lo``, its step, and its index within the step."""
    at = 0
    for q in range(order.size):
        at = 0 if q % size == 0 else at
        for t in range(offsets[order[q]] - lo, offsets[order[q] + 1] - lo):
            step[t], token[t] = q // size, at
            at += 1


@kernel
def place_entries(
    starts, rows, values, edges, blocks, lo, step, token, lane, first, last, at, features, tokens, out
):
    """Write the entries of a lane's features, ``first`` to ``last`` - 1, to the positions ``at``.

    ``at`` has the next position for each step and lane, and is advanced. Rows are those from ``lo`` on that
    have a ``step``. With empty ``features`` the entries are only counted.
    """
    for j in range(first, last):
        for b in range(blocks[0], blocks[1]):
            p, end, base = starts[b, j], starts[b, j + 1], edges[b] - lo
            if base < 0:
                p += np.searchsorted(rows[p:end], -base)
            while p < end and base + rows[p] < step.size:
                i = base + rows[p]
                k = step[i] * LANES + lane
                if features.size:
                    features[at[k]], tokens[at[k]] = j, token[i]
                    if values.size:
                        out[at[k]] = values[p]
                at[k] += 1
                p += 1


class StepArrays(NamedTuple):
    """Arrays of one step: scores by lane, their derivatives, weights of the tail.

    ``G_tail`` and ``losses`` have one row per instance: derivatives with respect to the tail, and the loss.
    """

    Z: np.ndarray
    G: np.ndarray
    tail: np.ndarray
    G_tail: np.ndarray
    losses: np.ndarray


@kernel
def new_step_arrays(members, offsets, m, n_tail):
    """Allocate the arrays of one step."""
    tokens = 0
    for i in members:
        tokens += offsets[i + 1] - offsets[i]
    Z, G = np.empty((LANES, tokens, m)), np.empty((tokens, m))
    return StepArrays(Z, G, np.empty(n_tail), np.zeros((members.size, n_tail)), np.empty(members.size))


@kernel
def scores_of_lane(batches, b, lane, sums, owed, ridge, Z):
    """Write the contribution of a lane's features to the scores, at their current weights."""
    Z[:] = 0.0
    w, features, values = np.empty(Z.shape[1]), batches.features, batches.values
    p, end = batches.starts[b * LANES + lane], batches.starts[b * LANES + lane + 1]
    while p < end:
        j, first = features[p], p
        while p < end and features[p] == j:
            p += 1
        if at_place(sums, j, owed, ridge, w):
            for q in range(first, p):
                add(values[q] if values.size else 1.0, w, Z[batches.tokens[q]])


@kernel
def residuals_of(members, instances, work):
    """Write losses and derivatives of the instances of one step."""
    at = 0
    for q in range(members.size):
        i = members[q]
        lo, hi = instances.offsets[i], instances.offsets[i + 1]
        Z, G = work.Z[0, at : at + hi - lo], work.G[at : at + hi - lo]
        for lane in range(1, LANES):
            for t in range(hi - lo):
                add(1.0, work.Z[lane, at + t], Z[t])
        work.losses[q] = weighted_residual(instances, i, Z, work.tail, G, work.G_tail[q])
        at += hi - lo


@kernel
def add_lane(batches, b, lane, sums, owed, ridge, G):
    """Add the gradient of step b with respect to the weights of a lane's features to their z and n."""
    features, tokens, values = batches.features, batches.tokens, batches.values
    m = G.shape[1]
    w, g = np.empty(m), np.empty(m)
    p, end = batches.starts[b * LANES + lane], batches.starts[b * LANES + lane + 1]
    while p < end:
        j = features[p]
        g[:] = 0.0
        while values.size == 0 and p + 4 <= end and features[p + 3] == j:
            # four rows at a time: one store of the sums for four loads
            i, h, k, q = tokens[p], tokens[p + 1], tokens[p + 2], tokens[p + 3]
            for c in range(m):
                g[c] += (G[i, c] + G[h, c]) + (G[k, c] + G[q, c])
            p += 4
        while p < end and features[p] == j:
            add(values[p] if values.size else 1.0, G[tokens[p]], g)
            p += 1
        alive = at_place(sums, j, owed, ridge, w)
        add_gradient(sums.z[j], sums.n[j], g, w, alive, sums.reach[j])


@kernel
def add_tail(tail, work):
    """Add the gradient with respect to the tail to its z and n; return the loss of the step."""
    g, loss = np.zeros(work.tail.size), 0.0
    for q in range(work.losses.size):
        add(1.0, work.G_tail[q], g)
        loss += work.losses[q]
    add_gradient(tail.z[0], tail.n[0], g, work.tail, True, tail.reach[0])
    return loss


@kernel
def steps(batches, lo, hi, instances, sums, tail, k, strengths):
    """Take the steps ``lo`` to ``hi`` - 1, after k instances; return the sum of their losses."""
    total = 0.0
    for b in range(lo, hi):
        members = batches.order[b * batches.size : (b + 1) * batches.size]
        owed, ridge = k * strengths[0], k * strengths[1]
        work = new_step_arrays(members, instances.offsets, sums.z.shape[1], tail.z.size)
        every_row(tail, owed, ridge, work.tail.reshape((1, -1)))
        for lane in range(LANES):
            scores_of_lane(batches, b, lane, sums, owed, ridge, work.Z[lane])
        residuals_of(members, instances, work)
        for lane in range(LANES):
            add_lane(batches, b, lane, sums, owed, ridge, work.G)
        total += add_tail(tail, work)
        k += members.size
    return total


@inlined
def add(x, v, out):
    """Add x v to ``out``."""
    for c in range(v.size):
        out[c] += x * v[c]
