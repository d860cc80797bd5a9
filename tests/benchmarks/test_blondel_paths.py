"""Four objectives along ten λ: Figure 5 and Table 2 of Blondel et al. 2013 (section 5.3).

    pytest -m bench tests/benchmarks/test_blondel_paths.py -s

writes build/reports/blondel-paths.html (``-k`` takes a data set). Algorithm 1 begins with W = 0: so do the
runs of the table. Beside them stand runs that begin with the solution at the λ before. All times are CPU
seconds of one thread; a run gets SOLVERSCOPE_BUDGET of them (60 where that is not set), and the seconds of a
run that they ended count as a lower bound. Data sets that are not at hand are left out, with a line that says
so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import solvers
from solvers import Problem, Stopping, Trace, duality_gap, path_runs, relative_gap
from tests.benchmarks import verdicts
from tests.benchmarks.blondel import BUDGET, PRINTED, SETS, drawn, load, solved
from tests.benchmarks.report import Report, finite
from tests.benchmarks.verdicts import Bounds

pytestmark = pytest.mark.bench

#: Section 5.3: losses, and how the paper solved each; its remark on the line search of the last.
OBJECTIVES = {
    "MC squared hinge": ("multiclass-squared-hinge", "bcd-ls"),
    "MT squared hinge": ("multitask-squared-hinge", "bcd-ls"),
    "MC logistic": ("multiclass-logistic", "bcd-cst"),
    "MC logistic, LS": ("multiclass-logistic", "bcd-ls"),
}
STARTS = {"cold": "from W = 0, as Algorithm 1", "warm": "from the solution at the λ before"}
#: The paper's stop: τ of what the first pass meets, or K passes.
TAU, PASSES = 1e-3, 200
#: The paper's λ on Sector, and on all other sets.
SECTOR, OTHERS = np.geomspace(1e-2, 1e-4, 10), np.geomspace(1e-3, 1e-5, 10)
#: Table 2, seconds on a Xeon of 3.47 GHz: minimum, median and maximum, in the order of ``OBJECTIVES``.
TABLE_2 = {
    "Amazon7 (1,362,109 × 262,144)": (
        (285.93, 486.54, 1118.65),
        (655.53, 909.84, 1740.90),
        (4137.39, 5822.83, 6128.27),
    ),
    "RCV1 (534,135 × 47,236)": (
        (2962.82, 3901.58, 4581.33),
        (5089.91, 6300.77, 6556.67),
        (10413.47, 11540.80, 15055.57),
    ),
    "MNIST (70,000 × 780)": ((32.55, 55.25, 61.67), (42.74, 79.56, 99.37), (141.54, 260.30, 645.04)),
    "News20 (18,846 × 130,088)": ((50.46, 70.73, 75.08), (71.42, 93.82, 98.15), (172.94, 218.04, 244.62)),
    "Sector (9,619 × 55,197)": (
        (62.01, 167.01, 191.52),
        (251.57, 259.50, 273.85),
        (149.09, 532.30, 743.45),
    ),
}


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("Objectives along ten λ: Blondel, Seki and Uehara 2013, section 5.3")
    report.note(f"{BUDGET:g} CPU seconds a run, one thread. λ as in the paper: the loss is an average.")
    yield report
    report.write("blondel-paths.html")


@dataclass(frozen=True)
class Ended:
    """What is kept of a run: its result, and whether the budget ended it before the paper's stop did."""

    result: dict[str, Any]

    @classmethod
    def of(cls, trace: Trace) -> Ended:
        assert trace.status in ("converged", "max-iter", "max-seconds"), trace.message
        return cls(dict(trace.result))

    @property
    def cut(self) -> bool:
        return self.result["status"] == "max-seconds"

    def spent(self, field: str) -> Bounds:
        """Seconds or passes: at least what the budget allowed, where it ended the run."""
        value = float(self.result[field])
        return Bounds.at_least(value) if self.cut else Bounds.exact(value)

    def share(self, value: float) -> Bounds:
        """A share at the end, which can be anything where the run did not come to its end."""
        return Bounds(0.0, 1.0) if self.cut else Bounds.exact(value)


