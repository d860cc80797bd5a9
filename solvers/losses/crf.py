"""Linear-chain conditional random field: rows of the scores are tokens, the tail holds the transitions.

Zhong et al. 2014, sections 4 and 6.1, appendix D.1. Forward-backward is done here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..design import Scores
from ..jit import kernel
from ..solver import Trait
from .base import Loss, at, scratch
from .chain_log import add_log_marginals, log_chain, log_partition
from .rows import CHAIN

#: Tokens handled by one kernel call, in whole sequences.
CHUNK_TOKENS = 1024
#: Spread of scores of a token, and of transitions, up to which scaled messages lose no path: products of two
#: factors exp(-SAFE) stay far above the smallest positive float. Beyond, a sequence is done in log space.
SAFE = 200.0


@dataclass(frozen=True)
class ChainCRF(Loss):
    """Σ_i log Z(x_i) - score(y_i), score(y) = Σ_t z_t(y_t) + Σ_t Λ(y_t, y_t+1); eqs. (7), (20), (21)."""

    id = "chain-crf"
    name = "Chain CRF"
    summary = "negative log-likelihood of label sequences with transitions"
    paper = "Zhong et al. 2014, sections 4 and 6.1"
    kinds = ("sequences",)
    traits = Trait.SMOOTH | Trait.SAMPLES | Trait.DIAGONAL
    sample_code = CHAIN
    average = False
    metric_name = "per-token accuracy"

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> ChainCRF:
        offsets = np.ascontiguousarray(part.offsets, dtype=np.int64)
        return self._holding(
            y=np.ascontiguousarray(part.y, dtype=np.int64),
            offsets=offsets,
            chunks=_chunks(offsets),
            n_instances=offsets.size - 1,
            n_outputs=n_classes,
            n_tail=n_classes**2,
        )

    def first(self, n: int, most: int) -> tuple[ChainCRF, int]:
        offsets = np.unique(np.minimum(self.offsets[: n + 1], most))
        rows = int(offsets[-1])
        bound = self._holding(
            y=self.y[:rows], offsets=offsets, chunks=_chunks(offsets), n_instances=offsets.size - 1
        )
        return bound, rows

    def instances_of(self, rows: np.ndarray) -> np.ndarray:
        return np.unique(np.searchsorted(self.offsets, rows, side="right") - 1)

    def subset(self, instances: np.ndarray) -> tuple[ChainCRF, np.ndarray]:
        lengths = np.diff(self.offsets)[instances]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.offsets[:-1][instances] - offsets[:-1], lengths) + np.arange(offsets[-1])
        chosen = self._holding(
            y=self.y[rows], offsets=offsets, chunks=_chunks(offsets), n_instances=instances.size
        )
        return chosen, rows

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        tail = scores.tail if delta is None else scores.tail + t * delta.tail
        transitions = _Transitions(tail, self.n_outputs)
        out = np.empty(self.n_instances)

        def task(k: int) -> None:
            lo, hi = self.chunks[k]
            offsets = self.offsets[lo : hi + 1]
            Z = at(scores, offsets[0], offsets[-1], delta, t)
            E, tops, wide = exponentials(Z, transitions.wide)
            forward(Z, E, tops, wide, *transitions.parts, self.y, offsets, out[lo:hi])
            for s, tokens in _wide_sequences(wide, offsets):
                out[lo + s] += log_partition(Z[tokens], transitions.parts[0], self.pulse)

        self.team.each(task, range(len(self.chunks)), self.pulse)
        return out

    def residual(self, scores: Scores) -> Scores:
        transitions = _Transitions(scores.tail, self.n_outputs)
        G = np.empty_like(scores.Z)
        pairs = np.zeros((len(self.chunks), self.n_outputs, self.n_outputs))

        def task(k: int) -> None:
            lo, hi = self.chunks[k]
            offsets = self.offsets[lo : hi + 1]
            rows = slice(offsets[0], offsets[-1])
            Z = scores.Z[rows]
            E, tops, wide = exponentials(Z, transitions.wide)
            alpha, beta = scratch("alpha", *E.shape), scratch("beta", *E.shape)
            alpha[:], beta[:] = 0.0, 0.0
            losses = np.empty(hi - lo)
            messages = alpha, beta, G[rows], pairs[k], losses
            marginals(Z, E, tops, wide, *transitions.parts, self.y, offsets, *messages)
            pairs[k] += (
                transitions.parts[1][:, : self.n_outputs]
                * (alpha[:-1].T @ beta[1:])[: self.n_outputs, : self.n_outputs]
            )
            for _, tokens in _wide_sequences(wide, offsets):
                add_log_marginals(Z[tokens], transitions.parts[0], G[rows][tokens], pairs[k], self.pulse)

        self.team.each(task, range(len(self.chunks)), self.pulse)
        return Scores(G, pairs.sum(axis=0).reshape(-1))

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        μ = G.copy()
        μ[np.arange(rows.size), self.y[rows]] += 1.0
        return μ * (1.0 - μ)

    def tail_diagonal(self, scores: Scores) -> np.ndarray:
        """Σ_t p_t(1 - p_t) over pair marginals p_t, one a transition."""
        transitions = _Transitions(scores.tail, self.n_outputs)
        out = np.zeros((len(self.chunks), self.n_outputs, self.n_outputs))

        def task(k: int) -> None:
            lo, hi = self.chunks[k]
            offsets = self.offsets[lo : hi + 1]
            E, tops, wide = exponentials(scores.Z[offsets[0] : offsets[-1]], transitions.wide)
            pair_variances(scores.Z, E, tops, wide, *transitions.parts, self.y, offsets, out[k])

        self.team.each(task, range(len(self.chunks)), self.pulse)
        return out.sum(axis=0).reshape(-1)

    def predict(self, scores: Scores) -> np.ndarray:
        """Most likely label sequences (Viterbi)."""
        labels = np.empty(int(self.offsets[-1]), dtype=np.int64)
        Λ = scores.tail.reshape(self.n_outputs, self.n_outputs)
        viterbi(scores.Z, Λ, self.offsets, labels)
        return labels


class _Transitions:
    """exp(Λ - max Λ) in both orders, padded with zero columns to full vectors of the machine."""

    def __init__(self, tail: np.ndarray, m: int) -> None:
        Λ = np.ascontiguousarray(tail.reshape(m, m))
        top = float(Λ.max()) if m else 0.0
        self.wide = bool(top - float(Λ.min()) > SAFE)
        forth, back = np.zeros((m, _padded(m))), np.zeros((m, _padded(m)))
        forth[:, :m] = np.exp(Λ - top)
        back[:, :m] = forth[:, :m].T
        self.parts = (Λ, forth, back, top)


def _padded(m: int) -> int:
    return -(-m // 8) * 8


def _chunks(offsets: np.ndarray) -> list[tuple[int, int]]:
    """Runs of whole sequences of some CHUNK_TOKENS tokens."""
    cuts = [0]
    while cuts[-1] < offsets.size - 1:
        nxt = int(np.searchsorted(offsets, offsets[cuts[-1]] + CHUNK_TOKENS, side="right")) - 1
        cuts.append(max(nxt, cuts[-1] + 1))
    return list(pairwise(cuts))


def _wide_sequences(wide: np.ndarray, offsets: np.ndarray) -> list[tuple[int, slice]]:
    """Sequences with a token whose scores spread too far, and their tokens from the first one on."""
    if not wide.any():
        return []
    starts = offsets - offsets[0]
    flagged = np.flatnonzero(np.logical_or.reduceat(wide, starts[:-1]))
    return [(s, slice(starts[s], starts[s + 1])) for s in flagged]


def exponentials(Z: np.ndarray, wide: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp(Z - row maxima) padded with zero columns, the maxima, and which rows spread beyond SAFE (all of
    them if ``wide``)."""
    n, m = Z.shape
    E, tops, spread = scratch("exponentials", n, _padded(m)), np.empty(n), np.empty(n, dtype=np.bool_)
    shift_rows(Z, wide, E, tops, spread)
    return np.exp(E, out=E), tops, spread


