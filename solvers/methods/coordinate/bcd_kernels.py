"""Kernels of block coordinate descent: passes over rows of W that update the scores in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compute.jit import inlined, kernel
from ...linalg.row_norms import (
    factor_of,
    largest_entry,
    norm,
    row_prox,
    row_subgradient,
    row_value,
    violation_of,
)
from ...problems.losses.feature_columns import column_entries, column_pass, scratch_for
from ...search.line_search import OBJECTIVE_ROUNDING, Armijo

#: Maximal number of trial steps.
MAX_ARMIJO_TRIALS = Armijo.least_trials
#: Least factor s_j of the second derivatives in 𝓛_j.
MIN_CURVATURE_SHARE = 0.1


class Blocks(NamedTuple):
    """State of each feature.

    ``keep`` is whether it stays active, and ``K`` its K_j, empty with a search. With a search ``floor`` is
    the least 𝓛_j and ``shares`` the factor s_j of the second derivatives.
    """

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


class RowSearch(NamedTuple):
    """Settings of the search along a row.

    These are the factor of the steps, the fraction of the predicted decrease required, and the factor of s_j.
    """

    omega: float
    sigma: float
    lengthen: float


class Workspace(NamedTuple):
    """Work arrays for one row, and for the trials of a search.

    They are its gradient and second derivatives (later a part of the step), the new row and the step to it.
    ``work`` is for kernels along columns.
    """

    G: np.ndarray
    H: np.ndarray
    V: np.ndarray
    step: np.ndarray
    work: np.ndarray
    tried: np.ndarray


@kernel
def update_rows(
    data, Z, W, order, blocks, strengths, factors, searching, threshold, ignore_direction, longest
):
    """Update the rows of W of the features in ``order``, one after the other (Blondel et al. 2013, Algorithm
    2).

    Z = X W is updated with W. ``data`` is for the kernels of :mod:`...problems.losses.feature_columns`.

    Without a search 𝓛_j is K_j. If K is empty, there is a search, and 𝓛_j is s_j max(‖h_j‖_∞, floor_j). If
    𝓛_j is zero, only the penalty depends on the row. s_j is multiplied by ``lengthen`` if the first trial is
    accepted; otherwise it doubles, up to 1. The strengths of row j are multiplied by its entry of
    ``factors``. A zero row is left out, and False in ``keep``, if it stays optimal when its factor decreases
    by ``threshold``. Returns the sum and the largest of the violations, the number of trials, and the entries
    of X read.

    The longest search is written to ``longest``, unless the one stored there is as long. Its first row has
    the number of trials, f before and j. One row per trial follows: t, f and the largest f that the rule
    accepts. This f is the part that depends on the row, up to a constant.
    """
    keep, K, floor, shares = blocks
    scale = strengths.scale
    m, search = W.shape[1], K.size == 0
    G, H, V, step = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    space = Workspace(G, H, V, step, scratch_for(m), np.empty((MAX_ARMIJO_TRIALS, 3)))
    total, largest, trials, touched = 0.0, 0.0, 0, 0
    for j in order:
        w, entries, v = W[j], column_entries(data.starts, j), factor_of(factors, j)
        ridge, l1, l2, sup = v * strengths.ridge, v * strengths.l1, v * strengths.l2, v * strengths.sup
        own = Strengths(scale, ridge, l1, l2, sup)
        loss = column_pass(data.term, data, Z, j, None, G, H, space.work)
        touched += entries
        zero, steepest = weigh(w, G, H, scale, ridge)
        violation = block_violation(w, G, l1, l2, sup, step, ignore_direction and not zero)
        total += violation
        largest = max(largest, violation)
        keep[j] = True
        if zero and violation == 0.0:
            if threshold < v:
                keep[j] = not zero_suffices(G, 1.0 - threshold / v, l1, l2, sup, step)
            continue
        L = shares[j] * max(scale * steepest + ridge, floor[j]) if search else K[j]
        slope, moves = proximal_step(w, L, own, space)
        if not moves:
            continue
        if search:
            tries, moved, first = search_along(data, Z, w, j, loss, slope, own, searching, space, longest)
            trials += tries
            touched += moved * entries
            if first:
                shares[j] = max(searching.lengthen * shares[j], MIN_CURVATURE_SHARE)
            else:
                shares[j] = min(2.0 * shares[j], 1.0)
        else:
            move_scores(data, Z, j, step)
            touched += entries
            for c in range(m):
                w[c] = V[c]
    return total, largest, trials, touched


@inlined
def weigh(w, G, H, scale, ridge):
    """Scale the gradient G of a row's loss and add that of the ridge, in place.

    Return whether the row w is zero, and its largest second derivative in H.
    """
    zero, steepest = True, 0.0
    for c in range(w.size):
        G[c] = scale * G[c] + ridge * w[c]
        zero = zero and w[c] == 0.0
        steepest = max(steepest, H[c])
    return zero, steepest


@inlined
def zero_suffices(G, left, l1, l2, sup, out):
    """Return whether zero stays optimal for a row if the strengths are multiplied by ``left``."""
    for c in range(G.size):
        out[c] = G[c]
    row_prox(out, left * l1, left * l2, left * sup)
    return largest_entry(out) == 0.0


@inlined
def proximal_step(w, L, strengths, space):
    """Write V = prox_{λR/L}(w - G/L), or 0 if L is zero, and V - w to ``step``.

    Return the slope along the step, and whether the step is not zero.
    """
    _, _, l1, l2, sup = strengths
    G, _, V, step, _, _ = space
    slope, moves = 0.0, False
    for c in range(w.size):
        V[c] = w[c] - G[c] / L if L > 0.0 else 0.0
    if L > 0.0:
        row_prox(V, l1 / L, l2 / L, sup / L)
    for c in range(w.size):
        step[c] = V[c] - w[c]
        slope += G[c] * step[c]
        moves = moves or step[c] != 0.0
    return slope, moves


@inlined
def search_along(data, Z, w, j, loss, slope, strengths, searching, space, longest):
    """Search from row w towards V by Armijo's rule, and move row and scores.

    Return the number of trials, the number of updates of the scores, and whether the first trial was accepted
    with a decrease above rounding.
    """
    scale, ridge, l1, l2, sup = strengths
    _, part, V, step, work, tried = space
    penalty_before, after_penalty = row_value(w, l1, l2, sup), row_value(V, l1, l2, sup)
    predicted_decrease, start = slope + after_penalty - penalty_before, scale * loss + penalty_before
    rounding = OBJECTIVE_ROUNDING * (scale * (loss + column_entries(data.starts, j)) + penalty_before)
    t, done, trials, moved, accepted = 1.0, 0.0, 0, 0, False
    while not accepted:
        for c in range(w.size):
            part[c] = (t - done) * step[c]
        after = column_pass(data.term, data, Z, j, part, None, None, work)
        done = t
        moved += 1
        if t == 0.0:
            break
        ridges = 0.0
        for c in range(w.size):
            V[c] = V[c] if t == 1.0 else w[c] + t * step[c]
            ridges += V[c] * V[c] - w[c] * w[c]
        change = scale * (after - loss) + 0.5 * ridge * ridges + row_value(V, l1, l2, sup) - penalty_before
        allowed = searching.sigma * t * predicted_decrease
        tried[trials, 0], tried[trials, 1], tried[trials, 2] = t, start + change, start + allowed
        trials += 1
        if change <= allowed + rounding:  # eq. (7)
            accepted = True
            for c in range(w.size):
                w[c] = V[c]
        else:
            t = searching.omega * t if trials < MAX_ARMIJO_TRIALS else 0.0
    if trials > longest[0, 0]:
        longest[0, 0], longest[0, 1], longest[0, 2] = trials, start, j
        for k in range(trials):
            for c in range(3):
                longest[k + 1, c] = tried[k, c]
    # acceptance within rounding says nothing about the curvature
    return trials, moved, t == 1.0 and -searching.sigma * predicted_decrease > rounding


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
    """Return the violation of a row: the norm of its minimum-norm subgradient.

    With ``ignore_direction`` and λ‖·‖₂ as the only penalty, return the violation |‖G‖₂ - λ|, eq. (9) for a
    nonzero row.
    """
    if ignore_direction and l1 == 0.0 and sup == 0.0:
        return abs(norm(g) - l2)
    row_subgradient(w, g, l1, l2, sup, out)
    return violation_of(out, l2, sup)
