"""Probes: observations copied from the live references of a run's iterates."""

from __future__ import annotations

import itertools
import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..curvature.memory import as_memory
from ..methods.iterate import Iterate
from ..problems.problem import Problem
from .cut_models import cuts
from .direction_steps import direction_steps
from .learned import Learner
from .plane import plane
from .search_lines import kept
from .subsets import packed, sampled
from .trajectories import WeightFollower

#: Maximal size in bytes of the observations of a run, and of a process.
RUN_LIMIT = 64 * 2**20
PROCESS_LIMIT = 512 * 2**20
#: Bytes that a run may store even if the process is at its limit.
RUN_SHARE = 4 * 2**20
#: Maximal number of gradients recorded of a shrinking test.
MAX_TEST_GRADIENTS = 32_768
#: Maximal number of scores recorded of an iterate.
MAX_KEPT_SCORES = 20_000
#: Maximal number of non-zero weights of an iterate that ``SUPPORT`` records.
MAX_SUPPORT_WEIGHTS = 5_000
#: Maximal number of non-zero weights of an iterate that ``WIDE`` records.
MAX_WIDE_WEIGHTS = 50_000
#: Maximal number of rows of W whose index and norm are recorded.
MAX_KEPT_ROWS = 10_000
#: Maximal number of weights of a W whose rows are observed.
MAX_ROW_WEIGHTS = 10_000_000
#: Rows and columns of the pattern of W, at most.
PATTERN = 256, 128

#: Bytes that an array, or an entry, takes besides its data: most of it where the problem is small; and those
#: of a reference.
ARRAY_OVERHEAD_BYTES, REFERENCE_BYTES = 250, 8

_in_use = 0
#: Of the same thread too: a store may be freed by the collector at any moment.
_lock = threading.RLock()


#: What a probe has copied from one iterate, by name: arrays, or several in a tuple.
Seen = Mapping[str, Any]
#: Copies arrays from an iterate, or returns None where there are none.
Take = Callable[[Iterate], Seen | None]


@dataclass(frozen=True)
class Probe:
    """An observation of iterates.

    Parameters
    ----------
    name : str
        The name of the probe in a store.
    take : callable, optional
        Function that returns copies of arrays of an iterate by name, or None if there is nothing to observe.
        Arrays that never change need not be copied. A value may be a tuple of arrays; each array is counted
        in memory only once.
    begin : callable, optional
        Alternative to ``take``: function of the problem of a run that returns a ``take`` for that run, which
        may store state between iterates.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets, solvers
    >>> largest = solvers.Probe("largest", lambda it: {"weight": np.array(np.abs(it.w).max())})
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=5, probes=[largest])
    >>> [iteration for iteration, seen in trace.probes.entries("largest")]
    [0, 1, 2, 3, 4, 5]
    """

    name: str
    take: Take | None = None
    begin: Callable[[Any], Take] | None = None

    def taking(self, problem: Problem | None) -> Take:
        """Return the function ``take`` for a run on this problem."""
        if self.begin is not None:
            return self.begin(problem)
        if self.take is None:
            raise TypeError(f"the probe {self.name} has neither take nor begin: give one")
        return self.take


def _weights(it: Iterate) -> dict[str, np.ndarray] | None:
    if it.w is None:
        return None
    support = np.flatnonzero(it.w != 0.0)
    return {"indices": support, "values": it.w[support], "size": np.array(it.w.size)}


def _few(it: Iterate) -> dict[str, np.ndarray] | None:
    """Return the weights of an iterate that has at most ``MAX_SUPPORT_WEIGHTS`` of them; return None
    otherwise."""
    if it.w is None or max(it.nnz, 0) > MAX_SUPPORT_WEIGHTS:
        return None
    found = _weights(it)
    return None if found is None or found["indices"].size > MAX_SUPPORT_WEIGHTS else found


def _wide(it: Iterate) -> dict[str, np.ndarray] | None:
    """Return the weights, in single precision, of an iterate that has too many for ``SUPPORT``.

    Return None if it has fewer, or more than ``MAX_WIDE_WEIGHTS``.
    """
    if it.w is None or it.nnz > MAX_WIDE_WEIGHTS:
        return None
    support = np.flatnonzero(it.w != 0.0)
    if not MAX_SUPPORT_WEIGHTS < support.size <= MAX_WIDE_WEIGHTS:
        return None
    values = it.w[support].astype(np.float32)
    return {"indices": support.astype(np.int32), "values": values, "size": np.array(it.w.size)}