@kernel
def shift_rows(Z, wide, E, tops, spread):
    """Row maxima, Z minus them in E (padded with -inf), and whether rows spread beyond SAFE."""
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


@kernel
def _sum(a):
    """Sum over padded columns, in four parts that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for c in range(0, a.size, 4):
        s0 += a[c]
        s1 += a[c + 1]
        s2 += a[c + 2]
        s3 += a[c + 3]
    return (s0 + s1) + (s2 + s3)


@kernel
def _dot(a, b):
    """aᵀb over padded columns, likewise."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for c in range(0, a.size, 4):
        s0 += a[c] * b[c]
        s1 += a[c + 1] * b[c + 1]
        s2 += a[c + 2] * b[c + 2]
        s3 += a[c + 3] * b[c + 3]
    return (s0 + s1) + (s2 + s3)


@kernel
def _any(flags, lo, hi):
    for i in range(lo, hi):  # noqa: SIM110  (any() over a generator is beyond Numba)
        if flags[i]:
            return True
    return False


@kernel
def _advance(a, E, out):
    """out = Σ_k a[k] E[k], over padded columns; four rows at a time keep the sums in registers."""
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


@kernel
def _score(Z, transitions, y):
    """Score of one labelled sequence."""
    score = 0.0
    for i in range(y.size):
        score += Z[i, y[i]]
        if i > 0:
            score += transitions[y[i - 1], y[i]]
    return score


@kernel
def forward(Z, E, tops, wide, transitions, forth, back, top, y, offsets, out):
    """out[i] = log Z(x_i) - score(y_i) for the sequences between ``offsets``; Z, E, tops, wide start at the
    first of their tokens. Messages are scaled to sum to one. Sequences with a wide token get only minus their
    score: log Z(x) is to be added, in log space. ``back`` is not used."""
    alpha, new = np.zeros(E.shape[1]), np.zeros(E.shape[1])
    first = offsets[0]
    for s in range(offsets.size - 1):
        lo, hi = offsets[s] - first, offsets[s + 1] - first
        score = _score(Z[lo:hi], transitions, y[first + lo : first + hi])
        if _any(wide, lo, hi):
            out[s] = -score
            continue
        log_z = top * (hi - lo - 1)
        for i in range(lo, hi):
            if i == lo:
                new[:] = 1.0
            else:
                _advance(alpha, forth, new)
            for c in range(new.size):
                new[c] *= E[i, c]
            scale = _sum(new)
            log_z += np.log(scale) + tops[i]
            inverse = 1.0 / scale
            for c in range(new.size):
                alpha[c] = new[c] * inverse
        out[s] = log_z - score


