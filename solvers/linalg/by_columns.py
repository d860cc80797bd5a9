"""Kernels of the two products of a data matrix stored by columns, with weights and with residuals."""

import numpy as np

from ..compute.jit import inlined, kernel, reordered

ONE, TWO, THREE, FOUR = np.arange(1, 5, dtype=np.uint64)


@kernel
def copy_columns(starts, rows, values, features, new_starts, new_rows, new_values, b):
    """Copy the columns ``features`` of one block to block b of the new columns."""
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
        add_sums(starts, rows, values, features, G.reshape(-1), out.reshape(-1))
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
    """Return the number of entries of these columns in one block."""
    total = 0
    for q in range(features.size):
        total += starts[features[q] + 1] - starts[features[q]]
    return total


@kernel
def adjoint_by_output(starts, rows, values, outputs, features, lo, hi, G, out):
    """Add Σ_i x_i,features[q] G[i, c] to out[q] for lo <= q < hi, where q belongs to output c.

    If it is worthwhile, column c of G is copied first: the gathered entries then fit the first-level cache.
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
            add_sums(starts, rows, values, features[first:last], near, out[first:last])
        else:
            add_sums(starts, rows, values, features[first:last], g, out[first:last])


@kernel
def add_sums(starts, rows, values, features, g, out):
    """Add Σ_i x_i,features[q] g[i] over one block to out[q].

    The body of :func:`gathered` is repeated here. A call per column would count references to the arrays, in
    the time of a sum of 38 entries.
    """
    for q in range(features.size):
        lo, hi = starts[features[q]], starts[features[q] + 1]
        if values.size == 0:
            out[q] += sum_at(rows, lo, hi, g)
        elif hi - lo == g.size:
            out[q] += product(values, np.uint64(lo), g, np.uint64(0), np.uint64(hi - lo))
        else:
            out[q] += product_at(rows, values, lo, hi, g)


@inlined
def gathered(rows, values, lo, hi, g):
    """Return Σ x[p] g[rows[p]] over positions p from lo to hi - 1, with x = 1 if there are no values.

    A column with an entry in each row is read without row indices.
    """
    if values.size == 0:
        total = sum_at(rows, lo, hi, g)
    elif hi - lo == g.size:
        total = product(values, np.uint64(lo), g, np.uint64(0), np.uint64(hi - lo))
    else:
        total = product_at(rows, values, lo, hi, g)
    return total


@inlined
def product_at(rows, values, lo, hi, g):
    """Return Σ x[p] g[rows[p]] over positions p from lo to hi - 1.

    Four partial sums are accumulated, as additions to a single one would wait for each other. Positions are
    unsigned: a negative index counts from the end, and the check for it would double the time.
    """
    p, end = np.uint64(lo), np.uint64(hi)
    rest = end - (end - p) % FOUR
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for q in range(p, rest, FOUR):
        a0 += values[q] * g[rows[q]]
        a1 += values[q + ONE] * g[rows[q + ONE]]
        a2 += values[q + TWO] * g[rows[q + TWO]]
        a3 += values[q + THREE] * g[rows[q + THREE]]
    for q in range(rest, end):
        a0 += values[q] * g[rows[q]]
    return (a0 + a1) + (a2 + a3)


@inlined
def sum_at(rows, lo, hi, g):
    """Return Σ g[rows[p]] over positions p from lo to hi - 1, as :func:`product_at` does."""
    p, end = np.uint64(lo), np.uint64(hi)
    rest = end - (end - p) % FOUR
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for q in range(p, rest, FOUR):
        a0 += g[rows[q]]
        a1 += g[rows[q + ONE]]
        a2 += g[rows[q + TWO]]
        a3 += g[rows[q + THREE]]
    for q in range(rest, end):
        a0 += g[rows[q]]
    return (a0 + a1) + (a2 + a3)


@reordered
def product(x, at, g, first, n):
    """Return Σ x[at + i] g[first + i] over i < n, without slices, whose creation would cost as much as a
    short sum.

    All integers are unsigned.
    """
    total = 0.0
    for i in range(n):
        total += x[at + i] * g[first + i]
    return total


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
            add_columns(starts, rows, values, features[first:last], v[first:last], near)
            for i in range(n):
                Z[i, c] += near[i]
        else:
            for q in range(first, last):
                for p in range(starts[features[q]], starts[features[q] + 1]):
                    Z[rows[p], c] += v[q] if values.size == 0 else v[q] * values[p]


@kernel
def add_columns(starts, rows, values, features, v, z):
    """Add x_i,features[q] v[q] to z[i] over one block.

    The body of :func:`scatter` is repeated here, for the same reason as in :func:`add_sums`.
    """
    for q in range(features.size):
        lo, hi = starts[features[q]], starts[features[q] + 1]
        if values.size == 0:
            scatter_ones(rows, lo, hi, v[q], z)
        elif hi - lo == z.size:
            add_multiple(values, np.uint64(lo), v[q], z)
        else:
            scatter_values(rows, values, lo, hi, v[q], z)


@inlined
def scatter(rows, values, lo, hi, v, z):
    """Add v x[p] to z[rows[p]] for positions p from lo to hi - 1, with x = 1 if there are no values.

    A column with an entry in each row is read without row indices.
    """
    if values.size == 0:
        scatter_ones(rows, lo, hi, v, z)
    elif hi - lo == z.size:
        add_multiple(values, np.uint64(lo), v, z)
    else:
        scatter_values(rows, values, lo, hi, v, z)


@inlined
def scatter_ones(rows, lo, hi, v, z):
    """Add v to z[rows[p]] for positions p from lo to hi - 1."""
    for p in range(np.uint64(lo), np.uint64(hi)):
        z[rows[p]] += v


@inlined
def scatter_values(rows, values, lo, hi, v, z):
    """Add v x[p] to z[rows[p]] for positions p from lo to hi - 1."""
    for p in range(np.uint64(lo), np.uint64(hi)):
        z[rows[p]] += v * values[p]


@kernel
def add_multiple(x, at, v, z):
    """Add v x[at + i] to z[i] for all i."""
    for i in range(np.uint64(z.size)):
        z[i] += v * x[at + i]
