"""The command ``path``: for every objective and solver, runs over a range of λ with warm starts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solverscope import datasets, solvers
from solverscope.solvers.compute.atomic_files import replacing
from solverscope.solvers.runs.lam_path import measured, path_runs
from solverscope.solvers.traces.records import for_spreadsheet
from solverscope.solvers.traces.trace import plain

from ..settings.experiment import Experiment
from ..sweep.lam_selection import by_parts, check_parts, choices, lams_of_part
from .exit_status import INTERRUPTED
from .headless import Emit, Interrupts, RunExecutor, load, problems
from .progress_bar import ProgressBar

#: Function of a record and, for a result, the weights.
Keep = Callable[[dict[str, Any], np.ndarray | None], None]


class PathTask(NamedTuple):
    """An experiment with its problem and the λ at which it is solved.

    ``places`` are the λ under which its results enter the selection of λ.
    """

    experiment: Experiment
    problem: solvers.Problem
    lams: list[float]
    places: list[float]


def execute(
    experiments: Sequence[Experiment],
    emit: Emit,
    progress: ProgressBar,
    *,
    lams: Callable[[solvers.Problem], list[float]] = solvers.log_spaced,
    iterates: bool = True,
    choose: bool = False,
    folds: int = 0,
    out: Path | None = None,
    require: Sequence[str] = (),
) -> int:
    """Compute the path of every solver on every objective; return the exit status.

    Raises ValueError for invalid input, before anything is computed or printed.

    Parameters
    ----------
    experiments : sequence of Experiment
        Experiments that differ only in loss and penalty.
    emit : callable
        Called with every record. At each λ these are ``problem``, ``reference`` if f* is requested, ``run``,
        ``iterate``, and ``result``, with the fields of :func:`solverscope.solvers.runs.lam_path.measured`.
    progress : ProgressBar
        The display of the progress.
    lams : callable
        Function of a problem that returns its λ in order.
    iterates : bool
        Whether records of iterates are emitted.
    choose : bool
        Whether the λ that does best on held-out data is selected, and emitted as a record ``choice`` at the
        end.
    folds : int
        Number of folds for this selection, whose paths emit no records; 0 selects by the test part.
    out : Path, optional
        A file for the same records (.jsonl), or for one row per λ (.csv, or .npz with the weights).
    require : sequence of str
        As for runs.
    """
    parts = [list(by_parts(one, folds)) for one in experiments] if folds else []
    if folds:
        recipe = experiments[0].problem
        check_parts(recipe.data, datasets.describe(recipe.data).parse(recipe.options))
        load([parts[0][0]], progress)  # data may have too few instances for so many parts
    made = problems(experiments, load(experiments, progress), progress)
    if choose and not folds and not made[0].has_test:
        raise ValueError("no λ can be chosen: these data have no test part, see --folds, or the option split")
    objectives = []
    for experiment, problem in zip(experiments, made, strict=True):
        values = lams(problem)
        objectives.append(PathTask(experiment, problem, values, values))
    # a second Ctrl-C ends a run at once, but not the writing of its file
    with Interrupts().listening(), _file(out) as keep:

        def tell(record: dict[str, Any], w: np.ndarray | None = None) -> None:
            if record["type"] != "iterate" or iterates:
                emit(record)
                keep(record, w)

        status, measures = _follow(objectives, tell, progress, require)
        measures = [] if folds else measures
        for k, held_out in enumerate(zip(*parts, strict=True), 1):
            if status == INTERRUPTED:
                break
            progress.say(f"part {k} of {folds} held out")
            ended, found = _follow(_of_part(objectives, held_out, progress), None, progress)
            status = max(status, ended)
            measures += found
        for choice in choices(measures) if choose and status != INTERRUPTED else ():
            tell(choice)
        return status


def _of_part(
    objectives: Sequence[PathTask], held_out: Sequence[Experiment], progress: ProgressBar
) -> list[PathTask]:
    """Return the objectives on the data without the fold that the experiments hold out."""
    made = problems(held_out, load(held_out, progress), progress)
    return [
        PathTask(experiment, problem, lams_of_part(whole.lams, whole.problem, problem), whole.lams)
        for whole, experiment, problem in zip(objectives, held_out, made, strict=True)
    ]


def _follow(
    objectives: Sequence[PathTask],
    tell: Callable[..., None] | None,
    progress: ProgressBar,
    require: Sequence[str] = (),
) -> tuple[int, list[dict[str, Any]]]:
    """Compute all paths, and call ``tell``, if given, with their records.

    Returns the exit status, and the results in the form of :func:`.lam_selection.choices`.
    """
    emit = tell or (lambda record, w=None: None)
    executor, measures = RunExecutor(emit, progress, require), list[dict[str, Any]]()
    limits = objectives[0].experiment.limits

    def stopping(problem: solvers.Problem) -> solvers.Stopping:
        if tell is not None:
            progress.say(str(problem))
        emit(problem.describe())
        known = executor.reference(limits, problem)
        return limits.stopping(None if known is None else known.f_star)

    with executor.listening():
        for experiment, problem, lams, places in objectives:
            for entrant in experiment.entrants:
                how = {"label": entrant.label, "stopping": stopping, "gate": executor}
                runs = path_runs(problem, entrant.make(), lams, **how)
                for run, lam in zip(runs, places, strict=True):
                    executor.follow(run)
                    found = run.trace.result | measured(run)
                    emit(found, run.trace.w)
                    about = {"dataset": problem.describe()["dataset"], "options": experiment.problem.options}
                    place = {"solver": run.solver.id, "lam": lam, "lam_ratio": None}
                    measures.append(found | about | place)
                    executor.conclude(run)
    return executor.status, measures


@contextmanager
def _file(path: Path | None) -> Iterator[Keep]:
    """Yield a function that receives records for the file.

    The file is written at the end of the context, also after an error once a run has begun.
    """
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    weights: list[np.ndarray] = []
    began, form = False, None if path is None else path.suffix

    def keep(record: dict[str, Any], w: np.ndarray | None) -> None:
        nonlocal began
        began = began or record["type"] == "run"
        if form == ".jsonl":
            lines.append(json.dumps(plain(record)))
        elif form is not None and record["type"] == "result":
            rows.append({name: value for name, value in plain(record).items() if name != "type"})
            if form == ".npz":
                weights.append(np.empty(0) if w is None else w)

    try:
        yield keep
    finally:
        if form == ".jsonl" and began:
            with replacing(path, encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        elif rows and form == ".csv":
            _write_csv(rows, path)
        elif rows:
            _write_npz(rows, weights, path)


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    with replacing(path, encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({name: for_spreadsheet(value) for name, value in row.items()} for row in rows)


def _write_npz(rows: list[dict[str, Any]], weights: list[np.ndarray], path: Path) -> None:
    """Write an array for each field, with NaN or "" for unknown values, and the weights of all rows.

    The ``w_size[k]`` weights of row k are zero except at ``w_indices[w_starts[k]:w_starts[k + 1]]``.
    """
    supports = [np.flatnonzero(w) for w in weights]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    with replacing(path, "wb") as file:
        np.savez_compressed(
            file,
            **{name: _column(values) for name, values in columns.items()},
            w_size=np.array([w.size for w in weights]),
            w_starts=np.cumsum([0, *(support.size for support in supports)]),
            w_indices=np.concatenate(supports),
            w_values=np.concatenate([w[support] for w, support in zip(weights, supports, strict=True)]),
        )


def _column(values: list[Any]) -> np.ndarray:
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else value for value in values], dtype=np.str_)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
