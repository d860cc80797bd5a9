"""Advancing a solver: clocks, recording, limits, interruption. A solver knows nothing of this."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..compute.blas import one_blas_thread
from ..compute.jit import compile_clock
from ..methods.iterate import Ending, Iterate
from ..problems import optimality
from ..problems.certificate import duality_gap
from ..problems.crew import ShardLost
from ..problems.point import Point
from .branch import Diverged, Iterates, Origin, branch, taken_over
from .breakpoints import Watch
from .probes import Probe, ProbeStore
from .segments import change
from .stopping import Stopping
from .trace import Trace, plain

if TYPE_CHECKING:
    from ..methods.solver import Solver
    from ..problems.problem import Problem

#: Weights up to this length are copied at every iterate: what a stopped run leaves is a whole iterate.
COPIED = 2_000_000
#: Share of a run's CPU time that may go into test metrics, and into violations or gaps that its solver does
#: not know.
METRIC_SHARE = 0.02
OPTIMALITY_SHARE = 0.03
#: Test metrics kept of a run, at most.
MEASURED = 2_000


class Interrupted(Exception):
    """Raised by the pulse inside a long computation when the run is to end now."""


class Gate(Protocol):
    """Who decides when a run may go on. Both calls may block, or raise :class:`Interrupted`; neither touches
    the run's clock."""

    def pulse(self) -> None:
        """Pause or interrupt: called every 50 ms or so from inside long computations."""

    def step(self, run: Run, iterate: Iterate) -> None:
        """Pause or interrupt: called after each recorded iterate, with all that the run knows of it: the
        fields of its record, also those that the solver does not know, and its live references."""


