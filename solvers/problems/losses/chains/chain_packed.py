"""Forward-backward of many chains in parallel, with scaled messages: Zhong et al. 2014, appendix D.1.

Sequences of similar length form a block, stored step by step: all first tokens, then all second tokens, and
so on. The longest sequences come first, so the sequences with a token at a step are always the first ones. A
step of all messages is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from solverscope.solvers.compute.exponential import exp_in_place
from solverscope.solvers.compute.jit import kernel

from ....linalg.scores import Scores
from ..chunks import scratch
from .chain_log import LogChain

#: Approximate number of tokens in a block: enough for large products, few enough for the cache.
BLOCK_TOKENS = 4096
#: Maximal number of tokens per kernel call, about 20 ms, unless a single step has more.
CALL_TOKENS = 50_000
#: Spread of scores of a token, and of transitions, up to which scaled messages lose no path: products of two
#: factors exp(-SAFE) stay far above the smallest positive float. Beyond, a sequence is done in log space.
SAFE = 200.0


class Block(NamedTuple):
    """Sequences processed in parallel; step t is ``rows[starts[t]:starts[t + 1]]``, in the order of
    ``members``."""

    members: np.ndarray  # sequences, the longest first
    rows: np.ndarray  # tokens, step by step
    starts: np.ndarray  # where each step begins, and the last one ends
    labels: np.ndarray  # of these tokens
    order: np.ndarray  # their places such that tokens ascend: to visit scores as they lie in memory

    def calls(self) -> list[tuple[int, int]]:
        """Cut the steps into consecutive slices of at most about ``CALL_TOKENS`` tokens."""
        cuts = [0]
        while cuts[-1] < self.starts.size - 1:
            nxt = int(np.searchsorted(self.starts, self.starts[cuts[-1]] + CALL_TOKENS, side="right")) - 1
            cuts.append(max(nxt, cuts[-1] + 1))
        return list(pairwise(cuts))

    def rows_of(self, place: int) -> np.ndarray:
        """Return the positions in the block of the tokens of the member with index ``place``."""
        running = np.diff(self.starts) > place
        return self.starts[:-1][running] + place

    def before(self) -> np.ndarray:
        """Return the position of the preceding token, for each token from the second step on."""
        running = np.diff(self.starts)
        return np.arange(self.starts[1], self.starts[-1]) - np.repeat(running[:-1], running[1:])


def pack(offsets: np.ndarray, y: np.ndarray) -> list[Block]:
    """Cut sequences into blocks of about ``BLOCK_TOKENS`` tokens, each of whole sequences of similar
    length."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    filled = np.cumsum(lengths[order])
    blocks, lo = [], 0
    while lo < order.size:
        before = filled[lo - 1] if lo else 0
        hi = max(lo + 1, int(np.searchsorted(filled, before + BLOCK_TOKENS, side="right")))
        members = order[lo:hi]
        steps = np.arange(int(lengths[members[0]]))
        running = members.size - np.searchsorted(lengths[members][::-1], steps, side="right")
        starts = np.concatenate([[0], np.cumsum(running)])
        place = np.arange(starts[-1]) - np.repeat(starts[:-1], running)
        rows = offsets[members[place]] + np.repeat(steps, running)
        blocks.append(Block(members, rows, starts, y[rows], np.argsort(rows)))
        lo = hi
    return blocks


class Transitions:
    """exp(Λ - max Λ) and its transpose.

    If the entries of Λ spread beyond ``SAFE``, ``wide`` is set. Then all sequences are computed in log space,
    and the matrix is that of Λ = 0.
    """

    def __init__(self, tail: np.ndarray, m: int) -> None:
        self.Λ = np.ascontiguousarray(tail.reshape(m, m))
        top = float(self.Λ.max())
        self.wide = bool(top - float(self.Λ.min()) > SAFE)
        self.top = 0.0 if self.wide else top
        self.forth = np.ones((m, m)) if self.wide else np.exp(self.Λ - top)
        self.back = np.ascontiguousarray(self.forth.T)


class Wide(NamedTuple):
    """A member of a block that is computed in log space, with the positions of its tokens.

    ``places`` are positions in the block, and ``tokens`` those among all tokens.
    """

    places: np.ndarray
    tokens: slice
    chain: LogChain


