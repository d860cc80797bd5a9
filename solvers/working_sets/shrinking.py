"""Shrinking rules: Zhong's (Algorithm 2 of Zhong et al. 2014, lines 3 to 16), and others with the same test.

:meth:`Zhong.bound` is the bound of the test in line 6, and :meth:`Zhong.schedule` decides when an epoch ends
(line 10). ``prox-qn`` uses both, unless another rule is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compute.jit import kernel
from .policy import Cooling, FixedShare
from .rule import Rule
from .screening import ScreeningContext


@dataclass(frozen=True)
class Zhong(Rule):
    """Zhong's rule: a block leaves if its slack is at least M̂/N, M̂ the largest violation at the previous
    iterate.

    An epoch ends when the violations of the other blocks have fallen to ε_s V_0. Then all blocks come back
    and are tested at once. ε_s begins at ``cooling_start`` and is multiplied by ``cooling`` or less from
    epoch to epoch. Without ``cooling_start`` the target is a tenth of the violation over all blocks at the
    start of the epoch.
    """

    id = "zhong"
    name = "Zhong's shrinking"
    summary = "a weight leaves with more slack than M̂/N, and all come back at the end of an epoch"
    paper = "Zhong et al. 2014, Algorithm 2"
    allowance = "M̂/N"
    by_bound = True

    cooling_start: float = 0.0
    cooling: float = 0.1

    def bound(self, context: ScreeningContext) -> float:
        """Return M̂/N: a zero block, a weight or a row of weights, leaves with at least this slack."""
        return context.threshold

    def keeps(self, context: ScreeningContext) -> np.ndarray:
        return context.slack < self.bound(context)

    def select(self, context: ScreeningContext) -> np.ndarray:
        if not context.single_weights:
            return super().select(context)
        given = context.W[:, 0], context.G[:, 0], context.strengths[0], self.bound(context)
        keep, context.largest = shrink_weights(*given)
        return keep

    def schedule(self, tol: float, aim: float, violation_at_zero: float) -> Cooling | FixedShare:
        if not self.cooling_start:
            return super().schedule(tol, aim, violation_at_zero)
        return Cooling(self.cooling_start, self.cooling, tol, violation_at_zero)


@dataclass(frozen=True)
class NoReturn(Zhong):
    """Zhong's test without reactivation, to show its effect: weights that have left are never screened
    again."""

    id = "no-return"
    name = "Without return"
    summary = "Zhong's test, and what has left never comes back: the optimum may be missed"
    reactivates = False


@dataclass(frozen=True)
class LiblinearShrinking(Zhong):
    """Zhong's test of all blocks before each step: a block is left out for one step only."""

    id = "liblinear"
    name = "liblinear's shrinking"
    summary = "a weight is left out of one step with more slack than M̂/l"
    paper = "Yuan, Ho and Lin 2012"
    dynamic = True
    allowance = "M̂/l"


@dataclass(frozen=True)
class Blondel(Rule):
    """Zhong's test; all blocks come back after convergence, and stay until the next screening."""

    id = "blondel"
    name = "Blondel's shrinking"
    summary = "a weight leaves with more slack than v/n, and all come back when the rest has converged"
    paper = "Blondel et al. 2013, section 5.2.4"
    inner_tol_ratio = 0.0
    allowance = "v/n"

    def bound(self, context: ScreeningContext) -> float:
        back = context.all_remaining and not context.was_active.all()
        return np.inf if back else context.threshold


@kernel
def shrink_weights(w, g, l1, bound):
    """Return the mask of the weights that stay, w_j ≠ 0 or |g_j| > λ - M̂/N (line 6), and M.

    M is the largest |∂_j f| of eq. (16) among these weights; ``bound`` is M̂/N.
    """
    keep, M = np.empty(w.size, np.bool_), 0.0
    for j in range(w.size):
        keep[j] = w[j] != 0.0 or abs(g[j]) - l1 + bound > 0.0
        if keep[j]:
            violation = abs(g[j]) - l1 if w[j] == 0.0 else abs(g[j] + np.sign(w[j]) * l1)
            M = max(M, violation)
    return keep, M
