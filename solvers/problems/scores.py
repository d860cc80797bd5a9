"""Scores A w, which a design computes from weights and a loss is a function of."""

from __future__ import annotations

import numpy as np

from ..compute.jit import kernel


class Scores:
    """A w: one row of Z a sample (token), and the tail of the weights passed through beside it.

    Solvers only pass them on: Design, Loss and Line alone look inside.
    """

    __slots__ = ("Z", "tail")

    #: whether Z can be looked at: it is in this process
    at_hand = True

    def __init__(self, Z: np.ndarray, tail: np.ndarray) -> None:
        self.Z = Z  # (n, m)
        self.tail = tail  # (n_tail,)

    def plus(self, t: float, delta: Scores) -> Scores:
        """Return new scores, these plus ``t`` times ``delta``."""
        return Scores(self.Z + t * delta.Z, self.tail + t * delta.tail)

    def dot(self, other: Scores) -> float:
        """Sum the products of entries, those of the tail included."""
        return float(np.vdot(self.Z, other.Z) + self.tail @ other.tail)

    def __neg__(self) -> Scores:
        return Scores(-self.Z, -self.tail)

    def largest(self) -> float:
        """Return the largest absolute entry."""
        return float(max(np.abs(self.Z).max(initial=0.0), np.abs(self.tail).max(initial=0.0)))

    def move(self, t: float, delta: Scores) -> None:
        """Add ``t`` times ``delta`` to these scores."""
        add_scaled(self.Z.reshape(-1), t, delta.Z.reshape(-1))
        self.tail += t * delta.tail


@kernel
def add_scaled(z, t, delta):
    """Add t delta to z, without a temporary."""
    for i in range(z.size):
        z[i] += t * delta[i]
