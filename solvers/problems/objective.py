"""The parts of f(w) = s L(A w) + λR(w), and work on vectors over all weights a piece at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..declare import Trait
from .design import Design
from .losses.loss import BoundLoss
from .penalties import Penalty
from .products.working_set import WorkingSet

#: Weights that follow each other worked on between two pulses.
PIECE = 200_000


class Objective:
    """Design, loss and penalty together; ``scale`` s is 1 (sum over instances) or 1/n (average).

    This is what a :class:`.problem.Problem` is made of.
    """

    def __init__(self, design: Design, loss: BoundLoss, penalty: Penalty, *, average: bool) -> None:
        self.design, self.loss, self.average = design, loss, average
        self.scale = 1.0 / loss.n_instances if average else 1.0
        self.penalty = penalty.over(design.n_outputs)

    @property
    def smooth(self) -> bool:
        """Tell whether the loss has a gradient; else its residual is that of one subgradient."""
        return Trait.SMOOTH in self.loss.traits

    @property
    def size(self) -> int:
        """Return the number of weights d."""
        return self.design.size

    def pulse(self) -> None:
        """Let the run pause or stop here: solvers call it between chunks of their own long loops."""
        self.design.pulse()

    def pieces(self, most: int | None = None) -> Iterator[slice]:
        """Cut all weights into slices of whole rows, ``most`` weights (None: ``PIECE``) or one row, with a
        pulse between one and the next: so a run can pause or stop within a long vector, and temporaries stay
        in the cache."""
        width = self.design.n_outputs
        length = max((most or PIECE) // width, 1) * width
        for lo in range(0, self.size, length):
            if lo:
                self.pulse()
            yield slice(lo, min(lo + length, self.size))

    def parts(self, active: WorkingSet | None, *of: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield the penalty with vectors that have an entry a member of ``active`` (None: all weights): at
        once, or a piece at a time where all are members."""
        if active is not None and not active.full:
            yield self.penalty.on(active.coordinates), *of
            return
        for part in self.pieces():
            yield self.penalty.on(part), *(v[part] for v in of)

    def vector(self, entries: Callable[..., np.ndarray], *of: np.ndarray) -> np.ndarray:
        """Apply ``entries`` to vectors over all weights, a piece at a time, and return the resulting
        vector."""
        out = np.empty(self.size)
        for part in self.pieces():
            out[part] = entries(*(v[part] for v in of))
        return out

    def total(self, term: Callable[..., float], *of: np.ndarray) -> float:
        """Apply ``term`` to vectors over all weights, a piece at a time, and return the sum."""
        return float(sum(term(*(v[part] for v in of)) for part in self.pieces()))
