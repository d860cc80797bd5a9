"""Losses of single instances, for solvers that look at one instance at a time.

As in :mod:`.rows` the loss is chosen by a code: each loss that offers ``Trait.SAMPLES`` has one. An instance
is a row of scores, or the rows of a chain.
"""

from __future__ import annotations

import numpy as np

from ...compute.jit import kernel
from .chain_log import log_chain
from .chain_packed import SAFE
from .chain_single import marginals, shift_rows
from .multiclass_hinge import multiclass_max_row
from .multilabel_hinge import multilabel_max_row
from .rows import MULTICLASS_MAX, row_derivatives, softmax_row
from .tree import downward, upward


@kernel
def residual_of(code, Z, tail, y, tree, margins, G, G_tail):
    """Return the loss of one instance with scores Z (tokens, outputs) and labels y (one or more a token);
    write its derivatives by Z and by the tail to G and G_tail. Z may be overwritten.

    ``code``, ``tree`` and ``margins`` are those of :class:`.Instances`.
    """
    if tree is not None:
        return _tree(Z, y[0], tree, G)
    if margins is not None:
        if code == MULTICLASS_MAX:
            return multiclass_max_row(Z[0], y[0], margins, G[0])
        return multilabel_max_row(Z[0], y, margins, G[0])
    if code is not None:
        return row_derivatives(code, Z[0], y, G[0], None)
    # in one piece: each kernel is optimized again inside every kernel that calls it, and this is the largest
    n, m = Z.shape
    padded = (m + 7) // 8 * 8
    transitions, pairs = tail.reshape((m, m)), G_tail.reshape((m, m))
    top, low = tail[0], tail[0]
    for k in range(tail.size):
        top, low = max(top, tail[k]), min(low, tail[k])
    forth, back = np.zeros((m, padded)), np.zeros((m, padded))
    for k in range(m):
        for c in range(m):
            forth[k, c] = np.exp(transitions[k, c] - top)
            back[c, k] = forth[k, c]
    E, tops, wide = np.empty((n, padded)), np.empty(n), np.empty(n, np.bool_)
    shift_rows(Z, top - low > SAFE, E, tops, wide)
    spread = False
    for i in range(n):
        spread = spread or wide[i]
        for c in range(padded):
            E[i, c] = np.exp(E[i, c])
    pairs[:] = 0.0
    for i in range(1, n):
        pairs[y[i - 1], y[i]] -= 1.0
    if spread:
        loss = 0.0
        for i in range(n):
            loss -= Z[i, y[i]]
            for c in range(m):
                G[i, c] = -1.0 if c == y[i] else 0.0
            if i > 0:
                loss -= transitions[y[i - 1], y[i]]
        return loss + log_chain(Z, transitions, G, pairs)
    alpha, beta = np.zeros((n, padded)), np.zeros((n, padded))
    loss = marginals(Z, E, tops, transitions, forth, back, top, y, alpha, beta, G)
    for i in range(1, n):
        for k in range(m):
            for c in range(m):
                pairs[k, c] += alpha[i - 1, k] * beta[i, c] * forth[k, c]
    return loss


@kernel
def _tree(Z, label, tree, G):
    parents, leaves = tree
    α, P, truth = np.empty((1, leaves.size)), np.empty((1, leaves.size)), 0
    downward(Z, parents, leaves, α)
    for q in range(leaves.size):
        if leaves[q] == label:
            truth = q
    loss = softmax_row(α[0], truth, P[0], None)
    upward(P, leaves, parents, G)
    return loss
