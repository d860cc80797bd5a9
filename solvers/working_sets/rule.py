"""The base class of rules of the working set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..declare import Declared
from .policy import Cooling, FixedShare
from .screening import ScreeningContext


@dataclass(frozen=True)
class Rule(Declared):
    """Base of rules: a frozen dataclass of numbers. Rules have no state; see :class:`.ScreeningContext`.

    Attributes
    ----------
    id, name, summary, paper : str
        Identifier, name, description, and publication.
    inner_tol_ratio : float
        All blocks are screened again when the violations on the working set are at most this fraction of the
        largest violation at the last such screening. With 0 they are screened after convergence.
    dynamic : bool
        Whether all blocks are screened after each step.
    reactivates : bool
        Whether a block that was left out is ever screened again.
    needs_safe_ball : bool
        Whether the rule needs ``context.ball``, which not every loss has.
    by_bound : bool
        Whether exactly those zero blocks leave whose slack is at least :meth:`bound`.
    allowance : str
        :meth:`bound` as a formula in the paper's letters.

    Notes
    -----
    A non-zero block always stays in the working set.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from solverscope import solvers
    >>> @dataclass(frozen=True)
    ... class Half(solvers.Rule):
    ...     id, name, summary = "half", "Half", "the half of the blocks that is nearest to moving"
    ...
    ...     def keeps(self, context):
    ...         if not context.all_remaining:
    ...             return super().keeps(context)
    ...         return context.slack <= np.median(context.slack)
    """

    inner_tol_ratio: ClassVar[float] = 0.1
    dynamic: ClassVar[bool] = False
    reactivates: ClassVar[bool] = True
    needs_safe_ball: ClassVar[bool] = False
    by_bound: ClassVar[bool] = False
    allowance: ClassVar[str] = ""

    def beginning_with(self, n: int) -> Rule:
        """Return the rule with a first working set of up to ``n`` blocks if there are many blocks.

        Return the rule itself if it has no such setting, as most rules.
        """
        return self

    def bound(self, context: ScreeningContext) -> float:
        """Return the slack beyond which a zero block leaves; ∞ if none leaves."""
        return np.inf

    def keeps(self, context: ScreeningContext) -> np.ndarray:
        """Return the mask of the screened blocks that should be in the working set: a guess, which may be
        wrong."""
        return context.slack <= self.bound(context)

    def proves(self, context: ScreeningContext) -> np.ndarray | None:
        """Return the mask of the blocks that are proved to be zero at the optimum; None if there is no proof.

        These blocks never come back. The method is called when all remaining blocks are screened.
        """
        return None

    def select(self, context: ScreeningContext) -> np.ndarray:
        """Return the mask of the blocks in the working set: those that the rule keeps, and those that are not
        zero."""
        return self.keeps(context) | ~context.zero

    def schedule(self, tol: float, aim: float, violation_at_zero: float) -> Cooling | FixedShare:
        """Return the schedule of epochs; ``aim`` is the violation at which the run ends for its ``tol``."""
        return FixedShare(self.inner_tol_ratio, aim)
