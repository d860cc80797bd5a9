"""Kernels of dual coordinate descent: passes over samples, with the weights kept up to date in place."""

from __future__ import annotations

import numpy as np

from ..compute.jit import kernel


@kernel
def shuffle(order, state):
    """Put ``order`` into a random order (Fisher and Yates), by numbers of xorshift64* from ``state`` on, a
    uint64: NumPy's permutation takes as long as a pass over short rows."""
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
def binary_pass(rows, y, newton, beta, w, order, keep, scale, slack):
    """Go once over the samples of ``order``; return the largest violation above and below 0, and the entries
    of X touched.

    ``scale`` is s/λ, so that w = scale Σ_i β_i y_i x_i; ``newton`` has 1/(scale ‖x_i‖²), the step per unit
    of the gradient (inf for a sample without features, whose loss is 1 whatever w is). A sample at a bound
    whose gradient g = y_i x_iᵀw - 1 points outwards beyond ``slack`` (least, most) is left
    out: ``keep`` is set to False.
    """
    starts, features, values = rows
    least, most, touched = 0.0, 0.0, 0
    for visit in range(order.size):
        i = order[visit]
        lo, hi = starts[i], starts[i + 1]
        touched += hi - lo
        g = y[i] * row_dot(features, values, w, lo, hi) - 1.0
        if beta[i] == 0.0:
            if g > slack[1]:
                keep[i] = False
                continue
            g = min(g, 0.0)
        elif beta[i] == 1.0:
            if g < slack[0]:
                keep[i] = False
                continue
            g = max(g, 0.0)
        least, most = min(least, g), max(most, g)
        if g == 0.0:
            continue
        new = min(max(beta[i] - g * newton[i], 0.0), 1.0)
        if new != beta[i]:
            add_row(features, values, w, lo, hi, scale * (new - beta[i]) * y[i])
            touched += hi - lo
            beta[i] = new
    return least, most, touched


@kernel
def row_dot(features, values, w, lo, hi):
    """Return x_iᵀw for the entries ``lo`` to ``hi``, by four sums: one alone waits for each addition."""
    f, n = features[lo:hi], hi - lo
    whole = n - n % 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    # unsigned indices: a negative one would count from the end, and looking for it takes as long as the sum
    if values.size:
        x = values[lo:hi]
        for p in range(0, whole, 4):
            a += x[p] * w[np.uint32(f[p])]
            b += x[p + 1] * w[np.uint32(f[p + 1])]
            c += x[p + 2] * w[np.uint32(f[p + 2])]
            d += x[p + 3] * w[np.uint32(f[p + 3])]
        for p in range(whole, n):
            a += x[p] * w[np.uint32(f[p])]
    else:
        for p in range(0, whole, 4):
            a += w[np.uint32(f[p])]
            b += w[np.uint32(f[p + 1])]
            c += w[np.uint32(f[p + 2])]
            d += w[np.uint32(f[p + 3])]
        for p in range(whole, n):
            a += w[np.uint32(f[p])]
    return (a + b) + (c + d)


@kernel
def add_row(features, values, w, lo, hi, step):
    """Add ``step`` x_i, the entries ``lo`` to ``hi``, to w."""
    f = features[lo:hi]
    if values.size:
        x = values[lo:hi]
        for p in range(f.size):
            w[np.uint32(f[p])] += step * x[p]
    else:
        for p in range(f.size):
            w[np.uint32(f[p])] += step


@kernel
def multiclass_pass(rows, y, costs, squares, P, W, order, keep, scale, slack):
    """Go once over the samples of ``order``; return the largest violation and the entries of X touched.

    ``P`` (n, m) holds p_i in the simplex, W = ``scale`` Σ_i x_i (e_{y_i} - p_i)ᵀ, ``costs`` Δ by true and
    wrong label. The gradient of the dual by p_ir is that of a_r = Δ_{y_i r} + x_iᵀW_r: at the optimum p_ir is
    positive for the largest alone. A label with p_ir = 0 whose a_r is below all those with positive p by more
    than ``slack`` is left out: ``keep[i, r]`` is set to False.
    """
    starts, features, values = rows
    m = W.shape[1]
    a, labels, p, step = np.empty(m), np.empty(m, np.int64), np.empty(m), np.empty(m)
    ordered = np.empty(m)
    largest, touched = 0.0, 0
    for visit in range(order.size):
        i = order[visit]
        lo, hi = starts[i], starts[i + 1]
        count = 0
        for r in range(m):
            if keep[i, r]:
                labels[count] = r
                a[count] = costs[y[i], r]
                p[count] = P[i, r]
                count += 1
        if count < 2:
            continue
        for e in range(lo, hi):
            x = values[e] if values.size else 1.0
            row = W[features[e]]
            for k in range(count):
                a[k] += x * row[labels[k]]
        touched += hi - lo
        top, least = -np.inf, np.inf
        for k in range(count):
            top = max(top, a[k])
            if p[k] > 0.0:
                least = min(least, a[k])
        for k in range(count):
            if p[k] == 0.0 and a[k] < least - slack:
                keep[i, labels[k]] = False
        largest = max(largest, top - least)
        if top == least:
            continue
        project(p, a, count, scale * squares[i], ordered, step)
        moved = False
        for k in range(count):
            if step[k] != p[k]:
                moved = True
                P[i, labels[k]] = step[k]
        if moved:
            for e in range(lo, hi):
                x = scale * (values[e] if values.size else 1.0)
                row = W[features[e]]
                for k in range(count):
                    row[labels[k]] -= x * (step[k] - p[k])
            touched += hi - lo
    return largest, touched


@kernel
def project(p, a, count, curvature, ordered, out):
    """Write the maximizer of aᵀq - ½ curvature ‖q - p‖² over q in the simplex to ``out``: the projection of
    p + a/curvature, by sorting."""
    if curvature == 0.0:  # no features: all on the largest
        best = 0
        for k in range(count):
            best = k if a[k] > a[best] else best
        for k in range(count):
            out[k] = 1.0 if k == best else 0.0
        return
    top = -np.inf
    for k in range(count):
        out[k] = p[k] + a[k] / curvature
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
