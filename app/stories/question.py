"""The question that a story asks before its run, and the answer that the run determines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from solverscope.solvers import FIELDS, Condition, Trace, relative_gap
from solverscope.solvers.runs.breakpoints import known

#: Value in place of a condition: the last iterate of the run.
LAST_ITERATE = "last"
#: Statuses of runs that were interrupted, so that their answer is unknown.
CUT = ("stopped", "failed")


@dataclass(frozen=True)
class StoryAnswer:
    """The answer determined by runs.

    Several choices are ``right`` if runs tie. ``value`` is the number that decides, or None if no run reached
    it, and ``values`` contains it for each run. Numbers are medians ``of`` this many runs.
    """

    right: tuple[str, ...]
    value: float | None
    values: Mapping[str, float | None]
    of: int = 1


@dataclass(frozen=True)
class StoryQuestion:
    """A question that a story asks before its run; the answer is determined by the runs.

    Attributes
    ----------
    text, why : str
        The question, and an explanation shown with the answer.
    value : str
        The quantity, a field of the record.
    until : str
        The quantity is taken at the first iterate that satisfies this condition, or at the last if it is
        "last".
    gap : float
        A relative gap that this iterate must also reach, if not 0.
    run : str
        The run whose quantity is the answer. If empty, the answer is the run with the ``best`` quantity.
    best : str
        "least" or "greatest".
    low, high : float
        Range of a number.
    choices : tuple of str
        Ranges of numbers as choices, separated by ``bounds``.
    against : str
        A run by whose quantity the number is divided.
    unit : str
        The unit of the number.
    search : int
        If not 0, the first iteration at which the quantity, the step of its line search, may be taken. It is
        answered on a plot of φ.
    """

    text: str
    why: str
    value: str
    run: str = ""
    until: str = LAST_ITERATE
    gap: float = 0.0
    best: str = "least"
    choices: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    against: str = ""
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    search: int = 0
    _condition: Condition | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(self.choices))
        object.__setattr__(self, "bounds", tuple(self.bounds))
        if self.value not in FIELDS or self.best not in ("least", "greatest"):
            raise ValueError(f"no field {self.value!r}, or no best {self.best!r}")
        if self.choices and (not self.run or len(self.bounds) + 1 != len(self.choices)):
            raise ValueError("choices need a run, and bounds between them")
        if self.kind == "number" and not self.low < self.high:
            raise ValueError("a number needs low < high")
        if self.search and self.kind != "number":
            raise ValueError("a search is answered by a number")
        text = f"iteration >= {self.search}" if self.search else self.until
        object.__setattr__(self, "_condition", None if text == LAST_ITERATE else Condition.parse(text))

    @property
    def kind(self) -> str:
        """Return "choice" or "number"."""
        return "number" if self.run and not self.choices else "choice"

    def offers(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return the choices if the runs have these labels; there are none for a number."""
        return () if self.kind == "number" else self.choices or labels

    def answer(self, given: object, labels: tuple[str, ...]) -> str | float | None:
        """Return a visitor's answer in canonical form, or None if it is not a possible answer."""
        if self.kind == "choice":
            return given if isinstance(given, str) and given in self.offers(labels) else None
        if isinstance(given, bool) or not isinstance(given, int | float):
            return None
        return float(given) if self.low <= given <= self.high else None

    def truth(self, runs: Mapping[str, Sequence[Trace]], labels: tuple[str, ...]) -> StoryAnswer | None:
        """Return the answer of the runs, or None if they have none (yet).

        If several runs have the same label, the median is used. ``labels`` are those of the race, all of
        which are needed if the answer is one of them.
        """
        needed = tuple(dict.fromkeys(filter(None, (self.run, self.against)))) or labels
        if not all(runs.get(label) for label in needed):
            return None
        found = {label: [self._of(trace) for trace in runs[label]] for label in needed}
        ended = {label: all(map(over, runs[label])) for label in needed}
        if any(None in found[label] and not ended[label] for label in needed):
            return None
        values = {label: _median(each) for label, each in found.items()}
        there = {label: value for label, value in values.items() if value is not None}
        n = max(map(len, found.values()))
        if not self.run:
            if not all(ended.values()):
                return None  # a run that is there already may still be beaten by one that takes its time
            most = (min if self.best == "least" else max)(there.values(), default=None)
            return StoryAnswer(
                tuple(label for label, value in there.items() if value == most), most, values, n
            )
        if len(there) < len(needed):
            return StoryAnswer((), None, values, n)
        number = there[self.run] / there[self.against] if self.against else there[self.run]
        right = (self.choices[bisect_right(self.bounds, number)],) if self.choices else ()
        return StoryAnswer(right, number, values, n)

    def _of(self, trace: Trace) -> float | None:
        """Return the quantity of a run so far, or None if it is unknown."""
        rows, _, _ = trace.since(None)
        count = len(rows["iteration"])
        met = np.ones(count, dtype=bool)
        if self._condition is None and not self.gap:
            met[:-1] = False
            met &= over(trace)
        if self.gap:
            f_star = trace.info.f_star
            met &= False if f_star is None else relative_gap(rows["objective"], f_star) <= self.gap
        if self._condition is not None:
            seen = [
                {name: known(name, rows[name][k]) for name in self._condition.fields} for k in range(count)
            ]
            before = [{}, *seen]
            met &= [self._condition.holds(now, then) for now, then in zip(seen, before, strict=False)]
        found = np.flatnonzero(met)
        return None if not found.size else known(self.value, rows[self.value][found[0]])


def _median(values: Sequence[float | None]) -> float | None:
    """Return the median, or the lower of two middle values; None is larger than all numbers."""
    known, middle = sorted(value for value in values if value is not None), (len(values) - 1) // 2
    return known[middle] if middle < len(known) else None


def over(trace: Trace) -> bool:
    """Return whether a run has ended by itself or at a limit."""
    return trace.result.get("status", CUT[0]) not in CUT
