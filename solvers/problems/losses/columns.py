"""Losses along the column of one feature: derivatives by its row of weights, and moves of that row.

Only the samples that have the feature are touched, so a call costs O(n̂ m). The scores Z (n, m) are those of
all samples and move in place, instead of A(W) of Blondel, Seki and Uehara 2013, A_ir = 1 - z_i,y_i + z_ir.
Inner loops run over outputs, are free of branches and add nothing across outputs: so they are vectorized.
Codes and labels are those of :mod:`.rows`; row numbers are unsigned, as Numba checks others for signs.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel
from .rows import MULTICLASS_HINGE, MULTITASK_HINGE, row_derivatives, row_loss


@kernel
def scratch_for(m):
    """The argument ``work`` of the kernels below."""
    return np.empty((2 * m + 2, m))


@kernel
def column_entries(starts, j):
    """Number of samples with feature j."""
    total = 0
    for b in range(starts.shape[0]):
        total += starts[b, j + 1] - starts[b, j]
    return total


@kernel
def column_derivatives(code, starts, edges, rows, values, y, Z, j, G, H, work):
    """Loss of the samples with feature j; G and H (m,) take Σ_i x_ij ∂ℓ_i/∂z and Σ_i x_ij² ∂²ℓ_i/∂z²."""
    G[:] = 0.0
    H[:] = 0.0
    if code == MULTICLASS_HINGE:
        return _multiclass_derivatives(starts, edges, rows, values, y, Z, j, G, H, work)
    if code == MULTITASK_HINGE:
        return _multitask_derivatives(starts, edges, rows, values, y, Z, j, G, H, work)
    m, width, loss = Z.shape[1], np.uint64(y.size // Z.shape[0]), 0.0
    g, h = work[0], work[1]
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            first = i * width
            loss += row_derivatives(code, Z[i], y[first : first + width], g, h)
            for c in range(m):
                G[c] += x * g[c]
                H[c] += x * x * h[c]
    return loss


@kernel
def column_move(code, starts, edges, rows, values, y, Z, j, change, work):
    """Z += x_j change; returns the loss of the samples with feature j after it."""
    if code == MULTICLASS_HINGE:
        return _multiclass_move(starts, edges, rows, values, y, Z, j, change, work)
    if code == MULTITASK_HINGE:
        return _multitask_move(starts, edges, rows, values, y, Z, j, change, work)
    m, width, loss = Z.shape[1], np.uint64(y.size // Z.shape[0]), 0.0
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            first = i * width
            for c in range(m):
                Z[i, c] += x * change[c]
            loss += row_loss(code, Z[i], y[first : first + width])
    return loss


@kernel
def _multiclass_derivatives(starts, edges, rows, values, y, Z, j, G, H, work):
    """Algorithm 3, with sums P_kc = Σ x max(A_ic, 0) and Q_kc = Σ x² [A_ic > 0] over samples i of class k:
    G_c = 2 Σ_k≠c (P_kc - P_ck) and H_c = 2 Σ_k≠c (Q_kc + Q_ck). A_ic is 1 where c is the class of i: that
    adds one to the loss of each sample, which is taken off at the end."""
    m = Z.shape[1]
    losses, seen = work[2 * m], work[2 * m + 1]
    losses[:] = 0.0
    seen[:] = 0.0
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            k = np.uint64(y[i])
            q = k + np.uint64(m)
            if seen[k] == 0.0:
                seen[k] = 1.0
                for c in range(m):
                    work[k, c] = 0.0
                    work[q, c] = 0.0
            rest, x2 = 1.0 - Z[i, k], x * x
            for c in range(m):
                a = max(rest + Z[i, c], 0.0)
                losses[c] += a * a
                work[k, c] += x * a
                work[q, c] += x2 if a > 0.0 else 0.0
    for k in range(m):
        if seen[k] == 0.0:
            continue
        work[k, k] = 0.0
        work[m + k, k] = 0.0
        slope, curvature = 0.0, 0.0
        for c in range(m):
            G[c] += 2.0 * work[k, c]
            H[c] += 2.0 * work[m + k, c]
            slope += work[k, c]
            curvature += work[m + k, c]
        G[k] -= 2.0 * slope
        H[k] += 2.0 * curvature
    return _sum(losses) - column_entries(starts, j)


@kernel
def _multiclass_move(starts, edges, rows, values, y, Z, j, change, work):
    m = Z.shape[1]
    losses = work[2 * m]
    losses[:] = 0.0
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            k = np.uint64(y[i])
            rest = 1.0 - (Z[i, k] + x * change[k])
            for c in range(m):
                z = Z[i, c] + x * change[c]
                Z[i, c] = z
                a = max(rest + z, 0.0)
                losses[c] += a * a
    return _sum(losses) - column_entries(starts, j)


@kernel
def _multitask_derivatives(starts, edges, rows, values, y, Z, j, G, H, work):
    """Equation (13)."""
    m = Z.shape[1]
    losses = work[2 * m]
    losses[:] = 0.0
    labels = y.reshape(Z.shape)
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            twice, x2 = 2.0 * x, 2.0 * x * x
            for c in range(m):
                sign = 2.0 * labels[i, c] - 1.0
                a = max(1.0 - sign * Z[i, c], 0.0)
                losses[c] += a * a
                G[c] -= twice * sign * a
                H[c] += x2 if a > 0.0 else 0.0
    return _sum(losses)


@kernel
def _multitask_move(starts, edges, rows, values, y, Z, j, change, work):
    m = Z.shape[1]
    losses = work[2 * m]
    losses[:] = 0.0
    labels = y.reshape(Z.shape)
    for b in range(starts.shape[0]):
        edge = np.uint64(edges[b])
        for p in range(np.uint64(starts[b, j]), np.uint64(starts[b, j + 1])):
            i, x = edge + rows[p], values[p] if values.size else 1.0
            for c in range(m):
                z = Z[i, c] + x * change[c]
                Z[i, c] = z
                a = max(1.0 - (2.0 * labels[i, c] - 1.0) * z, 0.0)
                losses[c] += a * a
    return _sum(losses)


@kernel
def _sum(v):
    total = 0.0
    for c in range(v.size):
        total += v[c]
    return total
