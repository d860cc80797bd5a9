"""Runs without a page: one problem, some solvers, one after another, with their records as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import solvers
from solvers.runs.trace import iterate_line, plain, run_line, save

from ..runs.reference import Reference, distrust, reference
from . import signals, streams
from .exit_status import FAILED, FINISHED, INTERRUPTED
from .progress import Progress
from .resume import Resumed
from .shards import Shards, traffic

Emit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """What one call of ``solverscope run`` asks for.

    ``entrants``: labels and solvers; ``limits``: those of :class:`solvers.Stopping`; ``f_star``: a number,
    "auto" (look it up, or solve for it) or None; ``options``: those of the data set; ``problems``: for each,
    the keywords of :func:`solvers.make_problem`; ``resumed``: the iterate from which all runs go on;
    ``shards``: those that the rows are split over, if any.
    """

    dataset: str
    entrants: Sequence[tuple[str, solvers.Solver]]
    limits: dict[str, Any] = field(default_factory=dict)
    f_star: float | str | None = None
    options: dict[str, str] = field(default_factory=dict)
    problems: Sequence[dict[str, Any]] = ({},)
    seed: int = 0
    out: Path | None = None
    resumed: Resumed | None = None
    shards: Shards | None = None


class Interrupts:
    """A gate for runs that the first signal to end closes; the second one interrupts at once."""

    def __init__(self) -> None:
        self.wanted = False

    def pulse(self) -> None:
        if self.wanted:
            raise solvers.Interrupted

    def step(self, run: solvers.Run, iterate: solvers.Iterate) -> None:
        self.pulse()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C and its like from here on, in the main thread."""
        with signals.handled_by(self._end):
            yield

    def _end(self, *_: object) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON line on standard output, at once."""
    streams.put(json.dumps(plain(record)) + "\n")


def execute(task: Task, emit: Emit, progress: Progress) -> int:
    """Make the problem, run the solvers, hand every record to ``emit``; returns the exit status.

    ``task.out`` is written whatever happens once a run has begun. Raises ValueError for bad input, before
    anything is computed or printed.
    """
    data = load(task, progress)
    with nullcontext() if task.shards is None else task.shards.hired(task, data, progress) as crew:
        (problem,) = problems(task, data, progress, crew)
        return _execute(task, problem, emit, progress, crew)


def _execute(
    task: Task, problem: solvers.Problem, emit: Emit, progress: Progress, crew: solvers.Crew | None
) -> int:
    origin = None
    if task.resumed is not None:
        task.resumed.check(problem)
        origin = task.resumed.origin
    progress.say(sentence(problem))
    emit(problem.describe())
    traces: list[solvers.Trace] = []

    def runs(interrupts: Interrupts) -> Iterator[solvers.Run]:
        known, wanted = None, True
        for label, solver in task.entrants:
            if wanted:
                known, wanted = find_reference(task, problem, interrupts, progress), False
                if known is not None:
                    emit(known.describe())
            stopping = limits(task, known)
            solver = solver.towards(stopping.tol)
            run = solvers.Run(problem, solver, label=label, stopping=stopping, gate=interrupts, origin=origin)
            if known is not None:
                run.trace.info["reference"] = known.describe()
            traces.append(run.trace)
            if origin is not None:
                progress.say(f"{label}: {origin.sentence(solver)}")
            yield run
            if known is not None and below_f_star(run):
                # solving anew helps where it came from the disk; what was given, or just solved for, stays
                known, wanted = None, known.cached

    def finish(run: solvers.Run) -> None:
        emit(run.trace.result)
        if crew is not None:
            progress.say(f"{run.label}: {traffic(crew, len(run.trace))}")
        if task.f_star == "auto" and below_f_star(run):
            distrust(problem)

    # a second Ctrl-C ends a run at once, but not the writing of its file
    with Interrupts().listening():
        try:
            return follow_all(runs, emit, progress, finish)
        finally:
            if task.out is not None and traces:
                save(traces, task.out)


def follow_all(
    runs: Callable[[Interrupts], Iterator[solvers.Run]],
    emit: Emit,
    progress: Progress,
    finish: Callable[[solvers.Run], None],
) -> int:
    """Execute the runs that ``runs(gate)`` gives, one after another; returns the exit status.

    All records but the result go to ``emit``; ``finish(run)`` sees to that. Ctrl-C, or a signal like it, ends
    the run at work and all that were to come.
    """
    interrupts, status = Interrupts(), FINISHED
    try:
        with interrupts.listening():
            for run in runs(interrupts):
                _follow(run, emit, progress, finish)
                if interrupts.wanted:
                    return INTERRUPTED
                if run.trace.status == "failed":
                    status = FAILED
    except solvers.Interrupted:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has closed it
        streams.abandon_output()
        return INTERRUPTED
    return status


def load(task: Task, progress: Progress) -> datasets.Dataset:
    """Load the task's data. ValueError if that is not possible, or one of the solvers does not take the
    losses and penalties on them: that is known before a problem is made, or a worker asked for shards."""
    datasets.describe(task.dataset).parse(task.options)  # before they become keywords of load
    with progress.working(f"loading {task.dataset}") as show:
        data = datasets.load(task.dataset, seed=task.seed, progress=show, **task.options)
    for keywords in task.problems:
        loss = solvers.make_loss(data, keywords.get("loss"), keywords.get("loss_params", {})).id
        for _, solver in task.entrants:
            _check(solver, loss, keywords.get("penalty") or data.penalty, sharded=task.shards is not None)
    return data


def _check(solver: solvers.Solver, loss: str, penalty: str, *, sharded: bool) -> None:
    reason = solvers.why_not_solver(solver.id, loss, penalty, sharded=sharded)
    if reason is not None:
        fitting = solvers.compatible(loss, penalty, sharded=sharded)
        advice = f"choose one of {', '.join(fitting)}" if fitting else "choose another loss or penalty"
        given = f"{loss} with penalty {penalty}" + (" on shards" if sharded else "")
        raise ValueError(f"solver {solver.id} {reason}, unlike {given}: {advice}")


def problems(
    task: Task, data: datasets.Dataset, progress: Progress, crew: solvers.Crew | None = None
) -> list[solvers.Problem]:
    """Make the task's problems, on the same data. ValueError if they are not possible, or too large for one
    of the solvers."""
    with progress.working("preparing the problem"):
        made = [solvers.make_problem(data, crew=crew, **keywords) for keywords in task.problems]
    for problem in made:
        for _, solver in task.entrants:
            if reason := solver.refuses(problem):
                raise ValueError(f"solver {solver.id} refuses this problem: {reason}")
            if task.limits.get("tol") is not None and (reason := solvers.why_no_tol(problem, solver.knows)):
                raise ValueError(f"--tol {task.limits['tol']:g} {reason}")
    return made


def find_reference(
    task: Task, problem: solvers.Problem, interrupts: Interrupts, progress: Progress
) -> Reference | None:
    """Return f* as the task wants it; None if it wants none."""
    if task.f_star is None:
        return None
    if task.f_star != "auto":
        return Reference(float(task.f_star), violation=None, gap=None, solver=None, cached=False)
    with progress.working("solving for f*"):
        try:
            known = reference(problem, interrupts.pulse)
        except ValueError as error:
            raise ValueError(f"{error}: give f* as a number") from None
    said = [f"f* = {known.f_star:.12g} " + ("from the cache" if known.cached else f"by {known.solver}")]
    if known.violation is not None:
        reached = known.violation / (problem.violation_at_zero() or 1.0)
        said.append(f"violation {reached:.1e} relative to w = 0")
    if known.gap is not None:
        said.append(f"above the minimum by {known.gap:.1e} at most")
    progress.say(", ".join(said))
    return known


def limits(task: Task, known: Reference | None) -> solvers.Stopping:
    """Return the limits of a run of the task; there is no gap without f*."""
    if known is None:
        return solvers.Stopping(**{**task.limits, "gap": None}).or_usual()
    return solvers.Stopping(f_star=known.f_star, **task.limits).or_usual()


def below_f_star(run: solvers.Run) -> bool:
    """Tell whether an iterate got below the run's f*, which so is not the minimum."""
    f_star, objectives = run.stopping.f_star, run.trace.objective
    return f_star is not None and any(solvers.undercuts(f, f_star) for f in objectives)