class Allowance:
    """Work beside the solver's, off its clock: at most a share of what the solver computes."""

    def __init__(self, share: float) -> None:
        self._share = share
        self.spent = self._last = 0.0

    def allows(self, cpu: float) -> bool:
        """Tell whether, after so many CPU seconds of the solver, the work may be done once more."""
        return self.spent + self._last <= self._share * cpu

    @contextlib.contextmanager
    def booked(self) -> Iterator[None]:
        """Count the CPU seconds that the block takes."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._last = time.thread_time() - began
            self.spent += self._last


class Run:
    """One solver on one problem, advanced in the calling thread.

    ``trace`` fills while ``execute`` (to the end) or ``steps`` (a generator) is at work; other threads may
    read it. ``interrupt`` may be called from any thread and is felt within a pulse. Nothing the solver does
    raises out of a run: a failure is the trace's status and message. The clock is CPU seconds of the
    calling thread inside the solver, plus those of the problem's own helper threads; compiling, recording,
    probing, metrics and waiting at the gate are left out, and so is what is derived from the data once (rows
    of X), which is set-up of every run that uses it. A violation, or a gap that can be proved, is measured
    now and then, off the clock, where the solver does not know it.

    With an ``origin`` the run is a branch: the old run is replayed up to there, off the clock, which goes on
    from the old run's as iterations, passes and limits do. ``replayed`` is the iteration that the replay has
    come to.

    ``ready()`` is called, off the clock, when all is compiled and set up: it may block, or raise
    :class:`Interrupted`.

    ``set_lam`` changes λ while the run is at work: at the next iterate the same solver starts from the
    weights there, as one that takes over a branch does, and iterations, epochs, passes and clocks go on.
    ``here`` is the problem at the λ of now, without what belongs to the run.
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        *,
        label: str | None = None,
        stopping: Stopping | None = None,
        probes: Sequence[Probe] = (),
        gate: Gate | None = None,
        w0: np.ndarray | None = None,
        origin: Origin | None = None,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        if origin is not None and w0 is not None:
            raise ValueError("both w0 and origin are given: a branch starts at its origin, leave w0 out")
        if origin is not None and origin.lam not in (None, problem.lam):
            raise ValueError(
                f"the run had λ = {origin.lam:g} at iteration {origin.iteration}, and the problem of the "
                f"branch has {problem.lam}: give it at that λ"
            )
        self.here, self._pulse_of_given = problem, problem.pulse
        self.problem = problem.with_pulse(self._pulse)
        self.solver = solver
        self.label = label or solver.id
        self.stopping = stopping or Stopping()
        self.gate, self._ready = gate, ready
        self.w0, self.origin, self.replayed = w0, origin, -1
        self.trace = Trace(
            {
                "label": self.label,
                "solver": solver.id,
                "params": asdict(solver),
                "problem": problem.describe(),
                "f_star": self.stopping.f_star,
            }
        )
        if w0 is not None:
            self.trace.info["warm"] = True
        if origin is not None:
            self.trace.info["from"] = origin.describe()
        self.trace.names, self.trace.problem = problem.names, self.here
        self.trace.probes = ProbeStore(probes, problem)
        self.compile_seconds = 0.0
        self._cpu = self._wall = self._waited = 0.0
        self._setup = self._replay_seconds = 0.0
        self._metrics = Allowance(METRIC_SHARE)
        self._optimality = Allowance(OPTIMALITY_SHARE)
        self._met = partial(optimality.met, self.problem)
        self._interrupted = False
        self._wanted: deque[tuple[float, Callable[[Problem], Stopping]]] = deque()
        self._support: tuple[np.ndarray, np.ndarray] | None = None

    def interrupt(self) -> None:
        """End the run at the next pulse; the trace keeps the last whole iterate."""
        self._interrupted = True

    def set_lam(self, lam: float, stopping: Callable[[Problem], Stopping] | None = None) -> None:
        """Go on at another λ from the next iterate on; may be called from any thread. ``stopping(problem)``
        gives the limits there (None: the same, and an f* that is not known). ValueError, one sentence, where
        λ cannot be changed."""
        if not self.problem.penalty.takes_lam:
            raise ValueError(f"the penalty {self.problem.penalty.id} has no λ to change")
        if not (math.isfinite(lam) and lam > 0.0):
            raise ValueError(f"λ is {lam}: give a number above 0")
        if stopping is None and self.stopping.gap is not None:
            raise ValueError("a gap is measured against f* of one λ: give the limits at the new one too")
        if len(self.trace) and self.trace.w is None:
            raise ValueError(
                f"{self.solver.id} does not show its weights: it cannot go on from them at another λ"
            )
        self._wanted.append((lam, stopping or (lambda problem: replace(self.stopping, f_star=None))))

    def _pulse(self) -> None:
        if self._interrupted:
            raise Interrupted
        if self.gate is not None:
            began = time.perf_counter()
            self.gate.pulse()
            self._waited += time.perf_counter() - began
            if self._interrupted:
                raise Interrupted

    def execute(self) -> Trace:
        """Run to the end."""
        for _ in self.steps():
            pass
        return self.trace

    def steps(self) -> Iterator[Trace]:
        """Advance by one iterate at a time, yielding the trace after each; closing it stops the run."""
        ending, breaks = Ending("stopped", "stopped by the user"), Watch(self.stopping.breaks)
        try:
            with one_blas_thread():
                self._warm_up()
                self._prepare()
                self.trace.status = "ready"
                self._ready()
                self.trace.status = "running"
                iterates = self._iterates()
                while True:
                    try:
                        iterate = next(iterates)
                    except StopIteration as stop:
                        ending = self._ending_of(stop.value)
                        break
                    self._record(iterate)
                    yield self.trace
                    hit = breaks.hit(iterate)
                    limit = self.stopping.ending(self.trace.last, self._met)
                    if limit and not (limit.status == "converged" and self._wanted):
                        ending = limit
                        break
                    if hit is not None and not self.begins_at(iterate):
                        ending = Ending("stopped", f"{hit.text} at iteration {iterate.iteration}")
                        break
                    if self.gate is not None:
                        self.gate.step(self, iterate)
                    if self._interrupted:
                        raise Interrupted
        except Interrupted:
            pass
        except KeyboardInterrupt:
            self._finish(ending)
            raise
        except (Diverged, ShardLost) as error:
            ending = Ending("failed", str(error))
        except MemoryError:
            ending = Ending("failed", "out of memory: take a smaller problem or fewer pairs")
        except Exception as error:
            ending = Ending("failed", f"{type(error).__name__}: {error}{_where(error)}")
        finally:
            if not self.trace.result:
                self._finish(ending)

    def begins_at(self, iterate: Iterate) -> bool:
        """Tell whether a branch begins at this iterate, at which the old run was before."""
        return self.origin is not None and iterate.iteration == self.origin.iteration

    def _iterates(self) -> Generator[Iterate, None, object]:
        """Yield the iterates to record, computed on the clock; return what the solver returned."""
        iterate: Iterate | None = None
        if self.origin is None:
            iterates = self.solver.iterate(self.problem, self.w0)
        else:
            iterates = self._replay(self.origin)
            yield (iterate := next(iterates))
        while True:
            if self._wanted and iterate is not None:
                iterates = self._turn(iterate, iterates)
            try:
                iterate = self._advance(iterates)
            except StopIteration as stop:
                further = iterates
                if self._wanted and iterate is not None:
                    iterate.w = self._weights()  # the solver may have gone on in the array that it showed
                    further = self._turn(iterate, iterates)
                if further is iterates:
                    return stop.value
                iterates = further
            else:
                yield iterate

    def _turn(self, iterate: Iterate, old: Iterates) -> Iterates:
        """Return the iterates that follow ``iterate`` at the λ that is wanted, or the ``old`` ones where it
        is the same."""
        while self._wanted:
            lam, stopping = self._wanted.popleft()
        if lam == self.problem.lam:
            return old
        old.close()
        self.problem = self.problem.at_lam(lam)
        self.problem.violation_at_zero()  # as where a run begins: never on the solver's clock
        self._met = partial(optimality.met, self.problem)
        self.here = self.problem.with_pulse(self._pulse_of_given)
        self.stopping = stopping(self.here)
        seconds = self._cpu, self._wall
        said = change(self.problem, iterate.iteration + 1, self.stopping.f_star, seconds)
        self.trace.info["lams"] = [*self.trace.info.get("lams", ()), said]
        self.trace.problem = self.here
        iterates = taken_over(iterate, self.solver, self.problem, turned=True)
        next(iterates)  # the iterate itself, which is recorded already
        return iterates

    def _replay(self, origin: Origin) -> Iterator[Iterate]:
        """Replay the old run, off the clock; return the iterates from its origin on."""
        self.trace.status = "replaying"
        replay = branch(self.problem, self.solver, origin)
        while True:
            try:
                self.replayed = self._advance(replay).iteration
            except StopIteration as stop:
                iterates = stop.value
                break
            self._pulse()
        self._replay_seconds, (self._cpu, self._wall) = self._cpu, origin.seconds
        self.trace.status = "running"
        return iterates

    def _advance(self, iterates: Iterator[Iterate]) -> Iterate:
        wall, cpu, waited = time.perf_counter(), time.thread_time(), self._waited
        helpers, compiled = self.problem.team.cpu_seconds, compile_clock.spent()
        derived = self.problem.design.derived.spent
        try:
            return next(iterates)
        finally:
            compile_wall, compile_cpu = np.subtract(compile_clock.spent(), compiled)
            self.compile_seconds += compile_wall
            derive_wall, derive_cpu = np.subtract(self.problem.design.derived.spent, derived)
            off_wall, off_cpu = compile_wall + derive_wall, compile_cpu + derive_cpu
            spent = time.thread_time() - cpu - off_cpu + self.problem.team.cpu_seconds - helpers
            self._cpu += max(spent, 0.0)
            self._wall += max(time.perf_counter() - wall - off_wall - (self._waited - waited), 0.0)

    def _record(self, iterate: Iterate) -> None:
        self._pulse()
        iterate.cpu_seconds, iterate.wall_seconds = self._cpu, self._wall
        iterate.passes = self.problem.passes
        if "point" not in iterate.live and iterate.w is not None:
            seen = self._observe(iterate.w)
            iterate.live = {**iterate.live, "point": seen}
            iterate.objective, iterate.loss, iterate.penalty = seen.objective, seen.loss, seen.penalty
            iterate.nnz, iterate.nnz_rows = seen.sparsity()
            if "bound" in iterate.live:
                iterate.dual_gap = max(seen.objective - iterate.live["bound"], 0.0)
        measure = optimality.missing(self.problem, self.solver.knows)
        unknown = measure is not None and np.isnan(getattr(iterate, measure))
        if unknown and iterate.w is not None and self._optimality.allows(self._cpu):
            with self._optimality.booked():
                setattr(iterate, measure, optimality.measured(measure, self._observe(iterate.w)))
        if self.begins_at(iterate):
            self.origin.check(iterate)
        if iterate.w is not None:
            if iterate.w.size <= COPIED:
                support = np.flatnonzero(iterate.w)
                self._support = support, iterate.w[support]
            self.trace.w = iterate.w
        first = len(self.trace) == 0
        # before what is observed of it, which waits at the gate: a reader finds a row for all that it sees
        self.trace.append(iterate.record())
        self.trace.probes.observe(iterate)
        if self.problem.has_test and (first or self._metrics.allows(self._cpu)):
            with self._metrics.booked():
                self._measure(iterate.iteration)

    def _observe(self, w: np.ndarray) -> Point:
        """Make a point for observing: nothing it computes reaches the solver, its clock or its
        passes."""
        problem = self.problem.with_pulse(self._pulse)
        return Point(problem, w, problem.design.scores(w))

    def _measure(self, iteration: int) -> None:
        weights = self._weights()
        if weights is not None:
            measured = (iteration, self._cpu, self.problem.test_metric(weights))
            if len(self.trace.test_metric) >= MEASURED:
                self.trace.test_metric = self.trace.test_metric[::2]
            self.trace.test_metric.append(measured)

    def _weights(self) -> np.ndarray | None:
        if self._support is None:
            return self.trace.w
        weights = np.zeros(self.problem.size)
        weights[self._support[0]] = self._support[1]
        return weights

    def _warm_up(self) -> None:
        """Compile, or load from disk, the kernels this solver needs, on a tiny copy of the problem."""
        self.trace.status = "compiling"
        began = time.perf_counter()
        for solver in [self.solver] if self.origin is None else [self.origin.solver, self.solver]:
            # a solver that fails on the copy fails again, and is heard, in the run itself
            with contextlib.suppress(Exception), np.errstate(all="ignore"):
                iterates = solver.rehearsal().iterate(self.problem.tiny(), None)
                for _, _ in zip(range(4), iterates, strict=False):
                    self._pulse()
                iterates.close()
        self._pulse()
        self.compile_seconds += time.perf_counter() - began

    def _prepare(self) -> None:
        """Let the solver tune itself; its time is set-up, not solving."""
        self.problem.violation_at_zero()  # accounted for by the problem, and never on the solver's clock
        began, compiled = time.thread_time(), compile_clock.spent()[1]
        self.solver = self.solver.prepare(self.problem)
        derived = self.problem.design.derived.spent[1]
        self._setup = time.thread_time() - began - (compile_clock.spent()[1] - compiled) - derived
        self.problem.design.touched = 0
        self.trace.info["params"] = asdict(self.solver)

    def _ending_of(self, value: object) -> Ending:
        if isinstance(value, Ending):
            return value
        return Ending("stalled", str(value) if value else "the solver ended by itself")

    def _finish(self, ending: Ending) -> None:
        trace = self.trace
        trace.w = self._weights()
        last = trace.last
        result: dict[str, Any] = {
            "type": "result",
            "label": self.label,
            "solver": self.solver.id,
            "status": ending.status,
            "message": ending.message,
            "objective": last.get("objective"),
            "violation": last.get("violation"),
            "dual_gap": last.get("dual_gap"),
            "nnz": last.get("nnz"),
            "nnz_rows": last.get("nnz_rows"),
            "iterations": last.get("iteration", 0),
            "epochs": last.get("epoch", -1) + 1,
            "passes": last.get("passes", 0.0),
            "cpu_seconds": last.get("cpu_seconds", self._cpu),
            "wall_seconds": last.get("wall_seconds", self._wall),
            "setup_seconds": self.problem.setup_seconds
            + self._setup
            + self.problem.design.derived.setup_seconds,
            "compile_seconds": self.compile_seconds,
            "train_metric": None,
            "test_metric": None,
            "metric_name": self.problem.loss.metric_name,
        }
        if self.origin is not None:
            result["replay_seconds"] = self._replay_seconds
        if ending.status not in ("stopped", "failed") and trace.w is not None:
            try:
                with one_blas_thread():
                    self._judge(trace.w, result)
            except Interrupted:  # a run that is stopped here ends without these
                pass
            except Exception as error:
                failure = f"no metrics, {type(error).__name__}: {error}{_where(error)}"
                ending = Ending(ending.status, f"{ending.message}; {failure}" if ending.message else failure)
                result["message"] = ending.message
        trace.result = plain(result)
        trace.finish(ending.status, ending.message)

    def _judge(self, w: np.ndarray, result: dict[str, Any]) -> None:
        """Add violation, proved gap and metrics of the last weights to ``result``, off the clock."""
        compiled = compile_clock.spent()[0]
        point = self._observe(w)
        result["violation"] = point.violation()
        result["train_metric"] = self.problem.train_metric(point)
        bounds = [result["dual_gap"], duality_gap(point.problem, point)]
        known = [bound for bound in bounds if bound is not None and np.isfinite(bound)]
        result["dual_gap"] = min(known, default=None)
        if self.problem.has_test:
            result["test_metric"] = self.problem.test_metric(w)
        result["compile_seconds"] += compile_clock.spent()[0] - compiled


def _where(error: Exception) -> str:
    """Return the file and line an error came from, which a solver's author needs."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return ""
    name = frame.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f" ({name}, line {frame.tb_lineno})"


def solve(
    problem: Problem,
    solver: Solver,
    *,
    tol: float | None = None,
    gap: float | None = None,
    f_star: float | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    probes: Sequence[Probe] = (),
    w0: np.ndarray | None = None,
) -> Trace:
    """Run ``solver`` on ``problem`` to the end and return its trace; ``trace.w`` are the weights.

    The limits are those of :class:`Stopping`; with none given, ``tol=1e-6`` and ``max_seconds=600``.
    """
    stopping = Stopping(tol, gap, f_star, max_iter, max_seconds).or_usual()
    return Run(problem, solver.towards(stopping.tol), stopping=stopping, probes=probes, w0=w0).execute()
