"""What shards cost: bytes on the wires an iteration, and wall and CPU seconds against the run of one process.

pytest -m bench tests/benchmarks/test_shards.py -s

Bytes are those of arrays and numbers; the envelope that Dask puts around a message is not in them. Shards are
processes of a cluster on this machine.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.cluster import ClusterSpec
from solverscope.app.sweep.shard_crew import hired
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

#: Numbers of shards; the run of one process comes before.
COUNTS = (1, 2, 4)
ITERATIONS = 40
#: Data, loss, how the problem is made, solver.
RUNS = [
    ("synthetic-text", {"positive": "topic 1"}, "logistic", {"penalty": "l1", "lam_ratio": 0.05}, "prox-qn"),
    ("a9a", {}, "binary-hinge", {"penalty": "l2", "lam": 1e-4}, "sublbfgs"),
    ("digits", {}, "multiclass-squared-hinge", {"penalty": "l1-l2", "lam": 0.01}, "fista-ls"),
    ("ocr", {}, "chain-crf", {"penalty": "l1", "lam": 100.0}, "prox-qn"),
]


def timed(
    problem: solvers.Problem, solver: str, crew: Counting | None
) -> tuple[solvers.Trace, dict[str, Any]]:
    """A run, after a short one that compiles all: its trace, wall seconds, and medians over iterations."""
    solvers.solve(problem, solvers.make_solver(solver), max_iter=2)
    run = solvers.Run(problem, solvers.make_solver(solver), stopping=solvers.Stopping(max_iter=ITERATIONS))
    counts, began = [], 0.0
    for _ in run.steps():
        began = began or time.perf_counter()
        counts.append((crew.moved, crew.at_root, crew.asked) if crew is not None else (0, 0, 0))
    wall = time.perf_counter() - began
    moved, at_root, asked = np.median(np.diff(counts, axis=0), axis=0)
    return run.trace, {"wall": wall, "moved": int(moved), "at_root": int(at_root), "asked": float(asked)}


class Counting:
    """A crew whose questions are counted."""

    def __init__(self, crew: solvers.WorkerPool) -> None:
        self._crew, self.asked = crew, 0

    def __len__(self) -> int:
        return len(self._crew)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crew, name)

    def ask(self, *order: Any) -> Any:
        self.asked += 1
        return self._crew.ask(*order)


def test_bytes_of_an_iteration_and_what_shards_cost():
    report = Report("Rows split over shards")
    rows: list[list[Any]] = []
    for id, options, loss, how, solver in RUNS:
        data = datasets.load(id, **options)
        recipe = Recipe(id, options, loss=loss)
        alone: tuple[float, float] | None = None
        for count in (None, *COUNTS):
            with ExitStack() as stack:
                crew = None
                if count is not None:
                    crew = Counting(stack.enter_context(hired(ClusterSpec(workers=count), recipe, count)))
                problem = solvers.make_problem(data, loss=loss, workers=crew, **how)
                trace, found = timed(problem, solver, crew)
            cpu, median = trace.cpu_seconds[-1], int(np.median(trace.working_set))
            alone = alone or (found["wall"], cpu)
            wire = [found["moved"], found["at_root"], found["asked"]] if count else [None] * 3
            row = [f"{loss}, {solver}", count, problem.design.n_rows, problem.size, median, *wire]
            rows.append([*row, found["wall"], found["wall"] / alone[0], cpu, cpu / alone[1]])
            if count:  # members and weights go out, gradients come back, and a few numbers a question
                size = median if solver == "prox-qn" else problem.size
                assert found["moved"] <= count * (24.5 * size + 3000 * (found["asked"] + 1))
    columns = ["loss, solver", "K", "rows", "weights", "|A|", "bytes", "at root", "asked"]
    columns += ["wall s", "to K = –", "CPU s", "to K = –"]
    report.table(
        "Medians of an iteration: working set, bytes on the wires, questions; and the cost of the run",
        columns,
        rows,
    )
    report.write("shards.html")
