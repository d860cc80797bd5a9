"""How far an objective can be from the optimum at most, proved by duality or strong convexity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..compute.jit import kernel
from .losses.base import BoundLoss
from .losses.chain_log import log_dot, log_forward
from .losses.chunks import row_chunks
from .problem import Point, Problem
from .scores import Scores


def duality_gap(problem: Problem, point: Point) -> float | None:
    """An upper bound of f(w) - f* at ``point``, in units of f; None where none is known.

    A penalty with a ridge μ makes f μ-strongly convex: f(w) - f* <= ‖v‖²/(2μ), v the minimum-norm
    subgradient, or any other where the loss has kinks. For a norm λΩ the residual G of the loss, shrunk by
    α = min(1, λ/Ω°(s AᵀG)), is feasible for Fenchel's dual, and the bound is f(w) + s L*(αG). Costs a full
    gradient, if the point has none yet, one pass over the scores, and no other vector over all weights.
    """
    penalty, dual = problem.penalty, DUALS.get(problem.loss.id)
    if penalty.ridge > 0.0:

        def squares(w: np.ndarray, g: np.ndarray) -> float:
            v = penalty.subgradient(w, g)
            return float(v @ v)

        return problem.total(squares, point.w, point.gradient()) / (2.0 * penalty.ridge)
    polar = problem.dual_norm(point.gradient())
    if polar is None or dual is None:
        return None
    alpha = 1.0 if polar <= penalty.lam else penalty.lam / polar
    return max(point.objective - problem.scale * dual(problem.loss, point.scores, point.residual, alpha), 0.0)


def can_be_certified(problem: Problem) -> bool:
    """Whether :func:`duality_gap` knows a bound for this loss and penalty."""
    penalty = problem.penalty
    return penalty.ridge > 0.0 or (penalty.sparse and problem.smooth and problem.loss.id in DUALS)


def _entropies(P: np.ndarray) -> float:
    """Σ -p log p over all entries; rounding may have left some just below zero."""
    P = P[P > 0.0]
    return -float(np.sum(P * np.log(P)))


def _over_rows(loss: BoundLoss, residual: Scores, term: Callable[[np.ndarray, slice], float]) -> float:
    """Sum of ``term(rows of the residual, their place)`` over runs of rows that stay in the cache."""
    total = 0.0
    for lo, hi in row_chunks(*residual.Z.shape):
        total += term(residual.Z[lo:hi], slice(lo, hi))
        loss.pulse()
    return total


def _logistic(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    def term(G: np.ndarray, part: slice) -> float:
        a = alpha * np.abs(G)
        return _entropies(a) + _entropies(1.0 - a)

    return _over_rows(loss, residual, term)


def _softmax(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    def term(G: np.ndarray, part: slice) -> float:
        Q = alpha * G
        Q[np.arange(len(Q)), loss.y[part]] += 1.0
        return _entropies(Q)

    return _over_rows(loss, residual, term)


def _tree(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    def term(G: np.ndarray, part: slice) -> float:
        Q = alpha * G[:, loss.leaves]
        Q[np.arange(len(Q)), np.searchsorted(loss.leaves, loss.y[part])] += 1.0
        return _entropies(Q)

    return _over_rows(loss, residual, term)


def _chain(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    transitions = np.ascontiguousarray(scores.tail.reshape(loss.n_outputs, -1))
    total = 0.0
    for lo, hi in loss.chunks:
        total += chain_entropies(scores.Z, transitions, loss.y, loss.offsets[lo : hi + 1], residual.Z, alpha)
        loss.pulse()
    return total


def _pair_hinge(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    active = _over_rows(loss, residual, lambda G, part: float(G[G > 0.0].sum()))
    return alpha * active - alpha**2 * loss.value(scores)


def _multitask_hinge(loss: BoundLoss, scores: Scores, residual: Scores, alpha: float) -> float:
    active = _over_rows(loss, residual, lambda G, part: float(np.abs(G).sum()))
    return alpha * active - alpha**2 * loss.value(scores)


#: -L*(αG) of the losses whose conjugate has a closed form, by id: entropies of the probabilities mixed with
#: the truth, (1 - α) times the truth + α times the model's; Σ 2αa - α²a² over the active terms a of squared
#: hinges, where Σ 2a is a sum over the residual and Σ a² the loss.
DUALS: dict[str, Callable[[BoundLoss, Scores, Scores, float], float]] = {
    "logistic": _logistic,
    "multiclass-logistic": _softmax,
    "multiclass-squared-hinge": _pair_hinge,
    "multilabel-squared-hinge": _pair_hinge,
    "multitask-squared-hinge": _multitask_hinge,
    "chain-crf": _chain,
    "tree-softmax": _tree,
}


@kernel
def _entropy(p):
    return -p * np.log(p) if p > 0.0 else 0.0


@kernel
def chain_entropies(Z, transitions, y, offsets, G, alpha):
    """Σ H(pairs) - Σ H(inner tokens) of the sequences between ``offsets``: the entropy of the chain whose
    marginals are the model's mixed with the truth; G is the residual (n_tokens, m)."""
    m, log_alpha = Z.shape[1], np.log(alpha)
    total = 0.0
    for s in range(offsets.size - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        for i in range(lo, hi):
            # a token counts once as a chain of one, not at the ends of a longer one, negatively between
            weight = 1.0 if n == 1 else (0.0 if i == lo or i == hi - 1 else -1.0)
            for c in range(m):
                total += weight * _entropy(alpha * G[i, c] + (1.0 if c == y[i] else 0.0))
        if n == 1:
            continue
        forth = np.empty((n, m))
        log_forward(Z[lo:hi], transitions, forth)
        beta, ahead = np.zeros(m), np.empty(m)
        for i in range(n - 1, 0, -1):
            for c in range(m):
                ahead[c] = Z[lo + i, c] + beta[c]
            for k in range(m):
                beta[k] = log_dot(transitions[k], ahead)
            log_z = log_dot(forth[i - 1], beta)
            for k in range(m):
                for c in range(m):
                    log_p = log_alpha + forth[i - 1, k] + transitions[k, c] + ahead[c] - log_z
                    p = np.exp(log_p)
                    if k == y[lo + i - 1] and c == y[lo + i]:
                        total += _entropy(p + 1.0 - alpha)
                    elif p > 0.0:
                        total -= p * log_p
            beta -= beta.max()
    return total
