"""Derivatives of losses with respect to the weights of one feature, and moves of these weights.

Only the samples that have the feature are read, so a call costs O(n̂ m). The scores Z (n, m) are those of all
samples and are updated in place. They replace A(W) of Blondel, Seki and Uehara 2013: A_ir = 1 - z_i,y_i +
z_ir. Terms, labels and formulas are those of :mod:`.score_rows`. Multiclass and multitask hinges have their
own loops over outputs, which are vectorized, as they have no branches and no sums across outputs. Row by row
they take three to four times as long on MNIST. Row indices are unsigned, since Numba checks signed ones for
negative values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import inlined, kernel
from .score_rows import MulticlassHingeTerm, MultitaskHingeTerm, row_derivatives, squared_hinge


class ColumnData(NamedTuple):
    """The data for kernels along columns: the loss's term, the labels of all samples, and X in row blocks.

    Column j of block b is ``values[starts[b, j]:starts[b, j + 1]]`` (empty if all are 1). The same slice of
    ``rows`` has its rows, relative to ``edges[b]``.
    """

    term: Any
    y: np.ndarray
    starts: np.ndarray
    edges: np.ndarray
    rows: np.ndarray
    values: np.ndarray


@kernel
def scratch_for(m):
    """Allocate the argument ``work`` of the kernels below."""
    return np.empty((2 * m + 2, m))


@kernel
def column_entries(starts, j):
    """Return the number of samples that have feature j."""
    total = 0
    for b in range(starts.shape[0]):
        total += starts[b, j + 1] - starts[b, j]
    return total


@by_class
def column_pass(term, data, Z, j, change, G, H, work):
    """Add x_j changeᵀ to Z, then compute loss and derivatives of the samples that have feature j.

    Return their loss; write their Σ_i x_ij ∂ℓ_i/∂z to G (m,) and Σ_i x_ij² ∂²ℓ_i/∂z² to H (m,). ``change``
    may be None, and so may both G and H.
    """
    m, width, loss = Z.shape[1], np.uint64(data.y.size // Z.shape[0]), 0.0
    g, h = work[0], work[1]
    if G is not None:
        G[:] = 0.0
        H[:] = 0.0
    for b in range(data.starts.shape[0]):
        edge = np.uint64(data.edges[b])
        for p in range(np.uint64(data.starts[b, j]), np.uint64(data.starts[b, j + 1])):
            i, x = edge + data.rows[p], data.values[p] if data.values.size else 1.0
            first = i * width
            y = data.y[first : first + width]
            if change is not None:
                for c in range(m):
                    Z[i, c] += x * change[c]
            if G is None:
                loss += row_derivatives(term, Z[i], y, None, None)
            else:
                loss += row_derivatives(term, Z[i], y, g, h)
                for c in range(m):
                    G[c] += x * g[c]
                    H[c] += x * x * h[c]
    return loss


@column_pass.register(MulticlassHingeTerm)
def multiclass_pass(term, data, Z, j, change, G, H, work):
    """Compute the partial gradient, eq. (5), and second derivatives, eq. (6), by Algorithm 3 of Blondel et
    al. 2013.

    G_c is Σ_k≠c (P_kc - P_ck), and H_c is Σ_k≠c (Q_kc + Q_ck). Sums over the samples i of class k are P_kc =
    Σ x 2 max(A_ic, 0) and Q_kc = Σ x² 2 [A_ic > 0]. For the class c of i itself A_ic is 1, which adds one to
    the loss of each sample. The end subtracts it.
    """
    m = Z.shape[1]
    losses, seen = work[2 * m], work[2 * m + 1]
    losses[:] = 0.0
    seen[:] = 0.0
    for b in range(data.starts.shape[0]):
        edge = np.uint64(data.edges[b])
        for p in range(np.uint64(data.starts[b, j]), np.uint64(data.starts[b, j + 1])):
            i, x = edge + data.rows[p], data.values[p] if data.values.size else 1.0
            k = np.uint64(data.y[i])
            if change is not None:
                # scores move in the loop that needs them: through memory they come late
                rest = 1.0 - (Z[i, k] + x * change[k])
                for c in range(m):
                    z = Z[i, c] + x * change[c]
                    Z[i, c] = z
                    losses[c] += squared_hinge(rest + z)[0]
            else:
                rest, q, bend = 1.0 - Z[i, k], k + np.uint64(m), 2.0 * (x * x)
                if seen[k] == 0.0:
                    seen[k] = 1.0
                    for c in range(m):
                        work[k, c] = 0.0
                        work[q, c] = 0.0
                for c in range(m):
                    loss, first, second = squared_hinge(rest + Z[i, c])
                    losses[c] += loss
                    work[k, c] += x * first
                    work[q, c] += bend if second > 0.0 else 0.0  # a product would cost as much as the sum
    if G is not None:
        G[:] = 0.0
        H[:] = 0.0
        for k in range(m):
            if seen[k] == 0.0:
                continue
            work[k, k] = 0.0
            work[m + k, k] = 0.0
            slope, curvature = 0.0, 0.0
            for c in range(m):
                G[c] += work[k, c]
                H[c] += work[m + k, c]
                slope += work[k, c]
                curvature += work[m + k, c]
            G[k] -= slope
            H[k] += curvature
    return _sum(losses) - column_entries(data.starts, j)


@column_pass.register(MultitaskHingeTerm)
def multitask_pass(term, data, Z, j, change, G, H, work):
    """Compute eq. (13) of Blondel et al. 2013, and the second derivatives, for the multitask hinge."""
    m = Z.shape[1]
    losses = work[2 * m]
    losses[:] = 0.0
    if G is not None:
        G[:] = 0.0
        H[:] = 0.0
    labels = data.y.reshape(Z.shape)
    for b in range(data.starts.shape[0]):
        edge = np.uint64(data.edges[b])
        for p in range(np.uint64(data.starts[b, j]), np.uint64(data.starts[b, j + 1])):
            i, x = edge + data.rows[p], data.values[p] if data.values.size else 1.0
            x2 = x * x
            for c in range(m):
                sign = 2.0 * labels[i, c] - 1.0
                if change is not None:
                    Z[i, c] += x * change[c]
                loss, first, second = squared_hinge(1.0 - sign * Z[i, c])
                losses[c] += loss
                if G is not None:
                    G[c] -= x * sign * first
                    H[c] += x2 * second
    return _sum(losses)


@inlined
def _sum(v):
    total = 0.0
    for c in range(v.size):
        total += v[c]
    return total
