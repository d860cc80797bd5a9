"""Covariance updates: coordinate descent over a quadratic model whose matrix Q = AᵀHA is stored.

A are the columns of X of a working set, H is diagonal. Once Q is stored, visiting a weight reads no entry of
X: each move adds a row of Q to the gradient of the model (Friedman, Hastie and Tibshirani 2010, section 2.2).
Sweeps alternate with steps to the minimum on the support, from a Cholesky factor of Q there.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel
from ...linalg.by_columns import gathered
from ...linalg.by_rows import transpose
from ...linalg.design import Design
from ...linalg.row_norms import soft_thresholded
from .newton_kernels import curvature_of

#: Members up to which Q is stored: 32 MB.
MOST_COVARIANCE_MEMBERS = 2_000
#: Visits of entries in a sweep that cost as much as an entry turned into rows, two products of entries in a
#: row, an entry gathered, and a product of full columns by BLAS.
VISITS_PER_TURN, VISITS_PER_PRODUCTS, VISITS_PER_GATHER, VISITS_BY_BLAS = 2.5, 1.0, 0.5, 1 / 50
#: Products per call, some 5 ms, and the rows of a call.
COVARIANCE_PRODUCTS_PER_CALL, COVARIANCE_ROWS_PER_CALL = 5_000_000, (32, 4096)
#: Columns stored for later working sets, relative to those of the current one.
MOST_HELD_RATIO = 2
#: Operations of a call of sweeps, some 20 ms.
COVARIANCE_OPERATIONS_PER_CALL = 40_000_000
#: Steps to the minimum on a support that may cost what the sweeps before cost, and their most in turn.
STEPS_FOR_SWEEPS, STEPS_IN_TURN = 4, 20
#: Weights of a support on which the minimum is sought, some 30 ms.
MOST_ON_SUPPORT = 1_000
#: Pivot, relative to the diagonal, below which a column depends on those before it; slope along the line, in
#: units of its terms, below which the model is level.
DEPENDENT, LEVEL = 1e-10, 1e-9


class Covariances:
    """Q = AᵀHA of working sets; with H = sI, products of columns from earlier sets are reused.

    ``h`` is the diagonal of H; if it is empty, H is sI with s = ``scale``.
    """

    def __init__(self, design: Design, scale: float) -> None:
        self.design, self.scale = design, scale
        self.held, self.Q = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
        self._forget()

    def _forget(self) -> None:
        self.place = np.full(self.design.n_features, -1)
        self.place[self.held] = np.arange(self.held.size)

    def on(self, design: Design) -> Covariances:
        """Return this object for another run on the same data, which counts the entries of X that it
        reads."""
        self.design = design
        return self

    def cost(self, features: np.ndarray, h: np.ndarray) -> float:
        """Return an estimate of the cost of Q for these features, in entries that sweeps visit."""
        new = features if h.size else features[self.place[features] < 0]
        lengths = self.design.column_nnz
        if features.size > MOST_COVARIANCE_MEMBERS:
            return np.inf
        entries, added = float(lengths[features].sum()), float(lengths[new].sum())
        if not new.size:
            return 0.0
        if self._full(features):
            return VISITS_BY_BLAS * added * features.size
        if self._few(new.size):
            return new.size * VISITS_PER_GATHER * entries
        products = added * (entries - 0.5 * added) / self.design.n_rows  # were entries spread evenly
        return VISITS_PER_TURN * entries + VISITS_PER_PRODUCTS * products

    def _few(self, n: int) -> bool:
        """Return whether n columns should be multiplied one by one, which then costs less than a conversion
        to rows."""
        return n * VISITS_PER_GATHER <= VISITS_PER_TURN

    def of(self, features: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return a copy of Q for these features."""
        if h.size:
            return self._products(features, 0, h)
        new = features[self.place[features] < 0]
        if new.size:
            if self.held.size + new.size > MOST_HELD_RATIO * features.size:
                kept = np.flatnonzero(np.isin(self.held, features))
                self.held, self.Q = self.held[kept], self.Q[np.ix_(kept, kept)]
            n_old, Q = self.held.size, self.Q
            self.held = np.concatenate([self.held, new])
            self.Q = self._products(self.held, n_old, h)
            self.Q[:n_old, :n_old] = Q
            self._forget()
        places = self.place[features]
        return self.Q[np.ix_(places, places)]

    def _full(self, features: np.ndarray) -> bool:
        """Return whether all entries of these columns are stored explicitly, zeros included."""
        return not self.design.binary and bool((self.design.column_nnz[features] == self.design.n_rows).all())

    def _products(self, features: np.ndarray, first: int, h: np.ndarray) -> np.ndarray:
        """Return AᵀHA of these columns, without the products among the first ``first`` columns."""
        Q = np.zeros((features.size, features.size))
        columns, places = self.design.columns_of(features)
        if self._full(features):
            self._by_blas(columns, places, first, h, Q)
        elif self._few(features.size - first):
            self._by_columns(columns, places, first, h, Q)
        else:
            self._by_rows(columns, places, first, h, Q)
        if not h.size:
            Q *= self.scale
        Q[:first, first:] = Q[first:, :first].T
        return Q

    def _by_blas(self, columns, places, first, h, Q) -> None:
        design, size = self.design, places.size
        few, many = COVARIANCE_ROWS_PER_CALL
        step = min(max(COVARIANCE_PRODUCTS_PER_CALL * 10 // (size * (size - first)), few), many)
        for b, (lo, hi) in enumerate(zip(design.edges[:-1], design.edges[1:], strict=True)):
            for row in range(lo, hi, step):
                part = slice(row, min(row + step, hi))
                R = np.empty((size, part.stop - row))
                copy_full(columns.starts[b], columns.values, places, row - lo, np.sqrt(h[part]), R)
                Q[first:] += R[first:] @ R.T
                design.touched += size * R.shape[1]
                design.pulse()

    def _by_columns(self, columns, places, first, h, Q) -> None:
        design = self.design
        for b, (lo, hi) in enumerate(zip(design.edges[:-1], design.edges[1:], strict=True)):
            for p in range(first, places.size):
                design.touched += multiply(
                    columns.starts[b], columns.rows, columns.values, places, p, h[lo:hi], hi - lo, Q[p]
                )
                design.pulse()

    def _by_rows(self, columns, places, first, h, Q) -> None:
        design = self.design
        for b, (lo, hi) in enumerate(zip(design.edges[:-1], design.edges[1:], strict=True)):
            starts, features, values = transpose(
                np.array([0, hi - lo]), columns.starts[b : b + 1], columns.rows, columns.values, places
            )
            design.touched += int(starts[-1])
            design.pulse()
            row, own = 0, h[lo:hi]
            while row < hi - lo:
                most = COVARIANCE_PRODUCTS_PER_CALL
                row = add_products(starts, features, values, own, first, row, most, Q)
                design.pulse()
        Q[first:, first:] += np.tril(Q[first:, first:], -1).T


@kernel
def copy_full(starts, values, places, row, times, out):
    """Copy entries of full columns of a block, from its row ``row`` on, to the rows of ``out``.

    Entries are multiplied by ``times``, unless it is empty.
    """
    for q in range(places.size):
        at = starts[places[q]] + row
        for i in range(out.shape[1]):
            out[q, i] = times[i] * values[at + i] if times.size else values[at + i]


@kernel
def multiply(starts, rows, values, places, p, h, n, out):
    """Add Σ_i h_i x_ip x_iq over a block of ``n`` rows to out[q] for each column q; return the entries
    read."""
    own, read = np.zeros(n), 0
    for k in range(starts[places[p]], starts[places[p] + 1]):
        i = rows[k]
        own[i] = (values[k] if values.size else 1.0) * (h[i] if h.size else 1.0)
    for q in range(places.size):
        lo, hi = starts[places[q]], starts[places[q] + 1]
        out[q] += gathered(rows, values, lo, hi, own)
        read += hi - lo
    return read


@kernel
def add_products(starts, features, values, h, first, row, most, Q):
    """Add h_i x_ip x_iq to Q[p, q] for rows from ``row`` on, with p >= ``first`` and q <= p.

    Features of a row must be ascending. Stop after about ``most`` products, but add at least one row; return
    the next row. ``values`` is empty if all are one, and ``h`` if all of it is one.
    """
    added = 0
    while row < starts.size - 1 and added < most:
        lo, hi = starts[row], starts[row + 1]
        factor = h[row] if h.size else 1.0
        for p in range(hi - 1, lo - 1, -1):
            if features[p] < first:
                break
            x, there = factor * values[p] if values.size else factor, Q[features[p]]
            for q in range(lo, p + 1):
                there[np.uint32(features[q])] += x * values[q] if values.size else x
            added += p + 1 - lo
        row += 1
    return row


@kernel
def curvatures(columns, features, h, scale, ridges, H):
    """Write the curvature of each weight to H where it is negative, that is, not computed yet."""
    for k in range(features.size):
        if H[k] < 0.0:
            H[k] = ridges[k] + curvature_of(columns, features[k], h, scale)


@kernel
def covariance_sweeps(Q, v, c, H, l1, bounded, goal, most, operations):
    """Minimize cᵀd + ½dᵀQd + Σ l1_k |v_k + d_k| over d, and add d to v and Qd to c in place.

    Sweeps over all weights end when no violation is above ``goal``, or when a sweep moves no weight. They
    also end after ``most`` sweeps, or this number of ``operations``. Once sweeps have cost more than a few
    steps to the minimum on the support, such steps follow until one changes no sign. Each counts as a sweep.
    They are left out if the model is not known to be ``bounded`` and Q is singular on the support: steps
    might be arbitrarily long. Return the number of sweeps and whether no further call is needed.
    """
    size = v.size
    done, spent, since, most_on_support = 0, 0, 0, MOST_ON_SUPPORT
    while True:
        moved = False
        for k in range(size):
            a, now = c[k], v[k]
            if now == 0.0 and abs(a) <= l1[k]:
                continue
            target = 0.0 if l1[k] > 0.0 else now  # if only the penalty depends on it
            if H[k] > 0.0:
                target = soft_thresholded(now - a / H[k], l1[k] / H[k])
            if target != now:
                add_row(Q[k], target - now, c)
                v[k], moved = target, True
                since += size
        done, since = done + 1, since + size
        largest, support = violation_and_support(v, c, l1)
        over = largest <= goal or done >= most or not moved
        if not over and support <= most_on_support and since > STEPS_FOR_SWEEPS * cost_of_step(support, size):
            for _ in range(STEPS_IN_TURN):
                done, since = done + 1, since + cost_of_step(support, size)
                whole = step_on_support(Q, v, c, l1, bounded, support)
                if whole < 0:
                    most_on_support = 0
                largest, support = violation_and_support(v, c, l1)
                over = largest <= goal or done >= most
                if whole != 0 or over:
                    break
            spent, since = spent + since, 0
        if over or spent + since > operations:
            return done, over


@kernel
def cost_of_step(support, size):
    """Return the cost of a step on a support, in operations of sweeps."""
    return support * support * support // 12 + support * size


@kernel
def add_row(row, times, c):
    """Add ``times`` a row of Q to c."""
    for k in range(c.size):
        c[k] += times * row[k]


@kernel
def violation_and_support(v, c, l1):
    """Return the largest violation at v for the gradient c, and the number of weights on the support.

    The support consists of the weights that are non-zero or not penalised.
    """
    largest, support = 0.0, 0
    for k in range(v.size):
        if v[k] != 0.0 or l1[k] == 0.0:
            support += 1
            largest = max(largest, abs(c[k] + np.sign(v[k]) * l1[k]))
        else:
            largest = max(largest, abs(c[k]) - l1[k])
    return largest, support


@kernel
def step_on_support(Q, v, c, l1, bounded, support):
    """Move towards the minimum on the support, keeping the signs of v, until the first weight becomes zero.

    Update v and c in place. Return 1 if the minimum is reached, else 0. If a column is a linear combination
    of others of the support, the model is linear along some direction. The move then follows this direction
    downwards; if the model is constant along it, the weight stays. If the model may not be ``bounded``,
    return -1 without moving.
    """
    members, down = np.empty(support, np.int64), np.empty(support)
    n = 0
    for k in range(v.size):
        if v[k] != 0.0 or l1[k] == 0.0:
            members[n], down[n] = k, -(c[k] + np.sign(v[k]) * l1[k])
            n += 1
    U, z, free = np.empty((n, n)), down.copy(), np.ones(n, np.bool_)
    for i in range(n):
        for j in range(i, n):
            U[i, j] = Q[members[i], members[j]]
    for i in range(n):  # UᵀU = Q on the support, row by row, and z becomes U⁻ᵀ times itself
        if U[i, i] <= DEPENDENT * Q[members[i], members[i]]:
            if not bounded:
                return -1
            free[i], z[i] = False, 0.0
            continue
        root = np.sqrt(U[i, i])
        for j in range(i, n):
            U[i, j] /= root
        z[i] /= root
        for k in range(i + 1, n):
            times, to, by = U[i, k], U[k, k:], U[i, k:]
            z[k] -= times * z[i]
            for j in range(to.size):
                to[j] -= times * by[j]
    most, straight = 1.0, np.zeros(n)
    for i in range(n):
        if not free[i]:
            straight[:i] = -U[:i, i]
            straight[i], straight[i + 1 :] = 1.0, 0.0
            solve_above(U, free, straight, i)
            slope, size = 0.0, 0.0
            for k in range(i + 1):
                slope += straight[k] * down[k]
                size += abs(straight[k]) * (abs(down[k]) + l1[members[k]])
            if abs(slope) > LEVEL * size:
                for k in range(i + 1):
                    straight[k] *= np.sign(slope)
                if reach(members, v, straight, l1, np.inf)[0] < np.inf:
                    most = np.inf
                    z[:] = straight
                    break
    if most == 1.0:
        solve_above(U, free, z, n)
    t, first = reach(members, v, z, l1, most)
    for i in range(n):
        v[members[i]] += t * z[i]
        add_row(Q[members[i]], t * z[i], c)
    if first >= 0:
        v[members[first]] = 0.0
    return 1 if first < 0 else 0


@kernel
def solve_above(U, free, z, n):
    """Overwrite the first n entries of z by U⁻¹z; entries that are not ``free`` become zero."""
    for i in range(n - 1, -1, -1):
        if not free[i]:
            z[i] = 0.0
            continue
        left = z[i]
        for j in range(i + 1, n):
            left -= U[i, j] * z[j]
        z[i] = left / U[i, i]


@kernel
def reach(members, v, z, l1, most):
    """Return the step along z, at most ``most``, at which the first penalised weight becomes zero, and its
    index.

    The index is among the ``members``; it is -1 if no weight becomes zero.
    """
    t, first = most, -1
    for i in range(z.size):
        k = members[i]
        if l1[k] > 0.0 and v[k] * z[i] < 0.0 and -v[k] / z[i] < t:
            t, first = -v[k] / z[i], i
    return t, first
