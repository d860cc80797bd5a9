"""Design and loss with rows split over shards, in the interface that solvers expect (Yu et al. 2010, section
9).

Weights are sent, and sums over rows received. A product with A sends the entries of a working set, and one
with Aᵀ receives as many. A value or a slope is one number. Z, and arrays of its size, stay with their rows;
:class:`ShardedScores` represents them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...compute.team import Team, no_pulse
from ...declare import Trait
from ...linalg.by_rows import Rows
from ...linalg.derived import Derived
from ...linalg.design import NO_MEMBERS, Design
from ...linalg.working_set import Lineage, WorkingSet
from ...search.line_search import OBJECTIVE_ROUNDING
from ...search.outcome import NO_BREAKPOINTS, Breakpoints
from ..losses.loss import BoundLoss, delegated
from .shard import At, Order
from .worker_pool import ShardAnswer, WorkerPool

#: Traits that remain if only sums over rows are known.
SHARDED_TRAITS = Trait.SMOOTH | Trait.DIRECTIONAL_DERIVATIVE | Trait.DIAGONAL_HESSIAN | Trait.HESSIAN
#: Number of breakpoints between two steps from which on bisection ends, and they are fetched.
FEW_BREAKPOINTS = 64
#: Number of rows copied to this machine.
HEAD_ROWS = 1 << 12


class OrderQueue:
    """A queue of orders to the shards that need no answer: they are sent with the next order that needs
    one."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self._waiting: deque[Order] = deque()
        #: indices of the objects that the shards will store
        self.places, self._lock = count(), Lock()
        #: working sets that the shards have, and the members of the last one of each lineage
        self.sets: WeakKeyDictionary[WorkingSet, Held] = WeakKeyDictionary()
        self.latest: WeakKeyDictionary[Lineage, tuple[np.ndarray, Held]] = WeakKeyDictionary()

    def add(self, name: str, new: int | None, *arguments: Any) -> None:
        """Add an order whose result the shards store under the index ``new``; None: it has no result."""
        self._waiting.append((name, new, *_told(arguments)))

    def send(self, name: str, arguments: Sequence[Any], pulse: Callable[[], None]) -> ShardAnswer:
        """Send an order after the queued ones, and return the combined answer of the shards."""
        with self._lock:
            waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
            return self.pool.ask([*waiting, (name, None, *_told(arguments))], pulse)


class Held:
    """An object of which every shard stores its part under the index ``place``, while this reference
    lives."""

    def __init__(self, queue: OrderQueue) -> None:
        self.queue, self.place = queue, next(queue.places)

    def __del__(self) -> None:
        self.queue.add("forget", None, self.place)


