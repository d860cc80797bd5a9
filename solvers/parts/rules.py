"""Rules of the working set: which blocks of weights a solver works on, and with which proof the others left.

A block is a weight, or a row of weights where the penalty has a norm of rows. What all rules go by is its
*room*: how far the gradient of a block may move, in ℓ2 norm, while zero stays optimal for it; negative where
zero is not. For λ‖w‖₁ it is λ - |g_j|. A rule says how much room is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..compute.jit import kernel
from ..compute.lazy import lazy
from ..declare import Declared
from ..problems.products.working_set import WorkingSet
from ..problems.row_norms import row_subgradient, soft_thresholded, violation_of


@dataclass(frozen=True)
class Sphere:
    """A ball around a point of the dual that holds the dual's optimum, as the blocks of one look see it.

    ``room`` is that of the gradient at the centre, ``reach`` how far the gradient moves within the ball,
    both an entry a block: a block with room > reach is zero at the optimum. ``radius`` is that of the ball,
    in the space of residuals, and ``gap`` the proved bound of f(w) - f* that it is made of.
    """

    room: np.ndarray
    reach: np.ndarray
    radius: float
    gap: float


@dataclass(frozen=True)
class Seen:
    """What a solver knows of the blocks that it looks at: an entry a block in each array.

    ``zero`` tells whether all weights of a block are; ``violation`` is as :func:`.row_norms.violation_of`
    measures it, ``largest`` the most of it, ``before`` that of the look before (∞ at the first), ``inside``
    tells which blocks were in the working set before (none at the first). ``whole`` tells whether these are
    all blocks that are not proved to be zero, and ``instances`` is N. ``sphere`` is that of the best dual
    point so far; None where not all blocks are looked at, or the rule does not ask for it.
    """

    zero: np.ndarray
    room: np.ndarray
    violation: np.ndarray
    inside: np.ndarray
    before: float
    whole: bool
    instances: int
    sphere: Sphere | None

    @lazy
    def largest(self) -> float:
        return float(self.violation.max(initial=0.0))


class Rule(Declared):
    """Base of rules: a frozen dataclass of numbers without state; what has been is in :class:`Seen`.

    Attributes
    ----------
    id, name, summary, paper : str
        How the rule is called, and where it comes from.
    share : float
        The work on a part of the blocks is done when their violations are at most this share of the largest
        where all were looked at last: then all are looked at again. 0 waits for convergence.
    every : bool
        Whether all blocks are looked at after each step.
    returns : bool
        Whether a block that was left out is ever looked at again.
    spheres : bool
        Whether the rule asks for ``seen.sphere``, which not every loss has.
    allowance : str
        What :meth:`bound` is, in the paper's letters.

    Notes
    -----
    A block that is not zero stays, whatever a rule says.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from solverscope import solvers
    >>> @dataclass(frozen=True)
    ... class Half(solvers.Rule):
    ...     id, name, summary = "half", "Half", "the half of the blocks that is nearest to moving"
    ...
    ...     def keeps(self, seen):
    ...         return seen.room <= np.median(seen.room) if seen.whole else super().keeps(seen)
    """

    share: ClassVar[float] = 0.1
    every: ClassVar[bool] = False
    returns: ClassVar[bool] = True
    spheres: ClassVar[bool] = False
    allowance: ClassVar[str] = ""

    def bound(self, seen: Seen) -> float:
        """Return the room beyond which a zero block sits out; ∞ where none does."""
        return np.inf

    def keeps(self, seen: Seen) -> np.ndarray:
        """Tell which of the blocks looked at belong to the working set from here on: a guess."""
        return seen.room <= self.bound(seen)

    def proves(self, seen: Seen) -> np.ndarray:
        """Tell which blocks are zero at the optimum for certain: they never come back. It is asked where all
        blocks are looked at."""
        return np.zeros(seen.zero.size, dtype=np.bool_)


@dataclass(frozen=True)
class NoRule(Rule):
    """All blocks, always."""

    id = "none"
    name = "None"
    summary = "all weights, always"


@dataclass(frozen=True)
class Zhong(Rule):
    """A block leaves that has more room than M̂/N, M̂ the largest violation of the look before.

    All come back where the violations of the rest have fallen to a tenth, and are tested at once.
    """

    id = "zhong"
    name = "Zhong's shrinking"
    summary = "a weight leaves with more room than M̂/N, and all come back at the end of an epoch"
    paper = "Zhong et al. 2014, Algorithm 2"
    allowance = "M̂/N"

    def bound(self, seen: Seen) -> float:
        return seen.before / seen.instances


@dataclass(frozen=True)
class NoReturn(Zhong):
    """Zhong's test, without looking back: what has left is never looked at again, to see what that is for."""

    id = "no-return"
    name = "Without return"
    summary = "Zhong's test, and what has left never comes back: the optimum may be missed"
    returns = False


