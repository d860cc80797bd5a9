"""Runs that are computed in the pool."""

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
    """The iterate at which a run was paused, and the condition that became true there."""

    iteration: int
    condition: str


class LiveRun(DisplayedRun):
    """One solver on one problem in the pool.

    ``make_problem(worker)`` is called in the run's thread, and may take long. ``style`` numbers the colour
    and the dash of the run, ``experiment`` leads back to it. It is paused when one of the conditions
    ``breaks`` becomes true. With an ``origin`` it is a branch of another run. At a ``line`` it waits for the
    others of its race. If it is ``outside``, its solver reports the iterates of another program's loop, and
    pausing it does not hold the loop. States: queued, loading, compiling, ready, replaying, running, paused,
    finished, stopped, failed.
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
        """Replace the conditions: the run pauses at iterates at which one of these begins to hold."""
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
        """Return the address of its settings, or ""."""
        return "" if self.experiment is None else urlencode(self.experiment.address())

    @property
    def problem(self) -> Problem | None:
        """Return its problem, at the current λ; None until it is made."""
        return self._problem if self._run is None else self._run.here

    def set_lam(self, lam: float) -> None:
        """Set λ from the next iterate on, if the penalty has one; before the run begins, from the first."""
        self._lam = lam
        if self._run is not None and self._run.here.penalty.takes_lam:
            self._run.set_lam(lam, self._stopping)

    @property
    def hit(self) -> BreakpointHit | None:
        """Return the iteration and the condition at which the run is paused; return None if it is not."""
        hit = self._hit if self.state == "paused" else None
        return hit if hit is not None and self.trace.last.get("iteration") == hit.iteration else None

    def new_hit(self) -> BreakpointHit | None:
        """Return :attr:`hit` once for each pause, and None at later calls."""
        hit = self.hit
        if hit is None or hit is self._told:
            return None
        self._told = hit
        return hit

    @property
    def state(self) -> str:
        """Return the state of the run, in the page's words."""
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
        """Return the state in a word or two; of a finished run, how it ended."""
        if self.state != "finished":
            return self.state
        return wording.of_ending(self.trace.status, self.trace.result)

    def fade(self, taken: Collection[int]) -> None:
        """Turn into a ghost with the history's label, in the old colour and dash."""
        self.ghost = True
        self.label += f" #{self.id}" if self.id is not None else " before"
        self.style = next(k for k in count(self.style + STYLE_PERIOD, STYLE_PERIOD) if k not in taken)
        self.trace.tell(label=self.label)
        run_styles.set_style(self.trace, self.style, ghost=True)

    @property
    def silent(self) -> bool:
        """Return whether the run computes, and its solver has neither yielded nor pulsed for seconds."""
        silent = self._run is not None and self.worker.silent
        return silent and not is_compiling(self._run.stack)

    def stop(self) -> None:
        """Stop the run at its next pulse; abandon it if it does not answer, and keep its whole iterates."""
        if self._run is not None and (self.worker.abandoned or self.silent):
            self._run.abandon("failed", f"for {pool.SILENT_SECONDS:g} s")
        self.worker.stop()

    def forget(self) -> None:
        """Stop the run, and release its observations: the page may keep a reference to it."""
        self.stop()
        if self.trace is not None:
            self.trace.probes.discard()

    @property
    def alive(self) -> bool:
        return not self.worker.done.is_set()

    @property
    def message(self) -> str:
        """Return why the run ended, is paused or waits, a sentence; return "" if there is no reason."""
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
