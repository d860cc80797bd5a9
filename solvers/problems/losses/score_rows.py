"""Losses of single rows of scores: value, and first and second derivatives with respect to each score.

Every formula is defined here only once, and called for values, residuals, columns (:mod:`.feature_columns`)
and single samples (:mod:`.instances`). A loss is passed to kernels as its *term*, a NamedTuple. The class of
the term identifies the loss, and its fields are hyper-parameters and arrays. :func:`row_derivatives` has an
implementation per class of terms, and one for all losses of a margin y z. Derivatives are written to ``g``
and ``h``; pass None for those that are not needed, and Numba leaves out their code. ``y`` has the labels of
one row: the class, the sign, or 0 and 1 for each label.
"""

from typing import NamedTuple

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import kernel


class SoftmaxTerm(NamedTuple):
    """The softmax loss of a row, log Σ exp(z) - z_label."""


class MulticlassHingeTerm(NamedTuple):
    """The multiclass squared hinge of a row, Σ_{r ≠ label} max(1 - (z_label - z_r), 0)²."""


class MultitaskHingeTerm(NamedTuple):
    """The multitask squared hinge of a row, Σ_r max(1 - y_r z_r, 0)².

    y_r is 1 for labels that the row has, else -1.
    """


class MultilabelHingeTerm(NamedTuple):
    """The multilabel squared hinge of a row, Σ max(1 - (z_r - z_q), 0)².

    The sum is over labels r that the row has, and labels q that it does not have.
    """


@by_class
def margin_derivatives(term, margin):
    """Return the loss of a margin y z, and its first two derivatives."""
    raise TypeError(f"{type(term).__name__} is no loss of a margin")


@by_class
def row_derivatives(term, z, y, g, h):
    """Return the loss of the scores z (outputs,) of one row.

    Write its first and (generalized) second derivatives with respect to each score to g and h.
    """
    loss, first, second = margin_derivatives(term, y[0] * z[0])
    if g is not None:
        g[0] = y[0] * first
    if h is not None:
        h[0] = second
    return loss


@kernel
def squared_hinge(a):
    """Return max(a, 0)² and its first two (generalized) derivatives."""
    a = max(a, 0.0)
    return a * a, 2.0 * a, 2.0 if a > 0.0 else 0.0


@row_derivatives.register(SoftmaxTerm)
def softmax_row(term, z, y, g, h):
    label = y[0]
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


@row_derivatives.register(MulticlassHingeTerm)
def multiclass_hinge_row(term, z, y, g, h):
    label = y[0]
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


@row_derivatives.register(MultitaskHingeTerm)
def multitask_hinge_row(term, z, y, g, h):
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


@row_derivatives.register(MultilabelHingeTerm)
def multilabel_hinge_row(term, z, y, g, h):
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
def values_of(term, Z, y, out):
    """Write the loss of each row of Z to ``out``; y is (rows, labels per row)."""
    for i in range(Z.shape[0]):
        out[i] = row_derivatives(term, Z[i], y[i], None, None)


@kernel
def residuals_of(term, Z, y, G):
    """Write the derivatives of the loss of each row with respect to its scores to G."""
    for i in range(Z.shape[0]):
        row_derivatives(term, Z[i], y[i], G[i], None)


@kernel
def seconds_of(term, Z, y, H):
    """Write the second derivatives of the loss with respect to each score to H."""
    for i in range(Z.shape[0]):
        row_derivatives(term, Z[i], y[i], None, H[i])
