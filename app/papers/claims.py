"""What papers claim, as data: a closed vocabulary of tests, and verdicts from the runs made here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from app.papers import bounds
from app.papers.bounds import Bounds, less
from app.papers.measures import Case, Measure, by_data, column
from app.settings.recipe import text_of

SEEN, NOT_SEEN, NOT_JUDGED = "seen", "not seen", "not judged"
#: How numbers at several λ, or of several splits, become one.
TOGETHER = {
    **{"median": bounds.median, "mean": bounds.mean, "total": bounds.total},
    **{"least": bounds.smallest, "most": bounds.largest},
}


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim: seen, not seen or not judged, and the numbers behind that, which are
    those ``of`` a measure, if they are of one."""

    claim: str
    word: str
    numbers: tuple[str, ...]
    of: str = ""


@dataclass(frozen=True)
class Finding:
    """What one problem, or one data set, says of a claim (None: it leaves it open), with its numbers."""

    holds: bool | None
    numbers: str


class Test(Protocol):
    """One word of the vocabulary."""

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        """Yield what each problem that has the runs says."""


def _measure(test: Less | Level | Falls | Lies) -> Measure:
    return Measure(test.field, test.to, test.phase)


def _known(measure: Measure, case: Case, labels: Sequence[str]) -> list[Bounds]:
    return [value for label in labels if (value := measure.of(case, label)) is not None]


@dataclass(frozen=True)
class Less:
    """The least number of the runs ``first``, times ``by``, is below the least of ``than``, on each problem;
    with ``of`` on each data set, of numbers put together over its problems. ``slack`` is added to ``than``.
    With ``more`` it is the greatest number of ``first``, times ``by``, that is above the greatest of
    ``than`` and ``slack``."""

    first: tuple[str, ...]
    than: tuple[str, ...]
    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""
    by: float = 1.0
    slack: float = 0.0
    of: str = ""
    more: bool = False

    def __post_init__(self) -> None:
        _measure(self)
        if self.of and self.of not in TOGETHER:
            raise ValueError(f"of = {self.of!r} is not possible: choose one of {', '.join(TOGETHER)}")

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        groups = by_data(cases) if self.of else {case.name: [case] for case in cases}
        best = bounds.largest if self.more else bounds.smallest
        for name, group in groups.items():
            sides = [self._side(group, labels) for labels in (self.first, self.than)]
            if not all(sides):
                continue
            first, than = (best(list(side.values())) for side in sides)
            shown = Bounds(than.low + self.slack, than.high + self.slack)
            holds = less(shown, first * self.by) if self.more else less(first * self.by, shown)
            numbers = " / ".join(str(side) for side in (first, than))
            yield Finding(holds, f"{name}: {numbers}")

    def _side(self, group: Sequence[Case], labels: Sequence[str]) -> dict[str, Bounds]:
        measure, found = _measure(self), dict[str, Bounds]()
        for label in labels:
            values = [value for case in group for value in _known(measure, case, [label])]
            if values:
                found[label] = TOGETHER[self.of](values) if self.of else values[0]
        return found


@dataclass(frozen=True)
class Level:
    """The largest number of the runs is at most ``factor`` times the smallest."""

    runs: tuple[str, ...]
    factor: float
    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""

    def __post_init__(self) -> None:
        _measure(self)

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for case in cases:
            values = _known(_measure(self), case, self.runs)
            if len(values) < 2:
                continue
            low, high = bounds.smallest(values), bounds.largest(values)
            within = less(high, low * self.factor)
            yield Finding(within, f"{case.name}: {low} to {high}")


@dataclass(frozen=True)
class Falls:
    """The number of each run at the largest λ is below that at the smallest; with ``rises`` above it."""

    runs: tuple[str, ...]
    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""
    rises: bool = False

    def __post_init__(self) -> None:
        _measure(self)

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, group in by_data(cases).items():
            for label in self.runs:
                along = [(c.problem.lam, v) for c in group for v in _known(_measure(self), c, [label])]
                along = sorted((lam, value) for lam, value in along if lam is not None) if along else []
                if len({lam for lam, _ in along}) < 2:
                    continue
                (low, first), (high, last) = along[0], along[-1]
                holds = less(first, last) if self.rises else less(last, first)
                yield Finding(
                    holds, f"{name}, {label}: {first} at λ = {text_of(low)}, {last} at {text_of(high)}"
                )


@dataclass(frozen=True)
class Lies:
    """The number of each run is below a value, or above one."""

    runs: tuple[str, ...]
    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""
    below: float = math.inf
    above: float = -math.inf

    def __post_init__(self) -> None:
        _measure(self)

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        low, high = Bounds.exact(self.above), Bounds.exact(self.below)
        for case in cases:
            for label in self.runs:
                for value in _known(_measure(self), case, [label]):
                    sides = (less(value, high), less(low, value))
                    holds = False if False in sides else None if None in sides else True
                    yield Finding(holds, f"{case.name}, {label}: {value}")


