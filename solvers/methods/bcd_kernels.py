"""Kernels of block coordinate descent: passes over rows of W, with the scores kept up to date in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.jit import kernel
from ..problems.losses.columns import column_derivatives, column_entries, column_move, scratch_for
from ..problems.row_norms import norm, row_prox, row_subgradient, row_value

#: Units of rounding by which a step may miss its decrease, and the number of steps tried.
ROUNDING, TRIALS = 10.0 * np.finfo(float).eps, 30
#: Smallest share of the second derivatives that is taken for curvature.
LEAST = 0.1


class Blocks(NamedTuple):
    """State of each feature: whether it stays active, its K_j (empty with a search), and with a search
    the least 𝓛_j and the share s_j of the second derivatives."""

    keep: np.ndarray
    K: np.ndarray
    floor: np.ndarray
    shares: np.ndarray


class Strengths(NamedTuple):
    """Factors of the parts of the objective: scale · loss + ridge ½‖w‖² + the norms of :mod:`.row_norms`."""

    scale: float
    ridge: float
    l1: float
    l2: float
    sup: float


class Searching(NamedTuple):
    """Settings of the search along a row: factor of the steps, share of the promised decrease, factor of
    s_j."""

    omega: float
    sigma: float
    lengthen: float


@kernel
def update_rows(data, Z, W, order, blocks, strengths, searching, slack, ignore_direction, longest):
    """Update the rows of W of the features in ``order``, one after the other (Blondel et al. 2013, Algorithm
    2); Z = X W moves with W. ``data`` is what :mod:`..problems.losses.columns` reads.

    𝓛_j is K_j, without search, or s_j max(‖h_j‖_∞, floor_j) with a search where K is empty; where it is zero
    only the penalty sees the row. Shares s_j fall by the factor ``lengthen`` where the first trial is taken,
    and double, up to 1, where it is not. A row at zero is left out, and marked in ``keep``, if it stays
    optimal when the strengths fall by the share ``slack``. Returns the sum and the largest of the violations,
    the trials, and the entries of X touched.

    ``longest`` gets the longest search, unless the one it holds is as long: first the number of trials, f
    before and j, then t, f and the most that the rule allows, a row a trial. That f is what depends on the
    row, up to a constant.
    """
    keep, K, floor, shares = blocks
    scale, ridge, l1, l2, sup = strengths
    omega, sigma, lengthen = searching
    m, search = W.shape[1], K.size == 0
    G, H, V, out, part = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    tried = np.empty((TRIALS, 3))
    work = scratch_for(m)
    total, largest, trials, touched = 0.0, 0.0, 0, 0
    for j in order:
        w = W[j]
        loss = column_derivatives(data, Z, j, G, H, work)
        entries = column_entries(data.starts, j)
        touched += entries
        keep[j] = zero = True
        steepest = 0.0
        for c in range(m):
            G[c] = scale * G[c] + ridge * w[c]
            zero = zero and w[c] == 0.0
            steepest = max(steepest, H[c])
        violation = block_violation(w, G, l1, l2, sup, out, ignore_direction and not zero)
        total += violation
        largest = max(largest, violation)
        if zero and violation == 0.0:
            if slack < 1.0:
                left = 1.0 - slack
                for c in range(m):
                    out[c] = G[c]
                row_prox(out, left * l1, left * l2, left * sup)
                keep[j] = sup_norm(out) > 0.0
            continue
        L = shares[j] * max(scale * steepest + ridge, floor[j]) if search else K[j]
        for c in range(m):
            V[c] = w[c] - G[c] / L if L > 0.0 else 0.0
        if L > 0.0:
            row_prox(V, l1 / L, l2 / L, sup / L)
        slope, moves = 0.0, False
        for c in range(m):
            out[c] = V[c] - w[c]
            slope += G[c] * out[c]
            moves = moves or out[c] != 0.0
        if not moves:
            continue
        if not search:
            move_scores(data, Z, j, out)
            touched += entries
            for c in range(m):
                w[c] = V[c]
            continue
        before = row_value(w, l1, l2, sup)
        promised = slope + row_value(V, l1, l2, sup) - before
        rounding = ROUNDING * (scale * (loss + entries) + before)
        start = scale * loss + before
        t, done = 1.0, 0.0
        for trial in range(TRIALS + 1):
            if trial == TRIALS:
                t = 0.0
            for c in range(m):
                part[c] = (t - done) * out[c]
            after = column_move(data, Z, j, part, work)
            touched += entries
            done = t
            if t == 0.0:
                break
            trials += 1
            ridges = 0.0
            for c in range(m):
                V[c] = V[c] if t == 1.0 else w[c] + t * out[c]
                ridges += V[c] * V[c] - w[c] * w[c]
            change = scale * (after - loss) + 0.5 * ridge * ridges + row_value(V, l1, l2, sup) - before
            tried[trial, 0], tried[trial, 1] = t, start + change
            tried[trial, 2] = start + sigma * t * promised
            if trial + 1 > longest[0, 0]:
                longest[0, 0], longest[0, 1], longest[0, 2] = trial + 1, start, j
                for k in range(trial + 1):
                    for c in range(3):
                        longest[k + 1, c] = tried[k, c]
            if change <= sigma * t * promised + rounding:  # eq. (7)
                for c in range(m):
                    w[c] = V[c]
                break
            t *= omega
        # a step that rounding let pass says nothing
        passed = t == 1.0 and -sigma * promised > rounding
        shares[j] = max(lengthen * shares[j], LEAST) if passed else min(2.0 * shares[j], 1.0)
    return total, largest, trials, touched


@kernel
def move_scores(data, Z, j, change):
    """Add x_j changeᵀ to the scores Z."""
    for b in range(data.starts.shape[0]):
        edge = np.uint64(data.edges[b])
        for p in range(np.uint64(data.starts[b, j]), np.uint64(data.starts[b, j + 1])):
            i, x = edge + data.rows[p], data.values[p] if data.values.size else 1.0
            for c in range(change.size):
                Z[i, c] += x * change[c]


@kernel
def block_violation(w, g, l1, l2, sup, out, ignore_direction):
    """Return the norm of the minimum-norm subgradient of a row: ‖·‖₂ where the row has a norm of its own,
    else the largest entry. With ``ignore_direction`` and λ‖·‖₂ alone it is |‖G‖₂ - λ|, eq. (9) of a row
    that is not zero."""
    if ignore_direction and l1 == 0.0 and sup == 0.0:
        return abs(norm(g) - l2)
    row_subgradient(w, g, l1, l2, sup, out)
    if l2 == 0.0 and sup == 0.0:
        return sup_norm(out)
    return norm(out)


@kernel
def sup_norm(v):
    """Return ‖v‖_∞."""
    top = 0.0
    for c in range(v.size):
        top = max(top, abs(v[c]))
    return top
