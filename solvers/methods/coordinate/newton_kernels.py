"""Kernels of proximal Newton: sweeps of coordinate descent over the quadratic model, and its decrease.

The model on the working set is gᵀd + ½dᵀ(s AᵀHA + μI)d + kinks(w + d). H is the Hessian of the loss in the
scores: diagonal for one score, diag(p) - ppᵀ for the softmax. The product u = s H A d is updated with d, so
that a visit only reads the column of one feature. The tuple ``columns`` represents X: starts, edges, rows and
values of the design.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel
from ...linalg.by_columns import gathered
from ...linalg.row_norms import factor_of, row_prox, row_subgradient, soft_thresholded, violation_of
from ...working_sets.screening import slack_of

#: Least curvature, relative to its largest possible value: samples may be saturated.
MIN_CURVATURE_RATIO = 1e-10
#: Largest p(1 - p) that counts as zero.
UNDERFLOW = 1e-30
#: Decrease, relative to |f|, below which a direction does not count.
NO_DECREASE = 1e-22


@kernel
def sweeps(columns, features, order, w, g, d, h, u, H, strengths, factors, threshold, keep, n, goal, most):
    """Sweep over the weights in ``order``, and update d, u = h·Xd and ``keep`` in place.

    Sweeps end when the largest violation of the model met in one is at most ``goal``, or after ``most`` of
    them. Return the number of sweeps; the visits, the largest violation met and the sum of violations of the
    last sweep; and the entries of X read.

    The arrays w, g, d, H and ``keep`` have one entry per member. H has the curvatures, negative where not
    computed yet. Weights for which ``keep`` is False are skipped. Zero weights with more slack than
    ``threshold`` become False. After a sweep the threshold is its largest violation divided by ``n``. ``h``
    is s ∂²ℓ/∂z² of each sample. ``strengths`` are s and those of ‖w‖₁ and ½‖w‖², the latter two times the
    penalty factor of each weight.
    """
    starts, edges, rows, values = columns
    scale, norm1, squares = strengths
    done, touched = 0, 0
    while True:
        visits, largest, total = 0, 0.0, 0.0
        for k in order:
            if not keep[k]:
                continue
            visits += 1
            j, now, factor = features[k], w[k] + d[k], factor_of(factors, k)
            l1, ridge = factor * norm1, factor * squares
            a = g[k] + ridge * d[k]
            for b in range(starts.shape[0]):
                lo, hi = starts[b, j], starts[b, j + 1]
                a += gathered(rows, values, lo, hi, u[edges[b] : edges[b + 1]])
                touched += hi - lo
            if now == 0.0:
                violation = abs(a) - l1
                if violation <= 0.0:
                    keep[k] = -violation <= threshold
                    continue
            else:
                violation = abs(a + np.sign(now) * l1)
            largest, total = max(largest, violation), total + violation
            if H[k] < 0.0:
                H[k] = ridge + curvature_of(columns, j, h, scale)
            target = 0.0 if l1 > 0.0 else now  # if only the penalty depends on it
            if H[k] > 0.0:
                target = soft_thresholded(now - a / H[k], l1 / H[k])
            if target != now:
                d[k] = target - w[k]  # not d + z: w + d is exactly zero where the target is
                move(columns, j, target - now, h, u)
        done += 1
        if largest <= goal or done == most:
            return done, visits, largest, total, touched
        threshold = largest / n


@kernel
def curvature_of(columns, j, h, scale):
    """Return the curvature of weight j, Σ_i x_ij² h_i, bounded away from 0.

    It is at least a small fraction of Σ_i x_ij² max_i h_i. If all h_i = s p(1 - p) are nearly zero, steps
    would overflow. Then return Σ_i x_ij² s/4, the largest possible curvature.
    """
    starts, edges, rows, values = columns
    total, squares, top = 0.0, 0.0, 0.0
    for b in range(starts.shape[0]):
        near = h[edges[b] : edges[b + 1]]
        for p in range(starts[b, j], starts[b, j + 1]):
            x = values[p] if values.size else 1.0
            total += x * x * near[rows[p]]
            squares += x * x
            top = max(top, near[rows[p]])
    if top > UNDERFLOW * scale:
        return max(total, MIN_CURVATURE_RATIO * squares * top)
    return 0.25 * scale * squares


@kernel
def move(columns, j, change, h, u):
    """Add h_i x_ij change to u."""
    starts, edges, rows, values = columns
    for b in range(starts.shape[0]):
        near, there = h[edges[b] : edges[b + 1]], u[edges[b] : edges[b + 1]]
        if values.size:
            for p in range(starts[b, j], starts[b, j + 1]):
                there[rows[p]] += change * values[p] * near[rows[p]]
        else:
            for p in range(starts[b, j], starts[b, j + 1]):
                there[rows[p]] += change * near[rows[p]]


@kernel
def sweeps_of_rows(
    columns, features, order, W, G, D, P, U, H, strengths, factors, threshold, keep, n, goal, most
):
    """Visit rows of W as :func:`sweeps` visits weights; ``P`` (rows of X, outputs) has the probabilities of
    the softmax, and U = s H A D. ``H`` has a bound on the curvature for each weight of a row; if the first is
    negative, they are not computed yet.

    A visit is a proximal step. Σ_i s x_ij² (diag(p_i) - p_ip_iᵀ) has two bounds: Σ s x² p_i and 2 Σ s x² p_i
    (1 - p_i). The one with the lower maximum is used: entry by entry if the penalty separates into weights,
    else its maximum.
    """
    starts, edges, rows, values = columns
    scale, norm1, norm2, norm_sup, norm_squares = strengths
    m = W.shape[1]
    a, now, V, out = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    done, touched = 0, 0
    while True:
        visits, largest, total = 0, 0.0, 0.0
        for k in order:
            if not keep[k]:
                continue
            visits += 1
            j, factor = features[k], factor_of(factors, k)
            l1, l2, sup, ridge = factor * norm1, factor * norm2, factor * norm_sup, factor * norm_squares
            zero = True
            for c in range(m):
                a[c] = G[k, c] + ridge * D[k, c]
                now[c] = W[k, c] + D[k, c]
                zero = zero and now[c] == 0.0
            for b in range(starts.shape[0]):
                there = U[edges[b] : edges[b + 1]]
                for p in range(starts[b, j], starts[b, j + 1]):
                    i, x = rows[p], values[p] if values.size else 1.0
                    for c in range(m):
                        a[c] += x * there[i, c]
                touched += starts[b, j + 1] - starts[b, j]
            row_subgradient(now, a, l1, l2, sup, out)
            violation = violation_of(out, norm2, norm_sup)
            if zero and violation == 0.0:
                keep[k] = slack_of(a, l1, l2, sup) <= threshold
                continue
            largest, total = max(largest, violation), total + violation
            if H[k, 0] < 0.0:
                bound_rows(columns, j, P, scale, ridge, l2 > 0.0 or sup > 0.0, H[k], V, out)
            if H[k, 0] == 0.0:  # only the penalty depends on it
                for c in range(m):
                    V[c] = 0.0 if l1 + l2 + sup > 0.0 else now[c]
            else:
                for c in range(m):
                    V[c] = now[c] - a[c] / H[k, c]
                    if l2 == 0.0 and sup == 0.0:
                        V[c] = soft_thresholded(V[c], l1 / H[k, c])
                if l2 > 0.0 or sup > 0.0:
                    row_prox(V, l1 / H[k, 0], l2 / H[k, 0], sup / H[k, 0])
            moved = False
            for c in range(m):
                a[c] = V[c] - now[c]
                moved = moved or a[c] != 0.0
                D[k, c] = V[c] - W[k, c]
            if moved:
                move_rows(columns, j, a, P, scale, U)
        done += 1
        if largest <= goal or done == most:
            return done, visits, largest, total, touched
        threshold = largest / n


@kernel
def bound_rows(columns, j, P, scale, ridge, one, out, S, Q):
    """Write the bound on the curvature of each weight of row j to ``out``; the largest for all if ``one``."""
    starts, edges, rows, values = columns
    m = P.shape[1]
    S[:] = 0.0
    Q[:] = 0.0
    for b in range(starts.shape[0]):
        there = P[edges[b] : edges[b + 1]]
        for p in range(starts[b, j], starts[b, j + 1]):
            i, x = rows[p], values[p] if values.size else 1.0
            for c in range(m):
                S[c] += x * x * there[i, c]
                Q[c] += x * x * there[i, c] * there[i, c]
    first, second, squares = 0.0, 0.0, 0.0
    for c in range(m):
        first, second = max(first, S[c]), max(second, 2.0 * (S[c] - Q[c]))
        squares += S[c]
    for c in range(m):
        bound = S[c] if first <= second else max(2.0 * (S[c] - Q[c]), 0.0)
        if one:
            bound = min(first, second)
        out[c] = ridge + scale * max(bound, MIN_CURVATURE_RATIO * squares)


@kernel
def move_rows(columns, j, change, P, scale, U):
    """Add s x_ij (diag(p_i) - p_ip_iᵀ) change to row i of U."""
    starts, edges, rows, values = columns
    for b in range(starts.shape[0]):
        near, there = P[edges[b] : edges[b + 1]], U[edges[b] : edges[b + 1]]
        for p in range(starts[b, j], starts[b, j + 1]):
            i, x = rows[p], values[p] if values.size else 1.0
            mean = 0.0
            for c in range(change.size):
                mean += near[i, c] * change[c]
            for c in range(change.size):
                there[i, c] += scale * x * near[i, c] * (change[c] - mean)


@kernel
def predicted_decrease(W, G, D, norm1, norm2, norm_sup, factors):
    """Return Δ = Σ GᵀD + kinks(W + D) - kinks(W), summed term by term.

    Near the optimum the sums of GᵀD and of the penalties cancel in all digits.
    """
    total = 0.0
    for k in range(W.shape[0]):
        factor = factor_of(factors, k)
        l1, l2, sup = factor * norm1, factor * norm2, factor * norm_sup
        squares, after, turn, top, highest = 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(W.shape[1]):
            w, d, g = W[k, c], D[k, c], G[k, c]
            if w > 0.0 and w + d >= 0.0:
                total += (g + l1) * d
            elif w < 0.0 and w + d <= 0.0:
                total += (g - l1) * d
            else:
                total += g * d + l1 * (abs(w + d) - abs(w))
            squares += w * w
            after += (w + d) * (w + d)
            turn += d * (2.0 * w + d)
            top, highest = max(top, abs(w)), max(highest, abs(w + d))
        if l2 > 0.0 and turn != 0.0:
            total += l2 * turn / (np.sqrt(after) + np.sqrt(squares))
        total += sup * (highest - top)
    return total
