"""Claims of papers as data: a fixed vocabulary of tests, and verdicts based on runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from solverscope.app.papers.bounds import AGGREGATES, Interval, less, together
from solverscope.app.papers.measures import OF_GROUPS, Case, ExhibitRun, Measure, by_data, column
from solverscope.app.settings.arguments import text_of
from solverscope.solvers import Trace

#: Explanation if a claim is about weights, which were not recorded.
NO_WEIGHTS = "no weights were looked at, which `solverscope paper` does"
SEEN, NOT_SEEN, NOT_JUDGED = "seen", "not seen", "not judged"
#: Outcome of a test on a problem that is ignored, because no run did what the claim is about.
NO_EVIDENCE = "says nothing"
#: Suffixes of the numbers of a problem, by outcome, and those on other data than the paper's.
VERDICTS = {True: "", False: " (no)", None: " (open)", NO_EVIDENCE: f" ({NO_EVIDENCE})"}
OTHER_DATA_VERDICTS = {
    NO_EVIDENCE: f" ({NO_EVIDENCE}, on other data)",
    True: " (yes, on other data)",
    False: " (no, on other data)",
    None: " (open, on other data)",
}


@dataclass(frozen=True)
class Verdict:
    """A verdict on a claim: seen, not seen or not judged, with the numbers that support it.

    ``of`` is the measured quantity, "" if there is none. If the data differ from the paper's, the differences
    precede the numbers.
    """

    claim: str
    word: str
    numbers: tuple[str, ...]
    of: str = ""


#: The outcome of a test on a problem or data set (True, False, None for undecided, or NO_EVIDENCE), and its
#: numbers.
Finding = tuple[bool | str | None, str]


def _traced(cases: Sequence[Case], labels: Sequence[str]) -> Iterator[tuple[str, Case, ExhibitRun, Trace]]:
    """Yield the runs with these labels that have iterates: name, problem, run and trace."""
    for case in cases:
        for label in labels:
            run = case.runs.get(label)
            if run is not None and run.trace is not None and len(run.trace):
                yield f"{case.name}, {label}", case, run, run.trace


@dataclass(frozen=True, kw_only=True)
class Less(Measure):
    """A test that numbers of some runs are below those of others, on each problem.

    The number of each run in ``first``, times ``by``, must be below that of each run in ``than`` plus
    ``slack``. With ``any`` one run in ``first`` is enough. With ``more`` numbers must be above. With ``of``
    the numbers of the problems of a data set are aggregated first. ``across`` compares runs on all problems
    together.
    """

    first: tuple[str, ...]
    than: tuple[str, ...]
    by: float = 1.0
    slack: float = 0.0
    of: str = ""
    more: bool = False
    across: bool = False
    any: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of and self.of not in AGGREGATES:
            raise ValueError(f"of = {self.of!r} is not possible: choose one of {', '.join(AGGREGATES)}")

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        groups = by_data(cases).items() if self.of else [(case.name, [case]) for case in cases]
        if self.across:
            groups = [(", ".join(case.name for case in cases), cases)]
        for name, group in groups:
            first = self._extreme(group, self.first, best=self.any)
            than = self._extreme(group, self.than, best=True)
            if first is None or than is None:
                continue
            shown, scaled = Interval(than.low + self.slack, than.high + self.slack), first * self.by
            holds = less(shown, scaled) if self.more else less(scaled, shown)
            neither = math.isinf(first.low) and math.isinf(than.low)
            yield NO_EVIDENCE if neither else holds, f"{name}: {first} / {than}"

    def _extreme(self, group: Sequence[Case], labels: Sequence[str], *, best: bool) -> Interval | None:
        """Return the least or the greatest known number of these runs, or None.

        The best number is the least, unless ``more`` is set.
        """
        found = []
        for label in labels:
            if values := [value for case in group for value in self.known(case, [label])]:
                found.append(together(self.of, values) if self.of else values[0])
        return together("most" if self.more == best else "least", found) if found else None


@dataclass(frozen=True, kw_only=True)
class Level(Measure):
    """A test that, on each problem, the largest number of the runs is below ``factor`` times the smallest."""

    runs: tuple[str, ...]
    factor: float

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for case in cases:
            values = self.known(case, self.runs)
            if len(values) < 2:
                continue
            low, high = together("least", values), together("most", values)
            holds = NO_EVIDENCE if math.isinf(low.low) else less(high, low * self.factor)
            yield holds, f"{case.name}: {low} / {high}"


@dataclass(frozen=True, kw_only=True)
class Falls(Measure):
    """A test that the number of each run is lower at the largest λ than at the smallest.

    With ``each`` it must decrease from each λ to the next larger one. With ``rises`` it must be higher
    instead of lower.
    """

    runs: tuple[str, ...]
    rises: bool = False
    each: bool = False

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, group in by_data(cases).items():
            for label in self.runs:
                along = {c.problem.lam: v for c in group if c.problem.lam for v in self.known(c, [label])}
                if len(along) < 2:
                    continue
                lams = sorted(along) if self.each else [min(along), max(along)]
                steps = [
                    less(along[low], along[high]) if self.rises else less(along[high], along[low])
                    for low, high in pairwise(lams)
                ]
                said = ", ".join(f"{along[lam]} at {'λ = ' * (lam == lams[0])}{text_of(lam)}" for lam in lams)
                yield _all(steps), f"{name}, {label}: {said}"


@dataclass(frozen=True, kw_only=True)
class Best(Measure):
    """A test that, on each data set, the least number of each run over all λ is attained at one of ``lam``.

    With ``more`` it is the greatest number.
    """

    runs: tuple[str, ...]
    lam: tuple[float, ...]
    more: bool = False

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, group in by_data(cases).items():
            for label in self.runs:
                along = {c.problem.lam: v for c in group if c.problem.lam for v in self.known(c, [label])}
                there = [along[lam] for lam in along if lam in self.lam]
                elsewhere = [along[lam] for lam in along if lam not in self.lam]
                if not there or not elsewhere:
                    continue
                how = "most" if self.more else "least"
                here, other = together(how, there), together(how, elsewhere)
                lost = less(here, other) if self.more else less(other, here)
                yield None if lost is None else not lost, f"{name}, {label}: {here} / {other} elsewhere"


@dataclass(frozen=True, kw_only=True)
class Lies(Measure):
    """A test that the number of each run is between the bounds ``above`` and ``below``."""

    runs: tuple[str, ...]
    below: float = math.inf
    above: float = -math.inf

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        low, high = Interval.exact(self.above), Interval.exact(self.below)
        for case in cases:
            for label in self.runs:
                for value in self.known(case, [label]):
                    yield _all([less(value, high), less(low, value)]), f"{case.name}, {label}: {value}"


@dataclass(frozen=True, kw_only=True)
class Ends:
    """A test that each of the runs ends with one of these statuses, within ``by`` iterations."""

    runs: tuple[str, ...]
    status: tuple[str, ...]
    by: float = math.inf

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, _, run, trace in _traced(cases, self.runs):
            word, n = run.record["status"], int(trace.iteration[-1])
            # what is cut before its time might have ended so
            cut = not run.over and word not in self.status and n < self.by
            holds = None if cut else word in self.status and n <= self.by
            yield holds, f"{name}: {word} at iterate {n}"


@dataclass(frozen=True, kw_only=True)
class Reaches:
    """A test that the ``field`` of each run falls to ``at_most`` within ``by`` iterations, or
    ``never`` does."""

    runs: tuple[str, ...]
    at_most: float
    field: str = "objective"
    by: float = math.inf
    never: bool = False

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, case, run, trace in _traced(cases, self.runs):
            values = column(case, run, self.field)
            there = np.flatnonzero((values <= self.at_most) & (trace.iteration <= self.by))
            if self.field == "gap" and not case.solved:
                yield None, f"{name}: f* is not known"
                continue
            if there.size:
                said = f"{values[there[0]]:.4g} at iterate {trace.iteration[there[0]]}"
                yield not self.never, f"{name}: {said}"
                continue
            late = run.over or trace.iteration[-1] >= self.by
            yield self.never if late else None, f"{name}: {np.nanmin(values):.4g} at best"


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """A test that the largest value of a ``field`` exceeds ``by`` times its last value, for each run.

    If ``over`` is "start", it is compared with the first value.
    """

    runs: tuple[str, ...]
    field: str = "nnz_rows"
    by: float = 1.1
    over: str = "end"

    def findings(self, cases: Sequence[Case]) -> Iterator[Finding]:
        for name, case, run, trace in _traced(cases, self.runs):
            values = column(case, run, self.field)
            top = int(np.nanargmax(values))
            peak = bool(values[top] > self.by * values[0 if self.over == "start" else -1])
            up = f"{values[top]:.4g} (iterate {trace.iteration[top]})"
            said = f"{name}: {values[0]:.4g} → {up} → {values[-1]:.4g}"
            yield peak or (False if run.over else None), said


#: The vocabulary of tests.
TESTS: dict[str, type[Any]] = {
    **{"less": Less, "level": Level, "falls": Falls, "best": Best, "lies": Lies},
    **{"ends": Ends, "reaches": Reaches, "peaks": Peaks},
}


@dataclass(frozen=True)
class Claim:
    """A claim in a paper and, if there is one, the test of it.

    The verdict is "seen" if the test holds on at least the fraction ``share`` of the conclusive problems on
    the paper's data. Undecided problems must not be able to change that. ``data`` and ``lam`` restrict the
    claim to data sets and values of λ; if empty, it is about all.
    """

    text: str
    test: Any = None  # one of TESTS
    share: float = 1.0
    data: tuple[str, ...] = ()
    lam: tuple[float, ...] = ()

    WORDS: ClassVar = ("text", "share", "data", "lam")

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Claim:
        """Parse a table with the text of a claim and at most one test. Raises ValueError if it is invalid."""
        words = [name for name in table if name not in cls.WORDS]
        if len(words) > 1 or not TESTS.keys() >= set(words):
            raise ValueError(f"a claim has one of {', '.join(TESTS)}, not {', '.join(words)}")
        test = None
        for word in words:
            test = TESTS[word](**{name: _tuple(value) for name, value in table[word].items()})
        return cls(test=test, **{name: _tuple(table[name]) for name in cls.WORDS if name in table})

    @property
    def labels(self) -> set[str]:
        """Return the labels of the runs that the test compares."""
        return {label for name in ("first", "than", "runs") for label in getattr(self.test, name, ())}

    def judge(self, cases: Sequence[Case]) -> Verdict:
        """Return the verdict on the claim for these problems and their runs."""
        if self.test is None:
            return Verdict(self.text, NOT_JUDGED, ("nothing here tests it: look at the pictures",))
        spoken_of = [
            case
            for case in cases
            if (not self.data or case.problem.data in self.data)
            and (not self.lam or case.problem.lam in self.lam)
        ]
        # of the paper's data, and of others, whose numbers are reported and decide nothing
        own = [case for case in spoken_of if not case.differ]
        others = [case for case in spoken_of if case.differ]
        if others and getattr(self.test, "across", False):
            own, others = [], spoken_of
        found = list(self.test.findings(own))
        said = [holds for holds, _ in found if holds is not NO_EVIDENCE]
        numbers = tuple(said + VERDICTS[holds] for holds, said in found)
        numbers += tuple(said + OTHER_DATA_VERDICTS[holds] for holds, said in self.test.findings(others))
        differ = tuple(dict.fromkeys(case.differ for case in others if case.differ))
        if not said:
            looked_at = isinstance(self.test, Measure) and self.test.field in OF_GROUPS
            none = (NO_WEIGHTS if looked_at else "no run that it speaks of has come to an end",)
            measured = self._measured if numbers else ""
            return Verdict(self.text, NOT_JUDGED, differ + numbers or none, measured)
        needed = self.share * len(said)
        if said.count(True) >= needed:
            word = SEEN
        else:
            word = NOT_SEEN if len(said) - said.count(False) < needed else NOT_JUDGED
        return Verdict(self.text, word, differ + numbers, self._measured)

    @property
    def _measured(self) -> str:
        return self.test.title if isinstance(self.test, Measure) else ""


def _all(parts: Sequence[bool | None]) -> bool | None:
    """Return whether all parts hold, or None if that is undecided."""
    return False if False in parts else None if None in parts else True


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
