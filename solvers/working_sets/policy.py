"""The policy of shrinking: its threshold, the schedule of epochs, and whether weights come back.

All solvers that shrink use :class:`ShrinkingPolicy`. A zero weight leaves if its slack exceeds M̂/N, M̂ the
largest violation at the previous iterate. An epoch ends when the violations of the other weights have fallen
to the target of its schedule; then all weights come back. Kernels that test weights during a pass receive the
threshold.
"""

from __future__ import annotations

import sys
from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np


class Cooling:
    """Schedule of ε-cooling (Zhong et al. 2014, section 2.3).

    The target of an epoch is ε_s times V_0, the violation at w = 0, or ``noise`` if that is larger. ε_s
    begins at ``start`` and becomes max(``least``, ``factor`` · min(ε_s, V/V_0)) when the epoch ends with
    violation V over all weights.
    """

    def __init__(
        self, start: float, factor: float, least: float, violation_at_zero: float, *, noise: float = 0.0
    ) -> None:
        self.eps, self.factor, self.least, self.noise = start, factor, least, noise
        self.V0 = max(violation_at_zero, sys.float_info.min)

    @property
    def target(self) -> float:
        """Return the violation on the working set at which this epoch ends."""
        return max(self.eps * self.V0, self.noise)

    def screen_all(self, violation: float) -> None:
        """Do nothing: the target does not depend on the violation over all weights at the start of an
        epoch."""

    def end_epoch(self, violation: float = np.inf) -> None:
        """Lower ε_s, given the violation over all weights."""
        self.eps = max(self.least, self.factor * min(self.eps, violation / self.V0))


@dataclass
class FixedShare:
    """Schedule in which an epoch ends at a fixed fraction of the violation over all weights at its start.

    It ends at ``least`` if that is larger.
    """

    share: float
    least: float
    target: float = 0.0

    def screen_all(self, violation: float) -> None:
        """Set the target, given the violation over all weights."""
        self.target = max(self.share * violation, self.least)

    def end_epoch(self, violation: float = np.inf) -> None:
        """Do nothing: the screening of all weights that follows sets the target."""


@dataclass
class ShrinkingPolicy:
    """The policy of when weights leave a working set, and when all come back.

    Parameters
    ----------
    schedule : Cooling or FixedShare
        The schedule of epochs.
    n_instances : int
        N in the threshold M̂/N.
    enabled : bool
        Whether weights leave at all.
    reactivates : bool
        Whether an epoch ever ends, so that weights come back.
    resets : bool
        Whether M̂ is ∞ again in a new epoch, so that each weight is visited once before it may leave.
    epoch : int
        The index of the first epoch.
    violation : float
        M̂ at the start.
    """

    schedule: Cooling | FixedShare
    n_instances: int
    _: KW_ONLY
    enabled: bool = True
    reactivates: bool = True
    resets: bool = False
    epoch: int = 0
    violation: InitVar[float] = np.inf

    def __post_init__(self, violation: float) -> None:
        #: M̂
        self.last_violation = violation

    @property
    def threshold(self) -> float:
        """Return M̂/N, the slack beyond which a zero weight leaves; ∞ if none does."""
        return self.last_violation / self.n_instances if self.enabled else np.inf

    def epoch_is_over(self, violation: float, *, whole: bool, stuck: bool = False) -> bool:
        """Return whether the epoch ends, so that all weights come back.

        It ends if the violation on the working set is at most the target, or if no step decreases f there
        (``stuck``). It never does if the set is the ``whole``, or without reactivation.
        """
        return self.reactivates and not whole and (stuck or violation <= self.schedule.target)

    def end_epoch(self, violation: float) -> None:
        """Begin the next epoch; ``violation`` is that over all weights."""
        self.schedule.end_epoch(violation)
        self.epoch += 1
        if self.resets:
            self.last_violation = np.inf