class Messages:
    """Forward messages of the sequences of a block at Z + t ΔZ, scaled to sum to one at each token.

    ``losses`` has log Z(x) - score(y) of each member. Members in ``wide`` have a token whose scores spread
    beyond ``SAFE``. They are computed separately in log space, and have scores of zero here. Work arrays
    belong to the thread: the next block overwrites them.
    """

    def __init__(
        self,
        block: Block,
        transitions: Transitions,
        scores: Scores,
        delta: Scores | None,
        t: float,
        pulse: Callable[[], None],
    ) -> None:
        self.block, self.transitions, self.pulse = block, transitions, pulse
        n, m = block.rows.size, scores.Z.shape[1]
        self.E, self.alpha = scratch("exponentials", n, m), scratch("alpha", n, m)
        self.tops, own, spread = np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_)
        safe = -1.0 if transitions.wide else SAFE
        ΔZ, t = (scores.Z, 0.0) if delta is None else (delta.Z, t)
        gather(scores.Z, ΔZ, t, block.rows, block.labels, block.order, safe, self.E, self.tops, own, spread)
        aside = self._set_aside(spread) if spread.any() else ()
        exp_in_place(self.E)
        self.sums = np.empty(n)
        for begin, end in block.calls():
            forward(self.E, block.starts, transitions.forth, self.alpha, self.sums, begin, end)
            pulse()
        logs = np.log(self.sums)
        self.losses = np.zeros(block.members.size)
        add_losses(
            logs, self.tops, own, block.starts, block.labels, transitions.Λ, transitions.top, self.losses
        )
        self.wide: list[Wide] = []
        for member in aside:
            places = block.rows_of(member)
            tokens = slice(block.rows[places[0]], block.rows[places[-1]] + 1)
            Z = scores.Z[tokens] if delta is None else scores.Z[tokens] + t * delta.Z[tokens]
            self.wide.append(Wide(places, tokens, LogChain(Z, transitions.Λ, pulse)))
            # log Z(x) of scores of zero, taken back
            self.losses[member] -= logs[places].sum() + transitions.top * (places.size - 1)
            self.losses[member] += self.wide[-1].chain.log_z

    def _set_aside(self, spread: np.ndarray) -> np.ndarray:
        step = np.searchsorted(self.block.starts, np.flatnonzero(spread), side="right") - 1
        places = np.unique(np.flatnonzero(spread) - self.block.starts[step])
        for place in places:
            rows = self.block.rows_of(place)
            self.E[rows], self.tops[rows] = 0.0, 0.0
        return places

    def marginals(self, G: np.ndarray) -> np.ndarray:
        """Write node marginals minus the truth (eq. (20)) to the rows of G; return the sums of the pair
        marginals, (m, m).

        Only one call of this method, or of one of those below, is possible: E is divided by the sums.
        """
        β, P = self.backward()
        scatter_residual(P, self.block.rows, self.block.labels, self.block.order, G)
        pairs = self.transitions.forth * (self.alpha.T @ β)
        for wide in self.wide:
            wide.chain.add_marginals(G[wide.tokens], pairs)
        return pairs

    def backward(self) -> tuple[np.ndarray, np.ndarray]:
        """Return β and the node marginals, both zero for wide members.

        The pair marginals of the token at i of the block and the next token of its sequence are ``alpha[i]
        β[i]ᵀ`` times exp(Λ).
        """
        block, (n, m) = self.block, self.alpha.shape
        β, P, b = scratch("beta", n, m), scratch("marginals", n, m), scratch("ahead", block.members.size, m)
        self.E /= self.sums[:, None]
        for begin, end in reversed(block.calls()):
            backward(self.E, self.alpha, block.starts, self.transitions.back, β, b, P, begin, end)
            self.pulse()
        for wide in self.wide:
            β[wide.places], P[wide.places] = 0.0, 0.0
        return β, P

    def true_pairs(self) -> np.ndarray:
        """Return the marginals of the true label pairs, one for each token from the second step on.

        The pair of a token is its label and the label before it.
        """
        (β, _), before, y = self.backward(), self.block.before(), self.block.labels
        first = self.block.starts[1]
        k, c = y[before], y[first:]
        found = self.alpha[before, k] * self.transitions.forth[k, c] * β[before, c]
        for places, _, chain in self.wide:
            own, unused = np.zeros(places.size), (np.zeros_like(chain.Z), np.zeros_like(chain.transitions))
            chain.add_marginals(*unused, y[places], own)
            found[places[1:] - first] = own[1:]
        return found

    def pair_variances(self) -> np.ndarray:
        """Return Σ p(1 - p) over the pair marginals p of each pair of labels, (m, m)."""
        (β, _), α, forth = self.backward(), self.alpha, self.transitions.forth
        out = forth * (α.T @ β) - forth**2 * ((α * α).T @ (β * β))
        for _, _, chain in self.wide:
            p = np.zeros_like(chain.transitions)
            chain.add_marginals(np.zeros_like(chain.Z), p)
            # in log space only sums over positions are available: p - p² at their mean is an upper bound
            out += p * (1.0 - p / max(len(chain.Z) - 1, 1))
        return out


