"""A run as the page knows it: made in the pool, with a state, and a trace as soon as there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.runs.pool import Share, Worker
from solvers import Probe, Problem, Run, Solver, Stopping, Trace

FINAL = ("finished", "stopped", "failed")
#: The trace's final words that the page calls "stopped" and "failed"; all others are "finished".
_UNFINISHED = {"stopped": "stopped", "failed": "failed"}
#: How the page words those final words of a trace that are no words of the field.
ENDINGS = {"max-seconds": "out of time", "max-iter": "iteration limit"}


class LiveRun:
    """One solver on one problem in the pool.

    ``make_problem(worker)`` is called in the run's thread, and may take long. ``style`` numbers the colour
    and the dash of the run. States: queued, loading, compiling, running, paused, finished, stopped, failed.
    """

    def __init__(
        self,
        share: Share,
        make_problem: Callable[[Worker], Problem],
        solver: Solver,
        *,
        label: str,
        style: int = 0,
        stopping: Callable[[Problem], Stopping] = lambda problem: Stopping(),
        probes: Sequence[Probe] = (),
        pace: float = 0.0,
        step: bool = False,
    ) -> None:
        self.label, self.solver, self.style = label, solver, style
        self.problem: Problem | None = None
        self.trace: Trace | None = None
        self._make_problem, self._stopping, self._probes = make_problem, stopping, probes
        self._message = ""
        self.worker = share.start(self._work, name=f"run {label}")
        self.worker.set_pace(pace)
        if step:
            self.worker.step_once()

    def _work(self, worker: Worker) -> None:
        try:
            self.problem = self._make_problem(worker)
            if reason := self.solver.refuses(self.problem):
                raise ValueError(reason)
            stopping = self._stopping(self.problem)
        except (ValueError, OSError, MemoryError) as error:
            self._message = str(error) or "out of memory: take a smaller problem"
            raise
        run = Run(
            self.problem,
            self.solver.towards(stopping.tol),
            label=self.label,
            stopping=stopping,
            probes=self._probes,
            gate=worker,
        )
        run.trace.info["style"] = self.style
        self.trace = run.trace
        run.execute()

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
            return _UNFINISHED.get(status, "finished") if trace is not None else "stopped"
        if worker.paused:
            return "paused"
        if not worker.started:
            return "queued"
        return status if status in ("compiling", "running") else "loading"

    @property
    def word(self) -> str:
        """Return the state in a word or two; of a finished run, how it ended."""
        if self.state != "finished":
            return self.state
        return ENDINGS.get(self.trace.status, self.trace.status)

    def forget(self) -> None:
        """Stop the run, and give back the memory of its observations now: the page may refer to it for
        long."""
        self.worker.stop()
        if self.trace is not None:
            self.trace.probes.discard()

    @property
    def alive(self) -> bool:
        return not self.worker.done.is_set()

    @property
    def message(self) -> str:
        """Say why it ended, or what is wrong, in a sentence; empty while it lives."""
        if self.worker.error is not None:
            return self._message or f"{type(self.worker.error).__name__}: {self.worker.error}"
        return self.trace.message if self.trace is not None else ""