def _follow(run: solvers.Run, emit: Emit, progress: Progress, finish: Callable[[solvers.Run], None]) -> None:
    emit(run_line(run.trace))
    with progress.working(f"{run.label}: compiling") as show, closing(run.steps()) as steps:
        f_star = run.stopping.f_star
        for trace in steps:
            last = trace.last
            emit(iterate_line(trace, last))
            if f_star is not None and solvers.undercuts(last["objective"], f_star):
                progress.say(
                    f"{run.label}: f = {last['objective']:.12g} at iteration {last['iteration']} is below "
                    f"f* = {f_star:.12g}: that is not the minimum, so the gap to it ends nothing"
                )
                f_star = None
            show(f"{run.label}: iteration {last['iteration']}, f = {last['objective']:.9g}", None)
    finish(run)
    result = run.trace.result
    proof = "" if result["dual_gap"] is None else f"; f is at most {result['dual_gap']:.2g} above the minimum"
    progress.say(
        f"{run.label}: {result['status']} after {result['iterations']} iterations and "
        f"{result['cpu_seconds']:.3g} CPU s ({result['message']}{proof})"
    )


def sentence(problem: solvers.Problem) -> str:
    """Describe the problem in a line."""
    about = problem.describe()
    strength = "" if about["lam"] is None else f", λ = {about['lam']:.6g}"
    return (
        f"{about['dataset']}: {about['n_samples']:,} instances, {about['n_params']:,} weights, "
        f"{about['loss']} with {about['penalty']}{strength}"
    )
