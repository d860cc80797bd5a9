"""Measures of the runs of an exhibit: problems with their runs, and numbers measured on a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solverscope.app.papers.bounds import Interval
from solverscope.app.papers.groups import Groups
from solverscope.app.settings.arguments import text_of
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.ids import unknown_id
from solverscope.solvers import FIELDS, Trace, lower_bound, relative_gap
from solverscope.solvers.compute.lazy import lazy

#: Statuses of runs that ended by themselves; all others were cut by a limit.
ENDED_STATUSES = ("converged", "stalled", "unbounded")
#: Fields that measure the work of a run; if a limit cut the run, they are lower bounds.
CLOCKS = ("cpu_seconds", "wall_seconds", "passes", "iterations", "direction_steps", "epochs")
#: Fields that more iterations would have decreased, with a lower bound on each.
FALLING = {"objective": -math.inf}
#: A run has reached the optimum if its violation is at most this fraction of the initial one.
REACHED = 1e-6
#: Relative accuracy of f* from which on nonzeros at the optimum are considered known.
SOLVED = 1e-6
#: Titles of derived numbers.
DERIVED_TITLES = {
    "gap": "(f − f*)/|f*|",
    "density": "non-zero weights, %",
    "rows": "non-zero rows, %",
    "row_density": "non-zero weights of a non-zero row, %",
    "direction_steps": "direction-finding steps k",
    "epochs": "epochs",
    "pace": "CPU seconds an iteration",
    "iterate_nnz": "mean non-zero weights of the iterates",
    "settled": "CPU seconds until the non-zero rows are those at f*, up to a tenth",
    "sparse": "CPU seconds until the non-zero weights are those at f*, up to a tenth",
    "learned": "CPU seconds until the test part is done as at f*, up to a hundredth",
}
#: Numbers of the clusters of weights.
OF_GROUPS = {
    "inside": "share of the variance inside clusters of weights, at most",
    "stays": "share of the variance inside clusters some iterates later, at most",
    "crossed": "mean share of weights that cross over to another cluster",
}
DERIVED_TITLES |= OF_GROUPS
#: What a measure may read of a run, and of its problem.
SIZES = ("n_samples", "n_features", "n_outputs", "n_params")
MEASURED = (
    *DERIVED_TITLES,
    *("objective", "violation", "dual_gap", "nnz", "nnz_rows", "iterations", "passes", "cpu_seconds"),
    *("wall_seconds", "train_metric", "test_metric", *SIZES),
)
#: Columns of a trace by their names in the result of a run, if these differ.
TRACE_COLUMNS = {"iterations": "iteration"}
#: Fields that should stay close to their value at f*, and within which fraction of it.
SETTLING = {"settled": ("nnz_rows", 0.1), "sparse": ("nnz", 0.1)}
#: The interval of a number of which nothing is known.
UNKNOWN_INTERVAL = Interval.at_least(0.0)


@dataclass(frozen=True)
class ExhibitRun:
    """A run of an exhibit: its label, problem and record, and its trace and groups of weights, if any."""

    label: str
    problem: Recipe
    record: Mapping[str, Any]
    trace: Trace | None = None
    groups: Groups | None = None

    @classmethod
    def of(cls, watched: CellProgress) -> ExhibitRun:
        return cls(watched.cell.entrant.label, watched.cell.problem, watched.record, watched.trace)

    @property
    def over(self) -> bool:
        """Return whether the run ended by itself, so that more time would change nothing."""
        return self.record.get("status") in ENDED_STATUSES

    @property
    def reached(self) -> bool:
        """Return whether the run ended at the optimum, by its own test or by its violation."""
        if self.record.get("status") == "converged":
            return True
        last = self.record.get("violation")
        if last is None or self.trace is None or not len(self.trace):
            return False
        return bool(last <= REACHED * float(self.trace.violation[0]))

    @property
    def whole(self) -> bool:
        """Return whether the run was not cut by a limit of seconds.

        A limit of iterations is part of an experiment, and does not cut a run.
        """
        return self.over or self.record.get("status") == "max-iter"


@dataclass(frozen=True)
class Case:
    """A problem with its runs by label.

    ``differ`` describes how its data differ from those of the paper, "" if they do not. f* is between
    ``f_low`` and ``f_star``, the least f of any run.
    """

    problem: Recipe
    runs: dict[str, ExhibitRun]
    differ: str = ""

    @property
    def data(self) -> str:
        """Return the data set with its options as a string, without the seed."""
        return self.problem.data_text.partition(",seed=")[0]

    @property
    def name(self) -> str:
        """Return a short name of the problem: data, and λ if it has one."""
        recipe = self.problem
        if recipe.lam is not None:
            return f"{recipe.data_text}, λ = {text_of(recipe.lam)}"
        return recipe.data_text + (f", {text_of(recipe.lam_ratio)} λ_max" if recipe.lam_ratio else "")

    @lazy
    def f_star(self) -> float:
        found = [math.inf]
        for run in self.runs.values():
            found += [
                run.record[name] for name in ("objective", "f_star") if run.record.get(name) is not None
            ]
            if run.trace is not None and len(run.trace):
                found.append(float(np.nanmin(run.trace.objective)))
        return min(found)

    @lazy
    def proved(self) -> float:
        """Return the best lower bound on f* that a run has proved, or minus infinity."""
        proved = [-math.inf]
        for run in self.runs.values():
            f, gap = run.record.get("objective"), run.record.get("dual_gap")
            if f is not None and gap is not None:
                proved.append(lower_bound(f, gap))
            if run.trace is not None and np.isfinite(run.trace.dual_gap).any():
                proved.append(float(np.nanmax(lower_bound(run.trace.objective, run.trace.dual_gap))))
        return min(max(proved), self.f_star)

    @lazy
    def f_low(self) -> float:
        """Return a lower bound on f*: a proved one, or an estimate from runs that ended at the optimum.

        The estimate is f_star - (f - f_star), where f is the lowest objective of a run that ended there.
        """
        found = [self.proved]
        for run in self.runs.values():
            if run.reached and (f := run.record.get("objective")) is not None:
                found.append(2.0 * self.f_star - f)
        return min(max(found), self.f_star)

    @property
    def unsure(self) -> float | None:
        """Return a proved bound on the relative distance of ``f_star`` to f*, or None if there is none."""
        proved = self.proved
        return max(relative_gap(self.f_star, proved), 0.0) if math.isfinite(proved) else None

    @property
    def solved(self) -> bool:
        """Return whether the best run is at the optimum, so that its weights are the solution."""
        return math.isfinite(self.f_low) and relative_gap(self.f_star, self.f_low) <= SOLVED

    def gap_of(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds on (f - f*)/|f*|, which follow from those on f*."""
        least = np.maximum(relative_gap(f, self.f_star), 0.0)
        if self.f_low == self.f_star:
            return least, least
        if math.isfinite(self.f_low) and (self.f_low > 0.0 or self.f_star < 0.0):
            return least, np.maximum(relative_gap(f, self.f_low), least)
        return least, np.full_like(least, math.inf)


