"""The bank: all checks of a solver on a few small problems within a time limit; findings are minimized."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from unittest import SkipTest

from ..declare import Declared
from ..methods.solver import Solver
from ..problems.losses.loss import Loss
from ..problems.penalties import Penalty
from ..registry import LOSSES, PENALTIES
from .bench import Bench, why_not
from .case import PAIRS_OF_CASES, CheckCase
from .claims import claims
from .data import data_checks
from .finding import Check, CheckFailure, Fault, Faults, common
from .losses import LossBench, losses
from .observed import WALL_SECONDS
from .penalties import PenaltyBench, penalties
from .proximal_steps import proximal_steps
from .runs import runs, twin_checks
from .searches import searches
from .sets import sets
from .suggestion import suggestion

#: CPU seconds for all checks of a solver, and the number of cases.
SECONDS_OF_CHECKS, MOST_CASES = 45.0, 4
#: CPU seconds for making one finding smaller.
SECONDS_TO_SHRINK = 2.0


def _over_runs(check: Check) -> Check:
    """Return a check of all runs of a bench, from a check of one run."""

    def find(bench: Bench) -> Faults:
        reasons = []
        for run in bench.runs:
            reasons.append((yield from check.find(run)))
        return common(reasons)

    return replace(check, find=find)


#: All checks of a solver; those that point most directly to a cause come first.
SOLVER_CHECKS: tuple[Check, ...] = (
    *(check for check in runs if check.name in ("run_does_not_fail", "start_is_left_as_it_is")),
    *map(_over_runs, (*claims[:-1], *searches, *proximal_steps, *sets[:-1])),
    *(check for check in runs if check.name not in ("run_does_not_fail", "start_is_left_as_it_is")),
)


class CheckClock:
    """CPU seconds of this process since the clock was created; waiting counts for a fraction of its wall
    time."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()

    @property
    def seconds(self) -> float:
        wall = time.monotonic() - self._wall
        return max(time.process_time() - self._cpu, wall / WALL_SECONDS)


