"""Kernels of the two products of a data matrix, with weights and with residuals."""

from __future__ import annotations

import numpy as np

from ...compute.jit import inlined, kernel

#: Entries of a column below which one sum is faster than four: the processor is at the next one meanwhile.
SHORT = 64


@kernel
def copy_columns(starts, rows, values, features, new_starts, new_rows, new_values, b):
    """Block b of new columns: columns ``features`` of a block that is given by its ``starts``."""
    for q in range(features.size):
        to = new_starts[b, q]
        for p in range(starts[features[q]], starts[features[q] + 1]):
            new_rows[to] = rows[p]
            if values.size:
                new_values[to] = values[p]
            to += 1


@kernel
def adjoint_by_rows(starts, rows, values, features, G, out):
    """Add Σ_i x_i,features[q] G[i, c] over one block to out[q, c]; G is (block rows, outputs)."""
    m = G.shape[1]
    if m == 1:
        g = G.reshape(-1)
        for q in range(features.size):
            column = slice(starts[features[q]], starts[features[q] + 1])
            out[q, 0] += gathered(rows[column], values[column], g)
        return
    for q in range(features.size):
        p, end = starts[features[q]], starts[features[q] + 1]
        if values.size == 0:
            # four rows at a time: one store of the sums for four loads
            while p + 4 <= end:
                i, j, k, h = rows[p], rows[p + 1], rows[p + 2], rows[p + 3]
                for c in range(m):
                    out[q, c] += (G[i, c] + G[j, c]) + (G[k, c] + G[h, c])
                p += 4
            while p < end:
                i = rows[p]
                for c in range(m):
                    out[q, c] += G[i, c]
                p += 1
        else:
            while p < end:
                i, x = rows[p], values[p]
                for c in range(m):
                    out[q, c] += x * G[i, c]
                p += 1


@kernel
def entries_of(starts, features):
    """Count the entries of these columns in one block."""
    total = 0
    for q in range(features.size):
        total += starts[features[q] + 1] - starts[features[q]]
    return total


@kernel
def adjoint_by_output(starts, rows, values, outputs, features, lo, hi, G, out):
    """Add Σ_i x_i,features[q] G[i, c] to out[q] for lo <= q < hi, where q belongs to output c.

    Where it pays, column c of G is copied first: what is gathered then lies in the first-level cache.
    """
    n, m = G.shape
    near = np.empty(n)
    for c in range(m):
        first, last = max(outputs[c], lo), min(outputs[c + 1], hi)
        if first >= last:
            continue
        g = G[:, c]
        if entries_of(starts, features[first:last]) > n:
            for i in range(n):
                near[i] = g[i]  # near[:] = g takes Numba seconds to compile
            for q in range(first, last):
                column = slice(starts[features[q]], starts[features[q] + 1])
                out[q] += gathered(rows[column], values[column], near)
        else:
            for q in range(first, last):
                column = slice(starts[features[q]], starts[features[q] + 1])
                out[q] += gathered(rows[column], values[column], g)


@inlined
def gathered(column, x, g):
    """Return Σ_p x[p] g[column[p]], with x = 1 if it is empty; of long columns four sums, as additions to one
    would wait."""
    if column.size < SHORT:
        total = 0.0
        if x.size == 0:
            for p in range(column.size):
                total += g[column[p]]
        else:
            for p in range(column.size):
                total += x[p] * g[column[p]]
        return total
    fours = column.size // 4
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    if x.size == 0:
        for p in range(fours):
            a0 += g[column[4 * p]]
            a1 += g[column[4 * p + 1]]
            a2 += g[column[4 * p + 2]]
            a3 += g[column[4 * p + 3]]
        for p in range(4 * fours, column.size):
            a0 += g[column[p]]
    else:
        for p in range(fours):
            a0 += x[4 * p] * g[column[4 * p]]
            a1 += x[4 * p + 1] * g[column[4 * p + 1]]
            a2 += x[4 * p + 2] * g[column[4 * p + 2]]
            a3 += x[4 * p + 3] * g[column[4 * p + 3]]
        for p in range(4 * fours, column.size):
            a0 += x[p] * g[column[p]]
    return (a0 + a1) + (a2 + a3)


@kernel
def scores_by_rows(starts, rows, values, features, V, Z):
    """Add Σ_q x_i,features[q] V[q] over one block to Z[i]; Z is (block rows, outputs)."""
    m = Z.shape[1]
    for q in range(features.size):
        if values.size == 0:
            for p in range(starts[features[q]], starts[features[q] + 1]):
                i = rows[p]
                for c in range(m):
                    Z[i, c] += V[q, c]
        else:
            for p in range(starts[features[q]], starts[features[q] + 1]):
                i, x = rows[p], values[p]
                for c in range(m):
                    Z[i, c] += x * V[q, c]


@kernel
def scores_by_output(starts, rows, values, outputs, features, v, lo, hi, Z):
    """Add x_i,features[q] v[q] to Z[i, c] for lo <= q < hi, where q belongs to output c, over one block."""
    n, m = Z.shape
    near = np.empty(n)
    for c in range(m):
        first, last = max(outputs[c], lo), min(outputs[c + 1], hi)
        if first >= last:
            continue
        if entries_of(starts, features[first:last]) > n:
            near[:] = 0.0
            for q in range(first, last):
                column = slice(starts[features[q]], starts[features[q] + 1])
                scatter(rows[column], values[column], v[q], near)
            for i in range(n):
                Z[i, c] += near[i]
        else:
            for q in range(first, last):
                for p in range(starts[features[q]], starts[features[q] + 1]):
                    Z[rows[p], c] += v[q] if values.size == 0 else v[q] * values[p]


@kernel
def scatter(column, x, v, z):
    """Add v x[p] to z[column[p]], with x = 1 if it is empty."""
    if x.size == 0:
        for p in range(column.size):
            z[column[p]] += v
    else:
        for p in range(column.size):
            z[column[p]] += v * x[p]
