"""What is measured on the runs of an exhibit: problems with their runs, and numbers of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.papers.bounds import Bounds
from app.papers.groups import Groups
from app.settings.recipe import Recipe, text_of
from app.sweep.watched import Watched
from solvers import FIELDS, Trace, lower_bound, relative_gap
from solvers.compute.lazy import lazy

#: Endings of runs that went no further by themselves; all others were cut.
OVER = ("converged", "stalled", "unbounded")
#: What says how much work a run has done: the least it takes, where it was cut.
CLOCKS = ("cpu_seconds", "wall_seconds", "passes", "iterations", "direction_steps")
#: What a run that was cut would have made smaller, and how small at least.
FALLING = {"objective": -math.inf, "gap": 0.0}
#: Numbers that are made of others, and what they are called.
DERIVED = {
    "gap": "(f − f*)/|f*|",
    "density": "non-zero weights, %",
    "rows": "non-zero rows, %",
    "row_density": "non-zero weights of a non-zero row, %",
    "direction_steps": "direction-finding steps k",
    "settled": "CPU seconds until the non-zero rows are those at f*, up to a tenth",
    "learned": "CPU seconds until the test part is done as at f*, up to a hundredth",
}
#: Numbers of the clusters of weights.
OF_GROUPS = {
    "inside": "share of the variance inside clusters of weights, at most",
    "stays": "share of the variance inside clusters some iterates later, at most",
    "crossed": "mean share of weights that cross over to another cluster",
}
DERIVED |= OF_GROUPS
#: What a measure may read of a run, and of its problem.
SIZES = ("n_samples", "n_features", "n_outputs", "n_params")
MEASURED = (
    *DERIVED,
    *("objective", "violation", "dual_gap", "nnz", "nnz_rows", "iterations", "passes", "cpu_seconds"),
    *("wall_seconds", "train_metric", "test_metric", *SIZES),
)
#: Columns of a trace that have another name in the result of a run.
COLUMNS = {"iterations": "iteration"}


@dataclass(frozen=True)
class Run:
    """A run of an exhibit: its label, what it solved, its record, its trace, where there is one, and the
    groups of its weights, where these were looked at."""

    label: str
    problem: Recipe
    record: Mapping[str, Any]
    trace: Trace | None = None
    groups: Groups | None = None

    @classmethod
    def of(cls, watched: Watched) -> Run:
        return cls(watched.cell.entrant.label, watched.cell.problem, watched.record, watched.trace)

    @property
    def over(self) -> bool:
        """Tell whether it ended by itself, so that more time would change nothing."""
        return self.record.get("status") in OVER

    @property
    def whole(self) -> bool:
        """Tell whether it did all that it was to do: a number of iterations is part of an experiment, a limit
        of seconds is not."""
        return self.over or self.record.get("status") == "max-iter"


@dataclass(frozen=True)
class Case:
    """A problem with its runs by label. f* is the least f that any of them found."""

    problem: Recipe
    runs: Mapping[str, Run]

    @property
    def name(self) -> str:
        """Name the problem in a few words: data, and λ if it has one."""
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
    def unsure(self) -> float | None:
        """Return how far f* may be above the minimum, relative, as far as a run has proved it."""
        proved = [-math.inf]
        for run in self.runs.values():
            f, gap = run.record.get("objective"), run.record.get("dual_gap")
            if f is not None and gap is not None:
                proved.append(lower_bound(f, gap))
            if run.trace is not None and np.isfinite(run.trace.dual_gap).any():
                proved.append(float(np.nanmax(lower_bound(run.trace.objective, run.trace.dual_gap))))
        bound = max(proved)
        return max(relative_gap(self.f_star, bound), 0.0) if math.isfinite(bound) else None


def cases(runs: Iterable[Run]) -> list[Case]:
    """Put runs on the same problem together, in their order."""
    found: dict[str, Case] = {}
    for run in runs:
        case = found.setdefault(run.problem.key, Case(run.problem, {}))
        case.runs[run.label] = run
    return list(found.values())


def by_data(found: Iterable[Case]) -> dict[str, list[Case]]:
    """Put problems on the same data together, whatever their loss, penalty and λ; by the data's name."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        groups.setdefault(case.problem.data_text, []).append(case)
    return groups


def first_seeds(found: Iterable[Case]) -> list[Case]:
    """Leave out problems that differ from one before in the seed alone."""
    groups: dict[str, Case] = {}
    for case in found:
        groups.setdefault(replace(case.problem, seed=0).key, case)
    return list(groups.values())


