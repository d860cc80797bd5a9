"""One part of the rows of a problem, where it is computed: in this process, or in a worker of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ...compute.jit import compile_clock
from ...compute.team import Team
from ..design import Design
from ..losses.loss import BoundLoss, Loss

#: What is asked of a shard: the name of one of its ``ORDERS``, and arguments.
Order = tuple[Any, ...]


def add(one: Any, other: Any) -> Any:
    """Return the sum of two numbers or arrays; of two tuples, the sums of their entries."""
    return tuple(map(add, one, other)) if isinstance(one, tuple) else one + other


def join(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the columns of one matrix, and those of the other after them."""
    return np.concatenate([one, other], axis=1)


#: What may be asked, and how two shards' answers become one; None where there is no answer.
ORDERS: dict[str, Callable[[Any, Any], Any] | None] = {
    **dict.fromkeys(("enlist", "narrow", "forget", "scores", "residual", "sup", "random")),
    **dict.fromkeys(("second", "hessian", "curved", "plus", "move")),
    **dict.fromkeys(("about", "value", "count_ties", "dot", "slope", "adjoint", "metric"), add),
    **dict.fromkeys(("adjoint_of_squares", "column_squares", "kinks", "rise"), add),
    **dict.fromkeys(("middle", "points"), join),
    **dict.fromkeys(("largest", "settle"), max),
}


