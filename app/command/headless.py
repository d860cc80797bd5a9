"""Runs without a page: solvers that run on a problem one after another, and their records."""

from __future__ import annotations

import faulthandler
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from solverscope import datasets, solvers
from solverscope.solvers.compatibility import describe_pair, refusal_of_pair
from solverscope.solvers.runs.endings import BROKEN, describe_bound
from solverscope.solvers.runs.lam_path import held_out_measures
from solverscope.solvers.traces.trace import iterate_line, plain, run_line, save

from .. import plugins
from ..runs import watchdog
from ..runs.reference import MAX_REFERENCE_SECONDS, Reference, distrust, reference
from ..settings.experiment import Experiment
from ..settings.recipe import RunLimits
from ..sweep.cluster import ClusterSpec
from . import signals, streams
from .exit_status import FAILED, FINISHED, INTERRUPTED, UNMET
from .progress_bar import ProgressBar
from .shards import crew_on, traffic

Emit = Callable[[dict[str, Any]], None]
#: CPU seconds that each solver may use for f*: a multiple of the limit of a run, and a minimum.
FOR_F_STAR, LEAST_FOR_F_STAR = 5.0, 60.0
#: Seconds after the limit of a run until the process is ended if compiled code holds Python's lock.
LOCKED_SECONDS = 30.0


class Interrupts:
    """A gate for runs that closes at the first signal to end; the second signal interrupts at once."""

    def __init__(self) -> None:
        self.wanted = False
        self._raised = False

    def pulse(self) -> None:
        if self.wanted:
            raise solvers.Interrupted

    def step(self, run: solvers.Run, iterate: solvers.Iterate) -> None:
        self.pulse()

    def listening(self) -> AbstractContextManager[None]:
        """Handle Ctrl-C and similar signals during the block, if it runs in the main thread."""
        return signals.handled_by(self._end)

    def _end(self, *_: object) -> None:
        if self.wanted and not self._raised:  # a third one would interrupt what the second began
            self._raised = True
            raise KeyboardInterrupt
        self.wanted = True