def _active(it: Iterate) -> dict[str, np.ndarray] | None:
    active = it.live.get("variables", it.live.get("active"))
    if active is None or it.w is None:
        return None
    sets = {"inside": None if active.full else active.coordinates, "support": active.support(it.w)}
    if (selection := it.live.get("selection")) is not None:
        sets["remaining"] = selection.remaining
    found = {
        f"{name}_{part}": kept
        for name, one in sets.items()
        for part, kept in packed(one, active.size).items()
    }
    return found | {"size": np.array(active.size), "of": np.array(active.of)}


def _line(it: Iterate) -> dict[str, np.ndarray] | None:
    line = it.live.get("line")
    if line is None:
        return None
    trials = np.array(line.trials, dtype=float).reshape(-1, 2)
    seen = {
        "t": trials[:, 0],
        "phi": trials[:, 1],
        "allowed": np.array(line.allowed, dtype=float),
        "start": np.array([line.objective, line.reference]),
        "block": np.array(line.block),
        "step": np.array(it.step),
        "straight": np.array(line.active is not None),
        "promised": np.array(line.promised),
        "model": np.array(line.model),
    }
    if line.segment is not None:
        seen["segment"] = np.array(line.segment)
        seen["visited"] = np.array(0 if line.breakpoints is None else line.breakpoints.t.size)
    return seen if it.w is None else seen | kept(line, it.w, it.step)


def _memory(it: Iterate) -> dict[str, np.ndarray] | None:
    memory = as_memory(it.live.get("memory"))
    if memory is None or not hasattr(memory, "matrices"):  # a plug-in's own class
        return None
    seen = {name: np.array(value) for name, value in memory.matrices().items()}
    # a trace may thin out the row of this iterate: what belongs to these pairs is kept with them
    seen |= {name: np.array(getattr(it, name)) for name in ("gamma", "working_set", "inner_iterations")}
    if math.isnan(it.gamma) and len(memory):
        seen["gamma"] = np.array(memory.scaling("yy/sy"))
    gram = memory.gram()
    return seen if gram is None else seen | {"gram": gram}


