"""The data of a loss for kernels that process one instance at a time: a row of scores, or the rows of a
chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import inlined, kernel
from .score_rows import row_derivatives


class Instances(NamedTuple):
    """The term of a loss, the rows of X of each instance, the labels, and the weights of the instances.

    Rows of instance i are ``offsets[i]`` to ``offsets[i + 1]``, and every row has the same number of labels.
    ``weights`` is empty if all are 1.
    """

    term: Any
    offsets: np.ndarray
    y: np.ndarray
    weights: np.ndarray


@by_class
def residual_of(term, Z, tail, y, G, G_tail):
    """Return the loss of one instance with scores Z (tokens, outputs) and labels y (one or more per token).

    Write its derivatives with respect to Z and to the tail to G and G_tail. Z may be overwritten.
    """
    return row_derivatives(term, Z[0], y, G[0], None)


@inlined
def weighted_residual(instances, i, Z, tail, G, G_tail):
    """Return the loss of instance i, times its weight, and write its derivatives as :func:`residual_of` does.

    This function is inlined, since a call would count references to all arrays of the instances.
    """
    term, offsets, y, weights = instances
    width = y.size // offsets[-1]
    loss = residual_of(term, Z, tail, y[offsets[i] * width : offsets[i + 1] * width], G, G_tail)
    if weights.size:
        loss *= weigh(weights[i], G, G_tail)
    return loss


@kernel
def weigh(weight, G, G_tail):
    """Multiply the derivatives of an instance by its weight, in place; return the weight."""
    for t in range(G.shape[0]):
        for c in range(G.shape[1]):
            G[t, c] *= weight
    for c in range(G_tail.size):
        G_tail[c] *= weight
    return weight
