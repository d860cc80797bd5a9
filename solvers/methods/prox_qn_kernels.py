"""Loops of the proximal quasi-Newton method: the shrinking test, and the inner problem."""

from __future__ import annotations

import numpy as np

from ..compute.jit import kernel


@kernel
def shrink(w, g, lam, slack):
    """Mark the weights that stay, w_j ≠ 0 or |g_j| > λ - ``slack``, and return M too (lines 3 to 9).

    ``slack`` is M̂/N; M is the largest |∂_j f| of eq. (16) among those that stay.
    """
    keep, M = np.empty(w.size, np.bool_), 0.0
    for j in range(w.size):
        keep[j] = w[j] != 0.0 or abs(g[j]) - lam + slack > 0.0
        if keep[j]:
            violation = abs(g[j]) - lam if w[j] == 0.0 else abs(g[j] + np.sign(w[j]) * lam)
            M = max(M, violation)
    return keep, M


@kernel
def sweep(order, w, g, lam, gamma, diagonal, Q, Q_hat, d, d_hat):
    """Make one pass of coordinate descent in place of d and d̂ = Q̂ d (lines 22 to 27); return max |z|.

    A j of ``order`` is the j-th member of the working set, as are entries j of w, g and d; it is not weight
    j.
    """
    rank = d_hat.size
    moved = 0.0
    for j in order:
        Bd = gamma * d[j]
        for k in range(rank):
            Bd -= Q[j, k] * d_hat[k]
        a, b, c = diagonal[j], g[j] + Bd, w[j] + d[j]
        u, threshold = c - b / a, lam[j] / a
        target = max(u - threshold, 0.0) + min(u + threshold, 0.0)
        z = target - c
        if z != 0.0:
            d[j] = target - w[j]  # not d[j] + z: w + d is exactly zero where the target is
            moved = max(moved, abs(z))
            for k in range(rank):
                d_hat[k] += z * Q_hat[j, k]
    return moved
