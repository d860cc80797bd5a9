"""Runs that are made here, as those of a sweep are: records and traces of given numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solverscope.app.papers.measures import ExhibitRun
from solverscope.app.settings.recipe import Recipe
from solverscope.solvers import Trace

ENDS = ("objective", "nnz", "nnz_rows", "dual_gap", "test_metric")


def run(
    label: str,
    objective: Sequence[float],
    *,
    status: str = "converged",
    data: str = "a9a",
    lam: float | None = 1e-4,
    columns: Mapping[str, Sequence[float]] = {},
    **record: object,
) -> ExhibitRun:
    """A run whose k-th iterate comes after k CPU seconds."""
    rows = [
        {"iteration": k, "cpu_seconds": float(k), "objective": f, "passes": 2.0 * k}
        | {name: values[k] for name, values in columns.items()}
        for k, f in enumerate(objective)
    ]
    trace = Trace.from_records(rows, status=status)
    last = {name: rows[-1].get(name) for name in ENDS}
    clocks = {"iterations": len(rows) - 1, "cpu_seconds": float(len(rows) - 1)}
    problem = {"n_features": 100, "n_params": 200, "n_outputs": 2}
    return ExhibitRun(
        label,
        Recipe(data, lam=lam),
        last | clocks | {"status": status, "message": "", "problem": problem} | record,
        trace,
    )
