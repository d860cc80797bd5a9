"""Quantities of blocks of weights on which rules of the working set decide: slack, violation, safe ball.

A block is a weight, or a row of weights if the penalty has a norm of rows. Its *slack* is how far its
gradient may move, in ℓ2 norm, while zero stays optimal for it; it is negative if zero is not optimal. For
λ‖w‖₁ it is λ - |g_j|.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ..compute.jit import kernel
from ..compute.lazy import lazy
from ..linalg.row_norms import NO_FACTORS, factor_of, row_subgradient, soft_thresholded, violation_of
from ..linalg.working_set import WorkingSet


@dataclass(frozen=True)
class SafeBall:
    """A ball around a feasible dual point that contains the dual optimum; arrays have one entry per screened
    block.

    A block is zero at the optimum if its ``slack`` at the centre exceeds ``max_change``, the largest change
    of its gradient within the ball. ``radius`` is in the space of residuals; ``gap`` is the proved bound on
    f(w) - f* from which the radius follows.
    """

    slack: np.ndarray
    max_change: np.ndarray
    radius: float
    gap: float


@dataclass(eq=False)
class ScreeningContext:
    """Blocks that a rule screens at an iterate; derived arrays have one entry per block, computed when
    needed.

    Parameters
    ----------
    W, G : array (blocks, width)
        The weights, and the gradient of loss and ridge.
    strengths : tuple of float
        Strengths (l1, l2, sup) of the norms of :mod:`.linalg.row_norms`.
    factors : array (blocks,)
        Penalty factors of the blocks; empty if all are 1.
    previous_set : WorkingSet or None
        The blocks of the previous working set; None at the first screening.
    screened : WorkingSet
        The indices of the screened blocks among all.
    previous_violation : float
        The largest violation at the previous iterate; ∞ at the first.
    threshold : float
        Zhong's M̂/N: ``previous_violation`` divided by the number of instances.
    all_remaining : bool
        Whether all blocks that are not proved to be zero are screened.
    ball : SafeBall or None
        The ball around the best dual point so far; None unless all remaining blocks are screened and the rule
        needs it.
    """

    W: np.ndarray
    G: np.ndarray
    strengths: tuple[float, float, float]
    _: KW_ONLY
    previous_set: WorkingSet | None
    screened: WorkingSet
    previous_violation: float
    threshold: float
    all_remaining: bool
    ball: SafeBall | None = None
    factors: np.ndarray = field(default_factory=lambda: NO_FACTORS)

    @property
    def single_weights(self) -> bool:
        """Return whether blocks are single weights and the penalty is λ‖w‖₁ alone."""
        one_norm = self.strengths[1] == 0.0 and self.strengths[2] == 0.0
        return self.W.shape[1] == 1 and one_norm and self.factors.size == 0

    @lazy
    def _weighed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = len(self.W)
        slack, violation, zero = np.empty(n), np.empty(n), np.empty(n, np.bool_)
        weigh(self.W, self.G, *self.strengths, self.factors, slack, violation, zero)
        return slack, violation, zero

    @property
    def slack(self) -> np.ndarray:
        """Return how far the gradient of each block may move while zero stays optimal."""
        return self._weighed[0]

    @property
    def violation(self) -> np.ndarray:
        """Return the violation of each block, as :func:`.row_norms.violation_of` measures it."""
        return self._weighed[1]

    @property
    def zero(self) -> np.ndarray:
        """Return whether all weights of each block are zero."""
        return self._weighed[2]

    @lazy
    def was_active(self) -> np.ndarray:
        """Return whether each block was in the previous working set."""
        if self.previous_set is None:
            return np.zeros(len(self.W), dtype=np.bool_)
        return self.screened.take(self.previous_set.mask())

    @lazy
    def largest(self) -> float:
        """Return the largest violation."""
        if self.single_weights:
            return float(largest_violation(self.W[:, 0], self.G[:, 0], self.strengths[0]))
        return float(self.violation.max(initial=0.0))


@dataclass(frozen=True)
class ShrinkTest:
    """The outcome of a shrinking test, for observers.

    Among the blocks ``tested``, each of ``width`` weights, those with w_j ≠ 0 or |g_j| > ``bound`` stay.

    ``gradient`` holds g on ``tested``; for rows of weights, for penalties with several norms, and for rules
    that do not go by a bound, it is ``l1`` minus the slack. The bound tends to ``l1``, the largest |g| for
    which w_j = 0 is optimal. It is -∞ if nothing leaves, and nan if the rule does not compare |g| with a
    bound. ``allowance`` is the formula of l1 - bound. ``largest`` is the largest violation M of the weights
    that stay; the epoch ends when it is at most ``target``. ``returned`` has the non-zero weights that were
    outside the working set when the previous epoch ended.

    ``cost`` is the CPU time in seconds of all tests so far, without the gradients on working sets; nan if
    unknown. ``proved`` counts the weights that this test proved to be zero by the ``ball``. Its ``radius`` is
    in the space of sG, s the scale of the loss.
    """

    tested: WorkingSet
    gradient: np.ndarray
    l1: float
    bound: float
    largest: float
    target: float
    returned: np.ndarray
    width: int = 1
    allowance: str = "M̂/N"
    cost: float = np.nan
    proved: int = 0
    ball: SafeBall | None = None
    radius: float = np.nan


@kernel
def weigh(W, G, l1, l2, sup, factors, slack, violation, zero):
    """Write the slack of each block, its violation, and whether it is zero.

    A block is a row of W; G is the gradient of loss and ridge.
    """
    out = np.empty(W.shape[1])
    for j in range(W.shape[0]):
        v = factor_of(factors, j)
        if W.shape[1] == 1 and l2 == 0.0 and sup == 0.0:
            w, g = W[j, 0], G[j, 0]
            slack[j], zero[j] = v * l1 - abs(g), w == 0.0
            violation[j] = max(-slack[j], 0.0) if w == 0.0 else abs(g + np.sign(w) * v * l1)
            continue
        zero[j] = True
        for c in range(W.shape[1]):
            zero[j] = zero[j] and W[j, c] == 0.0
        row_subgradient(W[j], G[j], v * l1, v * l2, v * sup, out)
        violation[j] = violation_of(out, l2, sup)
        slack[j] = slack_of(G[j], v * l1, v * l2, v * sup)


@kernel
def largest_violation(w, g, l1):
    """Return the largest violation of single weights, without storing all violations."""
    largest = 0.0
    for j in range(w.size):
        largest = max(largest, abs(g[j]) - l1 if w[j] == 0.0 else abs(g[j] + np.sign(w[j]) * l1))
    return largest


@kernel
def slacks(G, l1, l2, sup, out):
    """Write the slack of each row of the gradient G to ``out``."""
    for j in range(G.shape[0]):
        out[j] = slack_of(G[j], l1, l2, sup)


@kernel
def slack_of(g, l1, l2, sup):
    """Return a lower bound on the slack of a row with gradient g; it is negative if zero is not optimal.

    Zero is optimal if S(g, l1) is zero, or its norm is at most the strength: ‖·‖₂ <= l2, or ‖·‖₁ <= sup. A
    move by r takes an entry a below l1 to no more than r - a, in norm. It changes ‖S(g)‖₂ by at most r, and
    ‖S(g)‖₁ by at most r √m.
    """
    top, squares, total = 0.0, 0.0, 0.0
    for c in range(g.size):
        left = abs(soft_thresholded(g[c], l1))
        top = max(top, abs(g[c]))
        squares += left * left
        total += left
    if sup > 0.0:
        return (sup - total) / np.sqrt(g.size)
    return (l1 - top) + l2 if top <= l1 or l2 == 0.0 else l2 - np.sqrt(squares)
