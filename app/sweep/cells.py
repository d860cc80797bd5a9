"""The task of a Dask worker: it builds the problem of a cell, runs the cell, and returns its results as
records."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from distributed import get_worker

from solverscope import solvers
from solverscope.app import plugins
from solverscope.app.runs import watchdog
from solverscope.app.runs.budget import budget
from solverscope.app.runs.packing import pack_rows
from solverscope.app.runs.problem_cache import LruCache
from solverscope.app.runs.reference import reference
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.cell_reporter import CellReporter
from solverscope.solvers.runs.lam_path import check_takes_lam, held_out_measures
from solverscope.solvers.traces.trace import plain

#: Data and problems of this process, the least recently used dropped where they take too much memory.
_shelf = LruCache(lambda: budget.kept)


class TimeSlice(NamedTuple):
    """The time that a cell may use in a sweep with a time limit.

    ``due`` is the system time at which the sweep must end, and ``share`` the fraction of the remaining
    seconds that the cell may use.
    """

    due: float
    share: float

    def limit(self, seconds: float | None) -> float:
        """Return the CPU seconds that a run may take: those of its time slice, but at most ``seconds`` unless
        None."""
        left = self.share * max(self.due - time.time(), 0.0)
        return left if seconds is None else min(seconds, left)


def run(
    key: str,
    cell: Experiment,
    sweep: str,
    f_star: Mapping[str, Any] | None,
    files: Sequence[str],
    turn: TimeSlice | None = None,
) -> dict[str, Any]:
    """Run a cell as a Dask task.

    Returns a dictionary of plain values: the packed ``rows`` of the trace, its ``about`` as JSON, its
    ``result``, test ``metrics``, ``status`` and ``message``. If the cell fails, status and message describe
    the failure.

    Parameters
    ----------
    key : str
        The key of the cell.
    cell : Experiment
        The cell.
    sweep : str
        Name of the Dask topic and variable of the sweep.
    f_star : mapping, optional
        The result of :func:`find_reference`.
    files : sequence of str
        Plug-ins that the solver may need.
    turn : TimeSlice, optional
        The cell's time slice, if the sweep has a time limit.
    """
    entrant = cell.entrant
    with CellReporter(get_worker(), sweep, key) as reporter:
        trace = solvers.Trace(solvers.RunInfo(entrant.label, entrant.id, entrant.params))
        try:
            plugins.load_all(files)
            trace = execute(cell, reporter, f_star, turn)
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
        "attempt": reporter.attempt,
        "about": json.dumps(trace.info.record(), default=str),
        "rows": pack_rows(rows),
        "result": plain(trace.result),
        "metrics": [list(measured) for measured in trace.test_metric],
        "status": trace.status,
        "message": trace.message,
    }


def execute(
    cell: Experiment, reporter: CellReporter, f_star: Mapping[str, Any] | None, turn: TimeSlice | None
) -> solvers.Trace:
    """Run a cell within its time slice and return its trace. Raises ValueError if the cell cannot be run."""
    problem = problem_of(cell.problem)
    reporter.pulse()
    if f_star is not None and "error" in f_star:
        raise ValueError(f_star["error"])
    cell.check(problem)
    run = cell.run(cell.entrant, problem, reporter, f_star)
    if turn is not None:
        run.stopping = replace(run.stopping, max_seconds=turn.limit(run.stopping.max_seconds))
    reporter.follow(run.trace)
    trace = watchdog.execute(run, reporter.heartbeat)
    trace.result |= held_out_measures(run)
    return trace


def problem_of(recipe: Recipe) -> solvers.Problem:
    """Return the problem of a recipe; data, and problems that differ only in λ, are cached by the process.

    Raises ValueError if the problem cannot be built.
    """
    source = Recipe(recipe.data, recipe.options, recipe.seed)
    shared = replace(recipe, lam=None, lam_ratio=None)
    data = _shelf.get(source.key, source.load)
    base = _shelf.get(shared.key, lambda: shared.make(data))
    lam = recipe.lam
    if recipe.lam_ratio is not None:
        check_takes_lam(base)
        if not base.lam_max:
            raise ValueError(f"{base.loss.id} with penalty {recipe.penalty} has no λ_max: give lam")
        lam = recipe.lam_ratio * base.lam_max
    return base if lam is None else base.at_lam(lam)


def find_reference(key: str, cell: Experiment, sweep: str, files: Sequence[str]) -> dict[str, Any]:
    """Compute f* of the problem of a cell, once for all cells that share the problem.

    Returns the record of f*; if it could not be computed, the only field is ``error``, the reason.
    """
    with CellReporter(get_worker(), sweep, f"f* of {key}") as reporter:
        try:
            plugins.load_all(files)
            return reference(problem_of(cell.problem), reporter).describe()
        except solvers.Interrupted:
            return {"error": "stopped while f* was solved for"}
        except (ValueError, OSError, MemoryError) as error:
            return {"error": f"f* is not known: {error}"}
