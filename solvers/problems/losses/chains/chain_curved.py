"""The derivative of forward-backward on many chains in parallel: the change of marginals with the scores.

Messages α and b are scaled such that αᵀb = 1 at each token. E has the exponentials of its scores over the
divisor of α, T = exp(Λ), and β_t = E_t+1 ∘ b_t+1. Marginals are α_t ∘ b_t at a token, and T ∘ α_t β_tᵀ at a
pair. Along D and ΔΛ, with Ṫ = T ∘ ΔΛ,

    α̇_t = α_t ∘ D_t + E_t ∘ (Tᵀα̇_t-1 + Ṫᵀα_t-1),    β̇_t-1 = β_t-1 ∘ D_t + E_t ∘ ḃ_t,    ḃ_t = Tβ̇_t + Ṫβ_t,

each minus the multiple of α_t, or of b_t and β_t, that makes α̇ᵀb = αᵀḃ = 0. So marginals always sum to one,
and no large terms accumulate along a chain, to cancel in the end.
"""

from __future__ import annotations

import numpy as np

from solverscope.solvers.compute.jit import kernel

from ..chunks import scratch
from .chain_packed import Messages, multiply


class Linearized:
    """Messages of the sequences of a block, stored so that they can be differentiated many times."""

    def __init__(self, messages: Messages) -> None:
        β, P = messages.backward()
        self.block, self.transitions, self.wide = messages.block, messages.transitions, messages.wide
        self.pulse = messages.pulse
        self.E, self.alpha, self.beta = messages.E.copy(), messages.alpha.copy(), β.copy()
        self.b = P / self.alpha
        self.pairs = self.alpha.T @ β

    def curved(self, ΔZ: np.ndarray, bent: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the derivatives of the node marginals along ΔZ and ``bent`` to the rows of ``out``.

        ``bent`` is the change of the transitions. Return the derivatives of the sums of the pair marginals.
        """
        block, T, (n, m) = self.block, self.transitions, self.alpha.shape
        Ṫ = T.forth * bent
        D, U, A = scratch("change", n, m), scratch("moved", n, m), scratch("alpha change", n, m)
        R, b = scratch("beta change", n, m), scratch("ahead", block.members.size, m)
        np.take(ΔZ, block.rows, axis=0, out=D, mode="clip")  # else through a buffer
        np.dot(self.alpha, Ṫ, out=U)
        for begin, end in block.calls():
            forward_change(self.E, self.alpha, self.b, block.starts, T.forth, D, U, A, begin, end)
            self.pulse()
        np.dot(self.beta, Ṫ.T, out=U)
        for begin, end in reversed(block.calls()):
            backward_change(
                self.E, self.alpha, self.b, self.beta, block.starts, T.back, D, U, A, R, b, begin, end
            )
            self.pulse()
        out[block.rows] = D
        pairs = T.forth * (A.T @ self.beta + self.alpha.T @ R) + Ṫ * self.pairs
        for _, tokens, chain in self.wide:
            chain.add_curved(ΔZ[tokens], bent, out[tokens], pairs)
        return pairs


@kernel
def forward_change(E, alpha, b, starts, forth, D, U, A, begin, end):
    """Write α̇ of steps ``begin`` to ``end`` - 1 to A; U has Ṫᵀα."""
    m = E.shape[1]
    e, a, d, u, ȧ = E.reshape(-1), alpha.reshape(-1), D.reshape(-1), U.reshape(-1), A.reshape(-1)
    for t in range(begin, end):
        lo, hi = starts[t], starts[t + 1]
        here = slice(m * lo, m * hi)
        if t == 0:
            multiply(a[here], d[here], ȧ[here])
        else:
            before = starts[t - 1]
            np.dot(A[before : before + hi - lo], forth, A[lo:hi])
            add_change(a[here], d[here], e[here], u[m * before :], ȧ[here])
        for i in range(lo, hi):
            subtract(row_dot(A[i], b[i]), alpha[i], A[i])


@kernel
def backward_change(E, alpha, b, beta, starts, back, D, U, A, R, ahead, begin, end):
    """Write β̇ of steps ``end`` - 1 down to ``begin`` to R, zero at the end of a sequence.

    D has the change of the scores, and is overwritten with that of the node marginals; U has Ṫβ.
    """
    m = E.shape[1]
    e, a, β, d, ȧ = E.reshape(-1), alpha.reshape(-1), beta.reshape(-1), D.reshape(-1), A.reshape(-1)
    β̇, message, ḃ = R.reshape(-1), b.reshape(-1), ahead.reshape(-1)
    for t in range(end - 1, begin - 1, -1):
        lo, hi = starts[t], starts[t + 1]
        going = starts[t + 2] - hi if t + 2 < starts.size else 0
        if going:
            np.dot(R[lo : lo + going], back, ahead[:going])
        ahead[going : hi - lo] = 0.0
        R[lo + going : hi] = 0.0
        for i in range(lo, lo + going):
            subtract(-1.0, U[i], ahead[i - lo])
            share = row_dot(alpha[i], ahead[i - lo])
            subtract(share, b[i], ahead[i - lo])
            subtract(share, beta[i], R[i])
        here = slice(m * lo, m * hi)
        if t > 0:
            before = slice(m * starts[t - 1], m * (starts[t - 1] + hi - lo))
            two_products(β[before], d[here], e[here], ḃ, β̇[before])
        two_products(ȧ[here], message[here], a[here], ḃ, d[here])


@kernel
def add_change(a, d, e, u, out):
    """Replace ``out`` by a d + e (out + u)."""
    for q in range(out.size):
        out[q] = a[q] * d[q] + e[q] * (out[q] + u[q])


@kernel
def two_products(a, b, c, d, out):
    """Write a b + c d to ``out``, elementwise."""
    for q in range(out.size):
        out[q] = a[q] * b[q] + c[q] * d[q]


@kernel
def subtract(share, a, out):
    """Subtract ``share`` times a from ``out``."""
    for c in range(out.size):
        out[c] -= share * a[c]


@kernel
def row_dot(a, b):
    """Return Σ_c a[c] b[c], as four independent partial sums."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = a.size // 4 * 4
    for c in range(0, fours, 4):
        s0 += a[c] * b[c]
        s1 += a[c + 1] * b[c + 1]
        s2 += a[c + 2] * b[c + 2]
        s3 += a[c + 3] * b[c + 3]
    for c in range(fours, a.size):
        s0 += a[c] * b[c]
    return (s0 + s1) + (s2 + s3)
