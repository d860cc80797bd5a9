"""Forward-backward of a single chain with scaled messages, for kernels that process one instance at a
time."""

from typing import NamedTuple

import numpy as np

from solverscope.solvers.compute.jit import inlined

from ..instances import residual_of
from .chain_log import log_chain
from .chain_packed import SAFE


class ChainTerm(NamedTuple):
    """The term of the chain CRF, which has no hyper-parameters."""


@inlined
def shift_rows(Z, wide, E, tops):
    """Write row maxima of Z to ``tops`` and exp(Z minus them) to E.

    Return whether a row spreads beyond SAFE, or True if ``wide``.
    """
    for i in range(Z.shape[0]):
        high, low = Z[i, 0], Z[i, 0]
        for c in range(1, Z.shape[1]):
            high, low = max(high, Z[i, c]), min(low, Z[i, c])
        tops[i], wide = high, wide or high - low > SAFE
        for c in range(Z.shape[1]):
            E[i, c] = np.exp(Z[i, c] - high)
    return wide


@inlined
def advance(a, E, out):
    """Write Σ_k a[k] E[k] to ``out``; four rows at a time keep the sums in registers."""
    out[:] = 0.0
    fours = a.size // 4 * 4
    for k in range(0, fours, 4):
        for c in range(out.size):
            first, second = a[k] * E[k, c] + a[k + 1] * E[k + 1, c], a[k + 2] * E[k + 2, c]
            out[c] += first + (second + a[k + 3] * E[k + 3, c])
    for k in range(fours, a.size):
        for c in range(out.size):
            out[c] += a[k] * E[k, c]


@inlined
def marginals(E, tops, forth, back, alpha, beta, G):
    """Add node marginals (Zhong et al. 2014, eq. (20)) to G; return log Z(x) without the maximum of Λ.

    The caller adds this maximum once per pair. ``E`` and ``tops`` are those of :func:`shift_rows`; ``forth``
    and ``back`` are exp(Λ) over its maximum, and the transpose. The pair marginals of tokens i and i + 1 are
    alpha[i] beta[i + 1]ᵀ times ``forth``.
    """
    n, m = E.shape
    b, log_z = np.ones(m), 0.0
    for i in range(n):
        a = alpha[i]
        if i == 0:
            a[:] = 1.0
        else:
            advance(alpha[i - 1], forth, a)
        total = 0.0
        for c in range(m):
            a[c] *= E[i, c]
            total += a[c]
        log_z += np.log(total) + tops[i]
        for c in range(m):
            a[c] /= total
    for i in range(n - 1, -1, -1):
        # scaled such that alpha[i]ᵀ b = 1: marginals of a token sum to one
        for c in range(m):
            G[i, c] += alpha[i, c] * b[c]
        if i == 0:
            break
        for c in range(m):
            beta[i, c] = E[i, c] * b[c]
        advance(beta[i], back, b)
        scale = 0.0
        for c in range(m):
            scale += alpha[i - 1, c] * b[c]
        scale = 1.0 / scale
        for c in range(m):
            beta[i, c] *= scale
            b[c] *= scale
    return log_z


@inlined
def ends_residual(G, G_tail):
    """Write the residual of the transitions from the begin state and to the end state, if there are any."""
    n, m = G.shape
    if G_tail.size > m * m:
        for c in range(m):
            G_tail[m * m + c] = G[0, c]
            G_tail[m * m + m + c] = G[n - 1, c]


@residual_of.register(ChainTerm)
def chain_residual(term, Z, tail, y, G, G_tail):
    n, m = Z.shape
    pairs_end = m * m
    transitions, pairs = tail[:pairs_end].reshape((m, m)), G_tail[:pairs_end].reshape((m, m))
    if tail.size > pairs_end:  # begin and end states
        for c in range(m):
            Z[0, c] += tail[pairs_end + c]
            Z[n - 1, c] += tail[pairs_end + m + c]
    top, low = tail[0], tail[0]
    for k in range(pairs_end):
        top, low = max(top, tail[k]), min(low, tail[k])
    loss = 0.0
    pairs[:] = 0.0
    for i in range(n):
        loss -= Z[i, y[i]]
        for c in range(m):
            G[i, c] = -1.0 if c == y[i] else 0.0
        if i > 0:
            loss -= transitions[y[i - 1], y[i]]
            pairs[y[i - 1], y[i]] -= 1.0
    E, tops = np.empty((n, m)), np.empty(n)
    if shift_rows(Z, top - low > SAFE, E, tops):
        loss += log_chain(Z, transitions, G, pairs)
        ends_residual(G, G_tail)
        return loss
    forth, back = np.empty((m, m)), np.empty((m, m))
    for k in range(m):
        for c in range(m):
            forth[k, c] = back[c, k] = np.exp(transitions[k, c] - top)
    alpha, beta = np.empty((n, m)), np.empty((n, m))
    loss += marginals(E, tops, forth, back, alpha, beta, G) + top * (n - 1)
    for i in range(1, n):
        for k in range(m):
            for c in range(m):
                pairs[k, c] += alpha[i - 1, k] * beta[i, c] * forth[k, c]
    ends_residual(G, G_tail)
    return loss
