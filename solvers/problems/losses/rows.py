"""Losses of single rows of scores: value, and first and second derivatives by score.

Each formula stands here once; values, residuals, columns (:mod:`.columns`) and single samples
(:mod:`.samples`) call it. A row's loss takes ``g`` and ``h`` for its derivatives by single scores, None where
they are not wanted: Numba compiles what is left of it without them. A kernel cannot take another as argument
and stay in the cache, so the loss is chosen by a code: each loss that offers ``Trait.ROWS`` has one. Labels
``y`` are those of one row: the class, the sign, or 0 and 1 for each label.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel

LOGISTIC, SOFTMAX = 0, 1
#: Losses of :mod:`.samples` that are none of single rows.
CHAIN, TREE = 2, 3
MULTICLASS_HINGE, MULTITASK_HINGE, MULTILABEL_HINGE = 4, 5, 6
HINGE = 7
#: Maxima over labels, of :mod:`.multiclass_hinge` and :mod:`.multilabel_hinge`.
MULTICLASS_MAX, MULTILABEL_MAX = 8, 9


@kernel
def logistic(margin):
    """Return log(1 + exp(-margin)) without overflow for any finite margin, and its first two derivatives."""
    e = np.exp(-abs(margin))
    loss = np.log1p(e) + max(-margin, 0.0)
    return loss, -(e if margin > 0 else 1.0) / (1.0 + e), e / (1.0 + e) ** 2


@kernel
def squared_hinge(a):
    """Return max(a, 0)² and its first two (generalized) derivatives."""
    a = max(a, 0.0)
    return a * a, 2.0 * a, 2.0 if a > 0.0 else 0.0


@kernel
def hinge(a):
    """Return max(a, 0) and its derivative, 0 at the kink."""
    return max(a, 0.0), 1.0 if a > 0.0 else 0.0


@kernel
def logistic_row(z, sign, g, h):
    """Return log(1 + exp(-sign z))."""
    loss, first, second = logistic(sign * z[0])
    if g is not None:
        g[0] = sign * first
    if h is not None:
        h[0] = second
    return loss


@kernel
def hinge_row(z, sign, g, h):
    """Return max(1 - sign z, 0)."""
    loss, first = hinge(1.0 - sign * z[0])
    if g is not None:
        g[0] = -sign * first
    if h is not None:
        h[0] = 0.0
    return loss


@kernel
def softmax_row(z, label, g, h):
    """Return log Σ exp(z) - z_label."""
    top, total = z[0], 0.0
    for c in range(1, z.size):
        top = max(top, z[c])
    if g is None:
        for c in range(z.size):
            total += np.exp(z[c] - top)
    else:
        for c in range(z.size):
            g[c] = np.exp(z[c] - top)
        for c in range(z.size):
            total += g[c]
        for c in range(z.size):
            g[c] /= total
            if h is not None:
                h[c] = g[c] * (1.0 - g[c])
        g[label] -= 1.0
    return np.log(total) + top - z[label]


@kernel
def multiclass_hinge_row(z, label, g, h):
    """Return Σ_{r ≠ label} max(1 - (z_label - z_r), 0)²."""
    rest, total, slope, curvature = 1.0 - z[label], 0.0, 0.0, 0.0
    for c in range(z.size):
        loss, first, second = squared_hinge(rest + z[c] if c != label else 0.0)
        total += loss
        if g is not None:
            g[c] = first
            slope += first
        if h is not None:
            h[c] = second
            curvature += second
    if g is not None:
        g[label] = -slope
    if h is not None:
        h[label] = curvature
    return total


@kernel
def multitask_hinge_row(z, y, g, h):
    """Return Σ_r max(1 - y_r z_r, 0)², y_r = 1 for labels that the row has, else -1."""
    total = 0.0
    for c in range(z.size):
        sign = 2.0 * y[c] - 1.0
        loss, first, second = squared_hinge(1.0 - sign * z[c])
        total += loss
        if g is not None:
            g[c] = -sign * first
        if h is not None:
            h[c] = second
    return total


@kernel
def multilabel_hinge_row(z, y, g, h):
    """Return Σ max(1 - (z_r - z_q), 0)² over labels r that the row has, and q that it has not."""
    total = 0.0
    if g is not None:
        g[:] = 0.0
    if h is not None:
        h[:] = 0.0
    for r in range(z.size):
        if y[r]:
            for q in range(z.size):
                if not y[q]:
                    loss, first, second = squared_hinge(1.0 - z[r] + z[q])
                    total += loss
                    if g is not None:
                        g[r] -= first
                        g[q] += first
                    if h is not None:
                        h[r] += second
                        h[q] += second
    return total


@kernel
def row_derivatives(code, z, y, g, h):
    """Return the loss of scores z (outputs,); write its first and (generalized) second derivatives by single
    scores to g and h."""
    if code == LOGISTIC:
        return logistic_row(z, y[0], g, h)
    if code == SOFTMAX:
        return softmax_row(z, y[0], g, h)
    if code == MULTICLASS_HINGE:
        return multiclass_hinge_row(z, y[0], g, h)
    if code == MULTITASK_HINGE:
        return multitask_hinge_row(z, y, g, h)
    if code == HINGE:
        return hinge_row(z, y[0], g, h)
    return multilabel_hinge_row(z, y, g, h)


@kernel
def row_loss(code, z, y):
    """Return the loss of scores z, without derivatives."""
    return row_derivatives(code, z, y, None, None)


@kernel
def values_of(code, Z, y, out):
    """Write the loss of each row of Z to ``out``; y holds the labels, as many for each row.

    The loss is chosen outside of the loops: a choice at each row makes hinges three times as slow.
    """
    n = Z.shape[0]
    if code == LOGISTIC:
        z = Z.reshape(-1)
        for i in range(n):
            out[i] = logistic(y[i] * z[i])[0]
    elif code == SOFTMAX:
        for i in range(n):
            out[i] = softmax_row(Z[i], y[i], None, None)
    elif code == MULTICLASS_HINGE:
        for i in range(n):
            out[i] = multiclass_hinge_row(Z[i], y[i], None, None)
    elif code == HINGE:
        z = Z.reshape(-1)
        for i in range(n):
            out[i] = hinge(1.0 - y[i] * z[i])[0]
    elif code == MULTITASK_HINGE:
        labels = y.reshape(Z.shape)
        for i in range(n):
            out[i] = multitask_hinge_row(Z[i], labels[i], None, None)
    else:
        labels = y.reshape(Z.shape)
        for i in range(n):
            out[i] = multilabel_hinge_row(Z[i], labels[i], None, None)


@kernel
def residuals_of(code, Z, y, G):
    """Write the derivatives of the loss by Z, summed over rows, to G."""
    n = Z.shape[0]
    if code == LOGISTIC:
        z, g = Z.reshape(-1), G.reshape(-1)
        for i in range(n):
            g[i] = y[i] * logistic(y[i] * z[i])[1]
    elif code == SOFTMAX:
        for i in range(n):
            softmax_row(Z[i], y[i], G[i], None)
    elif code == MULTICLASS_HINGE:
        for i in range(n):
            multiclass_hinge_row(Z[i], y[i], G[i], None)
    elif code == HINGE:
        z, g = Z.reshape(-1), G.reshape(-1)
        for i in range(n):
            g[i] = -y[i] * hinge(1.0 - y[i] * z[i])[1]
    elif code == MULTITASK_HINGE:
        labels = y.reshape(Z.shape)
        for i in range(n):
            multitask_hinge_row(Z[i], labels[i], G[i], None)
    else:
        labels = y.reshape(Z.shape)
        for i in range(n):
            multilabel_hinge_row(Z[i], labels[i], G[i], None)
