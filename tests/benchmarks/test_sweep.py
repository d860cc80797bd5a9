"""Sweeps on two worker processes against one process: the same objectives, in how much of its time.

pytest -m bench tests/benchmarks/test_sweep.py -s
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from solverscope import datasets, solvers
from solverscope.app.runs.packing import pack_rows
from solverscope.app.settings.experiment import Experiment
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.cells import problem_of
from solverscope.app.sweep.cluster import ClusterSpec
from solverscope.app.sweep.driver import SweepDriver
from solverscope.app.sweep.spec import Spec

pytestmark = pytest.mark.bench

#: Share of the time of one process that two may take when runs take three seconds or more.
SHARE, LEAST_SECONDS = 0.7, 3.0
GRID = {
    "data": ["breast-cancer", {"id": "digits", "positive": "3"}, "a9a"],
    "loss": "logistic",
    "lam_ratio": {"from": 0.5, "to": 0.005, "n": 5},
    "penalty": "l1",
    "solvers": ["prox-qn", "owl-qn", "fista-ls", "sparsa"],
    "limits": {"max_iter": 30},
}


def swept(given: dict, folder: Path) -> tuple[SweepDriver, float]:
    """A finished sweep on two single-thread processes, and the seconds that it took, start and end of the
    cluster included."""
    sweep, began = SweepDriver(Spec.of(given), ClusterSpec(workers=2), Store(folder)), time.perf_counter()
    sweep.run()
    return sweep, time.perf_counter() - began


def alone(cell: Experiment) -> solvers.Trace:
    """The same run in this process."""
    solver = cell.entrant.make()
    return solvers.solve(problem_of(cell.problem), solver, max_iter=cell.limits.max_iter, tol=cell.limits.tol)


def test_sixty_cells_have_the_objectives_of_runs_in_one_process(tmp_path):
    sweep, seconds = swept(GRID, tmp_path / "grid")
    assert len(sweep.cells) == 3 * 5 * 4
    nbytes = rows = 0
    for watched in sweep.cells.values():
        trace = alone(watched.cell)
        assert list(watched.trace.objective) == list(trace.objective), watched.cell
        nbytes += len(pack_rows(trace.since(None)[0]))
        rows += len(trace)
    print(f"\n60 cells in {seconds:.1f} s; {nbytes / rows:.0f} bytes an iterate, {nbytes / 60:.0f} a cell")


def test_two_processes_take_at_most_seven_tenths_of_the_time_of_one(tmp_path):
    data = datasets.load("digits")
    problem = solvers.make_problem(data)
    solvers.solve(problem, solvers.make_solver("prox-gd"), tol=0.0, max_iter=3)  # compiles
    trial = solvers.solve(problem, solvers.make_solver("prox-gd"), tol=0.0, max_iter=300)
    n = int(300 * 1.6 * LEAST_SECONDS / trial.result["cpu_seconds"])
    ratios = [0.1 * 0.8**k for k in range(16)]
    given = {
        "data": "digits",
        "solvers": "prox-gd",
        "lam_ratio": ratios,
        "limits": {"max_iter": n, "tol": 0.0},
    }
    spec = Spec.of(given)
    began = time.perf_counter()
    taken = [alone(cell).result["cpu_seconds"] for cell in spec.cells]
    one = time.perf_counter() - began
    assert min(taken) >= LEAST_SECONDS
    sweep, two = swept(given, tmp_path / "long")
    assert {watched.status for watched in sweep.cells.values()} == {"max-iter"}
    cells = f"{len(taken)} cells of {min(taken):.1f} to {max(taken):.1f} CPU s"
    print(f"\n{cells}: {one:.1f} s in one process, {two:.1f} s in two")
    assert two <= SHARE * one
