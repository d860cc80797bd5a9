"""Live runs, which are computed in the pool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import NamedTuple
from urllib.parse import urlencode

from solverscope.app.runs import pool
from solverscope.app.runs.displayed_run import UNFINISHED_STATUSES, DisplayedRun
from solverscope.app.runs.pool import PoolShare, PoolWorker
from solverscope.app.runs.start_barrier import StartBarrier
from solverscope.app.settings import wording
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import make_run
from solverscope.app.ui import run_styles
from solverscope.solvers import (
    BreakpointWatch,
    Condition,
    Iterate,
    Origin,
    Probe,
    Problem,
    Run,
    Solver,
    Stopping,
)
from solverscope.solvers.compute.threads import is_compiling, last_user_place

FINAL_STATES = ("finished", "stopped", "failed")
#: Period of the styles: a style so much larger has the same colour and dash.
STYLE_PERIOD = 24


class BreakpointHit(NamedTuple):
    """The iteration at which a run was paused, and the condition that became true there."""

    iteration: int
    condition: str


class LiveRun(DisplayedRun):
    """A solver that runs on a problem in the pool.

    Its states are queued, loading, compiling, ready, replaying, running, paused, finished, stopped and
    failed.

    Parameters
    ----------
    make_problem : callable
        Function of the pool's worker that returns the problem. It runs in the run's thread and may be slow.
    style : int
        Index of its colour and dash.
    experiment : Experiment, optional
        The experiment that the run belongs to.
    breaks : sequence of Condition
        The run is paused at iterates at which one of these becomes true.
    origin : Origin, optional
        The iterate of another run from which it continues.
    line : StartBarrier, optional
        The barrier at which it waits for the other runs of a race.
    outside : bool
        Whether its solver reports iterates of another program, which is not paused with the run.
    """

    _hit: BreakpointHit | None = None
    _run: Run | None = None
    _told: BreakpointHit | None = None

    def __init__(
        self,
        share: PoolShare,
        make_problem: Callable[[PoolWorker], Problem],
        solver: Solver,
        *,
        label: str,
        style: int = 0,
        experiment: Experiment | None = None,
        stopping: Callable[[Problem], Stopping] = lambda problem: Stopping(),
        probes: Sequence[Probe] = (),
        breaks: Sequence[Condition] = (),
        pace: float = 0.0,
        step: bool = False,
        origin: Origin | None = None,
        line: StartBarrier | None = None,
        outside: bool = False,
    ) -> None:
        self.label, self.solver, self.style, self.origin = label, solver, style, origin
        self._problem: Problem | None = None
        self._lam: float | None = None
        self._make_problem, self._stopping, self._probes = make_problem, stopping, probes
        self.experiment, self.outside, self._message = experiment, outside, ""
        self._watch, self._line = BreakpointWatch(breaks), line
        self.worker = share.start(self._work, name=f"run {label}", pace=pace, step=step)
        if line is not None:
            line.join(self.worker)

    def _work(self, worker: PoolWorker) -> None:
        self.worker = worker  # before `start` returns it
        try:
            problem = self._problem = self._make_problem(worker)
            run = make_run(
                problem,
                self.solver,
                self._stopping(problem),
                label=self.label,
                probes=self._probes,
                gate=self,
                origin=self.origin,
                ready=lambda: self._line.wait(worker) if self._line is not None else None,
            )
        except (ValueError, OSError, MemoryError) as error:
            self._message = str(error) or "out of memory: take a smaller problem"
            raise
        run_styles.set_style(run.trace, self.style)
        self._run, self.trace = run, run.trace
        if self._lam is not None:
            self.set_lam(self._lam)
        run.execute()

    def set_breaks(self, conditions: Sequence[Condition]) -> None:
        """Replace the conditions; the run pauses at iterates at which one of them becomes true."""
        self._watch = BreakpointWatch(conditions)

    # the gate of its solver, which pauses when a condition becomes true

    def pulse(self) -> None:
        self.worker.pulse()

    def step(self, run: Run, iterate: Iterate) -> None:
        if (condition := self._watch.hit(iterate)) is not None and not run.begins_at(iterate):
            self._hit = BreakpointHit(iterate.iteration, condition.text)
            self.worker.pause()
        self.worker.step(run, iterate)

    @property
    def setting(self) -> str:
        """Return the query string of the URL with the run's settings, or "" if its experiment is unknown."""
        return "" if self.experiment is None else urlencode(self.experiment.address())

    @property
    def problem(self) -> Problem | None:
        """Return the problem at the current λ, or None if it has not been built yet."""
        return self._problem if self._run is None else self._run.here

    def set_lam(self, lam: float) -> None:
        """Set λ from the next iterate on, or from the first if the run has not begun.

        Nothing changes if the penalty has no λ.
        """
        self._lam = lam
        if self._run is not None and self._run.here.penalty.takes_lam:
            self._run.set_lam(lam, self._stopping)

    @property
    def hit(self) -> BreakpointHit | None:
        """Return the condition that paused the run at the current iterate; None if it was not
        paused by one."""
        hit = self._hit if self.state == "paused" else None
        return hit if hit is not None and self.trace.last.get("iteration") == hit.iteration else None

    def new_hit(self) -> BreakpointHit | None:
        """Return :attr:`hit` at the first call after each pause, and None at later calls."""
        hit = self.hit
        if hit is None or hit is self._told:
            return None
        self._told = hit
        return hit

    @property
    def state(self) -> str:
        """Return the state of the run as the page displays it."""
        worker = self.worker
        over = worker.done.is_set()  # before the words, which are the final ones only then
        trace = self.trace
        status = trace.status if trace is not None else "queued"
        if over:
            if worker.error is not None:
                return "failed"
            return UNFINISHED_STATUSES.get(status, "finished") if trace is not None else "stopped"
        if worker.at_rest:
            return "paused"
        if not worker.started:
            return "queued"
        return status if status in ("compiling", "ready", "replaying", "running") else "loading"

    @property
    def word(self) -> str:
        """Return the state in a word or two; for a finished run, how it ended."""
        if self.state != "finished":
            return self.state
        return wording.of_ending(self.trace.status, self.trace.result)

    def fade(self, taken: Collection[int]) -> None:
        """Turn the run into a ghost, with its number in the history appended to its label.

        Its new style has the same colour and dash as before, and is not in ``taken``.
        """
        self.ghost = True
        self.label += f" #{self.id}" if self.id is not None else " before"
        self.style = next(k for k in count(self.style + STYLE_PERIOD, STYLE_PERIOD) if k not in taken)
        self.trace.tell(label=self.label)
        run_styles.set_style(self.trace, self.style, ghost=True)

    @property
    def silent(self) -> bool:
        """Return whether the solver has been computing for seconds without an iterate or a pulse; compilation
        is exempt."""
        silent = self._run is not None and self.worker.silent
        return silent and not is_compiling(self._run.stack)

    def stop(self) -> None:
        """Stop the run at its next pulse. If it does not respond, abandon it and keep its
        complete iterates."""
        if self._run is not None and (self.worker.abandoned or self.silent):
            self._run.abandon("failed", f"for {pool.SILENT_SECONDS:g} s")
        self.worker.stop()

    def forget(self) -> None:
        """Stop the run and release its observations, as the page may still refer to the run."""
        self.stop()
        if self.trace is not None:
            self.trace.probes.discard()

    @property
    def alive(self) -> bool:
        return not self.worker.done.is_set()

    @property
    def message(self) -> str:
        """Return why the run ended, is paused or waits; return "" if there is nothing to explain."""
        if self.worker.error is not None:
            return self._message or f"{type(self.worker.error).__name__}: {self.worker.error}"
        if (hit := self.hit) is not None:
            return f"paused at iteration {hit.iteration}, where {hit.condition}"
        if self.state == "ready":
            n = self._line.missing if self._line is not None else 0
            return f"waits for {n} of the others to load or compile" if n else ""
        if self.alive and self.silent:
            seconds, place = self.worker.silence, last_user_place(self._run.stack)
            return f"has not answered for {seconds:.0f} s: it computes at {place}; Stop abandons it"
        if self.alive and self.trace is not None and self.trace.status == "replaying":
            reached = max(self._run.replayed, 0)
            return f"{self.origin.sentence(self._run.solver)}: iteration {reached} is reached"
        return self.trace.message if self.trace is not None else ""
