"""Prox-QN with and without a head start, on every data available set, each at its own λ.

    pytest -m bench tests/benchmarks/test_head_start.py -s

``SOLVERSCOPE_SETS`` names some of them; ``SOLVERSCOPE_BUDGET`` gives the CPU seconds of a run (60).
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from solverscope import datasets, solvers
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

GAPS = (1e-1, 1e-2, 1e-4, 1e-6)
BUDGET = float(os.environ.get("SOLVERSCOPE_BUDGET", "60"))
#: Parameters of the runs that are compared.
STARTS = {
    "zero": {"start": "none"},
    "ftrl": {"start": "sgd"},
}
SETS = [n for n in os.environ.get("SOLVERSCOPE_SETS", "").split(",") if n] or [
    name for name, entry in datasets.DATASETS.items() if not name.startswith("toy")
]


def seconds_to(trace: solvers.Trace, f_star: float) -> list[float]:
    away = (trace.objective - f_star) / f_star
    return [float(trace.cpu_seconds[np.argmax(away <= g)]) if np.any(away <= g) else np.nan for g in GAPS]


def test_a_head_start_on_every_data_set() -> None:
    report = Report("Prox-QN with and without a head start")
    rows = []
    for name in SETS:
        if not datasets.DATASETS[name].available()[0]:
            continue
        problem = solvers.make_problem(datasets.load(name), penalty="l1")
        traces = {}
        for start, params in STARTS.items():
            solver = solvers.make_solver("prox-qn", **params)
            if solver.refuses(problem):
                continue
            traces[start] = solvers.solve(problem, solver, tol=1e-7, max_seconds=BUDGET)
        f_star = min(t.objective.min() for t in traces.values())
        plain = seconds_to(traces["zero"], f_star)
        for start, trace in traces.items():
            times = seconds_to(trace, f_star)
            ratio = [t / p for t, p in zip(times, plain, strict=True)]
            rows.append([name, problem.size, problem.loss.n_instances, start, *times, *ratio, len(trace) - 1])
            print(*(f"{v:.3g}" if isinstance(v, float) else v for v in rows[-1]), flush=True)
    columns = ["data", "weights", "instances", "start", *(f"{g:g}" for g in GAPS)]
    columns += [*(f"/ zero, {g:g}" for g in GAPS), "iterations"]
    report.table("CPU seconds of one thread", columns, rows)
    report.note("What is made once, X by rows among it, is off the clock, as in every run.")
    report.write("head-start.html")
    assert rows
