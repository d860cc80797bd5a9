"""The base of rules of the working set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..declare import Declared
from .policy import Cooling, FixedShare
from .screening import ScreeningContext


@dataclass(frozen=True)
class Rule(Declared):
    """Base of rules: a frozen dataclass of numbers without state; the past is in :class:`.ScreeningContext`.

    Attributes
    ----------
    id, name, summary, paper : str
        The rule's identifier, name and description, and its source.
    inner_tol_ratio : float
        The work on a part of the blocks ends when their violations are at most this share of the largest
        violation at the last screening of all blocks. Then all are screened again. 0 waits for convergence.
    dynamic : bool
        Whether all blocks are screened after each step.
    reactivates : bool
        Whether a block that was left out is ever screened again.
    needs_safe_ball : bool
        Whether the rule needs ``context.ball``, which not every loss has.
    by_bound : bool
        Whether exactly those zero blocks leave whose slack is at least :meth:`bound`.
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
        """Return the rule with a first working set of up to ``n`` blocks of many; most rules have no such
        number."""
        return self

    def bound(self, context: ScreeningContext) -> float:
        """Return the slack beyond which a zero block leaves; ∞ if none does."""
        return np.inf

    def keeps(self, context: ScreeningContext) -> np.ndarray:
        """Return which of the screened blocks belong to the working set: a guess."""
        return context.slack <= self.bound(context)

    def proves(self, context: ScreeningContext) -> np.ndarray | None:
        """Return which blocks are proved to be zero at the optimum, and never come back; None: none is.

        It is called when all remaining blocks are screened.
        """
        return None

    def select(self, context: ScreeningContext) -> np.ndarray:
        """Return which blocks are in the working set: those that the rule keeps, and those that are not
        zero."""
        return self.keeps(context) | ~context.zero

    def schedule(self, tol: float, aim: float, violation_at_zero: float) -> Cooling | FixedShare:
        """Return when an epoch ends; ``aim`` is the violation at which the run ends, by its ``tol``."""
        return FixedShare(self.inner_tol_ratio, aim)