class RunExecutor(Interrupts):
    """An executor that runs solvers one after another and emits their records, except the results.

    ``status`` is the exit status.
    """

    def __init__(self, emit: Emit, progress: ProgressBar, require: Sequence[str] = ()) -> None:
        super().__init__()
        self.status = FINISHED
        self._emit, self._progress = emit, progress
        self._problem: solvers.Problem | None = None
        self._known: Reference | None = None
        self._require = require
        #: Whether it computes in the main thread, where nothing but a signal ends a loop without pulses.
        self._unwatched = False
        self._heard = time.monotonic()

    def _end(self, *about: object) -> None:
        super()._end(*about)
        if plugins.has_any():
            late = threading.Timer(watchdog.AFTER_STOP, lambda: self._unwatched and interrupt_main())
            late.daemon = True
            late.start()

    def step(self, run: solvers.Run, iterate: solvers.Iterate) -> None:
        self._heard = time.monotonic()
        super().step(run, iterate)

    def _heartbeat(self, run: solvers.Run) -> watchdog.Heartbeat:
        # a loop that holds Python's lock leaves nothing else to this thread
        if (limit := run.stopping.max_seconds) is not None:
            faulthandler.dump_traceback_later(limit + LOCKED_SECONDS, exit=True, file=2)
        return watchdog.Heartbeat(self._heard, self.wanted)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle Ctrl-C and similar signals during the block: they end the active run, and then the block."""
        try:
            with super().listening():
                self._unwatched = True
                yield
        except solvers.Interrupted:
            self.status = INTERRUPTED
        except BrokenPipeError:  # the reader of a pipe has closed it
            streams.abandon_output()
            self.status = INTERRUPTED
        finally:
            self._unwatched = False

    def reference(self, limits: RunLimits, problem: solvers.Problem) -> Reference | None:
        """Return f*, which is computed before the first run on a problem.

        Return None if the limits do not need it, or if an earlier run got below it.
        """
        if problem is not self._problem and limits.f_star is not None:
            self._known, self._problem = self._find(limits, problem), problem
            self._emit(self._known.describe())
        return self._known

    def _find(self, limits: RunLimits, problem: solvers.Problem) -> Reference:
        if limits.f_star != "auto":
            return Reference(float(limits.f_star), violation=None, gap=None, solver=None, cached=False)
        seconds = limits.max_seconds
        most = MAX_REFERENCE_SECONDS if seconds is None else max(LEAST_FOR_F_STAR, FOR_F_STAR * seconds)
        with self._progress.working("solving for f*"):
            try:
                known = reference(problem, self, most)
            except ValueError as error:
                raise ValueError(f"{error}: give f* as a number") from None
        said = [f"f* = {known.f_star:.12g} " + ("from the cache" if known.cached else f"by {known.solver}")]
        if known.violation is not None:
            reached = known.violation / (problem.violation_at_zero() or 1.0)
            said.append(f"violation {reached:.1e} relative to w = 0")
        if known.gap is not None:
            said.append(f"above the minimum by {known.gap:.1e} at most")
        self._progress.say(", ".join(said))
        return known

    def follow(self, run: solvers.Run) -> None:
        """Execute a run and emit its records.

        If there are plug-ins, it runs in a separate thread, which is abandoned if it ignores its limit or
        Ctrl-C.
        """
        self._emit(run_line(run.trace))
        with self._progress.working(f"{run.label}: compiling") as show:
            advance = partial(self._advance, run, show)
            if not plugins.has_any():
                advance()
                return
            self._heard, self._unwatched = time.monotonic(), False
            try:
                beat = partial(self._heartbeat, run)
                watchdog.execute(run, beat, advance=advance, say=self._progress.say)
            finally:
                faulthandler.cancel_dump_traceback_later()
                self._unwatched = True

    def _advance(self, run: solvers.Run, show: Callable[[str, float | None], None]) -> None:
        f_star = run.stopping.f_star
        with closing(run.steps()) as steps:
            for trace in steps:
                last = trace.last
                self._emit(iterate_line(trace, last))
                n, f = last["iteration"], last["objective"]
                if f_star is not None and solvers.undercuts(f, f_star):
                    self._progress.say(
                        f"{run.label}: f = {f:.12g} at iteration {n} is below f* = {f_star:.12g}: "
                        "that is not the minimum, so the gap to it ends nothing"
                    )
                    f_star = None
                show(f"{run.label}: iteration {n}, f = {f:.9g}", None)

    def conclude(self, run: solvers.Run) -> None:
        """Report the end of a run, after its result was emitted. Raises Interrupted after a signal to end."""
        f_star, known = run.stopping.f_star, self._known
        if f_star is not None and any(solvers.undercuts(f, f_star) for f in run.trace.objective):
            if known.solver is not None:
                distrust(self._problem)
            # solving again helps if it came from the disk; what was given or just solved for stays unknown
            self._known, self._problem = None, None if known.cached else self._problem
        result = run.trace.result
        cut = result["status"] in ("max-iter", "max-seconds") and result["dual_gap"] is not None
        proof = f"; {describe_bound(result['dual_gap'], result['objective'])}" if cut else ""
        self._progress.say(
            f"{run.label}: {result['status']} after {result['iterations']} iterations and "
            f"{result['cpu_seconds']:.3g} CPU s ({result['message']}{proof})"
        )
        self.pulse()
        if run.trace.status in BROKEN:
            self.status = FAILED
        for name in self._require:
            if (wrong := REQUIREMENTS[name](run)) is not None:
                self._progress.say(f"{run.label}: --require {name} is not met, since {wrong}")
                self.status = self.status or UNMET


def not_converged(run: solvers.Run) -> str | None:
    """Return how a run ended, or None if it converged."""
    return None if run.trace.status == "converged" else f"it ended as {run.trace.status}"


def no_proved_gap(run: solvers.Run) -> str | None:
    """Return why a run has no proved bound on f - f* within its limit ``gap``; return None if it has one."""
    result, most = run.trace.result, run.stopping.gap
    bound, objective = result["dual_gap"], result["objective"]
    if bound is None or run.trace.status in BROKEN:
        return "no bound of f - f* is proved"
    if most is not None and bound > most * max(abs(objective - bound), abs(objective)):
        return f"f is proved to be within {bound / abs(objective):.2g} of the minimum, not {most:g}"
    return None


#: Values of ``--require``, with functions that return why a run does not meet them, or None.
REQUIREMENTS = {"converged": not_converged, "gap": no_proved_gap}


def requirements(names: Sequence[str]) -> Sequence[str]:
    """Return the values of ``--require`` after checking them. Raises ValueError if one is unknown."""
    for name in names:
        if name not in REQUIREMENTS:
            raise ValueError(f"--require {name} is not possible: choose one of {', '.join(REQUIREMENTS)}")
    return names


def print_json(record: dict[str, Any]) -> None:
    """Write a record as a line of JSON to standard output, without buffering."""
    streams.put_json([plain(record)])


def execute(
    experiment: Experiment,
    emit: Emit,
    progress: ProgressBar,
    *,
    out: Path | None = None,
    shards: ClusterSpec | None = None,
    traces: list[solvers.Trace] | None = None,
    require: Sequence[str] = (),
) -> int:
    """Build the problem and run the solvers; return the exit status.

    Raises ValueError for invalid input, before anything is computed or printed.

    Parameters
    ----------
    experiment : Experiment
        The problem, the solvers and their limits.
    emit : callable
        Called with every record.
    progress : ProgressBar
        The display of the progress.
    out : Path, optional
        A file for the runs, which is also written after an error once a run has begun.
    shards : ClusterSpec, optional
        A cluster over whose workers the samples are split.
    traces : list, optional
        A list to which the traces are appended.
    require : sequence of str
        Keys of :data:`REQUIREMENTS` that each run must meet.
    """
    data = load([experiment], progress, sharded=shards is not None)
    with nullcontext() if shards is None else crew_on(shards, experiment.problem, data, progress) as crew:
        (problem,) = problems([experiment], data, progress, crew)
        progress.say(str(problem))
        emit(problem.describe())
        made: list[solvers.Trace] = [] if traces is None else traces
        executor = RunExecutor(emit, progress, require)
        # a second Ctrl-C ends a run at once, but not the writing of its file
        with Interrupts().listening():
            try:
                with executor.listening():
                    for entrant in experiment.entrants:
                        known = executor.reference(experiment.limits, problem)
                        run = experiment.run(entrant, problem, executor, known and known.describe())
                        made.append(run.trace)
                        if run.origin is not None:
                            progress.say(f"{run.label}: {run.origin.sentence(run.solver)}")
                        executor.follow(run)
                        run.trace.result |= held_out_measures(run)
                        emit(run.trace.result)
                        if crew is not None:
                            progress.say(f"{run.label}: {traffic(crew, len(run.trace))}")
                        executor.conclude(run)
            finally:
                if out is not None and made:
                    save(made, out)
    return executor.status


def load(
    experiments: Sequence[Experiment], progress: ProgressBar, *, sharded: bool = False
) -> datasets.Dataset:
    """Load the data that experiments share.

    Raises ValueError if that fails, or if a solver does not suit a loss and penalty. The latter is found
    before problems are built and workers are requested.
    """
    recipe = experiments[0].problem
    with progress.working(f"loading {recipe.data}") as show:
        data = recipe.load(show)
    weighted = data.sample_weight is not None
    for experiment in experiments:
        loss = experiment.problem.make_loss(data).id
        for entrant in experiment.entrants:
            penalty, uniform = experiment.problem.penalty or data.penalty, experiment.problem.uniform
            _check(entrant.id, loss, penalty, sharded=sharded, uniform=uniform, weighted=weighted)
    return data


def _check(solver: str, loss: str, penalty: str, **how: bool) -> None:
    """Raise ValueError if a solver does not suit a loss and penalty.

    ``how`` is passed on to :func:`solvers.why_not_solver`.
    """
    reason = solvers.why_not_solver(solver, loss, penalty, **how)
    if reason is not None:
        others = solvers.compatible(loss, penalty, **how)
        raise ValueError(refusal_of_pair(solver, reason, describe_pair(loss, penalty, **how), others))


def problems(
    experiments: Sequence[Experiment],
    data: datasets.Dataset,
    progress: ProgressBar,
    crew: solvers.WorkerPool | None = None,
) -> list[solvers.Problem]:
    """Build the problems of experiments on the same data.

    Raises ValueError if one cannot be built or run, for instance because it is too large for a solver.
    """
    with progress.working("preparing the problem"):
        made = [experiment.problem.make(data, workers=crew) for experiment in experiments]
    for experiment, problem in zip(experiments, made, strict=True):
        experiment.check(problem)
    return made
