"""Forward-backward of a single chain with scaled messages, for kernels that visit one instance at a time."""

from __future__ import annotations

import numpy as np

from ...compute.jit import inlined
from .chain_packed import SAFE


@inlined
def shift_rows(Z, wide, E, tops, spread):
    """Write row maxima of Z to ``tops``, Z minus them to E (padded with -inf), and which rows spread beyond
    SAFE (all if ``wide``) to ``spread``."""
    m = Z.shape[1]
    for i in range(Z.shape[0]):
        high, low = Z[i, 0], Z[i, 0]
        for c in range(1, m):
            high, low = max(high, Z[i, c]), min(low, Z[i, c])
        tops[i], spread[i] = high, wide or high - low > SAFE
        for c in range(m):
            E[i, c] = Z[i, c] - high
        for c in range(m, E.shape[1]):
            E[i, c] = -np.inf


@inlined
def _sum(a):
    """Sum padded columns, in four parts that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for c in range(0, a.size, 4):
        s0 += a[c]
        s1 += a[c + 1]
        s2 += a[c + 2]
        s3 += a[c + 3]
    return (s0 + s1) + (s2 + s3)


@inlined
def _dot(a, b):
    """Return aᵀb over padded columns, in four parts that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for c in range(0, a.size, 4):
        s0 += a[c] * b[c]
        s1 += a[c + 1] * b[c + 1]
        s2 += a[c + 2] * b[c + 2]
        s3 += a[c + 3] * b[c + 3]
    return (s0 + s1) + (s2 + s3)


@inlined
def _advance(a, E, out):
    """Write Σ_k a[k] E[k] to ``out``, over padded columns; four rows at a time keep the sums in registers."""
    m = E.shape[0]
    out[:] = 0.0
    k = 0
    while k + 4 <= m:
        for c in range(out.size):
            out[c] += (a[k] * E[k, c] + a[k + 1] * E[k + 1, c]) + (
                a[k + 2] * E[k + 2, c] + a[k + 3] * E[k + 3, c]
            )
        k += 4
    while k < m:
        for c in range(out.size):
            out[c] += a[k] * E[k, c]
        k += 1


@inlined
def marginals(Z, E, tops, transitions, forth, back, top, y, alpha, beta, G):
    """Write node marginals minus the truth (Zhong et al. 2014, eq. (20)) to G; return log Z(x) - score(y).

    ``E`` and ``tops`` are those of :func:`shift_rows`, E after exp; ``forth`` and ``back`` are exp(Λ - top)
    in both orders, padded like E. The pair marginals of tokens i and i + 1 are alpha[i] beta[i + 1]ᵀ times
    ``forth``.
    """
    n, padded = E.shape
    b, weighted = np.empty(padded), np.empty(padded)
    loss = top * (n - 1)
    for i in range(n):
        loss -= Z[i, y[i]]
        if i > 0:
            loss -= transitions[y[i - 1], y[i]]
        a = alpha[i]
        if i == 0:
            a[:] = 1.0
        else:
            _advance(alpha[i - 1], forth, a)
        for c in range(padded):
            a[c] *= E[i, c]
        scale = _sum(a)
        loss += np.log(scale) + tops[i]
        scale = 1.0 / scale
        for c in range(padded):
            a[c] *= scale
    b[:] = 1.0
    for i in range(n - 1, -1, -1):
        # scaled such that alpha[i]ᵀ b = 1: marginals of a token sum to one
        for c in range(Z.shape[1]):
            G[i, c] = alpha[i, c] * b[c]
        G[i, y[i]] -= 1.0
        if i == 0:
            break
        for c in range(padded):
            weighted[c] = E[i, c] * b[c]
        _advance(weighted, back, b)
        scale = 1.0 / _dot(alpha[i - 1], b)
        for c in range(padded):
            beta[i, c] = weighted[c] * scale
            b[c] *= scale
    return loss
