"""The kernel of the proximal quasi-Newton method: a sweep of coordinate descent over the inner problem."""

from ...compute.jit import kernel
from ...linalg.row_norms import soft_thresholded


@kernel
def sweep(order, w, g, lam, gamma, diagonal, Q, Q_hat, d, d_hat):
    """Make one pass of coordinate descent, updating d and d̂ = Q̂ d in place (lines 22 to 27); return max
    |z|.

    An entry of ``order`` is the index of a member of the working set, as in w, g and d, not of a weight.
    """
    rank = d_hat.size
    moved = 0.0
    for j in order:
        Bd = gamma * d[j]
        for k in range(rank):
            Bd -= Q[j, k] * d_hat[k]
        a, b, c = diagonal[j], g[j] + Bd, w[j] + d[j]
        u, threshold = c - b / a, lam[j] / a
        target = soft_thresholded(u, threshold)
        z = target - c
        if z != 0.0:
            d[j] = target - w[j]  # not d[j] + z: w + d is exactly zero where the target is
            moved = max(moved, abs(z))
            for k in range(rank):
                d_hat[k] += z * Q_hat[j, k]
    return moved
