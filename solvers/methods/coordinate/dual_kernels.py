"""Kernels of dual coordinate descent: passes over samples that update the weights in place."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...compute.jit import inlined, kernel
from ...linalg.by_columns import gathered, scatter
from ...problems.losses.margin import dual as dual_of

#: A sum of dual variables above this is 1 up to rounding.
SIMPLEX_FULL = 1.0 - 1e-12
#: Numbers of 8 bytes per cache line.
CACHE_LINE = 8


class BinaryDual(NamedTuple):
    """The term of a loss of margins, the upper bound of β, and the array ``samples`` (n, 4).

    Row i has the begin and the end of the sample's entries, y_i/(s/λ ‖x_i‖² - h'') and β_i. The third number
    is y_i times the Newton step per unit of the gradient. They are stored together, since they are read
    together and samples come in random order.
    """

    term: Any
    bound: float
    samples: np.ndarray


@kernel
def shuffle(order, state):
    """Shuffle ``order`` in place (Fisher and Yates) with random numbers of xorshift64*.

    ``state`` is the state of the generator, a uint64. NumPy's permutation would cost as much as a pass over
    short rows.
    """
    x = state[0]
    for k in range(order.size - 1, 0, -1):
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        # the upper 32 bits times k + 1, over 2³²
        high = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)
        other = np.int64((high * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[other] = order[other], order[k]
    state[0] = x


@kernel
def fetched(rows, samples, order):
    """Read from each cache line that the samples of ``order`` need, to prefetch it.

    Visits depend on one another, so each would wait for its row; independent reads overlap. The number
    returned has no meaning, but without it the compiler would drop the reads.
    """
    _, features, values = rows
    seen, x = 0, 0.0
    for i in order:
        lo, hi = np.int64(samples[i, 0]), np.int64(samples[i, 1])
        for p in range(lo, hi, 2 * CACHE_LINE):
            seen ^= np.int64(features[p])
        if values.size:
            for p in range(lo, hi, CACHE_LINE):
                x += values[p]
    return seen + x


@kernel
def binary_pass(rows, dual, w, order, keep, scale, threshold, prefetched):
    """Visit the samples of ``order`` once; return the largest violation above and below 0, the entries of X
    read, and a meaningless number of :func:`fetched`.

    ``scale`` is s/λ, so that w = scale Σ_i β_i y_i x_i. A step is Newton's along β_i, clipped to [0, bound].
    Under the hinge loss it is infinite for a sample without features, whose loss is 1 for every w. A sample
    at a bound whose gradient g = y_i x_iᵀw - h'(β_i) points outwards beyond ``threshold`` (least, most) is
    left out: ``keep`` is set to False. The rows of ``prefetched`` samples at a time are prefetched before the
    visits (0: none).
    """
    _, features, values = rows
    term, bound, samples = dual
    least, most, touched, read = 0.0, 0.0, 0, 0.0
    for visit in range(order.size):
        if prefetched and visit % prefetched == 0:
            read += fetched(rows, samples, order[visit : visit + prefetched])
        i = order[visit]
        lo, hi, newton, β = np.int64(samples[i, 0]), np.int64(samples[i, 1]), samples[i, 2], samples[i, 3]
        y = math.copysign(1.0, newton)
        touched += hi - lo
        g = y * gathered(features, values, lo, hi, w) - dual_of(term, β)[1]
        if β == 0.0:
            if g > threshold[1]:
                keep[i] = False
                continue
            g = min(g, 0.0)
        elif β == bound:
            if g < threshold[0]:
                keep[i] = False
                continue
            g = max(g, 0.0)
        least, most = min(least, g), max(most, g)
        if g == 0.0:
            continue
        new = min(max(β - g * abs(newton), 0.0), bound)
        if new != β:
            scatter(features, values, lo, hi, scale * (new - β) * y, w)
            touched += hi - lo
            samples[i, 3] = new
    return least, most, touched, read


@inlined
def add_scores(rows, i, W, labels, count, z):
    """Add the scores of sample i for the first ``count`` labels to z; return the entries of X read."""
    starts, features, values = rows
    for e in range(starts[i], starts[i + 1]):
        x = values[e] if values.size else 1.0
        row = W[features[e]]
        for k in range(count):
            z[k] += x * row[labels[k]]
    return starts[i + 1] - starts[i]


@inlined
def take_step(rows, i, P, W, labels, others, count, p, step, scale):
    """Change the dual variables of sample i on ``count`` labels from p to ``step``, and update W.

    W decreases by the increase of the first ``others`` variables, and increases by that of the rest. ``step``
    is overwritten. Return the entries of X read.
    """
    starts, features, values = rows
    moved = False
    for k in range(count):
        change = step[k] - p[k]
        moved = moved or change != 0.0
        P[i, labels[k]] = step[k]
        step[k] = change if k < others else -change
    lo, hi = starts[i], starts[i + 1] if moved else starts[i]
    for e in range(lo, hi):
        x = scale * (values[e] if values.size else 1.0)
        row = W[features[e]]
        for k in range(count):
            row[labels[k]] -= x * step[k]
    return hi - lo


@kernel
def multiclass_pass(rows, y, costs, squares, P, W, order, keep, scale, threshold):
    """Visit the samples of ``order`` once; return the largest violation and the entries of X read.

    ``P`` (n, m) holds p_i in the simplex, W = ``scale`` Σ_i x_i (e_{y_i} - p_i)ᵀ, ``costs`` Δ by true and
    wrong label. The gradient of the dual with respect to p_ir is proportional to a_r = Δ_{y_i r} + x_iᵀW_r.
    At the optimum p_ir is positive only for the largest a_r. A label with p_ir = 0 whose a_r is below all
    those with positive p by more than ``threshold`` is left out: ``keep[i, r]`` is set to False.
    """
    m = W.shape[1]
    a, labels, p, step = np.empty(m), np.empty(m, np.int64), np.empty(m), np.empty(m)
    ordered = np.empty(m)
    largest, touched = 0.0, 0
    for i in order:
        count = 0
        for r in range(m):
            if keep[i, r]:
                labels[count] = r
                a[count] = costs[y[i], r]
                p[count] = P[i, r]
                count += 1
        if count < 2:
            continue
        touched += add_scores(rows, i, W, labels, count, a)
        top, least = -np.inf, np.inf
        for k in range(count):
            top = max(top, a[k])
            if p[k] > 0.0:
                least = min(least, a[k])
        for k in range(count):
            if p[k] == 0.0 and a[k] < least - threshold:
                keep[i, labels[k]] = False
        largest = max(largest, top - least)
        if top == least:
            continue
        project(p, a, count, scale * squares[i], ordered, step)
        touched += take_step(rows, i, P, W, labels, count, count, p, step, scale)
    return largest, touched


@kernel
def multilabel_pass(rows, Y, delta, squares, P, W, order, keep, scale, threshold):
    """Visit the samples of ``order`` once; return the largest violation and the entries of X read.

    A pair is another label q and a label r of sample i. ``P`` (n, m) has the mass of each label, summed over
    its pairs. Masses of labels q and of labels r both sum to σ_i ≤ 1. W is ``scale`` Σ_i x_i (Σ_r P_ir e_r -
    Σ_q P_iq e_q)ᵀ. The gradient of the dual with respect to a pair is its height Δ + x_iᵀ(W_q - W_r). At the
    optimum pairs with mass are the highest. σ_i is 1 if their height is positive, and 0 if it is negative. A
    label without mass whose highest pair is below all pairs with mass by more than ``threshold`` is left out:
    ``keep[i, c]`` is set to False.
    """
    m = W.shape[1]
    z, labels, p, step = np.empty(m), np.empty(m, np.int64), np.empty(m), np.empty(m)
    ordered = np.empty((2, m))
    largest, touched = 0.0, 0
    for i in order:
        # the others first, then the labels: z is -score there, so that both want the highest
        count, others = 0, 0
        for side in range(2):
            for c in range(m):
                if keep[i, c] and Y[i, c] == side:
                    labels[count], p[count], z[count] = c, P[i, c], 0.0
                    count += 1
            if side == 0:
                others = count
        if others == 0 or others == count:
            continue
        touched += add_scores(rows, i, W, labels, count, z)
        for k in range(others, count):
            z[k] = -z[k]
        top, bottom = np.full(2, -np.inf), np.full(2, np.inf)
        used = 0.0
        for k in range(count):
            side = 0 if k < others else 1
            top[side] = max(top[side], z[k])
            if p[k] > 0.0:
                bottom[side] = min(bottom[side], z[k])
                used += p[k] if side == 0 else 0.0
        height = delta + (top[0] + top[1])
        least = delta + (bottom[0] + bottom[1]) if used > 0.0 else np.inf
        if used < SIMPLEX_FULL:
            least = min(least, 0.0)
        for k in range(count):
            best = delta + (z[k] + top[1 if k < others else 0])
            if p[k] == 0.0 and best < least - threshold:
                keep[i, labels[k]] = False
        violation = max(height, 0.0) - least
        largest = max(largest, violation)
        if violation <= 0.0:
            continue
        project_pairs(p, z, others, count, top, height, scale * squares[i], ordered, step)
        touched += take_step(rows, i, P, W, labels, others, count, p, step, scale)
    return largest, touched


@kernel
def project_pairs(p, z, others, count, top, height, curvature, ordered, out):
    """Write the q >= 0 to ``out`` that maximize zᵀq + σΔ - ½ curvature ‖q - p‖².

    The first ``others`` entries sum to σ, and so do the rest, with σ ≤ 1. ``top`` has the largest z of each
    part, and ``height`` is Δ plus both. As in :func:`project`, only differences of z are divided.

    For a given σ both parts are projections onto a simplex of that size: max(v - θ, 0) and max(u - φ, 0),
    with v and u at p + z/curvature. The optimal σ has θ + φ = -Δ/curvature; it is 1 if θ + φ is still larger
    at 1. Both decrease with σ, piecewise linearly: pieces end where another entry becomes positive.
    """
    if curvature == 0.0:  # no features: the highest pair, if it is above 0
        wanted = 1.0 if height > 0.0 else 0.0
        for side in range(2):
            given = False
            for k in range(0 if side == 0 else others, others if side == 0 else count):
                out[k] = wanted if z[k] == top[side] and not given else 0.0
                given = given or z[k] == top[side]
        return
    for k in range(count):
        out[k] = p[k] + (z[k] - top[0 if k < others else 1]) / curvature
    ordered[0, :others] = np.sort(out[:others])[::-1]
    ordered[1, : count - others] = np.sort(out[others:count])[::-1]
    goal = -height / curvature
    level = ordered[0, 0], ordered[1, 0]
    if level[0] + level[1] > goal:
        # positive entries of either side, and their sums
        n0, n1, sum0, sum1 = 1, 1, ordered[0, 0], ordered[1, 0]
        while True:
            next0 = sum0 - n0 * ordered[0, n0] if n0 < others else np.inf
            next1 = sum1 - n1 * ordered[1, n1] if n1 < count - others else np.inf
            right = (sum0 / n0 + sum1 / n1 - goal) / (1.0 / n0 + 1.0 / n1)
            size = min(right, 1.0)
            if size <= min(next0, next1):
                break
            if next0 <= next1:
                sum0 += ordered[0, n0]
                n0 += 1
            else:
                sum1 += ordered[1, n1]
                n1 += 1
        level = (sum0 - size) / n0, (sum1 - size) / n1
    for k in range(count):
        out[k] = max(out[k] - level[0 if k < others else 1], 0.0)


@kernel
def project(p, a, count, curvature, ordered, out):
    """Write the maximizer of aᵀq - ½ curvature ‖q - p‖² over q in the simplex to ``out``.

    It is the projection of p + a/curvature, computed by sorting. Only differences from the largest a matter.
    They are taken before the division, since an entry of p may be below the rounding of a/curvature.
    """
    best = 0
    for k in range(count):
        best = k if a[k] > a[best] else best
    if curvature == 0.0:  # no features: all on the largest
        for k in range(count):
            out[k] = 1.0 if k == best else 0.0
        return
    top = -np.inf
    for k in range(count):
        out[k] = p[k] + (a[k] - a[best]) / curvature
        top = max(top, out[k])
    # only entries within 1 of the largest can be positive
    near = 0
    for k in range(count):
        if out[k] > top - 1.0:
            place = near
            while place > 0 and ordered[place - 1] < out[k]:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = out[k]
            near += 1
    total, level = 0.0, 0.0
    for k in range(near):
        total += ordered[k]
        if ordered[k] * (k + 1) > total - 1.0:
            level = (total - 1.0) / (k + 1)
        else:
            break
    for k in range(count):
        out[k] = max(out[k] - level, 0.0)