@dataclass(frozen=True)
class Blondel(Rule):
    """The same test as Zhong's; all come back when the rest has converged, and stay for that look."""

    id = "blondel"
    name = "Blondel's shrinking"
    summary = "a weight leaves with more room than v/n, and all come back when the rest has converged"
    paper = "Blondel et al. 2013, section 5.2.4"
    share = 0.0
    allowance = "v/n"

    def bound(self, seen: Seen) -> float:
        back = seen.whole and not seen.inside.all()
        return np.inf if back else seen.before / seen.instances


@dataclass(frozen=True)
class Liblinear(Zhong):
    """The same test, of all blocks, before each step: nothing is left out for longer."""

    id = "liblinear"
    name = "liblinear's shrinking"
    summary = "a weight sits out one step with more room than M̂/l"
    paper = "Yuan, Ho and Lin 2012"
    every = True
    allowance = "M̂/l"


@dataclass(frozen=True)
class Strong(Rule):
    """Sequential strong rule: from the optimum at λ' on, leave out what has |g_j| < 2λ - λ' there.

    That is more room than λ' - λ, the largest violation at such a start (w = 0 is optimal at λ_max): the
    gradient is taken to move by no more than λ does, which is no proof. So when the rest has converged, all
    are looked at, and those that are violated come in.
    """

    id = "strong"
    name = "Strong rule"
    summary = "start at the optimum of another λ; leave out what only a gradient faster than λ could need"
    paper = "Tibshirani et al. 2012"
    share = 0.0
    allowance = "(λ' − λ)"

    def bound(self, seen: Seen) -> float:
        return seen.largest if seen.whole and not seen.inside.any() else np.inf

    def keeps(self, seen: Seen) -> np.ndarray:
        if seen.whole and seen.inside.any():
            return seen.inside | (seen.room < 0.0)
        return super().keeps(seen)


@dataclass(frozen=True)
class GapSafe(Rule):
    """A block leaves for ever whose constraint in the dual no point of a ball around its optimum touches.

    The ball is centred at a feasible point of the dual; its radius √(2 gap κ/s), κ the Lipschitz constant of
    the loss's gradient, shrinks with the gap (dynamic rule).
    """

    id = "gap-safe"
    name = "Gap safe"
    summary = "a weight leaves that is proved to be zero at the optimum, by the duality gap"
    paper = "Ndiaye et al. 2017"
    spheres = True

    def proves(self, seen: Seen) -> np.ndarray:
        return super().proves(seen) if seen.sphere is None else seen.sphere.room > seen.sphere.reach


@dataclass(frozen=True)
class Growing(Rule):
    """A set that begins with the most violated blocks and holds twice the non-zero ones at each look.

    skglm begins with 10 and looks again at 0.3 of the violation; a look at all blocks costs as much as many
    sweeps over a small set, and 30 and 0.03 take two thirds of its time on text and on gene expressions.
    """

    id = "growing"
    name = "Growing"
    summary = "begin with thirty weights; at each look take the most violated, up to twice the non-zero ones"
    paper = "Bertrand et al. 2022 (skglm)"
    share = 0.03
    #: how many blocks it begins with
    begins: ClassVar[int] = 30

    def keeps(self, seen: Seen) -> np.ndarray:
        if not seen.whole:
            return super().keeps(seen)
        return self._nearest(seen, seen.room)

    def _nearest(self, seen: Seen, distance: np.ndarray) -> np.ndarray:
        """Mark the non-zero blocks, and as many again of those with the least distance."""
        size = min(max(self.begins, 2 * int(np.count_nonzero(~seen.zero))), seen.zero.size)
        first = np.where(seen.zero, distance, -np.inf)
        keep = np.zeros(seen.zero.size, dtype=np.bool_)
        keep[np.argpartition(first, size - 1)[:size]] = True
        return keep