def _shrinking(it: Iterate) -> dict[str, np.ndarray] | None:
    test, active = it.live.get("shrinking"), it.live.get("active")
    if test is None:
        return None
    if not hasattr(test, "tested"):
        test = test(it.w)
    tested, full = test.tested, test.tested.full
    if full:
        stride = -(-tested.size // MAX_TEST_GRADIENTS)
        members, share = np.arange(0, tested.size, stride), 1.0 / stride
    else:
        members, share = sampled(tested.coordinates, MAX_TEST_GRADIENTS)
    stayed = np.empty(0, dtype=np.int64)
    if share < 1.0 and active is not None and not active.full:
        stayed, _ = sampled(active.coordinates[:: test.width] // test.width, MAX_TEST_GRADIENTS)
    places = {
        name: blocks if full else np.searchsorted(tested.coordinates, blocks)
        for name, blocks in (("", members), ("stayed_", stayed))
    }
    numbers = ("width", "allowance", "cost", "proved", "l1", "bound", "largest", "target")
    seen = {name: np.array(getattr(test, name)) for name in numbers}
    if (ball := test.ball) is not None:
        seen |= {"radius": np.array(test.radius), "gap": np.array(ball.gap)}
        for name, place in places.items():
            seen[f"{name}centre"] = (test.l1 - ball.slack[place]).astype(np.float32)
            seen[f"{name}reach"] = ball.max_change[place].astype(np.float32)
    return seen | {
        "members": members.astype(np.int32),
        "gradient": test.gradient[places[""]],
        "share": np.array(share),
        "tested": np.array(len(tested) * test.width),
        "stayed": stayed.astype(np.int32),
        "stayed_gradient": test.gradient[places["stayed_"]],
        "returned": test.returned.astype(np.int32),
    }


def _scores(it: Iterate) -> dict[str, np.ndarray] | None:
    point = it.live.get("point")
    if point is None or not point.scores.at_hand or point.scores.Z.size > MAX_KEPT_SCORES:
        return None
    scores = point.scores
    return {"z": np.concatenate([scores.Z.ravel(), scores.tail])}


def _rows(it: Iterate) -> dict[str, np.ndarray] | None:
    point, active = it.live.get("point"), it.live.get("active")
    if point is None or it.w is None or it.w.size > MAX_ROW_WEIGHTS:
        return None
    W, _ = point.problem.unpack(it.w)
    features = None
    if active is not None and not active.full:  # the others are zero
        features = np.unique(active.coordinates[: active.n_body] // W.shape[1])
        W = W[features]
    norms = np.sqrt(np.einsum("jc,jc->j", W, W))
    order = np.argsort(-norms, kind="stable")[: np.count_nonzero(norms)]
    rows = order if features is None else features[order]
    support = np.zeros(point.problem.design.n_features, dtype=bool)
    support[rows] = True
    return {
        "support": np.packbits(support),
        "rows": rows[:MAX_KEPT_ROWS].astype(np.int32),
        "norms": norms[order[:MAX_KEPT_ROWS]].astype(np.float32),
        "pattern": binned(W[order]).astype(np.float32),
        "count": np.array(rows.size),
        "size": np.array(support.size),
    }


def binned(W: np.ndarray) -> np.ndarray:
    """Return a matrix reduced to at most ``PATTERN`` bins: the mean of |W|, with the sign of the mean of
    W."""
    if 0 in W.shape or all(n <= most for n, most in zip(W.shape, PATTERN, strict=True)):
        return W
    edges = [
        np.linspace(0, n, min(n, most) + 1).astype(int) for n, most in zip(W.shape, PATTERN, strict=True)
    ]
    members = np.outer(*map(np.diff, edges))
    sums, sizes = (
        np.add.reduceat(np.add.reduceat(values, edges[0][:-1], axis=0), edges[1][:-1], axis=1)
        for values in (W, np.abs(W))
    )
    return np.copysign(sizes / members, sums)


WEIGHTS = Probe("weights", _weights)
#: The weights of sparse iterates.
SUPPORT = Probe("support", _few)
#: The weights of iterates that are less sparse.
WIDE = Probe("wide", _wide)
#: Which variables are in the working set, and which are not zero (of dual variables: at no bound).
ACTIVE = Probe("active", _active)
#: The line search that led to an iterate: its trials, f there, what the rule allowed, and a straight line's
#: w and d.
LINE = Probe("line", _line)
MEMORY = Probe("memory", _memory)
#: The shrinking test: |g| of the weights or rows tested, or of a share and, as ``stayed``, of those
#: that stayed; and where a ball around the dual's optimum stands to each.
SHRINKING = Probe("shrinking", _shrinking)
#: The non-zero rows of W, their norms in descending order, and an image of them; not of a huge W.
ROWS = Probe("rows", _rows)
#: A w and the tail of w, of small problems.
SCORES = Probe("scores", _scores)
#: Iterates with two weights: the point, and the solver's direction, subgradients and B at it.
PLANE = Probe("plane", plane)
#: Weights of a fixed sample, with the largest weights, and their clusters.
TRAJECTORIES = Probe("trajectories", begin=lambda problem: WeightFollower())
#: The model: the largest weights, those of pixels and transitions, and predictions for examples.
LEARNED = Probe("learned", begin=Learner)
#: The lines of a plug-in's file that led to an iterate.
CODE_LINES = Probe(
    "code-lines", lambda it: {"lines": it.live["executed_lines"]} if "executed_lines" in it.live else None
)
#: The steps of direction finding.
DIRECTION = Probe("direction", direction_steps)
#: The cutting planes of a bundle method: the weight of each, the lower bound, and of small problems the cuts.
CUTS = Probe("cuts", cuts)


def arrays_of(seen: Mapping[str, Seen]) -> list[np.ndarray]:
    """Return the arrays in an entry, that is, in the observations of all probes at one iterate."""
    values = [value for found in seen.values() for value in found.values()]
    return [one for value in values for one in (value if isinstance(value, tuple) else (value,))]


def in_use() -> int:
    """Return the total number of bytes in the probe stores of this process."""
    return _in_use


class ProbeStore:
    """Observations of one run within a memory limit.

    At the limit every second entry is dropped, and from there on only every second iterate is stored. The
    first entry of each probe and the newest one stay. So a probe that has observed something always has an
    entry, until all are discarded.
    """

    def __init__(self, probes: Sequence[Probe] = (), problem: Problem | None = None) -> None:
        self.cadence = 1
        self.bytes = 0
        self.probes = tuple(probes)
        self._takes = {p.name: p.taking(problem) for p in self.probes}
        self._entries: list[tuple[int, dict[str, Seen]]] = []  # iteration, and what each probe saw
        self._firsts: dict[str, int] = {}  # iteration at which each probe saw something first
        self._holders: dict[int, int] = {}  # how often entries refer to each array, by its address

    def __del__(self) -> None:
        if _lock is not None:  # it is at the interpreter's end, when nothing is counted any more
            self._account(-self.bytes)

    def discard(self) -> None:
        """Drop all entries, and stop observing."""
        self.probes, self._takes, self._entries, self._holders = (), {}, [], {}
        self._account(-self.bytes)

    def _account(self, change: int) -> None:
        global _in_use
        with _lock:
            _in_use += change
        self.bytes += change

    def observe(self, iterate: Iterate) -> None:
        """Store the observations of an iterate; those that are not due are stored only until the next
        iterate."""
        if not self.probes:
            return
        # changed in place by the one writer, and read through copies: to copy it here at every iterate would
        # cost more memory, in fragments, than what is kept
        entries = self._entries
        takes = self._takes.items()
        seen = {name: found for name, take in takes if (found := take(iterate)) is not None}
        entry = self._entry(iterate.iteration, seen)
        if entries and not self._stays(entries[-1]):
            self._count(entries[-1][1], -1)  # the newest was kept out of turn
            entries[-1] = entry
        else:
            entries.append(entry)
        limit = RUN_LIMIT if _in_use <= PROCESS_LIMIT else RUN_SHARE
        while self.bytes > limit and len(entries) > len({0, *self._firsts.values()}) + 1:
            self.cadence *= 2
            for _, gone in (e for e in entries[:-1] if not self._stays(e)):
                self._count(gone, -1)
            self._entries = entries = [e for e in entries[:-1] if self._stays(e)] + entries[-1:]

    def _entry(self, iteration: int, seen: dict[str, Seen]) -> tuple[int, dict[str, Seen]]:
        """Return the entry for the observations of an iterate, and add it to the memory count."""
        self._count(seen, 1)
        for name in seen:
            self._firsts.setdefault(name, iteration)
        return iteration, seen

    def _count(self, seen: dict[str, Seen], change: int) -> None:
        """Add an entry to the memory count (``change`` 1) or remove it (-1).

        An array counts from the first entry that refers to it until the last one is removed.
        """
        arrays = arrays_of(seen)
        size = ARRAY_OVERHEAD_BYTES * (1 + sum(map(len, seen.values()))) + REFERENCE_BYTES * len(arrays)
        for address, array in zip(map(id, arrays), arrays, strict=True):
            holders = self._holders.pop(address, 0) + change
            if holders:  # else the address may be another array's next
                self._holders[address] = holders
            if holders == max(change, 0):
                size += array.nbytes
        self._account(change * size)

    def _stays(self, entry: tuple[int, dict[str, Seen]]) -> bool:
        """Return whether an entry is kept: its iteration is due, or it is the first of a probe."""
        return entry[0] % self.cadence == 0 or entry[0] in self._firsts.values()

    def last(self, name: str, iteration: int) -> tuple[int, Seen] | None:
        """Return the last entry of a probe up to an iteration: its own iteration, and the observation.

        If there is none that early, return the first entry of the probe; return None if it has no entry.
        """
        entries = self._entries[:]
        k = bisect_right(entries, iteration, key=lambda entry: entry[0])
        for at, seen in itertools.chain(reversed(entries[:k]), entries[k:]):
            if name in seen:
                return at, seen[name]
        return None

    def entry(self, name: str, iteration: int) -> tuple[int, Seen]:
        """Return the entry that :meth:`last` returns; raise LookupError if there is none."""
        found = self.last(name, iteration)
        if found is None:
            raise LookupError(f"the probe {name} has seen nothing")
        return found

    def entries(self, name: str, after: int = -1) -> list[tuple[int, Seen]]:
        """Return all entries of a probe after an iteration, in order: the iteration and the observation of
        each."""
        entries = self._entries[:]
        first = bisect_right(entries, after, key=lambda entry: entry[0])
        return [(at, seen[name]) for at, seen in entries[first:] if name in seen]

    def everything(self) -> list[tuple[int, dict[str, Seen]]]:
        """Return all entries of all probes, ordered by iteration."""
        return self._entries[:]

    @classmethod
    def of(cls, everything: Sequence[tuple[int, dict[str, Seen]]]) -> Self:
        """Return a store with the entries ``everything`` of another store; it observes nothing itself."""
        store = cls()
        for iteration, seen in everything:
            store._entries.append(store._entry(iteration, seen))
        return store

    def iterations(self, name: str) -> list[int]:
        """Return the iterations at which a probe has entries."""
        return [iteration for iteration, _ in self.entries(name)]