@dataclass(frozen=True)
class Measure:
    """A number of a run: a ``field`` of its record, at the end, or where its gap first was at most ``to``; of
    iterates of one ``phase`` alone where that is given."""

    field: str = "cpu_seconds"
    to: float | None = None
    phase: str = ""

    def __post_init__(self) -> None:
        if self.field not in MEASURED:
            raise ValueError(f"there is no measure {self.field!r}: choose one of {', '.join(MEASURED)}")
        if (self.to is not None or self.phase) and self.field not in CLOCKS:
            raise ValueError(f"{self.field} is no count of work: with to and phase, {', '.join(CLOCKS)} are")

    @property
    def title(self) -> str:
        """Return what is measured in a few words."""
        name = DERIVED.get(self.field) or TITLES.get(self.field) or self.field.replace("_", " ")
        name += f", phase {self.phase}" if self.phase else ""
        return name + (f", to a gap of {self.to:g}" if self.to is not None else "")

    def number(self, case: Case, label: str) -> Bounds | None:
        """Return the number for a run of a problem; None where there is no such run, or it does not know."""
        run = case.runs.get(label)
        if run is None or not run.record:
            return None
        if self.to is None and not self.phase:
            return self._at_end(case, run)
        return self._on_the_way(case, run)

    def known(self, case: Case, labels: Iterable[str]) -> list[Bounds]:
        """Return the numbers of these runs, as far as they are known."""
        return [value for label in labels if (value := self.number(case, label)) is not None]

    def _at_end(self, case: Case, run: Run) -> Bounds | None:
        record = run.record
        problem = record.get("problem") or {}
        match self.field:
            case "gap":
                f = record.get("objective")
                value = None if f is None else max(relative_gap(f, case.f_star), 0.0)
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
            case "settled":
                seconds, rows = (getattr(run.trace, name, ()) for name in ("cpu_seconds", "nnz_rows"))
                return _since(case, run, "nnz_rows", 0.1, seconds, rows)
            case "learned":
                told = run.trace.test_metric if run.trace is not None else []
                return _since(case, run, "test_metric", 0.01, *zip(*(one[1:] for one in told), strict=True))
            case "direction_steps":
                value = None if run.trace is None else float(_steps(run.trace).sum())
            case name:
                value = problem.get(name) if name in SIZES else record.get(name)
        if value is None:
            return _not_begun(run) if self.field in CLOCKS else None
        if not run.whole and self.field in CLOCKS:
            return Bounds.at_least(float(value))
        if not run.whole and self.field in FALLING:  # what it had, it would have made smaller
            return Bounds(FALLING[self.field], float(value))
        return Bounds.exact(float(value))

    def _on_the_way(self, case: Case, run: Run) -> Bounds | None:
        trace = run.trace
        if trace is None or not len(trace):
            return _not_begun(run)
        clock = column(case, run, self.field)
        if self.phase:
            inside = np.array([phase == self.phase for phase in trace.phase])
            clock = np.cumsum(np.where(inside, np.diff(clock, prepend=0.0), 0.0))
        if self.to is None:
            return Bounds.exact(float(clock[-1])) if run.whole else Bounds.at_least(float(clock[-1]))
        there = np.flatnonzero(relative_gap(trace.objective, case.f_star) <= self.to)
        if there.size:
            return Bounds.exact(float(clock[there[0]]))
        return Bounds.exact(math.inf) if run.over else Bounds.at_least(float(clock[-1]))


#: What fields of a record are called, where their names do not say it.
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


def _not_begun(run: Run) -> Bounds | None:
    """Return what is known of a run without iterates: that it had no time; None where it failed."""
    return Bounds.at_least(0.0) if run.record["status"] == "stopped" else None


def _since(
    case: Case,
    run: Run,
    field: str,
    share: float,
    seconds: Sequence[float] = (),
    values: Sequence[float] = (),
) -> Bounds | None:
    """Return the CPU seconds from which on values of a run stay within a share of what ``field`` is at f*."""
    ends = [one.record for one in case.runs.values() if one.record.get("objective") is not None]
    if not len(values) or not ends:
        return _not_begun(run)
    goal = min(ends, key=lambda record: record["objective"])[field]
    off = np.flatnonzero(np.abs(np.asarray(values, dtype=float) - goal) > share * abs(goal))
    if off.size and off[-1] == len(values) - 1:
        return Bounds.exact(math.inf) if run.over else Bounds.at_least(float(seconds[-1]))
    return Bounds.exact(float(seconds[off[-1] + 1]) if off.size else 0.0)


def _share(part: float | None, whole: float | None) -> float | None:
    return 100.0 * part / whole if part is not None and whole else None


def _steps(trace: Trace) -> np.ndarray:
    """Return the inner iterations of each iterate, 0 where there were none."""
    return np.maximum(np.asarray(trace.inner_iterations, dtype=float), 0.0)


def column(case: Case, run: Run, name: str) -> np.ndarray:
    """Return a field of a trace, or what is made of it, over its rows; nan where it is not known."""
    trace = run.trace
    if name == "gap":
        return np.asarray(relative_gap(trace.objective, case.f_star))
    if name in ("density", "rows"):
        whole = trace.info.problem["n_params" if name == "density" else "n_features"]
        return 100.0 * column(case, run, "nnz" if name == "density" else "nnz_rows") / whole
    if name == "direction_steps":
        return np.cumsum(_steps(trace))
    name = COLUMNS.get(name, name)
    values = np.asarray(trace[name], dtype=float)
    return np.where(values == FIELDS[name].unknown, np.nan, values)