class Paths:
    """The four objectives along the ten λ of Table 2, over train-test splits, with the paper's stop."""

    def __init__(self, report: Report, name: str) -> None:
        self.lams = SECTOR if name == "sector" else OTHERS
        self.splits = 3 if drawn(name) else 1
        #: per objective and start, for each λ the runs of all splits
        self.runs: dict[tuple[str, str], list[list[Ended]]] = {}
        #: weights that the cold runs of the first split ended with, and their problems
        self.found: dict[str, list[tuple[Problem, np.ndarray]]] = {}
        for seed in range(self.splits):
            data = load(report, name, seed)
            self.n_features = data.train.X.shape[1]
            for objective, (loss, id) in OBJECTIVES.items():
                problem = solvers.make_problem(data, loss=loss, penalty="l1-l2", lam=self.lams[0])
                for start in STARTS:
                    traces = self.follow(problem, id, start)
                    into = self.runs.setdefault((objective, start), [[] for _ in self.lams])
                    for k, trace in enumerate(traces):
                        into[k].append(Ended.of(trace))
                        if seed == 0 and start == "cold":
                            at = problem.at_lam(self.lams[k])
                            self.found.setdefault(objective, []).append((at, trace.w))

    def follow(self, problem: Problem, id: str, start: str) -> Iterator[Trace]:
        """The finished runs at all λ, in order."""
        solver = solvers.make_solver(id, **PRINTED[id], tol=TAU, rule="paper")
        limits = Stopping(max_iter=PASSES, max_seconds=BUDGET)
        if start == "warm":
            for run in path_runs(problem, solver, self.lams, stopping=lambda at: limits):
                yield run.execute()
        else:
            for lam in self.lams:
                yield solvers.Run(problem.at_lam(lam), solver, stopping=limits).execute()

    def spent(self, objective: str, field: str, start: str = "cold") -> list[Bounds]:
        """Seconds or passes at each λ, mean over splits."""
        return [verdicts.mean([run.spent(field) for run in runs]) for runs in self.runs[objective, start]]

    def accuracies(self, objective: str) -> list[Bounds]:
        """Test accuracy at each λ, mean over splits."""
        return [
            verdicts.mean([run.share(run.result["test_metric"]) for run in runs])
            for runs in self.runs[objective, "cold"]
        ]

    def rows(self, objective: str) -> list[float]:
        """Non-zero rows in per cent at each λ, mean over splits."""
        counts = [[run.result["nnz_rows"] for run in runs] for runs in self.runs[objective, "cold"]]
        return [100.0 * float(np.mean(found)) / self.n_features for found in counts]

    def cut(self, objective: str, start: str = "cold", lams: slice = slice(None)) -> int:
        """Runs of all splits that the budget ended."""
        return sum(run.cut for runs in self.runs[objective, start][lams] for run in runs)

    def of_all_passes(self, objective: str, start: str) -> int:
        """Runs of all splits that the limit of passes ended."""
        return sum(run.result["status"] == "max-iter" for runs in self.runs[objective, start] for run in runs)

    def gap(self, objective: str, k: int) -> tuple[float, float]:
        """Bounds of the gap that the first split was left with at the k-th λ: against the best that is found
        from there on, and by duality."""
        problem, w = self.found[objective][k]
        better = solved(problem, "bcd-ls", {}, tol=1e-6, max_seconds=BUDGET, w0=w)
        point, f = problem.at(better.w), problem.at(w).objective
        f_low = point.objective - duality_gap(problem, point)
        return relative_gap(f, point.objective), relative_gap(f, f_low) if f_low > 0.0 else np.inf


@pytest.mark.parametrize("name", SETS)
def test_figure_5_and_table_2(report: Report, name: str) -> None:
    paths = Paths(report, name)
    about = f"ten λ from {paths.lams[0]:g} to {paths.lams[-1]:g}, mean of {paths.splits} split(s)"
    columns = ["objective", "start", "min s", "median s", "max s", "all ten λ, s", "passes", "cut", "at K"]
    report.table(f"Table 2 on {name}: {about}", columns, table_2(paths))
    report.note(
        f"Runs end when a pass meets {TAU:g} of what the first pass met, or after K = {PASSES} passes; those "
        "that the budget cut count as at least what they had. A warm run's first pass meets less, so it has "
        f"further to go. {'; '.join(f'{start}: {how}' for start, how in STARTS.items())}."
    )
    columns = ["λ", *(f"{o}: {what}" for o in OBJECTIVES for what in ("rows, %", "accuracy"))]
    curves = {
        o: (paths.rows(o), [value.low if value.known else np.nan for value in paths.accuracies(o)])
        for o in OBJECTIVES
    }
    points = [
        [float(lam), *(finite(curve[k]) for pair in curves.values() for curve in pair)]
        for k, lam in enumerate(paths.lams)
    ]
    report.table(f"Figure 5 on {name} (a dash: the budget ended a run)", columns, points)
    report.curves(f"Figure 5: {name}", "non-zero rows, %", "test accuracy", curves, log=False)
    columns = ["claim", "figures", "verdict", "besides"]
    report.table(f"What section 5.3 says, on {name}", columns, path_claims(paths))
    columns = ["objective", "λ", "CPU s", "passes", "gap at least", "at most"]
    report.table(f"What the paper's stop is worth on {name} (cold, first split)", columns, worth(paths))
    for runs in paths.runs.values():
        assert all(np.isfinite(run.result["objective"]) for each in runs for run in each)