@dataclass(frozen=True)
class Ends:
    """Each of the runs ends with one of these statuses, by so many iterations."""

    runs: tuple[str, ...]
    status: tuple[str, ...]
    by: float = math.inf

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for case in cases:
            for label in self.runs:
                run = case.runs.get(label)
                if run is None or run.record.get("iterations") is None:
                    continue
                word, n = run.record["status"], run.record["iterations"]
                # what is cut before its time might have ended so
                open = not run.over and word not in self.status and n < self.by
                holds = None if open else word in self.status and n <= self.by
                yield Finding(holds, f"{case.name}, {label}: {word} at iterate {n}")


@dataclass(frozen=True)
class Reaches:
    """The ``field`` of each run comes to ``at_most`` (or ``at_least``) by so many iterations; or it ``never``
    does."""

    runs: tuple[str, ...]
    field: str = "objective"
    at_most: float | None = None
    at_least: float | None = None
    by: int | None = None
    never: bool = False

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("reaches takes one of at_most and at_least")

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for case in cases:
            for label in self.runs:
                run = case.runs.get(label)
                if run is None or run.trace is None or not len(run.trace):
                    continue
                values, iteration = column(case, run, self.field), run.trace.iteration
                there = values <= self.at_most if self.at_least is None else values >= self.at_least
                there &= iteration <= (self.by if self.by is not None else np.inf)
                if there.any():
                    at = int(np.flatnonzero(there)[0])
                    yield Finding(
                        not self.never, f"{case.name}, {label}: {values[at]:.4g} at iterate {iteration[at]}"
                    )
                    continue
                late = run.over or (self.by is not None and iteration[-1] >= self.by)
                best = np.nanmin(values) if self.at_least is None else np.nanmax(values)
                yield Finding(self.never if late else None, f"{case.name}, {label}: {best:.4g} at best")


@dataclass(frozen=True)
class Peaks:
    """The ``field`` of each run goes up, to ``by`` times what it is at the end or, ``over = "start"``, at the
    start."""

    runs: tuple[str, ...]
    field: str = "nnz_rows"
    by: float = 1.1
    over: str = "end"

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for case in cases:
            for label in self.runs:
                run = case.runs.get(label)
                if run is None or run.trace is None or not len(run.trace):
                    continue
                values = column(case, run, self.field)
                top = int(np.nanargmax(values))
                end = values[0 if self.over == "start" else -1]
                # what is to come may still be lower, never less of a peak over the start
                holds = bool(values[top] > self.by * end) or (
                    False if run.over or self.over == "start" else None
                )
                up = f"{values[top]:.4g} (iterate {run.trace.iteration[top]})"
                said = f"{values[0]:.4g} → {up} → {values[-1]:.4g}"
                yield Finding(holds, f"{case.name}, {label}: {said}")


#: The vocabulary.
TESTS: dict[str, type[Any]] = {
    **{
        "less": Less,
        "level": Level,
        "falls": Falls,
        "lies": Lies,
        "ends": Ends,
        "reaches": Reaches,
        "peaks": Peaks,
    },
}


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the test of it, where there is one. It is seen where the test holds on at
    least the ``share`` of the problems that say something; ``data`` and ``lam``, where they are given, are
    those it speaks of."""

    text: str
    test: Test | None = None
    share: float = 1.0
    data: tuple[str, ...] = ()
    lam: tuple[float, ...] = field(default=())

    WORDS: ClassVar = ("text", "share", "data", "lam")

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Claim:
        """Read a table: its text and one word of the vocabulary; ValueError where that is not what it is."""
        words = [name for name in table if name not in cls.WORDS]
        if len(words) > 1 or not TESTS.keys() >= set(words):
            raise ValueError(f"a claim has one of {', '.join(TESTS)}, not {', '.join(words)}")
        test = None
        for word in words:
            test = TESTS[word](**{name: _tuple(value) for name, value in table[word].items()})
        return cls(test=test, **{name: _tuple(table[name]) for name in cls.WORDS if name in table})

    @property
    def labels(self) -> set[str]:
        """Return the runs that it speaks of."""
        return {label for name in ("first", "than", "runs") for label in getattr(self.test, name, ())}

    def judge(self, cases: Sequence[Case]) -> Verdict:
        """Compute the verdict."""
        if self.test is None:
            return Verdict(self.text, NOT_JUDGED, ("nothing here tests it: look at the pictures",))
        spoken_of = [
            case
            for case in cases
            if (not self.data or case.problem.data in self.data)
            and (not self.lam or case.problem.lam in self.lam)
        ]
        found = list(self.test.findings(spoken_of))
        judged = [finding.holds for finding in found if finding.holds is not None]
        numbers = tuple(
            finding.numbers + ("" if finding.holds else " (open)" if finding.holds is None else " (no)")
            for finding in found
        )
        if not judged:
            none = ("no run that it speaks of has come to an end",)
            return Verdict(self.text, NOT_JUDGED, numbers or none, self._measured if numbers else "")
        holds = sum(judged) >= self.share * len(judged)
        return Verdict(self.text, SEEN if holds else NOT_SEEN, numbers, self._measured)

    @property
    def _measured(self) -> str:
        return _measure(self.test).title if isinstance(self.test, Less | Level | Falls | Lies) else ""


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
