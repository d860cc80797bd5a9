"""Losses of single rows of scores: value, and first and second derivatives by score.

A kernel cannot take another as argument and stay in the cache, so the loss is chosen by a code: each loss
that offers ``Trait.ROWS`` has one. Labels ``y`` are those of one row: the class, the sign, or
0 and 1 for each label.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel

LOGISTIC, SOFTMAX = 0, 1
#: Losses of :mod:`.samples` that are none of single rows.
CHAIN, TREE = 2, 3
MULTICLASS_HINGE, MULTITASK_HINGE, MULTILABEL_HINGE = 4, 5, 6


@kernel
def row_loss(code, z, y):
    """Loss of scores z (outputs,)."""
    if code == MULTICLASS_HINGE:
        return _multiclass_hinge(z, y[0])
    if code == LOGISTIC:
        margin = y[0] * z[0]
        return np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0)
    if code == SOFTMAX:
        top = z.max()
        total = 0.0
        for c in range(z.size):
            total += np.exp(z[c] - top)
        return np.log(total) + top - z[y[0]]
    total = 0.0
    if code == MULTITASK_HINGE:
        for c in range(z.size):
            a = max(1.0 - z[c] if y[c] else 1.0 + z[c], 0.0)
            total += a * a
        return total
    for r in range(z.size):
        if y[r]:
            for q in range(z.size):
                if not y[q]:
                    a = max(1.0 - z[r] + z[q], 0.0)
                    total += a * a
    return total


@kernel
def row_derivatives(code, z, y, g, h):
    """The same; g and h take its first and (generalized) second derivatives by single scores."""
    if code == MULTICLASS_HINGE:
        return _multiclass_hinge_derivatives(z, y[0], g, h)
    if code == LOGISTIC:
        margin = y[0] * z[0]
        e = np.exp(-abs(margin))
        g[0] = -y[0] * (e if margin > 0 else 1.0) / (1.0 + e)
        h[0] = e / (1.0 + e) ** 2
        return np.log1p(e) + max(-margin, 0.0)
    if code == SOFTMAX:
        loss = softmax(z, y[0], g)
        for c in range(z.size):
            p = g[c] + 1.0 if c == y[0] else g[c]
            h[c] = p * (1.0 - p)
        return loss
    total = 0.0
    if code == MULTITASK_HINGE:
        for c in range(z.size):
            sign = 1.0 if y[c] else -1.0
            a = max(1.0 - sign * z[c], 0.0)
            total += a * a
            g[c] = -2.0 * sign * a
            h[c] = 2.0 if a > 0.0 else 0.0
        return total
    g[:] = 0.0
    h[:] = 0.0
    for r in range(z.size):
        if y[r]:
            for q in range(z.size):
                if not y[q]:
                    a = 1.0 - z[r] + z[q]
                    if a > 0.0:
                        total += a * a
                        g[r] -= 2.0 * a
                        g[q] += 2.0 * a
                        h[r] += 2.0
                        h[q] += 2.0
    return total


@kernel
def softmax(z, label, g):
    """log Σ exp(z) - z_label; g takes its derivatives."""
    top = z.max()
    total = 0.0
    for c in range(z.size):
        g[c] = np.exp(z[c] - top)
        total += g[c]
    for c in range(z.size):
        g[c] /= total
    g[label] -= 1.0
    return np.log(total) + top - z[label]


@kernel
def _multiclass_hinge(z, label):
    rest, total = 1.0 - z[label], 0.0
    for c in range(z.size):
        a = max(rest + z[c], 0.0) if c != label else 0.0
        total += a * a
    return total


@kernel
def _multiclass_hinge_derivatives(z, label, g, h):
    rest, total, sum_a, active = 1.0 - z[label], 0.0, 0.0, 0.0
    for c in range(z.size):
        a = max(rest + z[c], 0.0) if c != label else 0.0
        total += a * a
        sum_a += a
        g[c] = 2.0 * a
        h[c] = 2.0 if a > 0.0 else 0.0
        active += h[c]
    g[label] = -2.0 * sum_a
    h[label] = active
    return total


@kernel
def values_of(code, Z, y, out):
    """Loss of each row of Z, whose labels are equal shares of y."""
    width = y.size // max(Z.shape[0], 1)
    for i in range(Z.shape[0]):
        out[i] = row_loss(code, Z[i], y[i * width : (i + 1) * width])


@kernel
def residuals_of(code, Z, y, G):
    """∂/∂Z of the sum over rows."""
    width = y.size // max(Z.shape[0], 1)
    h = np.empty(Z.shape[1])
    for i in range(Z.shape[0]):
        row_derivatives(code, Z[i], y[i * width : (i + 1) * width], G[i], h)
