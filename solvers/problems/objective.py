"""The parts of f(w) = s L(A w) + λR(w), and functions that process vectors over all weights in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..declare import Trait
from ..linalg.design import Design
from ..linalg.working_set import WorkingSet
from .losses.loss import BoundLoss
from .penalties import Penalty

#: Consecutive weights processed between two pulses.
VECTOR_PIECE = 200_000


class Objective:
    """Design, loss and penalty; the scale s is 1 (sum over instances) or 1/n (average).

    Base of :class:`.problem.Problem`. With penalty factors v (``factors``, one per weight) weight j has the
    strength λv_j. All weights of a row have the same factor.
    """

    def __init__(
        self,
        design: Design,
        loss: BoundLoss,
        penalty: Penalty,
        *,
        average: bool,
        factors: np.ndarray | None = None,
    ) -> None:
        self.design, self.loss, self.average = design, loss, average
        self.scale = 1.0 / loss.n_instances if average else 1.0
        #: the penalty factor of each weight; None: 1
        self.factors = factors
        #: the weights with the factor 0, ascending: they are not penalised
        self.free = np.zeros(0, dtype=np.int64) if factors is None else np.flatnonzero(factors == 0.0)
        self.penalty = self.fitted(penalty)

    def fitted(self, penalty: Penalty) -> Penalty:
        """Return a penalty for the weights of this problem, with its penalty factors."""
        penalty = penalty.over(self.design.n_outputs)
        return penalty if self.factors is None else penalty.with_factors(self.factors)

    @property
    def smooth(self) -> bool:
        """Return whether the loss has a gradient; else its residual is that of one subgradient."""
        return Trait.SMOOTH in self.loss.traits

    @property
    def size(self) -> int:
        """Return the number of weights d."""
        return self.design.size

    @property
    def uniform(self) -> bool:
        """Return whether the penalty has the same strength for all weights."""
        return self.factors is None or not self.penalty.takes_lam

    @property
    def l1_strengths(self) -> np.ndarray:
        """Return the strength of |w_j| for each weight: a read-only array, which needs no memory if all are
        equal."""
        return np.broadcast_to(self.penalty.each(self.penalty.l1), (self.size,))

    @property
    def kinked(self) -> tuple[np.ndarray, ...]:
        """Return a tuple with the mask of the penalised weights; the tuple is empty if all are penalised."""
        return () if self.factors is None else (self.factors > 0.0,)

    def penalty_on(self, active: WorkingSet) -> Penalty:
        """Return the penalty of the members of a working set."""
        return self.penalty.on(slice(None) if active.full else active.coordinates)

    def pulse(self) -> None:
        """Pause or stop here if requested. Solvers call this between chunks of their own long loops."""
        self.design.pulse()

    def pieces(self, most: int | None = None) -> Iterator[slice]:
        """Yield slices of whole rows that together cover all weights.

        A slice has at most ``most`` weights (None: ``VECTOR_PIECE``), but at least one row. The pulse is
        called between two slices, so that a run can pause or stop within a long vector. Temporaries of the
        length of a slice stay in the cache.
        """
        width = self.design.n_outputs
        length = max((most or VECTOR_PIECE) // width, 1) * width
        for lo in range(0, self.size, length):
            if lo:
                self.pulse()
            yield slice(lo, min(lo + length, self.size))

    def parts(self, active: WorkingSet | None, *of: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield tuples of the penalty and pieces of vectors that have one entry per member of ``active``.

        Yield one tuple with everything; if all weights are members (also None), one tuple per piece.
        """
        if active is not None and not active.full:
            yield self.penalty_on(active), *of
            return
        for part in self.pieces():
            yield self.penalty.on(part), *(v[part] for v in of)

    def vector(self, entries: Callable[..., np.ndarray], *of: np.ndarray) -> np.ndarray:
        """Apply ``entries`` to vectors over all weights, a piece at a time; return the resulting vector."""
        out = np.empty(self.size)
        for part in self.pieces():
            out[part] = entries(*(v[part] for v in of))
        return out

    def subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the minimum-norm subgradient at w of all weights, ``g`` being the smooth part's gradient."""
        out = np.empty(self.size)
        for penalty, own, gradient, piece in self.parts(None, w, g, out):
            piece[:] = penalty.subgradient(own, gradient)
        return out

    def total(self, term: Callable[..., float], *of: np.ndarray) -> float:
        """Apply ``term`` to vectors over all weights, a piece at a time, and return the sum."""
        return float(sum(term(*(v[part] for v in of)) for part in self.pieces()))
