"""Forward-backward of one chain in log space: correct for any finite scores, but many times slower.

Messages are shifted at every token. Otherwise their magnitude on a long sequence would leave no digits for
the marginals, which are differences. The work is cut into slices of tokens, so that a run can stop within a
long sequence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solverscope.solvers.compute.jit import kernel

#: Label pairs that one kernel call visits, some 20 ms.
PAIRS_PER_CALL = 2_000_000


class LogChain:
    """Messages of one chain with scores ``Z`` (tokens, labels) and ``transitions``; ``log_z`` is log Z(x)."""

    def __init__(self, Z: np.ndarray, transitions: np.ndarray, pulse: Callable[[], None]) -> None:
        self.Z, self.transitions, self.pulse = Z, transitions, pulse
        self._into, size = np.ascontiguousarray(transitions.T), max(1, PAIRS_PER_CALL // Z.shape[1] ** 2)
        self._runs = [(lo, min(lo + size, Z.shape[0])) for lo in range(0, Z.shape[0], size)]
        self._alpha, log_z = np.empty(Z.shape), 0.0
        for lo, hi in self._runs:
            log_z += log_forward_run(Z, self._into, self._alpha, lo, hi)
            pulse()
        self.log_z = log_z + float(np.log(np.exp(self._alpha[-1]).sum()))

    def add_marginals(
        self, G: np.ndarray, pairs: np.ndarray, y: np.ndarray | None = None, own: np.ndarray | None = None
    ) -> None:
        """Add node marginals to G, and the sum of the pair marginals to ``pairs``.

        With labels ``y``, also write the marginal of the pair (y_i-1, y_i) to ``own[i]``, for all tokens i
        but the first.
        """
        beta = np.zeros(self.Z.shape[1])
        for lo, hi in reversed(self._runs):
            log_backward(self.Z, self.transitions, self._alpha, beta, lo, hi, G, pairs, y, own)
            self.pulse()

    def add_curved(self, D: np.ndarray, bent: np.ndarray, out: np.ndarray, pairs: np.ndarray) -> None:
        """Add derivatives of the node marginals to ``out``, and of the sum of the pair marginals to
        ``pairs``.

        They are those along a change D of the scores and a change ``bent`` of the transitions.
        """
        F, alpha = np.empty(self.Z.shape), self._alpha
        for lo, hi in self._runs:
            log_gains_before(alpha, self._into, D, bent, F, lo, hi)
            self.pulse()
        beta, ahead = np.zeros((2, self.Z.shape[1]))
        for lo, hi in reversed(self._runs):
            log_curved(self.Z, self.transitions, alpha, D, bent, F, beta, ahead, lo, hi, out, pairs)
            self.pulse()


@kernel
def log_dot(a, b):
    """Return log Σ_k exp(a[k] + b[k]), for any finite entries."""
    high = a[0] + b[0]
    for k in range(1, a.size):
        high = max(high, a[k] + b[k])
    total = 0.0
    for k in range(a.size):
        total += np.exp(a[k] + b[k] - high)
    return high + np.log(total)


@kernel
def log_forward_run(Z, into, alpha, lo, hi):
    """Write the messages of tokens lo to hi - 1, each shifted to a maximum of zero; return the sum of the
    shifts.

    ``into`` has the transposed transitions, one row per target label.
    """
    m = Z.shape[1]
    shifts = 0.0
    for i in range(lo, hi):
        for c in range(m):
            alpha[i, c] = Z[i, c] + (log_dot(alpha[i - 1], into[c]) if i > 0 else 0.0)
        high = alpha[i, 0]
        for c in range(1, m):
            high = max(high, alpha[i, c])
        shifts += high
        for c in range(m):
            alpha[i, c] -= high
    return shifts


@kernel
def log_backward(Z, transitions, alpha, beta, lo, hi, G, pairs, y, own):
    """Add marginals of tokens hi - 1 down to lo to G and ``pairs``.

    ``beta`` is the message from the tokens after, and is overwritten with that for the tokens before. With
    labels ``y``, write to ``own[i]`` the marginal of the pair of labels that ends at i.
    """
    m = Z.shape[1]
    ahead = np.empty(m)
    for i in range(hi - 1, lo - 1, -1):
        log_z = log_dot(alpha[i], beta)
        for c in range(m):
            G[i, c] += np.exp(alpha[i, c] + beta[c] - log_z)
        if i == 0:
            break
        for c in range(m):
            ahead[c] = Z[i, c] + beta[c]
        high = -np.inf
        for k in range(m):
            beta[k] = log_dot(transitions[k], ahead)
            high = max(high, beta[k])
        log_z = log_dot(alpha[i - 1], beta)
        for k in range(m):
            for c in range(m):
                pairs[k, c] += np.exp(alpha[i - 1, k] + transitions[k, c] + ahead[c] - log_z)
        if own is not None:
            k, c = y[i - 1], y[i]
            own[i] = np.exp(alpha[i - 1, k] + transitions[k, c] + ahead[c] - log_z)
        for k in range(m):
            beta[k] -= high


@kernel
def log_gains_before(alpha, into, D, bent, F, lo, hi):
    """Write to F[i, c] the mean change of the score of the tokens up to i, for tokens lo to hi - 1.

    The mean is over label sequences that have c at i, and is determined up to a constant per token.
    """
    m = D.shape[1]
    for i in range(lo, hi):
        for c in range(m):
            F[i, c] = D[i, c]
            if i > 0:
                log_sum, gain = log_dot(alpha[i - 1], into[c]), 0.0
                for k in range(m):
                    gain += np.exp(alpha[i - 1, k] + into[c, k] - log_sum) * (F[i - 1, k] + bent[k, c])
                F[i, c] += gain
        total, mean = 0.0, 0.0
        for c in range(m):  # such constants would add up over a long sequence
            total += np.exp(alpha[i, c])
            mean += np.exp(alpha[i, c]) * F[i, c]
        for c in range(m):
            F[i, c] -= mean / total


@kernel
def log_curved(Z, transitions, alpha, D, bent, F, beta, ahead, lo, hi, out, pairs):
    """Add covariances with the change of the score of the whole sequence to ``out`` and ``pairs``.

    They are the covariances of the labels at tokens hi - 1 down to lo, and of the pairs with the label
    before. ``beta`` is the backward message, and ``ahead`` the mean change of the score of the tokens after,
    by label. Both are updated in place for the next slice.
    """
    m = Z.shape[1]
    after, gain, behind = np.empty(m), np.empty(m), np.empty(m)
    for i in range(hi - 1, lo - 1, -1):
        log_z, mean = log_dot(alpha[i], beta), 0.0
        for c in range(m):
            mean += np.exp(alpha[i, c] + beta[c] - log_z) * (F[i, c] + ahead[c])
        for c in range(m):
            out[i, c] += np.exp(alpha[i, c] + beta[c] - log_z) * (F[i, c] + ahead[c] - mean)
        if i == 0:
            break
        for c in range(m):
            after[c], gain[c] = Z[i, c] + beta[c], D[i, c] + ahead[c]
        high = -np.inf
        for k in range(m):
            beta[k], behind[k] = log_dot(transitions[k], after), 0.0
            high = max(high, beta[k])
            for c in range(m):
                behind[k] += np.exp(transitions[k, c] + after[c] - beta[k]) * (bent[k, c] + gain[c])
        log_z, mean, centre = log_dot(alpha[i - 1], beta), 0.0, 0.0
        for k in range(m):
            p = np.exp(alpha[i - 1, k] + beta[k] - log_z)
            mean += p * (F[i - 1, k] + behind[k])
            centre += p * behind[k]
        for k in range(m):
            for c in range(m):
                p = np.exp(alpha[i - 1, k] + transitions[k, c] + after[c] - log_z)
                pairs[k, c] += p * (F[i - 1, k] + bent[k, c] + gain[c] - mean)
            ahead[k] = behind[k] - centre
            beta[k] -= high


@kernel
def log_chain(Z, transitions, G, pairs):
    """Add node marginals to G and pair marginals to ``pairs``; return log Z(x)."""
    n, m = Z.shape
    alpha, total = np.empty((n, m)), 0.0
    log_z = log_forward_run(Z, np.ascontiguousarray(transitions.T), alpha, 0, n)
    for c in range(m):
        total += np.exp(alpha[n - 1, c])
    log_backward(Z, transitions, alpha, np.zeros(m), 0, n, G, pairs, None, None)
    return log_z + np.log(total)
