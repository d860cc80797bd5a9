"""ε-cooling of shrinking in epochs (Zhong et al. 2014, section 2.3)."""

from __future__ import annotations

import sys


class Cooling:
    """Shrinking stop ε_s of one epoch after another: a working set is done when no violation on it exceeds
    ``target``, ε_s times V_0, the violation at w = 0.

    ε_s begins at ``start`` and becomes max(``least``, ``factor`` · min(ε_s, V/V_0)) when the epoch ends with
    violation V.
    """

    def __init__(self, start: float, factor: float, least: float, violation_at_zero: float) -> None:
        self.eps, self.factor, self.least = start, factor, least
        self.V0 = max(violation_at_zero, sys.float_info.min)
        #: epochs that have ended
        self.epoch = 0

    @property
    def target(self) -> float:
        """Return the violation at which the working set of this epoch is done."""
        return self.eps * self.V0

    def end_epoch(self, violation: float) -> None:
        """Begin the next epoch: lower ε_s, for the violation over all weights that was met."""
        self.eps = max(self.least, self.factor * min(self.eps, violation / self.V0))
        self.epoch += 1
