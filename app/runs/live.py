"""A run as the page knows it: made in the pool, with a state, and a trace as soon as there is one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import NamedTuple
from urllib.parse import urlencode

from solverscope.app import looks
from solverscope.app.runs.pool import Share, Worker
from solverscope.app.runs.shown import UNFINISHED, Shown
from solverscope.app.runs.start import StartingLine
from solverscope.app.settings import words
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import make_run
from solverscope.solvers import Condition, Iterate, Origin, Probe, Problem, Run, Solver, Stopping, Watch

FINAL = ("finished", "stopped", "failed")
#: Numbers of styles after which colours and dashes come again.
ROUND = 24


class Hit(NamedTuple):
    """The iterate at which a run was held, and the condition that began to hold there."""

    iteration: int
    condition: str


class LiveRun(Shown):
    """One solver on one problem in the pool.

    ``make_problem(worker)`` is called in the run's thread, and may take long. ``style`` numbers the colour
    and the dash of the run, ``experiment`` leads back to it. It is paused where one of the conditions
    ``breaks`` begins to hold. With an ``origin`` it is a branch of another run. At a ``line`` it waits for
    the others of its race. The solver of one that is ``outside`` tells what a loop of another program does:
    pausing it holds what is looked at, and not the loop. States: queued, loading, compiling, ready,
    replaying, running, paused, finished, stopped, failed.
    """

    _hit: Hit | None = None
    _run: Run | None = None
    _told: Hit | None = None

    def __init__(
        self,
        share: Share,
        make_problem: Callable[[Worker], Problem],
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
        line: StartingLine | None = None,
        outside: bool = False,
    ) -> None:
        self.label, self.solver, self.style, self.origin = label, solver, style, origin
        self._problem: Problem | None = None
        self._lam: float | None = None
        self._make_problem, self._stopping, self._probes = make_problem, stopping, probes
        self.experiment, self.outside, self._message = experiment, outside, ""
        self._watch, self._line = Watch(breaks), line
        self.worker = share.start(self._work, name=f"run {label}", pace=pace, step=step)
        if line is not None:
            line.join(self.worker)

    def _work(self, worker: Worker) -> None:
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
        looks.give(run.trace, self.style)
        self._run, self.trace = run, run.trace
        if self._lam is not None:
            self.set_lam(self._lam)
        run.execute()

    def set_breaks(self, conditions: Sequence[Condition]) -> None:
        """Pause where one of these conditions begins to hold, and no longer where others do."""
        self._watch = Watch(conditions)

    # the gate of its solver, which is held where a condition begins to hold

    def pulse(self) -> None:
        self.worker.pulse()

    def step(self, run: Run, iterate: Iterate) -> None:
        if (condition := self._watch.hit(iterate)) is not None and not run.begins_at(iterate):
            self._hit = Hit(iterate.iteration, condition.text)
            self.worker.pause()
        self.worker.step(run, iterate)

    @property
    def setting(self) -> str:
        """Return the address that leads back to it; empty where there is none."""
        return "" if self.experiment is None else urlencode(self.experiment.address())

    @property
    def problem(self) -> Problem | None:
        """Return its problem, at the λ of now; None until it is made."""
        return self._problem if self._run is None else self._run.here

    def set_lam(self, lam: float) -> None:
        """Go on at another λ from the next iterate on, if the penalty has one; of a run that is not begun
        yet, from its first one on."""
        self._lam = lam
        if self._run is not None and self._run.here.penalty.takes_lam:
            self._run.set_lam(lam, self._stopping)

    @property
    def hit(self) -> Hit | None:
        """Return where, and by which condition, the run is held; None while it is not."""
        hit = self._hit if self.state == "paused" else None
        return hit if hit is not None and self.trace.last.get("iteration") == hit.iteration else None

    def new_hit(self) -> Hit | None:
        """Return the same, once."""
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
            return UNFINISHED.get(status, "finished") if trace is not None else "stopped"
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
        return words.of_ending(self.trace.status, self.trace.result)

    def fade(self, taken: Collection[int]) -> None:
        """Become a ghost, called as the history calls it, in its old colour and dash; ``taken`` are the
        numbers of styles of other runs, of which it gets none."""
        self.ghost = True
        self.label += f" #{self.id}" if self.id is not None else " before"
        self.style = next(k for k in count(self.style + ROUND, ROUND) if k not in taken)
        self.trace.tell(label=self.label)
        looks.give(self.trace, self.style, ghost=True)

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
        """Say why it ended or is held, or what is wrong, in a sentence; else empty while it lives."""
        if self.worker.error is not None:
            return self._message or f"{type(self.worker.error).__name__}: {self.worker.error}"
        if (hit := self.hit) is not None:
            return f"paused at iteration {hit.iteration}, where {hit.condition}"
        if self.state == "ready":
            n = self._line.missing if self._line is not None else 0
            return f"waits for {n} of the others to load or compile" if n else ""
        if self.alive and self.trace is not None and self.trace.status == "replaying":
            reached = max(self._run.replayed, 0)
            return f"{self.origin.sentence(self._run.solver)}: iteration {reached} is reached"
        return self.trace.message if self.trace is not None else ""
