"""The data of a loss that kernels read one instance at a time: a row of scores, or the rows of a chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import inlined, kernel
from .score_rows import row_derivatives


class Instances(NamedTuple):
    """The term of a loss, the rows of X of instance i, ``offsets[i]`` to ``offsets[i + 1]``, and all labels,
    the same number a row. Instances have ``weights``, none if all are 1."""

    term: Any
    offsets: np.ndarray
    y: np.ndarray
    weights: np.ndarray


@by_class
def residual_of(term, Z, tail, y, G, G_tail):
    """Return the loss of one instance with scores Z (tokens, outputs) and labels y (one or more a token);
    write its derivatives by Z and by the tail to G and G_tail. Z may be overwritten."""
    return row_derivatives(term, Z[0], y, G[0], None)


@inlined
def weighted_residual(instances, i, Z, tail, G, G_tail):
    """Return the loss of instance i, times its weight, and write its derivatives as :func:`residual_of`.

    It is inlined, since a call would count references to all arrays of the instances.
    """
    term, offsets, y, weights = instances
    width = y.size // offsets[-1]
    loss = residual_of(term, Z, tail, y[offsets[i] * width : offsets[i + 1] * width], G, G_tail)
    if weights.size:
        loss *= weigh(weights[i], G, G_tail)
    return loss


@kernel
def weigh(weight, G, G_tail):
    """Multiply derivatives of an instance by its weight, and return the weight."""
    for t in range(G.shape[0]):
        for c in range(G.shape[1]):
            G[t, c] *= weight
    for c in range(G_tail.size):
        G_tail[c] *= weight
    return weight
