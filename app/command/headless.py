"""Runs without a page: one problem, some solvers, one after another, with their records as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import datasets
import solvers
from solvers.runs.trace import iterate_line, plain, run_line, save

from ..runs.reference import MOST_SECONDS, Reference, distrust, reference
from ..settings.experiment import Experiment
from ..settings.recipe import Limits
from . import signals, streams
from .exit_status import FAILED, FINISHED, INTERRUPTED
from .progress_bar import Progress
from .shards import Shards, traffic

Emit = Callable[[dict[str, Any]], None]
#: Times the limit of a run that each solver may take for f*, and CPU seconds that it may take in any case.
FOR_F_STAR, LEAST_FOR_F_STAR = 5.0, 60.0


class Interrupts:
    """A gate for runs that the first signal to end closes; the second one interrupts at once."""

    def __init__(self) -> None:
        self.wanted = False

    def pulse(self) -> None:
        if self.wanted:
            raise solvers.Interrupted

    def step(self, run: solvers.Run, iterate: solvers.Iterate) -> None:
        self.pulse()

    def listening(self) -> AbstractContextManager[None]:
        """Take Ctrl-C and its like from here on, in the main thread."""
        return signals.handled_by(self._end)

    def _end(self, *_: object) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON line on standard output, at once."""
    streams.put_json([plain(record)])


def execute(
    experiment: Experiment,
    emit: Emit,
    progress: Progress,
    *,
    out: Path | None = None,
    shards: Shards | None = None,
    traces: list[solvers.Trace] | None = None,
) -> int:
    """Make the problem, run the solvers, hand every record to ``emit``; returns the exit status.

    ``out`` is written whatever happens once a run has begun; rows are split over the ``shards``, if any.
    The runs are added to ``traces``.
    Raises ValueError for bad input, before anything is computed or printed.
    """
    data = load([experiment], progress, sharded=shards is not None)
    with nullcontext() if shards is None else shards.hired(experiment.problem, data, progress) as crew:
        (problem,) = problems([experiment], data, progress, crew)
        progress.say(sentence(problem))
        emit(problem.describe())
        made: list[solvers.Trace] = [] if traces is None else traces

        def runs(interrupts: Interrupts) -> Iterator[solvers.Run]:
            known, wanted = None, True

            def reference() -> Mapping[str, Any] | None:
                nonlocal known, wanted
                if wanted:
                    known, wanted = find_reference(experiment.limits, problem, interrupts, progress), False
                    if known is not None:
                        emit(known.describe())
                return None if known is None else known.describe()

            for run in experiment.runs(problem, interrupts, reference):
                made.append(run.trace)
                if run.origin is not None:
                    progress.say(f"{run.label}: {run.origin.sentence(run.solver)}")
                yield run
                if known is not None and below_f_star(run):
                    # solving again helps if it came from the disk; what was given or just solved for stays
                    known, wanted = None, known.cached

        def finish(run: solvers.Run) -> None:
            emit(run.trace.result)
            if crew is not None:
                progress.say(f"{run.label}: {traffic(crew, len(run.trace))}")
            if experiment.limits.f_star == "auto" and below_f_star(run):
                distrust(problem)

        # a second Ctrl-C ends a run at once, but not the writing of its file
        with Interrupts().listening():
            try:
                return follow_all(runs, emit, progress, finish)
            finally:
                if out is not None and made:
                    save(made, out)


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


def load(experiments: Sequence[Experiment], progress: Progress, *, sharded: bool = False) -> datasets.Dataset:
    """Load the data that experiments share. ValueError if that is not possible, or one of the solvers does
    not take the losses and penalties on them: that is known before a problem is made, or a worker asked for
    shards."""
    recipe = experiments[0].problem
    with progress.working(f"loading {recipe.data}") as show:
        data = recipe.load(show)
    for experiment in experiments:
        loss = experiment.problem.make_loss(data).id
        for entrant in experiment.entrants:
            _check(entrant.id, loss, experiment.problem.penalty or data.penalty, sharded=sharded)
    return data


def _check(solver: str, loss: str, penalty: str, *, sharded: bool) -> None:
    reason = solvers.why_not_solver(solver, loss, penalty, sharded=sharded)
    if reason is not None:
        fitting = solvers.compatible(loss, penalty, sharded=sharded)
        advice = f"choose one of {', '.join(fitting)}" if fitting else "choose another loss or penalty"
        given = f"{loss} with penalty {penalty}" + (" on shards" if sharded else "")
        raise ValueError(f"solver {solver} {reason}, unlike {given}: {advice}")


def problems(
    experiments: Sequence[Experiment],
    data: datasets.Dataset,
    progress: Progress,
    crew: solvers.Crew | None = None,
) -> list[solvers.Problem]:
    """Make the problems of experiments, on the same data. ValueError if they are not possible, or too large
    for one of the solvers."""
    with progress.working("preparing the problem"):
        made = [experiment.problem.make(data, crew=crew) for experiment in experiments]
    for experiment, problem in zip(experiments, made, strict=True):
        experiment.check(problem)
    return made


def find_reference(
    limits: Limits, problem: solvers.Problem, interrupts: Interrupts, progress: Progress
) -> Reference | None:
    """Return f* as the limits want it; None if they want none."""
    if limits.f_star is None:
        return None
    if limits.f_star != "auto":
        return Reference(float(limits.f_star), violation=None, gap=None, solver=None, cached=False)
    with progress.working("solving for f*"):
        try:
            seconds = limits.max_seconds
            most = MOST_SECONDS if seconds is None else max(LEAST_FOR_F_STAR, FOR_F_STAR * seconds)
            known = reference(problem, interrupts, most)
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
