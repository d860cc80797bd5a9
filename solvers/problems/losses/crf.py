"""Linear-chain conditional random field: rows of the scores are tokens, the tail holds the transitions.

The transitions include those from a begin state and to an end state, if the chain has these.

Zhong et al. 2014, sections 4 and 6.1, appendix D.1; begin and end states are those of A. Mathur, S.
Chakrabarti: Accelerating Newton Optimization for Log-Linear Models through Feature Redundancy, ICDM 2006,
section II-C. Forward-backward is in the folder ``chains``: for blocks of sequences, for a single one, and in
log space if scores spread too far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait, param
from ...linalg.scores import Scores, recycled
from .chains.chain_curved import Linearized
from .chains.chain_packed import Block, Messages, Transitions, pack
from .chains.chain_single import ChainTerm
from .duals import cancelled_by_logs, entropies, entropy, over_rows
from .instances import Instances
from .loss import BoundLoss, Loss
from .multiclass import variances, with_truth

Result = TypeVar("Result")


@dataclass(frozen=True)
class ChainCRF(Loss):
    """The chain CRF loss Σ_i log Z(x_i) - score(y_i), with score(y) = Σ_t z_t(y_t) + Σ_t Λ(y_t, y_t+1): eq.
    (7).

    With ``ends`` the first label of a sequence follows a begin state, and an end state follows its last one
    (Mathur and Chakrabarti, eqs. (8) and (10)): Λ(begin, y_1) and Λ(y_T, end) are added to the score. Rows of
    the tail are then the transitions from each label, those from the begin state, and those to the end state.
    """

    id = "chain-crf"
    name = "Chain CRF"
    summary = "negative log-likelihood of label sequences with transitions"
    paper = "Zhong et al. 2014, sections 4 and 6.1"
    kinds = ("sequences",)
    traits = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.DIAGONAL_HESSIAN | Trait.CONJUGATE | Trait.CHAINS
    traits |= Trait.HESSIAN | Trait.QUADRATIC_MODEL
    average = False
    metric_name = "per-token accuracy"

    ends: bool = param(
        False, "weights of transitions from a begin state and to an end state", title="begin and end states"
    )

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundChains:
        y = np.ascontiguousarray(part.y, dtype=np.int64)
        offsets = np.ascontiguousarray(part.offsets, dtype=np.int64)
        return BoundChains(self, n_classes, y, offsets, pack(offsets, y), count_pairs(y, offsets, n_classes))


@dataclass(frozen=True, eq=False)
class BoundChains(BoundLoss):
    """The chain CRF of the sequences between ``offsets``, with one label ``y`` per token."""

    least = 0.0

    declared: ChainCRF
    y: np.ndarray
    offsets: np.ndarray
    #: the sequences side by side, and how often each pair of labels follows one another: both made of the
    #: labels and offsets
    blocks: list[Block] = field(compare=False, repr=False)
    true_pairs: np.ndarray = field(compare=False, repr=False)
    #: function of labels, predicted labels and offsets that returns the entity F1, if that is the metric
    entity_f1: Callable[[np.ndarray, np.ndarray, np.ndarray], float] | None = field(
        default=None, compare=False, repr=False, kw_only=True
    )

    @property
    def n_instances(self) -> int:
        return self.offsets.size - 1

    @property
    def n_tail(self) -> int:
        return self.n_outputs * (self.n_outputs + 2 * self.declared.ends)

    @property
    def _end_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the first and of the last token of each sequence."""
        return self.offsets[:-1], self.offsets[1:] - 1

    def _between(self, scores: Scores) -> Scores:
        """Return equivalent scores of chains without begin and end states.

        The scores of all label sequences are unchanged: the transitions from the begin state and to the end
        state are added to the scores of the first and the last token.
        """
        if not self.declared.ends:
            return scores
        Z, tail = scores.Z.copy(), scores.tail.reshape(-1, self.n_outputs)
        for rows, weights in zip(self._end_rows, tail[-2:], strict=True):
            Z[rows] += weights
        return Scores(Z, tail[:-2].reshape(-1))

    def _of(self, y: np.ndarray, offsets: np.ndarray) -> Self:
        """Return the loss for other sequences, with labels ``y`` and ``offsets``."""
        pairs = count_pairs(y, offsets, self.n_outputs)
        return replace(self, y=y, offsets=offsets, blocks=pack(offsets, y), true_pairs=pairs)

    def first(self, n: int, most: int) -> tuple[Self, int]:
        offsets = np.unique(np.minimum(self.offsets[: n + 1], most))
        rows = int(offsets[-1])
        return self._of(self.y[:rows], offsets), rows

    def instances_of(self, rows: np.ndarray) -> np.ndarray:
        return np.unique(np.searchsorted(self.offsets, rows, side="right") - 1)

    def subset(self, instances: np.ndarray) -> tuple[Self, np.ndarray]:
        lengths = np.diff(self.offsets)[instances]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.offsets[:-1][instances] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return self._of(self.y[rows], offsets), rows

    term: ClassVar[ChainTerm] = ChainTerm()

    def instances(self) -> Instances:
        return super().instances()._replace(offsets=self.offsets)

    def _of_blocks(
        self, scores: Scores, work: Callable[[Messages], Result], delta: Scores | None = None, t: float = 0.0
    ) -> list[Result]:
        """Return the results of ``work`` on the messages of each block at ``scores`` + t ``delta``."""
        scores, delta = self._between(scores), None if delta is None else self._between(delta)
        tail = scores.tail if delta is None else scores.tail + t * delta.tail
        transitions = Transitions(tail, self.n_outputs)
        found: dict[int, Result] = {}

        def task(k: int) -> None:
            found[k] = work(Messages(self.blocks[k], transitions, scores, delta, t, self.pulse))

        self.team.each(task, range(len(self.blocks)), self.pulse)
        return [found[k] for k in range(len(self.blocks))]

    def _by_sequence(self, losses: Iterable[np.ndarray]) -> np.ndarray:
        """Return the losses of the members of all blocks in the order of the sequences."""
        out = np.empty(self.n_instances)
        for block, own in zip(self.blocks, losses, strict=True):
            out[block.members] = own
        return out

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        return self._by_sequence(self._of_blocks(scores, lambda messages: messages.losses, delta, t))

    def residual(self, scores: Scores) -> Scores:
        """Return marginals minus the truth: of labels by eq. (20), of pairs of neighbours by eq. (21)."""
        return self.value_and_residual(scores)[1]

    def value_and_residual(
        self, scores: Scores, delta: Scores | None = None, t: float = 0.0
    ) -> tuple[float, Scores]:
        """Return the loss and its residual, with the forward messages computed once."""
        residual = self._empty()
        found = self._of_blocks(scores, lambda own: (own.losses, own.marginals(residual.Z)), delta, t)
        pairs = np.sum([own for _, own in found], axis=0) - self.true_pairs
        residual.tail[: self.n_outputs**2] = pairs.reshape(-1)
        self._add_ends(residual)
        return float(self._by_sequence(own for own, _ in found).sum()), residual

    def marginals(self, scores: Scores) -> np.ndarray:
        """Return the probability of each label at each token, (n_tokens, n_labels)."""
        return with_truth(self.residual(scores).Z, self.y)

    def _empty(self) -> Scores:
        return Scores(recycled(self.y.size, self.n_outputs), np.zeros(self.n_tail))

    def _add_ends(self, residual: Scores) -> None:
        """Write the part of the tail that belongs to begin and end states, if there are any."""
        if self.declared.ends:
            ends = [residual.Z[rows].sum(axis=0) for rows in self._end_rows]
            residual.tail[self.n_outputs**2 :] = np.ravel(ends)

    def hessian(self, scores: Scores, residual: Scores) -> Callable[[Scores], Scores]:
        """Return the function D -> ∇²L D at ``scores``.

        ∇²L D is the covariance of the indicators of labels and pairs with the change of a sequence's score
        along D. Messages are computed once and stored in four arrays as large as Z.
        """
        held, m = self._of_blocks(scores, Linearized), self.n_outputs

        def product(delta: Scores) -> Scores:
            delta, out = self._between(delta), self._empty()
            bent, pairs = delta.tail.reshape(m, m), np.empty((len(held), m, m))

            def task(k: int) -> None:
                pairs[k] = held[k].curved(delta.Z, bent, out.Z)

            self.team.each(task, range(len(held)), self.pulse)
            out.tail[: m * m] = pairs.sum(axis=0).reshape(-1)
            self._add_ends(out)
            return out

        return product

    def cancelled(self, scores: Scores) -> float:
        return cancelled_by_logs(scores)

    def dual_value(self, scores: Scores, residual: Scores, alpha: float) -> float:
        """Return the entropy of the chain with marginals (1 - α) times the truth + α times the model's.

        It is Σ H(pairs) - Σ H(inner tokens), or H(token) of a sequence of length one. For α < 1 it is a lower
        bound on -L*(αG), which only fixes the sum of the pair marginals.

        Only the pair marginals p_t of the true pairs are needed: Σ H(pairs) of the model follows from its
        whole entropy, which is L - ‹G, scores›. Mixing changes the entropy of a pair from H(p) to αH(p) - α
        log α - h(αp_t) + h(αp_t + 1 - α): here h(p) = -p log p.
        """
        lengths = np.diff(self.offsets)
        weight = np.repeat(np.where(lengths == 1, 1.0, -1.0), lengths)
        for ends in self._end_rows:
            weight[ends[lengths > 1]] = 0.0

        def tokens(share: float) -> float:
            def term(G: np.ndarray, part: slice) -> float:
                return float(weight[part] @ entropy(with_truth(share * G, self.y[part])).sum(axis=1))

            return over_rows(self, residual.Z, term)

        model = self.value(scores) - residual.dot(scores)
        p = alpha * np.concatenate(self._of_blocks(scores, Messages.true_pairs))
        mixed = entropies(p + (1.0 - alpha)) - entropies(p) - p.size * alpha * np.log(alpha)
        return tokens(alpha) + alpha * (model - tokens(1.0)) + float(mixed)

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return variances(G, self.y[rows])

    def tail_diagonal(self, scores: Scores) -> np.ndarray:
        """Return Σ_t p_t(1 - p_t) over pair marginals p_t, one sum per transition."""
        inner = np.sum(self._of_blocks(scores, Messages.pair_variances), axis=0)
        if not self.declared.ends:
            return inner.reshape(-1)
        G = self.residual(scores).Z
        ends = [self.diagonal(G[rows], rows).sum(axis=0) for rows in self._end_rows]
        return np.vstack([inner, *ends]).reshape(-1)

    def bends(self) -> Scores:
        """Return T - ½ for each token of a sequence of length T, and the sums of these for the transitions.

        Scores of pairs of neighbours may change too. The Hessian is the covariance of the indicators of T
        labels and of T - 1 pairs. Along D its values for two sequences of labels differ by at most ‖D‖ (2T +
        2(T - 1))^½. A variance is at most a quarter of the square of the range.
        """
        lengths = np.diff(self.offsets)
        κ = lengths - 0.5
        inner = np.full(self.n_outputs**2, κ @ (lengths - 1))
        ends = np.full(2 * self.n_outputs * self.declared.ends, κ.sum())
        return Scores(np.repeat(κ, lengths)[:, None], np.concatenate([inner, ends]))

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the most likely label sequences (Viterbi)."""
        scores, labels = self._between(scores), np.empty(int(self.offsets[-1]), dtype=np.int64)
        Λ = scores.tail.reshape(self.n_outputs, self.n_outputs)
        viterbi(scores.Z, Λ, self.offsets, labels)
        return labels

    def measured_by(self, data: Any) -> Self:
        measure = data.entity_f1 if getattr(data, "metric", None) == "entity-f1" else None
        return replace(self, entity_f1=measure)

    @property
    def metric_name(self) -> str:
        return self.declared.metric_name if self.entity_f1 is None else "F1 of entities"

    @property
    def averages(self) -> bool:
        return self.entity_f1 is None

    def metric(self, scores: Scores) -> float:
        if self.entity_f1 is None:
            return super().metric(scores)
        return self.entity_f1(self.y, self.predict(scores), self.offsets)


def count_pairs(y: np.ndarray, offsets: np.ndarray, m: int) -> np.ndarray:
    """Count how often label k is followed by label c in its sequence, (m, m)."""
    pairs = np.zeros((m, m))
    inner = np.ones(y.size, dtype=bool)
    inner[offsets[:-1]] = False  # the first tokens have none before them
    np.add.at(pairs, (y[:-1][inner[1:]], y[1:][inner[1:]]), 1.0)
    return pairs


@kernel
def viterbi(Z, transitions, offsets, labels):
    """Write the highest-scoring labels of each sequence to ``labels``; ties are resolved to the first
    label."""
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
