"""How many epochs `prox-qn` takes, what ends each, and what would change their number.

    pytest -m bench tests/benchmarks/test_zhong.py -s

Figures and tables of Zhong et al. 2014 are run by `solverscope paper zhong2014`; the "3 to 5 epochs" of
section 2.3 are in none of them. A run ends at a gap of 1e-6 or after SOLVERSCOPE_BUDGET CPU seconds (900
where that is not set).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import Problem, Trace, relative_gap
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

BUDGET = float(os.environ.get("SOLVERSCOPE_BUDGET", "900"))
#: Gaps of the tables; a run ends at the last.
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)


def optimum() -> tuple[Problem, float]:
    """OCR at λ = 100, and the least f of a long run."""
    available, reason = datasets.DATASETS["ocr"].available()
    if not available:
        pytest.skip(f"OCR is not available: {reason}")
    problem = solvers.make_problem(datasets.load("ocr"), lam=100.0)
    solver = solvers.make_solver("prox-qn", memory=20)
    return problem, solvers.solve(problem, solver, tol=1e-8, max_seconds=4.0 * BUDGET).result["objective"]


def run(problem: Problem, f_star: float, **params: Any) -> Trace:
    solver = solvers.make_solver("prox-qn", **params)
    return solvers.solve(problem, solver, gap=GAPS[-1], f_star=f_star, max_seconds=BUDGET)


def gaps(trace: Trace) -> np.ndarray:
    return relative_gap(trace.objective, trace.info.f_star)


def at_gap(trace: Trace, gap: float, column: str = "cpu_seconds") -> float:
    """A column of the first iterate within the gap, infinite where there is none."""
    there = np.flatnonzero(gaps(trace) <= gap)
    return float(trace[column][there[0]]) if there.size else np.inf


#: What may change the number of epochs: the final aim, the factor from epoch to epoch, the first threshold.
VARIANTS = {
    "as it is": {},
    "aim 1e-6 instead of 1e-9": {"tol": 1e-6},
    "ε_s falls by 0.01 an epoch": {"cooling": 0.01},
    "ε_s starts at 0.01": {"cooling_start": 0.01},
    "M̂ of w = 0 at first": {"shrink_first": "on"},
}


def test_epochs_to_the_optimum() -> None:
    """Section 2.3 says 3 to 5: how many ours are, what ends each, and what would change their number."""
    problem, f_star = optimum()
    report = Report("Epochs of prox-qn: OCR, λ = 100")
    rows, traces = [], {}
    for name, params in VARIANTS.items():
        trace = run(problem, f_star, **params)
        epochs = [at_gap(trace, gap, "epoch") + 1 for gap in GAPS]
        rows.append([name, *(int(n) if np.isfinite(n) else None for n in epochs), at_gap(trace, GAPS[-1])])
        traces[name] = trace
    columns = ["prox-qn", *(f"epochs to {gap:g}" for gap in GAPS), f"CPU s to {GAPS[-1]:g}"]
    report.table("Epochs to a gap: OCR, λ = 100", columns, rows)
    report.table(
        "Epochs of prox-qn as it is",
        [
            "epoch",
            "first iteration",
            "iterations",
            "violation / that at 0",
            "smallest set",
            "returned",
            "gap",
        ],
        list(told(traces["as it is"], problem)),
    )
    report.note(
        "An epoch ends when the violation on the working set is ε_s times that at w = 0. ε_s starts at 0.1 "
        "and falls by 0.1 an epoch at least, so that epochs count decimal digits of the violation."
    )
    assert 3 <= at_gap(traces["as it is"], GAPS[-1], "epoch") + 1 <= 5


def told(trace: Trace, problem: Problem) -> Iterator[list[Any]]:
    """A row an epoch: where it began and with which violation over all weights, and what became of it."""
    for epoch in np.unique(trace.epoch):
        rows = np.flatnonzero(trace.epoch == epoch)
        known = trace.violation[rows[np.isfinite(trace.violation[rows])]]
        began = float(known[0]) / problem.violation_at_zero() if known.size else None
        first, last = rows[0], rows[-1]
        smallest = int(trace.working_set[rows].min())
        returned = int(trace.returned[rows].max())
        yield [
            int(epoch) + 1,
            int(trace.iteration[first]),
            len(rows),
            began,
            smallest,
            returned,
            float(gaps(trace)[last]),
        ]