@kernel
def marginals(Z, E, tops, wide, transitions, forth, back, top, y, offsets, alpha, beta, G, pairs, out):
    """G = node marginals minus the truth (20); pairs -= the truth of (21); out as in :func:`forward`.

    ``alpha`` and ``beta``, zero at entry, are left such that the pair marginals of tokens i and i + 1 are
    alpha[i] beta[i + 1]ᵀ times ``forth``: their sum is one matrix product. Sequences with a wide token leave
    them zero, and get minus the truth only: marginals are to be added, in log space.
    """
    padded = E.shape[1]
    first = offsets[0]
    b, weighted = np.empty(padded), np.empty(padded)
    for s in range(offsets.size - 1):
        lo, hi = offsets[s] - first, offsets[s + 1] - first
        out[s] = -_score(Z[lo:hi], transitions, y[first + lo : first + hi])
        if _any(wide, lo, hi):
            G[lo:hi] = 0.0
        else:
            out[s] += top * (hi - lo - 1)
            for i in range(lo, hi):
                a = alpha[i]
                if i == lo:
                    a[:] = 1.0
                else:
                    _advance(alpha[i - 1], forth, a)
                for c in range(padded):
                    a[c] *= E[i, c]
                scale = _sum(a)
                out[s] += np.log(scale) + tops[i]
                scale = 1.0 / scale
                for c in range(padded):
                    a[c] *= scale
            b[:] = 1.0
            for i in range(hi - 1, lo - 1, -1):
                # scaled such that alpha[i]ᵀ b = 1: marginals of a token sum to one
                for c in range(Z.shape[1]):
                    G[i, c] = alpha[i, c] * b[c]
                if i == lo:
                    break
                for c in range(padded):
                    weighted[c] = E[i, c] * b[c]
                _advance(weighted, back, b)
                scale = 1.0 / _dot(alpha[i - 1], b)
                for c in range(padded):
                    beta[i, c] = weighted[c] * scale
                    b[c] *= scale
        for i in range(lo, hi):
            G[i, y[first + i]] -= 1.0
            if i > lo:
                pairs[y[first + i - 1], y[first + i]] -= 1.0


@kernel
def pair_variances(Z, E, tops, wide, transitions, forth, back, top, y, offsets, out):
    """out += p_t(1 - p_t) over the pair marginals p_t of the sequences between ``offsets``; Z is whole, E,
    tops and wide start at the first of their tokens."""
    m, first = transitions.shape[0], offsets[0]
    for s in range(offsets.size - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n, here, labels = hi - lo, np.array([0, hi - lo]), y[lo:hi]
        own = slice(lo - first, hi - first)
        alpha, beta = np.zeros((n, E.shape[1])), np.zeros((n, E.shape[1]))
        G, pairs = np.empty((n, m)), np.zeros((m, m))
        marginals(
            Z[lo:hi], E[own], tops[own], wide[own], transitions, forth, back, top, labels, here,
            alpha, beta, G, pairs, np.empty(1),
        )  # fmt: skip
        if _any(wide[own], 0, n):
            log_chain(Z[lo:hi], transitions, G, pairs)
            # in log space only sums over positions are at hand: p - p² at their mean is an upper bound
            for i in range(1, n):
                pairs[labels[i - 1], labels[i]] += 1.0
            for k in range(m):
                for c in range(m):
                    out[k, c] += pairs[k, c] * (1.0 - pairs[k, c] / (n - 1))
            continue
        for i in range(1, n):
            for k in range(m):
                for c in range(m):
                    p = alpha[i - 1, k] * beta[i, c] * forth[k, c]
                    out[k, c] += p * (1.0 - p)


@kernel
def viterbi(Z, transitions, offsets, labels):
    """The highest-scoring label sequence of each sequence; ties go to the first label."""
    m = transitions.shape[0]
    best, new = np.empty(m), np.empty(m)
    for s in range(offsets.size - 1):
        lo, hi = offsets[s], offsets[s + 1]
        came = np.zeros((hi - lo, m), np.int64)
        for c in range(m):
            best[c] = Z[lo, c]
        for i in range(lo + 1, hi):
            for c in range(m):
                arg = 0
                for k in range(1, m):
                    if best[k] + transitions[k, c] > best[arg] + transitions[arg, c]:
                        arg = k
                came[i - lo, c] = arg
                new[c] = best[arg] + transitions[arg, c] + Z[i, c]
            best, new = new, best
        c = int(np.argmax(best))
        for i in range(hi - 1, lo - 1, -1):
            labels[i] = c
            c = came[i - lo, c]