@dataclass(frozen=True)
class GrowingDual(Growing, GapSafe):
    """The blocks whose constraint is nearest to a feasible point of the dual, of the best met so far.

    The distance of a point to the constraint of block j is its room over ‖x_j‖; within the gap safe ball it
    is proved not to matter. The best point may be one of long ago: blocks that are violated now come first,
    else a block without which f cannot fall might be left out for ever.
    """

    id = "growing-dual"
    name = "Growing by the dual"
    summary = "as growing, by the distance to the dual constraint; what is proved to be zero leaves for ever"
    paper = "Johnson and Guestrin 2015 (Blitz); Massias, Gramfort and Salmon 2018 (celer)"

    def keeps(self, seen: Seen) -> np.ndarray:
        if not seen.whole or seen.sphere is None:
            return super().keeps(seen)
        distance = np.full(seen.zero.size, np.inf)
        np.divide(seen.sphere.room, seen.sphere.reach, out=distance, where=seen.sphere.reach > 0.0)
        return self._nearest(seen, np.where(seen.room < 0.0, seen.room, distance))


@dataclass(frozen=True)
class ShrinkTest:
    """What a test of shrinking did, for observers: of the blocks ``tested``, each of ``width`` weights, those
    with w_j ≠ 0 or |g_j| > ``bound`` stay.

    ``gradient`` holds g on ``tested``; of rows of weights, and where a penalty has several norms, it is what
    of ``l1`` the room leaves. The bound tends to ``l1``, the most that |g| may be where w_j = 0 is optimal;
    it is -∞ where nothing leaves, and nan where another measure than |g| decides. ``allowance`` is l1 - bound
    in letters. ``largest`` is the largest violation M of the weights that stay; the working set is done when
    that is at most ``target``. ``returned`` lists the weights that are not zero although they were outside
    the working set when the epoch before ended.

    ``cost`` is the CPU time in seconds of all tests so far, without the gradients of working sets, nan where
    it is not known. ``proved`` counts the weights that this test proved to be zero by the ``sphere``, whose
    ``radius`` is that in the space of sG, s the scale of the loss.
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
    sphere: Sphere | None = None
    radius: float = np.nan

    @property
    def whole(self) -> bool:
        """Tell whether all weights were tested."""
        return self.tested.full


#: Rules by id.
RULES: dict[str, type[Rule]] = {
    rule.id: rule
    for rule in (NoRule, Zhong, Blondel, Liblinear, Strong, GapSafe, Growing, GrowingDual, NoReturn)
}


@kernel
def weigh(W, G, l1, l2, sup, room, violation, zero):
    """Write room, violation and whether it is zero of each block, a row of W; G is the gradient of loss and
    ridge there."""
    out = np.empty(W.shape[1])
    for j in range(W.shape[0]):
        if W.shape[1] == 1 and l2 == 0.0 and sup == 0.0:
            w, g = W[j, 0], G[j, 0]
            room[j], zero[j] = l1 - abs(g), w == 0.0
            violation[j] = max(-room[j], 0.0) if w == 0.0 else abs(g + np.sign(w) * l1)
            continue
        zero[j] = True
        for c in range(W.shape[1]):
            zero[j] = zero[j] and W[j, c] == 0.0
        row_subgradient(W[j], G[j], l1, l2, sup, out)
        violation[j] = violation_of(out, l2, sup)
        room[j] = room_of(G[j], l1, l2, sup)


@kernel
def rooms(G, l1, l2, sup, out):
    """Write the room of each row of gradients."""
    for j in range(G.shape[0]):
        out[j] = room_of(G[j], l1, l2, sup)


@kernel
def room_of(g, l1, l2, sup):
    """Return how far the gradient g of a row may move while zero stays optimal, from below; negative where
    zero is not optimal.

    Zero is optimal where no entry is left of S(g, l1), or its norm is at most that of the row: ‖·‖₂ <= l2, or
    ‖·‖₁ <= sup. A move by r takes an entry a below l1 to no more than r - a, in norm, and changes ‖S(g)‖₂ by
    r, ‖S(g)‖₁ by r √m at most.
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