class Shard:
    """Rows of X and their labels. Z, and whatever is computed of it, stays here under a number; sums over
    rows go out."""

    def __init__(self, X: Any, loss: BoundLoss, number: int = 0, threads: int = 1) -> None:
        self.number, self.team = number, Team(threads)
        self.loss = loss.attached(self.team, lambda: None)
        self.design = Design(X, loss.n_outputs, loss.n_tail, self.team)
        #: working sets, scores, Hessians, breakpoints, by number; None stands for the set of all weights
        self.held: dict[int | None, Any] = {None: None}

    @classmethod
    def of(cls, data: Any, loss: Loss, k: int, count: int, threads: int = 1) -> Self:
        """Make shard ``k`` of ``count`` of the training part of a data set: samples, or sequences, that
        follow each other, as many in each."""
        check_count(count, data.n_samples)
        edges = np.linspace(0, data.n_samples, count + 1).astype(int)
        part = data.train.take(np.arange(edges[k], edges[k + 1]))
        bound = loss.bind(part, data.n_classes, data.parents)
        return cls(part.X, bound.measured_by(getattr(data, "metric", None) or ""), k, threads)

    def execute(self, orders: Sequence[Order]) -> tuple[Any, float]:
        """Execute orders one after another; return the answer to the last, and the CPU seconds that all took,
        compiling left out."""
        began, helped = compile_clock.net()[1], self.team.cpu_seconds
        answer: Any = None
        for name, *arguments in orders:
            if name not in ORDERS:
                raise ValueError(f"a shard does not know {name!r}")
            answer = getattr(self, name)(*arguments)
        spent = compile_clock.net()[1] - began
        return answer, spent + self.team.cpu_seconds - helped

    def about(self) -> tuple[int, int, np.ndarray]:
        """Count rows and entries, and the entries of each column; compile what will be used."""
        probe = self.design.working_set(np.arange(min(2, self.design.size)))
        scores = self.design.scores(np.full(len(probe), 1e-3), probe)
        self.loss.value(scores, scores, 0.5)
        residual = self.loss.residual(scores)
        for active in (None, probe):
            self.design.adjoint(residual, active)
        return self.design.n_rows, self.design.nnz, self.design.column_nnz

    # what stays

    def enlist(self, new: int, coordinates: np.ndarray) -> None:
        self.held[new] = self.design.working_set(coordinates.astype(np.int64))

    def narrow(self, new: int, active: int, bits: np.ndarray) -> None:
        """Keep the members of a working set whose bit is set; they share the columns gathered for it."""
        wide = self.held[active]
        self.held[new] = wide.restrict(np.unpackbits(bits, count=len(wide)).astype(bool))

    def forget(self, place: int) -> None:
        self.held.pop(place, None)

    def scores(self, new: int, v: np.ndarray, active: int | None) -> None:
        self.held[new] = self.design.scores(v, self.held[active])

    def residual(self, new: int, at: int) -> None:
        self.held[new] = self.loss.residual(self.held[at])

    def sup(self, new: int, at: int, delta: int) -> None:
        self.held[new] = self.loss.subgradient_sup(self.held[at], self.held[delta])

    def second(self, new: int, at: int, residual: int) -> None:
        self.held[new] = self.loss.second_derivatives(self.held[at], self.held[residual])

    def hessian(self, new: int, at: int, residual: int) -> None:
        self.held[new] = self.loss.hessian(self.held[at], self.held[residual])

    def curved(self, new: int, hessian: int, delta: int) -> None:
        self.held[new] = self.held[hessian](self.held[delta])

    def random(self, new: int, at: int, seed: int) -> None:
        rng = np.random.default_rng([seed, self.number])
        self.held[new] = self.loss.random_subgradient(self.held[at], rng)

    def plus(self, new: int, at: int, t: float, delta: int) -> None:
        self.held[new] = self.held[at].plus(t, self.held[delta])

    def move(self, at: int, t: float, delta: int) -> None:
        self.held[at].move(t, self.held[delta])

    # sums over rows, which go out

    def value(self, at: int, delta: int | None, t: float) -> float:
        return self.loss.value(self.held[at], self.held[delta], t)

    def count_ties(self, at: int) -> int:
        return self.loss.count_ties(self.held[at])

    def dot(self, at: int, other: int) -> float:
        return self.held[at].dot(self.held[other])

    def slope(self, at: int, delta: int, t: float, side: int) -> float:
        return self.loss.slope(self.held[at], self.held[delta], t, side)

    def settle(self, at: int) -> float:
        return self.loss.settle(self.held[at])

    def largest(self, at: int) -> float:
        return self.held[at].largest()

    def adjoint(self, at: int, active: int | None) -> np.ndarray:
        return self.design.adjoint(self.held[at], self.held[active])

    def adjoint_of_squares(self, at: int, active: int | None) -> np.ndarray:
        return self.design.adjoint_of_squares(self.held[at], self.held[active] or self.design.working_set())

    def column_squares(self) -> np.ndarray:
        return self.design.column_squares()

    def metric(self, at: int) -> tuple[float, int]:
        """Return the sum of a measure that is a mean over rows, and how many rows there are."""
        return self.loss.metric(self.held[at]) * self.design.n_rows, self.design.n_rows

    # breakpoints along a line: steps, jumps of the slope, and their sums from the first on

    def kinks(self, new: int, at: int, delta: int) -> float:
        """Find them, and return the slope at 0."""
        found = self.loss.breakpoints(self.held[at], self.held[delta])
        self.held[new] = found.t, found.jump, np.cumsum(found.jump)
        return found.slope

    def rise(self, kinks: int, t: float) -> float:
        """Return by how much the slope has risen after step t."""
        at, _, risen = self.held[kinks]
        k = int(np.searchsorted(at, t, side="right"))
        return float(risen[k - 1]) if k else 0.0

    def middle(self, kinks: int, lo: float, hi: float) -> np.ndarray:
        """Return a column: how many there are in (lo, hi], and the one in their middle."""
        at = self.held[kinks][0]
        first, last = np.searchsorted(at, [lo, hi], side="right")
        return np.array([[last - first], [at[(first + last) // 2] if last > first else hi]])

    def points(self, kinks: int, lo: float, hi: float) -> np.ndarray:
        """Return a column for each in (lo, hi]: its step, and the jump there."""
        at, jump, _ = self.held[kinks]
        first, last = np.searchsorted(at, [lo, hi], side="right")
        return np.stack([at[first:last], jump[first:last]])


def check_count(count: int, n_samples: int) -> None:
    """Refuse, in a sentence, more shards than there are samples to hold."""
    if not 0 < count <= n_samples:
        raise ValueError(f"{count} shards of {n_samples} samples are not possible: give from 1 to that many")