def _told(arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with references in place of the objects that the shards store."""
    return [At(one.place) if isinstance(one, Held) else one for one in arguments]


class ShardClient:
    """Base of design and loss, which send orders to the shards by a common queue.

    The CPU time of the shards is added to that of the team.
    """

    queue: OrderQueue
    team: Team
    pulse: Callable[[], None]

    def ask(self, name: str, *arguments: Any) -> Any:
        answer = self.queue.send(name, arguments, self.pulse)
        self.team.cpu_seconds += answer.seconds
        return answer.value

    def made(self, name: str, *arguments: Any) -> ShardedScores:
        """Order the shards to compute scores, and return a reference to them at once."""
        scores = ShardedScores(self)
        self.queue.add(name, scores.place, *arguments)
        return scores


class ShardedScores(Held):
    """A reference to scores, or a residual, whose rows are on shards.

    The tail of scores is the same on every shard, and that of a residual is the sum over all. A dot product
    is one of a residual and scores.
    """

    #: whether Z can be read
    at_hand = False

    def __init__(self, owner: ShardClient) -> None:
        super().__init__(owner.queue)
        self._owner = owner

    def plus(self, t: float, delta: ShardedScores) -> ShardedScores:
        return self._owner.made("plus", self, float(t), delta)

    def dot(self, other: ShardedScores) -> float:
        return self._owner.ask("dot", self, other)

    def move(self, t: float, delta: ShardedScores) -> None:
        self.queue.add("move", None, self, float(t), delta)

    def largest(self) -> float:
        return self._owner.ask("largest", self)


class ShardedDesign(ShardClient, Design):
    """A design whose rows are on shards; ``head`` has copies of the first ones."""

    def __init__(self, queue: OrderQueue, shape: tuple[int, int], head: Design) -> None:
        self._describe(shape, head.n_outputs, head.n_tail, Team())
        self.queue, self._head = queue, head
        self.derived, self.edges = Derived(), head.edges[:2]
        rows, self.nnz, self.column_nnz = self.ask("about")
        if rows != self.n_rows:
            raise ValueError(f"the shards have {rows} rows and the data {self.n_rows}: split these data")

    def scores(self, v: np.ndarray, active: WorkingSet | None = None) -> ShardedScores:
        nonzero = np.flatnonzero(v != 0.0)
        part = None if active is None or active.full else active
        members = self.working_set(nonzero if part is None else part.coordinates[nonzero])
        self.touched += self.cost(members)
        if nonzero.size * (8 + self._index.itemsize) < 8 * v.size:  # fewer bytes than zeros take
            v, active = v[nonzero], members
        return self.made("design.scores", np.array(v, dtype=np.float64), self._held(active))

    def adjoint(self, residual: ShardedScores, active: WorkingSet | None = None) -> np.ndarray:
        self.touched += self.cost(active)
        return self.ask("design.adjoint", residual, self._held(active))

    def adjoint_of_squares(self, h: ShardedScores, active: WorkingSet) -> np.ndarray:
        self.touched += self.cost(active)
        return self.ask("adjoint_of_squares", h, self._held(active))

    def by_rows(self) -> Rows:
        """Raise ValueError: rows are not on this machine."""
        raise ValueError("the rows of X are on shards: a solver that reads them runs without shards")

    def column_squares(self) -> np.ndarray:
        return self.derived("column squares", lambda: self.attached(no_pulse).ask("design.column_squares"))

    def expect(self, gradient: np.ndarray) -> None:
        """Do nothing: the shards have all columns, whichever weights are likely to be needed."""

    def first_rows(self, n: int) -> Any:
        return self._head.first_rows(n)

    @property
    def _index(self) -> np.dtype:
        """Return the integer type for indices of weights in messages."""
        return np.dtype(np.int32 if self.size < 2**31 else np.int64)

    def _held(self, active: WorkingSet | None) -> Held | None:
        """Return the reference to a working set, or None for all weights; a set is sent only once.

        It is sent as the indices of its members. If the shards already have a wider set, it is sent as one
        bit per member of that set.
        """
        if active is None or active.full:
            return None
        queue = self.queue
        if active not in queue.sets:
            held, (wide, parent) = Held(queue), queue.latest.get(active.lineage, (NO_MEMBERS, None))
            bits = _bits(active.coordinates, wide)
            if bits is None:
                queue.add("enlist", held.place, active.coordinates.astype(self._index))
            else:
                queue.add("narrow", held.place, parent, bits)
            queue.sets[active], queue.latest[active.lineage] = held, (active.coordinates, held)
        return queue.sets[active]


@dataclass(frozen=True, eq=False)
class ShardedLoss(ShardClient, BoundLoss):
    """The loss ``whole`` as a sum over shards; of ``whole`` only the labels are read."""

    whole: BoundLoss
    queue: OrderQueue

    formula = delegated("whole.formula")
    metric_name = delegated("whole.metric_name")
    least = delegated("whole.least")
    labelled = delegated("whole.labelled")
    n_instances = delegated("whole.n_instances")
    n_tail = delegated("whole.n_tail")
    piecewise_linear = delegated("whole.piecewise_linear")

    @property
    def traits(self) -> Trait:
        return self.whole.traits & SHARDED_TRAITS

    def first(self, n: int, most: int) -> tuple[BoundLoss, int]:
        return self.whole.first(n, most)

    def value(self, scores: ShardedScores, delta: ShardedScores | None = None, t: float = 0.0) -> float:
        return self.ask("loss.value", scores, delta, float(t))

    def residual(self, scores: ShardedScores) -> ShardedScores:
        return self.made("loss.residual", scores)

    def subgradient_sup(self, scores: ShardedScores, delta: ShardedScores) -> ShardedScores:
        return self.made("loss.subgradient_sup", scores, delta)

    def second_derivatives(self, scores: ShardedScores, residual: ShardedScores) -> ShardedScores:
        return self.made("loss.second_derivatives", scores, residual)

    def hessian(
        self, scores: ShardedScores, residual: ShardedScores
    ) -> Callable[[ShardedScores], ShardedScores]:
        held = Held(self.queue)
        self.queue.add("loss.hessian", held.place, scores, residual)
        return lambda delta: self.made("curved", held, delta)

    def tie_slack(self, value: float, weights: np.ndarray | None = None) -> float:
        return self.whole.tie_slack(value, weights)

    def count_ties(self, scores: ShardedScores) -> int:
        return self.ask("loss.count_ties", scores)

    def random_subgradient(self, scores: ShardedScores, rng: np.random.Generator) -> ShardedScores:
        return self.made("random", scores, int(rng.integers(2**62)))

    def slope(self, scores: ShardedScores, delta: ShardedScores, t: float = 0.0, side: int = 1) -> float:
        return self.ask("loss.slope", scores, delta, float(t), side)

    def settle(self, scores: ShardedScores) -> float:
        return self.ask("loss.settle", scores)

    def metric(self, scores: ShardedScores) -> float:
        """Return the metric over the rows of all shards; return nan if the metric is not a mean over rows."""
        if not self.whole.averages:
            return math.nan
        total, rows = self.ask("metric", scores)
        return total / rows

    def breakpoints_near_turn(
        self, scores: ShardedScores, delta: ShardedScores, tilt: tuple[float, float]
    ) -> Breakpoints:
        """Return the slope at 0, and the breakpoints near the step at which the slope becomes non-negative.

        Earlier breakpoints are merged into one, and later ones are left out. Bisection finds this step; each
        round receives a few numbers from each shard.
        """
        if Trait.SMOOTH in self.traits:
            return Breakpoints(self.slope(scores, delta), NO_BREAKPOINTS, NO_BREAKPOINTS)
        kinks = Held(self.queue)
        slope = self.ask("kinks", kinks.place, scores, delta)
        begin = slope + tilt[0]
        lo, hi, before, left = 0.0, math.inf, 0.0, math.inf
        while begin < 0.0:
            sizes, middles = self.ask("middle", kinks, lo, hi)
            if sizes.sum() <= FEW_BREAKPOINTS or sizes.sum() == left:
                break
            left = sizes.sum()
            trial = float(np.quantile(middles, 0.5, weights=sizes, method="inverted_cdf"))
            risen = self.ask("rise", kinks, trial)
            rounding = OBJECTIVE_ROUNDING * (risen - begin)
            if begin + risen + tilt[1] * trial >= -rounding:
                hi = trial
            else:
                lo, before = trial, risen
        t, jump = self.ask("points", kinks, lo, hi)
        order = np.argsort(t, kind="stable")
        if before:
            return Breakpoints(slope, np.append(lo, t[order]), np.append(before, jump[order]))
        return Breakpoints(slope, t[order], jump[order])


def split(X: Any, loss: BoundLoss, pool: WorkerPool) -> tuple[ShardedDesign, ShardedLoss]:
    """Return the design and the loss for rows that are on the shards of ``pool``; copy the first rows of
    X."""
    few = np.arange(min(X.shape[0], HEAD_ROWS))
    head = Design(X.take(few) if hasattr(X, "csc_rows") else X[few], loss.n_outputs, loss.n_tail)
    design = ShardedDesign(OrderQueue(pool), X.shape, head)
    return design, ShardedLoss(loss.declared, loss.n_outputs, loss, design.queue, team=design.team)


def _bits(members: np.ndarray, wide: np.ndarray) -> np.ndarray | None:
    """Return a bit for each entry of ``wide``, set for the ``members``.

    Return None if some members are not entries of ``wide``.
    """
    places = np.searchsorted(wide, members)
    if places.size == 0 or places[-1] == wide.size or not np.array_equal(wide[places], members):
        return None
    kept = np.zeros(wide.size, dtype=bool)
    kept[places] = True
    return np.packbits(kept)
