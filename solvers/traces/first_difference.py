"""Comparison of two runs: the first iterate, and its first quantity, in which they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..curvature.memory import pairs_of
from ..linalg.working_set import WorkingSet
from ..methods.iterate import FIELDS, Iterate
from .trace import Trace

#: Relative tolerance: differences of rounding are smaller during most of a run.
SAME_UP_TO = 1e-9
#: The results of an iteration, by whatever steps they were computed.
RESULTS = frozenset({"w", "objective", "nnz"})


class Quantity(NamedTuple):
    """A quantity of an iterate: its name and title, and the function that returns it, or None if unknown.

    A quantity that vanishes at the optimum is compared relative to its largest size so far, any other one
    relative to its own size.
    """

    name: str
    title: str
    read: Callable[[Iterate], Any]
    vanishes: bool = False


class QuantityDifference(NamedTuple):
    """The difference between two values of a quantity.

    Attributes
    ----------
    iteration : int
        The index of the iterate.
    name, title : str
        Name and title of the quantity.
    left, right
        The two values; for arrays, the entries that differ most.
    entry : int or None
        The index of this entry.
    difference, tolerance : float
        The size of the difference, and the largest allowed size.
    """

    iteration: int
    name: str
    title: str
    left: Any
    right: Any
    entry: int | None = None
    difference: float = math.nan
    tolerance: float = math.nan

    def sentence(self, left: str = "the first", right: str = "the second") -> str:
        """Return the difference as a sentence; ``left`` and ``right`` are the names of the runs."""
        return f"first difference: {self.place(left, right)}"

    def place(self, left: str, right: str) -> str:
        """Return iteration, quantity and values in words; ``left`` and ``right`` are the names of the
        runs."""
        what = self.title if self.entry is None else f"{self.title}, entry {self.entry}"
        return f"iteration {self.iteration}, {what}: {self.values(left, right)}"

    def values(self, left: str, right: str) -> str:
        """Return the two values in words; ``left`` and ``right`` are the names of the runs."""
        counted = self.name in FIELDS and FIELDS[self.name].type is int
        size = ""
        if math.isfinite(self.difference) and not counted:
            size = f" (they differ by {self.difference:.2g}, {self.tolerance:.2g} is allowed)"
        return f"{_text(self.left)} of {left} and {_text(self.right)} of {right}{size}"


@dataclass(frozen=True)
class RunComparison:
    """The result of comparing two runs iterate by iterate.

    Attributes
    ----------
    iterates : int
        The number of iterates compared, including the one in which the runs part.
    quantities : tuple of str
        Names of the quantities that both runs have.
    difference : QuantityDifference or None
        The first difference; None if the runs are the same.
    parting : QuantityDifference or None
        The first difference in weights, f or non-zeros; None if these are the same.
    """

    iterates: int = 0
    quantities: tuple[str, ...] = ()
    difference: QuantityDifference | None = None
    parting: QuantityDifference | None = None

    def sentence(self, left: str = "the first", right: str = "the second") -> str:
        """Return the result as a sentence; ``left`` and ``right`` are the names of the runs."""
        if self.difference is not None:
            return f"{self._results(left, right)}{self.difference.sentence(left, right)}"
        known = {quantity.name: quantity.title for quantity in QUANTITIES}
        titles = ", ".join(known.get(name, name) for name in self.quantities)
        return f"{left} and {right} are the same in {self.iterates} iterates: {titles}"

    def _results(self, left: str, right: str) -> str:
        """Return the first half of a sentence: where the runs part in weights, f or non-zeros.

        Return "" if this is the first difference, or if these quantities were not compared.
        """
        if self.parting == self.difference or not RESULTS & {*self.quantities}:
            return ""
        if self.parting is not None:
            return f"they part at {self.parting.place(left, right)}; "
        titles = ", ".join(q.title for q in QUANTITIES if q.name in RESULTS & {*self.quantities})
        return f"the same in {self.iterates} iterates: {titles}; "


def compare_runs(
    left: Trace | Iterable[Iterate],
    right: Trace | Iterable[Iterate],
    *,
    tol: float = SAME_UP_TO,
    max_iter: int | None = None,
) -> RunComparison:
    """Compare two runs up to the first quantity that differs, and on to the first difference in results.

    Results are weights, f and non-zeros. Quantities are compared in the order in which an iteration computes
    them: working set, direction, step, weights, f, gradient, violation, pair, γ, the next direction.
    Quantities that only one run has are left out, as are times and passes.

    Parameters
    ----------
    left, right : Trace or iterable of Iterate
        The runs. Generators of solvers also have weights, directions and pairs, and are advanced no further
        than needed.
    tol : float
        Relative tolerance; with 0 values must be bitwise equal.
    max_iter : int, optional
        The last iteration to compare; by default there is none.

    Returns
    -------
    RunComparison

    Raises
    ------
    ValueError
        If the runs have no iteration in common.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> ten, three = (solvers.make_solver("lbfgs", memory=m).iterate(problem) for m in (10, 3))
    >>> found = solvers.compare_runs(ten, three)
    >>> found.difference.iteration, found.difference.title
    (4, 'L-BFGS pairs held')
    """
    compared: dict[str, None] = {}
    sizes: dict[str, float] = {}
    count = 0
    difference: QuantityDifference | None = None
    for a, b in _in_step(_iterates(left), _iterates(right), max_iter):
        if a is None or b is None:
            return RunComparison(count, tuple(compared), difference or _end(a, b))
        count += 1
        for quantity in (*QUANTITIES, *map(_own, sorted({*a.own} & {*b.own}))):
            result = quantity.name in RESULTS
            if difference is not None and not result:
                continue
            values = quantity.read(a), quantity.read(b)
            if values[0] is None or values[1] is None:
                continue
            compared[quantity.name] = None
            if found := _difference(quantity, *values, tol, sizes):
                found = found._replace(iteration=int(a.iteration), entry=_weight(a, values[0], found.entry))
                difference = difference or found
                if result:
                    return RunComparison(count, tuple(compared), difference, found)
    if not count:
        raise ValueError("the runs have no iterate in common")
    return RunComparison(count, tuple(compared), difference)


def _iterates(run: Trace | Iterable[Iterate]) -> Iterator[Iterate]:
    if not isinstance(run, Trace):
        yield from run
        return
    rows, _, _ = run.since(None)
    last = len(rows["iteration"]) - 1
    for k in range(last + 1):
        row = {name: column[k] for name, column in rows.items()}
        own = {name: float(row.pop(name)) for name in row.keys() - FIELDS.keys()}
        iterate = Iterate(**row, own=own)
        yield replace(iterate, w=run.w) if k == last else iterate


def _in_step(
    left: Iterator[Iterate], right: Iterator[Iterate], max_iter: int | None
) -> Iterator[tuple[Iterate | None, Iterate | None]]:
    """Yield pairs of iterates with the same number; None stands for a run that has ended before the other."""
    a, b = next(left, None), next(right, None)
    met = False
    while a is not None and b is not None:
        if max_iter is not None and max(a.iteration, b.iteration) > max_iter:
            return
        if a.iteration == b.iteration:
            met = True
            yield a, b
            a, b = next(left, None), next(right, None)
        elif a.iteration < b.iteration:
            a = next(left, None)
        else:
            b = next(right, None)
    more = a or b
    if met and more is not None and (max_iter is None or more.iteration <= max_iter):
        yield a, b


def _end(a: Iterate | None, b: Iterate | None) -> QuantityDifference:
    more = a or b
    assert more is not None  # one of the two goes on
    there, over = "an iterate", "none"
    values = (there, over) if b is None else (over, there)
    return QuantityDifference(int(more.iteration), "end", "iterates", *values)


def _difference(
    quantity: Quantity, left: Any, right: Any, tol: float, sizes: dict[str, float]
) -> QuantityDifference | None:
    """Return the difference between two known values; return None if it is within the tolerance.

    ``sizes`` has the largest size so far of each quantity that vanishes.
    """
    if isinstance(left, WorkingSet):
        return _difference_of_sets(quantity, left, right)
    a, b = (np.asarray(value, dtype=float) for value in (left, right))
    if a.shape != b.shape:
        # entries of other sets of weights: the sets are quantities of their own
        return None if quantity.name != "w" else _found(quantity, f"{a.size} weights", f"{b.size} weights")
    if not a.size:
        return None
    finite = np.isfinite(a) & np.isfinite(b)
    size = float(
        max(np.max(np.abs(a), where=finite, initial=0.0), np.max(np.abs(b), where=finite, initial=0.0))
    )
    if quantity.vanishes:
        size = sizes[quantity.name] = max(size, sizes.get(quantity.name, 0.0))
    apart = np.where(finite, np.abs(np.subtract(a, b, where=finite, out=np.zeros(a.shape))), np.inf)
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    worst = int(np.argmax(apart))
    by = float(apart.flat[worst])
    if by <= tol * size:
        return None
    entry = worst if a.ndim else None
    return _found(quantity, a.flat[worst].item(), b.flat[worst].item(), entry, by, tol * size)


def _weight(iterate: Iterate, values: Any, entry: int | None) -> int | None:
    """Return the index of the weight that an entry belongs to, if arrays have one entry per member."""
    active = _active(iterate)
    if entry is None or active is None or active.full or np.size(values) != len(active):
        return entry
    return int(active.coordinates[entry])


def _difference_of_sets(quantity: Quantity, left: WorkingSet, right: WorkingSet) -> QuantityDifference | None:
    only = np.setxor1d(left.coordinates, right.coordinates, assume_unique=True)
    if not only.size:
        return None
    within = "in the set", "not in it"
    values = within if only[0] in left.coordinates else within[::-1]
    return _found(quantity, *values, int(only[0]))


def _found(quantity: Quantity, left: Any, right: Any, *more: Any) -> QuantityDifference:
    return QuantityDifference(-1, quantity.name, quantity.title, left, right, *more)


def _text(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _field(name: str, vanishes: bool = False) -> Quantity:
    field = FIELDS[name]

    def read(iterate: Iterate) -> Any:
        value = getattr(iterate, name)
        return value if field.is_known(value) else None

    return Quantity(name, field.label, read, vanishes)


def _own(name: str) -> Quantity:
    """Return the quantity for an additional field of a solver's or a loop's record."""

    def read(iterate: Iterate) -> float | None:
        value = iterate.own[name]
        return None if math.isnan(value) else value

    return Quantity(name, name, read)


def _of(reference: str, attribute: str, part: Callable[[Any], Any] | None = None) -> Callable[[Iterate], Any]:
    """Return a function that reads an attribute of a live reference, or ``part`` of it."""

    def read(iterate: Iterate) -> Any:
        value = getattr(iterate.live.get(reference), attribute, None)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        return value if part is None else part(value)

    return read


def _active(iterate: Iterate) -> WorkingSet | None:
    return iterate.live.get("active")


def _newest(part: int) -> Callable[[Iterate], np.ndarray | None]:
    """Return a function that reads s (0) or y (1) of the newest pair."""

    def read(iterate: Iterate) -> np.ndarray | None:
        pairs = pairs_of(iterate.live.get("memory"))
        return pairs[-1][part] if pairs else None

    return read


#: The quantities compared, in the order in which an iteration computes them.
QUANTITIES: tuple[Quantity, ...] = (
    _field("epoch"),
    _field("returned"),
    _field("working_set"),
    Quantity("active", "working set", _active),
    Quantity("search_direction", "direction of the search", _of("line", "d"), vanishes=True),
    _field("inner_iterations"),
    Quantity("search_slope", "slope along the direction", _of("line", "slope"), vanishes=True),
    Quantity("promised", "decrease Δ that the model promises", _of("line", "promised"), vanishes=True),
    Quantity("trial_steps", "steps tried", _of("line", "trials", lambda log: [t for t, _ in log])),
    Quantity(
        "trial_objectives",
        "f at the steps tried",
        _of("line", "trials", lambda log: [f for _, f in log]),
    ),
    _field("ls_trials"),
    _field("step"),
    Quantity("w", "weights", lambda iterate: iterate.w),
    _field("objective"),
    _field("loss"),
    _field("penalty"),
    _field("nnz"),
    _field("nnz_rows"),
    Quantity("gradient", "gradient", lambda iterate: iterate.live.get("gradient"), vanishes=True),
    _field("violation", vanishes=True),
    _field("memory_pairs"),
    Quantity("s", "newest pair's s", _newest(0), vanishes=True),
    Quantity("y", "newest pair's y", _newest(1), vanishes=True),
    _field("curvature", vanishes=True),
    _field("gamma"),
    _field("clusters"),
    _field("crossovers"),
    Quantity(
        "combination", "subgradient of the next direction", _of("direction", "combination"), vanishes=True
    ),
    Quantity("next_direction", "next direction", _of("direction", "p"), vanishes=True),
    _field("qp_iterations"),
    _field("dual_gap", vanishes=True),
)