def table_2(paths: Paths) -> list[list[Any]]:
    rows = []
    for objective in OBJECTIVES:
        for start in STARTS:
            seconds, passes = (paths.spent(objective, f, start) for f in ("cpu_seconds", "iterations"))
            summed = [how(seconds) for how in (verdicts.smallest, verdicts.median, verdicts.largest)]
            reach = f"{verdicts.smallest(passes)} - {verdicts.largest(passes)}"
            counts = paths.cut(objective, start), paths.of_all_passes(objective, start)
            rows.append([objective, start, *summed, verdicts.total(seconds), reach, *counts])
    return rows


def worth(paths: Paths) -> list[list[Any]]:
    """Gaps where a cold run took least, most, and about the median of the seconds."""
    rows = []
    for objective in OBJECTIVES:
        seconds, passes = (paths.spent(objective, field) for field in ("cpu_seconds", "iterations"))
        order = np.argsort([value.low for value in seconds], kind="stable")
        middle = order[(order.size - 1) // 2 : order.size // 2 + 1]
        for k in (order[0], *middle, order[-1]):
            low, high = paths.gap(objective, int(k))
            rows.append([objective, float(paths.lams[k]), seconds[k], passes[k], low, finite(high)])
    return rows


def path_claims(paths: Paths) -> list[list[str]]:
    """The paper's claims on objectives: our figures, whether they show it, and what else they show."""
    mc, mt, logistic, searched = OBJECTIVES

    def faster(claim: str, a: str, b: str) -> list[str]:
        first, second = (verdicts.median(paths.spent(objective, "cpu_seconds")) for objective in (a, b))
        known = first.known and second.known
        ratio = f"{second.low / first.low:.3g} times" if known else ""
        warm = " / ".join(str(verdicts.median(paths.spent(o, "cpu_seconds", "warm"))) for o in (a, b))
        word = verdicts.verdict(verdicts.less(first, second), paths.cut(a) + paths.cut(b))
        return [f"{claim} (median)", f"{first} / {second} s", word, f"{ratio}; warm {warm} s".lstrip("; ")]

    def earlier(claim: str, a: str, b: str) -> list[str]:
        first, second = (paths.spent(objective, "iterations")[0] for objective in (a, b))
        cut = sum(paths.cut(objective, lams=slice(1)) for objective in (a, b))
        word = verdicts.verdict(verdicts.less(first, second), cut)
        return [claim, f"{first} / {second} passes", word, ""]

    def better(claim: str, a: str, b: str, slack: float) -> list[str]:
        accuracies = paths.accuracies(a), paths.accuracies(b)
        return verdicts.better(claim, paths.lams, *accuracies, slack, paths.cut(a) + paths.cut(b))

    return [
        faster("MC hinge faster than MC logistic, in the paper 3 to 12 times", mc, logistic),
        faster("MC hinge faster than MT hinge", mc, mt),
        faster("MC logistic faster without a search", logistic, searched),
        earlier("MC hinge stops before MT at the first λ (paper, News20: 73 / 108)", mc, mt),
        better("MC hinge more accurate than MT", mc, mt, 0.0),
        better("MC hinge as accurate as MC logistic, up to 0.01", mc, logistic, 0.01),
    ]


def test_table_2_of_the_paper(report: Report) -> None:
    rows = [
        [name, *(" / ".join(f"{t:g}" for t in times) for times in found)] for name, found in TABLE_2.items()
    ]
    report.table(
        "Table 2 as printed: minimum / median / maximum, seconds", ["set", *list(OBJECTIVES)[:3]], rows
    )
    assert all(list(times) == sorted(times) for found in TABLE_2.values() for times in found)