def cases(runs: Iterable[ExhibitRun], differ: Callable[[ExhibitRun], str] = lambda run: "") -> list[Case]:
    """Group runs by their problem, in order.

    ``differ`` describes how the data of a run differ from those of the paper.
    """
    found: dict[str, Case] = {}
    differs: dict[str, str] = {}
    for run in runs:
        case = found.setdefault(run.problem.key, Case(run.problem, {}))
        case.runs[run.label] = run
        # a run that had no time does not know, but another one on the same data may
        differs[case.data] = differs.get(case.data) or differ(run)
    return [replace(case, differ=differs[case.data]) for case in found.values()]


def by_data(found: Iterable[Case]) -> dict[str, list[Case]]:
    """Group problems by the name of their data, with options and seed; loss, penalty and λ are ignored."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        groups.setdefault(case.problem.data_text, []).append(case)
    return groups


def first_seeds(found: Iterable[Case]) -> list[Case]:
    """Return the problems without those that differ from an earlier one only in the seed."""
    groups: dict[str, Case] = {}
    for case in found:
        groups.setdefault(replace(case.problem, seed=0).key, case)
    return list(groups.values())


@dataclass(frozen=True)
class Measure:
    """A number of a run: a ``field`` of its record, at the end or at the first iterate that reaches a target.

    The target is one of three: a gap of at most ``to``, f at most the fraction ``down`` of its initial value,
    or a test metric of at least ``up``. With ``phase``, only the iterates of that phase are considered.
    """

    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""
    down: float | None = None
    up: float | None = None

    def __post_init__(self) -> None:
        if self.field not in MEASURED:
            raise ValueError(unknown_id("measure", self.field, MEASURED))
        ends = [name for name in ("to", "down", "up") if getattr(self, name) is not None]
        if (ends or self.phase) and self.field not in CLOCKS:
            raise ValueError(
                f"{self.field} is no count of work: with to, down, up and phase, {', '.join(CLOCKS)} are"
            )
        if len(ends) > 1:
            raise ValueError(f"{' and '.join(ends)} are both given: give one of them")

    @property
    def title(self) -> str:
        """Return a short description of the measured quantity."""
        name = DERIVED_TITLES.get(self.field) or TITLES.get(self.field) or self.field.replace("_", " ")
        name += f", phase {self.phase}" if self.phase else ""
        name += f", to a gap of {self.to:g}" if self.to is not None else ""
        name += f", to {self.down:g} of f at the start" if self.down is not None else ""
        return name + (f", to {self.up:g} on the test part" if self.up is not None else "")

    def number(self, case: Case, label: str) -> Interval | None:
        """Return the number for a run of a problem, or None if the run is missing or does not have the
        number."""
        run = case.runs.get(label)
        if run is None or not run.record:
            return None
        if self.to is None and self.down is None and self.up is None and not self.phase:
            return self._at_end(case, run)
        return self._on_the_way(case, run)

    def known(self, case: Case, labels: Iterable[str]) -> list[Interval]:
        """Return the known numbers of the runs with these labels."""
        return [value for label in labels if (value := self.number(case, label)) is not None]

    def _at_end(self, case: Case, run: ExhibitRun) -> Interval | None:
        record = run.record
        problem = record.get("problem") or {}
        match self.field:
            case "gap":
                if (f := record.get("objective")) is None:
                    return _not_begun(run)
                least, most = map(float, case.gap_of(np.float64(f)))
                return Interval(least if run.whole else 0.0, most)
            case "density":
                value = _share(record.get("nnz"), problem.get("n_params"))
            case "rows":
                value = _share(record.get("nnz_rows"), problem.get("n_features"))
            case "row_density":
                value = _share(
                    record.get("nnz"), (record.get("nnz_rows") or 0) * (problem.get("n_outputs") or 0)
                )
            case name if name in OF_GROUPS:
                value = None if run.groups is None else getattr(run.groups, name)
            case name if name in SETTLING:
                field, share = SETTLING[name]
                seconds, counts = (getattr(run.trace, each, ()) for each in ("cpu_seconds", field))
                return _since(case, run, field, share, seconds, counts)
            case "learned":
                told = run.trace.test_metric if run.trace is not None else []
                return _since(case, run, "test_metric", 0.01, *zip(*(one[1:] for one in told), strict=True))
            case "direction_steps":
                value = None if run.trace is None else float(_steps(run.trace).sum())
            case "epochs":
                values = () if run.trace is None else column(case, run, "epochs")
                value = float(np.nanmax(values)) if np.isfinite(values).any() else None
            case "pace" | "iterate_nnz":
                return _of_all(run, self.field)
            case name:
                value = problem.get(name) if name in SIZES else record.get(name)
        if value is None:
            return _not_begun(run)
        if not run.whole and self.field in CLOCKS:
            return Interval.at_least(float(value))
        if not run.whole and self.field in FALLING:  # what it had, it would have made smaller
            return Interval(FALLING[self.field], float(value))
        if not run.whole and self.field not in SIZES:
            return UNKNOWN_INTERVAL
        return Interval.exact(float(value))

    def _on_the_way(self, case: Case, run: ExhibitRun) -> Interval | None:
        trace = run.trace
        if trace is None or not len(trace):
            return _not_begun(run)
        clock = column(case, run, self.field)
        if self.phase:
            inside = np.array([phase == self.phase for phase in trace.phase])
            clock = np.cumsum(np.where(inside, np.diff(clock, prepend=0.0), 0.0))
        late = Interval.exact(math.inf) if run.over else Interval.at_least(float(clock[-1]))
        if self.up is not None:
            there = [iteration for iteration, _, value in trace.test_metric if value >= self.up]
            return Interval.exact(float(clock[trace.iteration >= there[0]][0])) if there else late
        if self.down is not None:
            there = np.flatnonzero(trace.objective <= self.down * trace.objective[0])
            return Interval.exact(float(clock[there[0]])) if there.size else late
        if self.to is None:
            return Interval.exact(float(clock[-1])) if run.whole else Interval.at_least(float(clock[-1]))
        there = np.flatnonzero(relative_gap(trace.objective, case.f_star) <= self.to)
        if not there.size:
            return late
        # f* may be lower than the least f that was found, and the gap then came later
        sure = np.flatnonzero(case.gap_of(trace.objective)[1] <= self.to)
        if sure.size and sure[0] == 0:  # as papers draw no point where the start is as good as optimal
            return None
        return Interval(float(clock[there[0]]), float(clock[sure[0]]) if sure.size else math.inf)


#: Titles of fields of a record whose names are not clear enough.
TITLES = {
    **{
        "cpu_seconds": "CPU seconds",
        "objective": "f",
        "nnz": "non-zero weights",
        "nnz_rows": "non-zero rows",
    },
    **{"n_samples": "instances", "n_features": "features", "n_outputs": "classes", "n_params": "weights"},
    **{"test_metric": "on the test part", "train_metric": "on the training part", "dual_gap": "proved bound"},
}


def _not_begun(run: ExhibitRun) -> Interval | None:
    """Return the bounds for a run without iterates: unknown if it was stopped, None if it failed."""
    return Interval.at_least(0.0) if run.record["status"] == "stopped" else None


def _since(
    case: Case,
    run: ExhibitRun,
    field: str,
    share: float,
    seconds: Sequence[float] = (),
    values: Sequence[float] = (),
) -> Interval | None:
    """Return the CPU seconds from which on ``values`` of a run stay close to their value at f*.

    That value is the ``field`` of the best run, and ``share`` the permitted relative difference. If the run
    never gets there, the seconds are infinite if it has ended by itself, and bounded from below otherwise.
    """
    ends = [one.record for one in case.runs.values() if one.record.get("objective") is not None]
    if not len(values) or not ends:
        return _not_begun(run)
    if not case.solved:
        return UNKNOWN_INTERVAL
    goal = min(ends, key=lambda record: record["objective"])[field]
    off = np.flatnonzero(np.abs(np.asarray(values, dtype=float) - goal) > share * abs(goal))
    if off.size and off[-1] == len(values) - 1:
        return Interval.exact(math.inf) if run.over else Interval.at_least(float(seconds[-1]))
    return Interval.exact(float(seconds[off[-1] + 1]) if off.size else 0.0)


def _of_all(run: ExhibitRun, field: str) -> Interval | None:
    """Return a mean over all iterates of a run; it is unknown if a limit ended the run."""
    trace = run.trace
    if trace is None or len(trace) < 2:
        return _not_begun(run)
    if not run.whole:
        return UNKNOWN_INTERVAL
    steps = float(trace.iteration[-1] - trace.iteration[0])
    value = float(trace.cpu_seconds[-1]) / steps if field == "pace" else float(np.mean(trace.nnz))
    return Interval.exact(value)


def _share(part: float | None, whole: float | None) -> float | None:
    return 100.0 * part / whole if part is not None and whole else None


def _steps(trace: Trace) -> np.ndarray:
    """Return the inner iterations of each iterate, 0 if there are none."""
    return np.maximum(np.asarray(trace.inner_iterations, dtype=float), 0.0)


def column(case: Case, run: ExhibitRun, name: str) -> np.ndarray:
    """Return a field of a trace, or a quantity derived from it, for each row; unknown values are NaN."""
    trace = run.trace
    assert trace is not None  # it has iterates
    if name == "gap":
        return np.asarray(relative_gap(trace.objective, case.f_star))
    if name in ("density", "rows"):
        whole = trace.info.problem["n_params" if name == "density" else "n_features"]
        return 100.0 * column(case, run, "nnz" if name == "density" else "nnz_rows") / whole
    if name == "direction_steps":
        return np.cumsum(_steps(trace))
    if name == "epochs":
        return np.maximum.accumulate(np.nan_to_num(1.0 + column(case, run, "epoch")))
    name = TRACE_COLUMNS.get(name, name)
    values = np.asarray(trace[name], dtype=float)
    return np.where(values == FIELDS[name].unknown, np.nan, values)