@dataclass
class CheckReport:
    """The results of the checks of one solver, loss, penalty or data set.

    Attributes
    ----------
    tested : str
        The id of what was tested.
    findings : list of CheckFailure
        At most one finding per check, in the order of the checks.
    passed : list of str
        Names of checks without a finding.
    inapplicable : dict of str to str
        Names of checks that did not apply, each with the reason.
    left : list of str
        Names of checks for which there was no time.
    suggestion : str
        What a solver could report so that more checks apply; empty if there are findings.
    seconds : float
        Wall seconds of all checks.
    cases : list of CheckCase
        The problems used.
    """

    tested: str
    findings: list[CheckFailure] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    inapplicable: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    suggestion: str = ""
    seconds: float = 0.0
    cases: list[CheckCase] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Return descriptions of the cases: "LOSS with PENALTY"."""
        return [f"{case.loss} with {case.penalty}" for case in self.cases]

    def describe(self) -> dict[str, Any]:
        """Return the report without its findings, as a record of type "checked"."""
        counts = {"findings": len(self.findings), "passed": len(self.passed)}
        others = {"inapplicable": self.inapplicable, "left": self.left, "suggestion": self.suggestion}
        seconds = round(self.seconds, 3)
        return {
            "type": "checked",
            "tested": self.tested,
            **counts,
            **others,
            "problems": self.problems,
            "seconds": seconds,
        }


def cases_for(solver: Solver, most: int = MOST_CASES) -> list[CheckCase]:
    """Return the cases on which a solver is tested, the most usual first.

    Raises ValueError if the solver accepts no loss with any penalty.
    """
    found = [CheckCase.made(*pair) for pair in PAIRS_OF_CASES if not why_not(solver, *pair[1:])]
    if not found:  # one that takes only what is unusual
        every = itertools.product(LOSSES, PENALTIES)
        pairs = [pair for pair in every if pair[0] != "toy" and not why_not(solver, *pair)]
        found = [CheckCase.made(LOSSES[loss].kinds[0], loss, penalty) for loss, penalty in pairs[:most]]
    if not found:
        raise ValueError(f"{solver.id} takes no loss with any penalty: see what it needs, {solver.needs}")
    return found[:most]


def check_solver(
    solver: Solver | type[Solver],
    *,
    twin: Solver | None = None,
    cases: Sequence[CheckCase] = (),
    seconds: float = SECONDS_OF_CHECKS,
    shrink: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> CheckReport:
    """Check a solver on small problems.

    Parameters
    ----------
    solver : Solver or class
        The solver, or its class with the hyper-parameters at their defaults. It need not be registered.
    twin : Solver, optional
        A solver whose iterates should be the same; its optimum is the trusted one.
    cases : sequence of CheckCase
        The problems; by default some that the solver accepts.
    seconds : float
        Limit on CPU seconds for all checks, including compiling.
    shrink : bool
        Whether to search for smaller cases that show each finding.
    say : callable
        Called with the name and the problem of each check before it begins.

    Returns
    -------
    CheckReport
        The findings.

    Raises
    ------
    ValueError
        If the solver accepts no loss with any penalty, or the twin accepts none of its problems.
    """
    made = solver() if isinstance(solver, type) else solver
    chosen = list(cases) or cases_for(made)
    if twin is not None:
        chosen = [case for case in chosen if not why_not(twin, case.loss, case.penalty)]
        if not chosen:
            raise ValueError(f"{twin.id} takes no problem that {made.id} takes: choose another twin")
    began, clock, report = time.monotonic(), CheckClock(), CheckReport(made.id)
    found: dict[str, CheckFailure] = {}
    reasons: dict[str, list[str | None]] = {}  # why a check does not apply to each case, None if it does
    checks = SOLVER_CHECKS if twin is None else (*SOLVER_CHECKS, *twin_checks)
    for case in chosen:
        bench = Bench(made, case, twin=twin)
        report.cases.append(case)
        for check in checks:
            left = seconds - clock.seconds
            if left < 0.0:
                break
            if check.name in found or bench.refused is not None:
                continue
            say(f"{check.name} on {case}")
            outcome = check.outcome(bench)
            if not isinstance(outcome, Fault):
                reasons.setdefault(check.name, []).append(outcome)
                continue
            endless = any(run.endless for run in bench.made)  # then each further run takes all its time
            most = min(SECONDS_TO_SHRINK, 0.5 * left) if shrink and not endless else 0.0
            found[check.name] = shrunk(check, bench, outcome, most)
            if endless:
                break
        if left < 0.0 or any(run.endless for run in bench.made):
            break
    report.findings = [found[check.name] for check in checks if check.name in found]
    for name in (check.name for check in checks if check.name not in found):
        _sort(report, name, reasons.get(name))
    report.suggestion = "" if report.findings else suggestion(made, report.inapplicable)
    report.seconds = time.monotonic() - began
    return report


def _sort(report: CheckReport, name: str, reasons: Sequence[str | None] | None) -> None:
    """Add a check without a finding to the report, by its ``reasons`` not to apply.

    It has passed if some reason is None, and is inapplicable otherwise. Without reasons it was left for lack
    of time.
    """
    if reasons is None:
        report.left.append(name)
    elif (reason := common(reasons)) is None:
        report.passed.append(name)
    else:
        report.inapplicable[name] = reason


def check_loss(loss: Loss | type[Loss]) -> CheckReport:
    """Check a loss on each kind of labels that it accepts.

    Its values, derivatives, curvature and conjugate are compared with their definitions.

    Parameters
    ----------
    loss : Loss or class
        The loss, which need not be registered.

    Returns
    -------
    CheckReport
    """
    made = loss() if isinstance(loss, type) else loss
    report, began = CheckReport(made.id), time.monotonic()
    with _registered(LOSSES, type(made)):
        report.cases = [CheckCase.made(kind, made.id, "l2") for kind in made.kinds if kind != "function"]
        benches = [LossBench(made, case) for case in report.cases]
        _fill(report, losses, benches)
    report.seconds = time.monotonic() - began
    return report


def check_penalty(penalty: Penalty | type[Penalty]) -> CheckReport:
    """Check value, slope, subgradient, prox and λ_max of a penalty by their definitions.

    Parameters
    ----------
    penalty : Penalty or class
        The penalty, which need not be registered.

    Returns
    -------
    CheckReport
    """
    made = penalty() if isinstance(penalty, type) else penalty
    report, began = CheckReport(made.id), time.monotonic()
    _fill(report, penalties, [PenaltyBench(made)])
    report.seconds = time.monotonic() - began
    return report


def check_dataset(data: Any) -> CheckReport:
    """Check the shapes and labels of a data set, and that problems can be made from it.

    Parameters
    ----------
    data
        The data set, from ``datasets.load``.

    Returns
    -------
    CheckReport
    """
    report, began = CheckReport(data.id), time.monotonic()
    _fill(report, data_checks, [data])
    report.seconds = time.monotonic() - began
    return report


def _fill(report: CheckReport, checks: Sequence[Check], benches: Sequence[Any]) -> None:
    for check in checks:
        reasons: list[str | None] = []
        for bench in benches:
            outcome = _outcome(check, bench)
            if isinstance(outcome, Fault):
                case = getattr(bench, "case", None)
                where = (outcome.sentence, outcome.iteration, case)
                report.findings.append(
                    CheckFailure(report.tested, check.name, check.quantity, check.claim, *where)
                )
                break
            reasons.append(outcome)
        else:
            _sort(report, check.name, reasons)


def _outcome(check: Check, tested: Any) -> Fault | str | None:
    """Return the outcome of a check; an exception raised by what is tested is a fault."""
    try:
        return check.outcome(tested)
    except (
        NotImplementedError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
    ) as error:
        return Fault(f"{type(error).__name__}: {error}")


@contextmanager
def _registered(table: dict[str, Any], cls: type[Declared]) -> Iterator[None]:
    """Register a class for the duration of the block."""
    before = table.get(cls.id)
    table[cls.id] = cls
    try:
        yield
    finally:
        if before is None:
            del table[cls.id]
        else:
            table[cls.id] = before


def checks_of(thing: Any) -> Iterator[tuple[str, str, Callable[[Any], None]]]:
    """Yield, for each check of a solver, loss, penalty or data set, its id, the check's name, and a function.

    The function raises AssertionError if the check fails, and ``unittest.SkipTest`` if it does not apply.
    """
    made = thing() if isinstance(thing, type) else thing
    if isinstance(made, Solver):
        benches = [Bench(made, case) for case in cases_for(made)]
        for check in SOLVER_CHECKS:
            yield made.id, check.name, partial(_assert_solver, check, benches)
        return
    checks, report = (losses, check_loss) if isinstance(made, Loss) else (penalties, check_penalty)
    if not isinstance(made, Loss | Penalty):
        checks, report = data_checks, check_dataset
    for check in checks:
        yield made.id, check.name, partial(_assert_report, check.name, report)


def _assert_solver(check: Check, benches: Sequence[Bench], solver: object) -> None:
    reasons: list[str | None] = []
    for bench in (bench for bench in benches if bench.refused is None):
        outcome = check.outcome(bench)
        if isinstance(outcome, Fault):
            raise AssertionError(str(shrunk(check, bench, outcome, SECONDS_TO_SHRINK)))
        reasons.append(outcome)
    if reason := common(reasons):
        raise SkipTest(reason)


def _assert_report(name: str, check: Callable[[Any], CheckReport], thing: Any) -> None:
    report = check(thing)
    for finding in report.findings:
        if finding.check == name:
            raise AssertionError(str(finding))
    if name in report.inapplicable:
        raise SkipTest(report.inapplicable[name])


def shrunk(check: Check, bench: Bench, fault: Fault, seconds: float) -> CheckFailure:
    """Return the finding on the smallest case on which the same check still fails.

    Samples, features and iterations are halved while it fails.
    """
    clock = CheckClock()
    smaller: Iterator[CheckCase] = bench.case.smaller()
    while (case := next(smaller, None)) is not None and clock.seconds < seconds:
        try:
            tried = bench.on(case, seconds=min(bench.seconds, 1.0))
            found = check.first(tried) if tried.refused is None else None
        except ValueError:  # the data are none any more, as with one label alone
            continue
        if found is not None and found.quantity == fault.quantity:
            bench, fault, smaller = tried, found, case.smaller()
    quantity = fault.quantity or check.quantity
    where = (fault.sentence, fault.iteration, bench.case)
    return CheckFailure(bench.solver.id, check.name, quantity, check.claim, *where)
