"""What a worker does for a cell: makes its problem from names and numbers, runs it, returns what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import get_worker

import datasets
import solvers
from app import plugins
from app.runs.budget import budget
from app.runs.library import Shelf
from app.runs.packing import pack_rows
from app.runs.reference import reference
from app.sweep.courier import Courier
from app.sweep.spec import Cell
from solvers.runs.path import check_takes_lam
from solvers.runs.trace import plain

#: Data and problems of this process, the least recently used dropped where they take too much memory.
_shelf = Shelf(lambda: budget.kept)


def run(
    plain_cell: Mapping[str, Any], sweep: str, f_star: Mapping[str, Any] | None, files: Sequence[str]
) -> dict[str, Any]:
    """Run a cell as a Dask task; ``f_star`` is what :func:`find_reference` has found, ``files`` are plug-ins.

    Returns plain values: the trace's ``rows`` packed, what stands ``about`` it as JSON, its ``result``, test
    ``metrics``, ``status`` and ``message``. Whatever goes wrong with the cell is a result too.
    """
    cell = Cell.of(plain_cell)
    with Courier(get_worker(), sweep, cell.key) as courier:
        trace = solvers.Trace({"label": cell.label, "solver": cell.solver, "params": dict(cell.params)})
        try:
            plugins.load_all(files)
            trace = _execute(cell, courier, f_star)
        except solvers.Interrupted:
            trace.finish("stopped", "stopped before its first iterate")
        except MemoryError:
            trace.finish("failed", "out of memory: take a smaller problem, or fewer workers")
        except (ValueError, OSError) as error:
            trace.finish("failed", str(error))
        except Exception as error:  # of a plug-in: the other cells go on
            trace.finish("failed", f"{type(error).__name__}: {error}")
    rows, _, _ = trace.since(None)
    return {
        "attempt": courier.attempt,
        "about": json.dumps(trace.info, default=str),
        "rows": pack_rows(rows),
        "result": plain(trace.result),
        "metrics": [list(measured) for measured in trace.test_metric],
        "status": trace.status,
        "message": trace.message,
    }


def _execute(cell: Cell, courier: Courier, f_star: Mapping[str, Any] | None) -> solvers.Trace:
    problem = problem_of(cell)
    courier.pulse()
    limits = dict(cell.limits)
    if f_star is not None:
        if "error" in f_star:
            raise ValueError(f_star["error"])
        limits["f_star"] = f_star["f_star"]
    stopping = solvers.Stopping(**limits).or_usual()
    solver = solvers.make_solver(cell.solver, **cell.params)
    if reason := solver.refuses(problem):
        raise ValueError(f"solver {cell.solver} refuses this problem: {reason}")
    if cell.limits["tol"] is not None and (reason := solvers.why_no_tol(problem, solver.knows)):
        raise ValueError(f"a tol of {cell.limits['tol']:g} {reason}")
    solver = solver.towards(stopping.tol)
    run = solvers.Run(problem, solver, label=cell.label, stopping=stopping, gate=courier)
    run.trace.info["cell"] = cell.key
    if f_star is not None:
        run.trace.info["reference"] = dict(f_star)
    courier.follow(run.trace)
    return run.execute()


def problem_of(cell: Cell) -> solvers.Problem:
    """Make the problem of a cell; data, and problems that differ in λ alone, are made once a process.

    Raises ValueError, one sentence.
    """
    source = cell.data, _items(cell.options), cell.seed
    data = _shelf.get(source, lambda: datasets.load(cell.data, seed=cell.seed, **cell.options))

    def make() -> solvers.Problem:
        return solvers.make_problem(
            data,
            **{name: getattr(cell, name) for name in ("loss", "penalty", "average")},
            loss_params=cell.loss_params,
            penalty_params=cell.penalty_params,
        )

    kind = cell.loss, _items(cell.loss_params), cell.penalty, _items(cell.penalty_params), cell.average
    base = _shelf.get((source, kind), make)
    lam = cell.lam
    if cell.lam_ratio is not None:
        check_takes_lam(base)
        if not base.lam_max:
            raise ValueError(f"{base.loss.id} with penalty {cell.penalty} has no λ_max: give lam")
        lam = cell.lam_ratio * base.lam_max
    return base if lam is None else base.at_lam(lam)


def find_reference(plain_cell: Mapping[str, Any], sweep: str, files: Sequence[str]) -> dict[str, Any]:
    """Solve for f* of the problem of a cell, once for all that share it; ``error`` says why it failed."""
    cell = Cell.of(plain_cell)
    with Courier(get_worker(), sweep, f"f* of {cell.key}") as courier:
        try:
            plugins.load_all(files)
            return reference(problem_of(cell), courier.pulse).describe()
        except solvers.Interrupted:
            return {"error": "stopped while f* was solved for"}
        except (ValueError, OSError, MemoryError) as error:
            return {"error": f"f* is not known: {error}"}


def _items(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(values.items()))