@kernel
def gather(Z, delta, t, rows, labels, order, safe, E, tops, own, spread):
    """Write Z + t delta at ``rows``, minus its row maxima, to E, and the maxima to ``tops``.

    Write the score of the label to ``own``, and to ``spread`` whether the scores of the row spread beyond
    ``safe``. Rows are visited in ``order``, in which Z is stored.
    """
    for i in order:
        e, z, dz = E[i], Z[rows[i]], delta[rows[i]]
        for c in range(e.size):
            e[c] = z[c] + t * dz[c]
    for i in range(E.shape[0]):
        e = E[i]
        high, low = -np.inf, np.inf
        for c in range(e.size):
            high = e[c] if e[c] > high else high
            low = e[c] if e[c] < low else low
        tops[i], own[i], spread[i] = high, e[labels[i]], high - low > safe
        for c in range(e.size):
            e[c] -= high


@kernel
def row_sum(a):
    """Return Σ_c a[c], as four independent partial sums."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = a.size // 4 * 4
    for c in range(0, fours, 4):
        s0 += a[c]
        s1 += a[c + 1]
        s2 += a[c + 2]
        s3 += a[c + 3]
    for c in range(fours, a.size):
        s0 += a[c]
    return (s0 + s1) + (s2 + s3)


@kernel
def forward(E, starts, forth, alpha, sums, begin, end):
    """Write forward messages of steps ``begin`` to ``end`` - 1 to alpha, and their divisors to ``sums``."""
    for t in range(begin, end):
        lo, hi = starts[t], starts[t + 1]
        if t == 0:
            alpha[lo:hi] = 1.0
        else:
            np.dot(alpha[starts[t - 1] : starts[t - 1] + hi - lo], forth, alpha[lo:hi])
        a, e = alpha[lo:hi].reshape(-1), E[lo:hi].reshape(-1)
        for q in range(a.size):
            a[q] *= e[q]
        for i in range(lo, hi):
            sums[i] = row_sum(alpha[i])
            inverse = 1.0 / sums[i]
            for c in range(alpha.shape[1]):
                alpha[i, c] *= inverse


@kernel
def add_losses(logs, tops, own, starts, labels, transitions, top, losses):
    """Add log Z(x) - score(y) of each sequence to ``losses``; ``logs`` are the logarithms of the message
    sums."""
    for t in range(starts.size - 1):
        for s in range(starts[t + 1] - starts[t]):
            i = starts[t] + s
            losses[s] += logs[i] + tops[i] - own[i]
            if t > 0:
                losses[s] += top - transitions[labels[starts[t - 1] + s], labels[i]]


@kernel
def backward(E, alpha, starts, back, beta, b, P, begin, end):
    """Write node marginals P of steps ``end`` - 1 down to ``begin``, and the β of each token.

    β pairs a token with the next one of its sequence, and is zero at the end of the sequence. E has been
    divided by the sums of the forward messages, so that alphaᵀb = 1 at each token. Steps are processed as one
    long array: rows are too short for good loops.
    """
    m = E.shape[1]
    e, a, β, ahead, p = E.reshape(-1), alpha.reshape(-1), beta.reshape(-1), b.reshape(-1), P.reshape(-1)
    for t in range(end - 1, begin - 1, -1):
        lo, hi = m * starts[t], m * starts[t + 1]
        going = starts[t + 2] - starts[t + 1] if t + 2 < starts.size else 0
        if going:
            np.dot(beta[starts[t] : starts[t] + going], back, b[:going])
        ahead[m * going : hi - lo] = 1.0
        β[lo + m * going : hi] = 0.0
        multiply(a[lo:hi], ahead, p[lo:hi])
        if t > 0:
            multiply(e[lo:hi], ahead, β[m * starts[t - 1] :])


@kernel
def multiply(x, y, out):
    """Write the elementwise products x y to ``out``."""
    for q in range(x.size):
        out[q] = x[q] * y[q]


@kernel
def scatter_residual(P, rows, labels, order, G):
    """Write marginals P minus the truth (eq. (20)) to the rows of G."""
    for i in order:
        g, p = G[rows[i]], P[i]
        for c in range(p.size):
            g[c] = p[c]
        g[labels[i]] -= 1.0
