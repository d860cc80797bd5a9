"""A shard: some rows of a problem, in the process that computes with them, this one or a cluster's worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from ...compute.jit import compile_clock
from ...compute.team import Team
from ...linalg.design import Design
from ...linalg.scores import Scores
from ...linalg.working_set import WorkingSet
from ..losses.loss import BoundLoss, Loss

#: What is asked of a shard: one of ``ORDERS``, the number under which the answer stays there (None: it goes
#: out), and arguments.
Order = tuple[Any, ...]


class At(NamedTuple):
    """A reference to an object that a shard stores under the index ``place``."""

    place: int


#: Breakpoints along a line: steps, jumps of the slope, and cumulative sums of the jumps.
Kinks = tuple[np.ndarray, np.ndarray, np.ndarray]


def add(one: Any, other: Any) -> Any:
    """Return the sum of two numbers or arrays, or the entrywise sums of two tuples."""
    return tuple(map(add, one, other)) if isinstance(one, tuple) else one + other


def join(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return two matrices side by side, the columns of ``one`` before those of ``other``."""
    return np.concatenate([one, other], axis=1)


#: What may be asked of a shard, its design or its loss, and how two shards' answers become one; None where
#: there is no answer, or it stays.
ORDERS: dict[str, Callable[[Any, Any], Any] | None] = {
    **dict.fromkeys(("enlist", "narrow", "forget", "design.scores", "plus", "move", "curved", "random")),
    **dict.fromkeys(("loss.residual", "loss.subgradient_sup", "loss.second_derivatives", "loss.hessian")),
    **dict.fromkeys(("about", "loss.value", "loss.slope", "loss.count_ties", "dot", "metric"), add),
    **dict.fromkeys(("design.adjoint", "adjoint_of_squares", "design.column_squares"), add),
    **dict.fromkeys(("kinks", "rise"), add),
    **dict.fromkeys(("middle", "points"), join),
    **dict.fromkeys(("largest", "loss.settle"), max),
}


class Shard:
    """Rows of X and their labels.

    Z, and all arrays computed from it, are stored here under an index. Only sums over rows are sent.
    """

    def __init__(self, X: Any, loss: BoundLoss, number: int = 0, threads: int = 1) -> None:
        self.number, self.team = number, Team(threads)
        self.loss = loss.attached(self.team, lambda: None)
        self.design = Design(X, loss.n_outputs, loss.n_tail, self.team)
        #: working sets, scores, Hessians, breakpoints, by index
        self.held: dict[int, Any] = {}

    @classmethod
    def of(cls, data: Any, loss: Loss, k: int, count: int, threads: int = 1) -> Self:
        """Return shard ``k`` of ``count`` of the training part of a data set.

        The shards are runs of consecutive samples or sequences, equal in size up to one.
        """
        check_count(count, data.n_samples)
        edges = np.linspace(0, data.n_samples, count + 1).astype(int)
        part = data.train.take(np.arange(edges[k], edges[k + 1]))
        bound = loss.bind(part, data.n_classes, data.parents).measured_by(data)
        return cls(part.X, bound, k, threads)

    def execute(self, orders: Sequence[Order]) -> tuple[Any, float]:
        """Execute orders one after another; return the last answer, and the CPU seconds of all, without
        compiling."""
        began, helped = compile_clock.net()[1], self.team.cpu_seconds
        answer: Any = None
        for name, new, *arguments in orders:
            if name not in ORDERS:
                raise ValueError(f"a shard does not know {name!r}")
            given = [self.held[one.place] if isinstance(one, At) else one for one in arguments]
            answer = attrgetter(name)(self)(*given)
            if new is not None:
                self.held[new] = answer
        spent = compile_clock.net()[1] - began
        return answer, spent + self.team.cpu_seconds - helped

    def about(self) -> tuple[int, int, np.ndarray]:
        """Return the numbers of rows and entries, and of entries in each column; compile the kernels
        needed."""
        probe = self.design.working_set(np.arange(min(2, self.design.size)))
        scores = self.design.scores(np.full(len(probe), 1e-3), probe)
        self.loss.value(scores, scores, 0.5)
        residual = self.loss.residual(scores)
        for active in (None, probe):
            self.design.adjoint(residual, active)
        return self.design.n_rows, self.design.nnz, self.design.column_nnz

    plus, move = staticmethod(Scores.plus), staticmethod(Scores.move)
    dot, largest = staticmethod(Scores.dot), staticmethod(Scores.largest)

    def enlist(self, coordinates: np.ndarray) -> WorkingSet:
        return self.design.working_set(coordinates.astype(np.int64))

    def narrow(self, wide: WorkingSet, bits: np.ndarray) -> WorkingSet:
        """Return the members of a working set whose bit is set; they share the columns gathered for
        ``wide``."""
        return wide.restrict(np.unpackbits(bits, count=len(wide)).astype(bool))

    def forget(self, place: int) -> None:
        self.held.pop(place, None)

    def curved(self, hessian: Callable[[Scores], Scores], delta: Scores) -> Scores:
        return hessian(delta)

    def random(self, scores: Scores, seed: int) -> Scores:
        return self.loss.random_subgradient(scores, np.random.default_rng([seed, self.number]))

    def adjoint_of_squares(self, h: Scores, active: WorkingSet | None) -> np.ndarray:
        return self.design.adjoint_of_squares(h, active or self.design.working_set())

    def metric(self, scores: Scores) -> tuple[float, int]:
        """Return the metric, a mean over rows, times the number of rows, and the number of rows."""
        return self.loss.metric(scores) * self.design.n_rows, self.design.n_rows

    # breakpoints along a line

    def kinks(self, new: int, scores: Scores, delta: Scores) -> float:
        """Store the breakpoints along a line under ``new``; return the slope at 0."""
        found = self.loss.breakpoints(scores, delta)
        self.held[new] = found.t, found.jump, np.cumsum(found.jump)
        return found.slope

    def rise(self, kinks: Kinks, t: float) -> float:
        """Return the sum of the jumps of the slope up to step t."""
        at, _, risen = kinks
        k = int(np.searchsorted(at, t, side="right"))
        return float(risen[k - 1]) if k else 0.0

    def middle(self, kinks: Kinks, lo: float, hi: float) -> np.ndarray:
        """Return a column with the number of breakpoints in (lo, hi] and their median, or ``hi`` if there are
        none."""
        at, _, _ = kinks
        first, last = np.searchsorted(at, [lo, hi], side="right")
        return np.array([[last - first], [at[(first + last) // 2] if last > first else hi]])

    def points(self, kinks: Kinks, lo: float, hi: float) -> np.ndarray:
        """Return one column per breakpoint in (lo, hi]: its step, and the jump of the slope."""
        at, jump, _ = kinks
        first, last = np.searchsorted(at, [lo, hi], side="right")
        return np.stack([at[first:last], jump[first:last]])


def check_count(count: int, n_samples: int) -> None:
    """Raise ValueError unless ``count`` is between 1 and the number of samples."""
    if not 0 < count <= n_samples:
        raise ValueError(f"{count} shards of {n_samples} samples are not possible: give from 1 to that many")
