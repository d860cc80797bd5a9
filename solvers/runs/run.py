"""Advancing a solver: clocks, recording, limits, interruption. A solver knows nothing of this."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from ..compute.blas import one_blas_thread
from ..compute.jit import compile_clock
from ..declare import number
from ..methods.iterate import Ending, Iterate
from ..methods.solver import Solver
from ..probes.probe import Probe, ProbeStore
from ..problems.certificates import optimality
from ..problems.certificates.certificate import Known, dual_bound
from ..problems.point import Drift, Point
from ..problems.problem import Problem
from . import yielded
from .allowance import Allowance
from .branch import Iterates, Origin, branch, taken_over
from .breakpoints import Watch
from .endings import TOO_EARLY, described, disputed, failure, of_bound, returned, saying, untold_violation
from .gate import Gate, Interrupted, Pulse
from .last_look import judge, last_numbers
from .records import printable
from .run_info import RunInfo
from .segments import change
from .stopping import USUAL_TOL, Stopping
from .trace import Trace, plain

#: Weights up to this length are copied at every iterate: what a stopped run leaves is a whole iterate.
COPIED = 2_000_000
#: Share of a run's CPU time that may go into test metrics, and into violations or gaps that its solver does
#: not know.
METRIC_SHARE = 0.02
OPTIMALITY_SHARE = 0.03
#: Test metrics kept of a run, at most.
MEASURED = 2_000


class Run:
    """One solver on one problem, advanced in the calling thread.

    ``execute`` advances it to the end, ``steps`` iterate by iterate; other threads may read ``trace``
    meanwhile. A solver's failure never leaves a run as an exception: it is the trace's status and message.

    The clock counts CPU seconds of the calling thread inside the solver, and those of the problem's helper
    threads; not compiling, recording, probing, metrics, waiting at the gate, or what is derived from the data
    once (rows of X), which is set-up. An iterate that comes of a run of its own tells the seconds of that.
    Where the solver does not know its violation or dual gap, these are measured now and then, off the clock.

    Parameters
    ----------
    problem, solver
        What is solved, and by what.
    label : str, optional
        Name of the run; by default the solver's id.
    stopping : Stopping, optional
        Limits; by default none.
    probes : sequence of Probe
        What is recorded besides the fields of the record.
    gate : Gate, optional
        May pause or interrupt the run, at every pulse and after every iterate.
    w0 : array of shape (d,), optional
        Where to start; by default where the problem says, which is w = 0 as a rule.
    origin : Origin, optional
        Makes the run a branch: the old run is replayed up to there, off the clock, and iterations, passes,
        clocks and limits go on from there. ``replayed`` is the iteration that the replay has reached.
    ready : callable
        Called, off the clock, once all is compiled and set up: may block, or raise Interrupted.

    Attributes
    ----------
    trace : Trace
        The record of the run, which grows while it is advanced.
    here : Problem
        The problem at the present λ, without what belongs to the run: see :meth:`set_lam`.

    Raises
    ------
    ValueError
        If the solver refuses the problem, both ``w0`` and ``origin`` are given, or the problem does not have
        the origin's λ.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> run = solvers.Run(problem, solvers.make_solver("lbfgs"), stopping=solvers.Stopping(tol=1e-6))
    >>> for trace in run.steps():
    ...     if trace.last["objective"] < 0.3:
    ...         run.interrupt()
    >>> run.trace.status
    'stopped'
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        *,
        label: str | None = None,
        stopping: Stopping | None = None,
        probes: Sequence[Probe] = (),
        gate: Gate[Run] | None = None,
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
        if reason := solver.refuses(problem):
            raise ValueError(f"solver {solver.id} refuses this problem: {reason}")
        self.here, self._pulse_of_given, self._pulse = problem, problem.pulse, Pulse(gate)
        self.problem = problem.with_pulse(self._pulse)
        self.solver = solver
        self.label = label or solver.id
        self.stopping = stopping or Stopping()
        self.gate, self._ready = gate, ready
        self.w0, self.origin, self.replayed = w0, origin, -1
        self.trace = Trace(
            RunInfo(
                label=self.label,
                solver=solver.id,
                params=asdict(solver),
                problem=problem.describe(),
                f_star=self.stopping.f_star,
                origin=None if origin is None else origin.describe(),
                warm=w0 is not None,
            )
        )
        self.trace.names, self.trace.problem = problem.names, self.here
        self.trace.probes = ProbeStore(probes, problem)
        self.compile_seconds = 0.0
        self._cpu = self._wall = 0.0
        self._setup = self._replay_seconds = 0.0
        self._known = Known(math.inf)
        self._metrics = Allowance(METRIC_SHARE)
        self._optimality = Allowance(OPTIMALITY_SHARE)
        self._met = partial(optimality.met, self.problem)
        self._wanted: deque[tuple[float, Callable[[Problem], Stopping]]] = deque()
        self._support: tuple[np.ndarray, np.ndarray] | None = None
        #: the point at the last weights, its scores computed from them, once something was asked of it
        self._fresh: Point | None = None
        self._drift = Drift()
        #: by how much f is known to be above the minimum where a solver or the tolerance said: converged
        self._excess: float | None = None
        self._settled = False
        self._number = -1
        #: no f above this has converged
        self._bar = math.inf

    def interrupt(self) -> None:
        """End the run at the next pulse, some 50 ms; callable from any thread. The trace keeps the last whole
        iterate."""
        self._pulse.interrupted = True

    def set_lam(self, lam: float, stopping: Callable[[Problem], Stopping] | None = None) -> None:
        """Change λ from the next iterate on; callable from any thread. The solver starts anew from the
        weights there, as one that takes over a branch does; iterations, epochs, passes and clocks go on.

        Parameters
        ----------
        lam : float
            The new λ, above 0.
        stopping : callable, optional
            Given the problem at the new λ, returns its limits; by default the same, with f* not known.

        Raises
        ------
        ValueError
            If λ cannot be changed: one sentence.
        """
        if not self.problem.penalty.takes_lam:
            raise ValueError(f"the penalty {self.problem.penalty.id} has no λ to change")
        lam = number("lam", lam, open_low=True)
        if stopping is None and self.stopping.gap is not None:
            raise ValueError("a gap is measured against f* of one λ: give the limits at the new one too")
        if not self.solver.takes_start:
            raise ValueError(f"{self.solver.id} starts from zero alone: it cannot go on at another λ")
        if len(self.trace) and self.trace.w is None:
            raise ValueError(
                f"{self.solver.id} does not show its weights: it cannot go on from them at another λ"
            )
        self._wanted.append((lam, stopping or (lambda problem: replace(self.stopping, f_star=None))))

    def execute(self) -> Trace:
        """Advance the run to its end and return its trace."""
        for _ in self.steps():
            pass
        return self.trace

    def steps(self) -> Iterator[Trace]:
        """Advance by one iterate at a time and yield the trace after each; closing the generator stops the
        run."""
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
                        ending = returned(stop.value)
                        break
                    self._record(iterate)
                    yield self.trace
                    hit = breaks.hit(iterate)
                    limit = self._limit(iterate)
                    if limit and not (limit.status == "converged" and self._wanted):
                        ending, self._settled = self._with_hint(limit), True
                        break
                    if hit is not None and not self.begins_at(iterate):
                        ending = Ending("stopped", f"{hit.text} at iteration {iterate.iteration}")
                        break
                    if self.gate is not None:
                        self.gate.step(self, iterate)
                    if self._pulse.interrupted:
                        raise Interrupted
        except Interrupted:
            pass
        except (Exception, SystemExit) as error:
            ending = failure(error)
        except KeyboardInterrupt as error:
            if threading.current_thread() is threading.main_thread():  # where Ctrl-C raises it
                raise
            ending = failure(error)
        finally:  # also where the generator is closed, or Ctrl-C ends the program
            self._finish(ending)

    def _with_hint(self, limit: Ending) -> Ending:
        """Return an ending with what the solver says of the problem, where it did not converge, and with why
        no tolerance could end the run."""
        if limit.status not in ("max-iter", "max-seconds"):
            return limit
        untold = untold_violation(self.stopping.tol, self.problem, self.solver, self.trace)
        above = None if self._excess is None else f"{TOO_EARLY} {self._excess:.3g}"
        return saying(limit, self.solver.hint(self.problem), untold, above)

    def _limit(self, iterate: Iterate) -> Ending | None:
        """Return why the run ends at this iterate, or None. A point that seems to have converged is measured
        once more with scores computed from w; a claim that then proves false ends the run too."""
        record = self.trace.last
        limit = self.stopping.ending(record, self._met)
        if limit is None or limit.status != "converged" or iterate.w is None:
            return limit
        if record["objective"] > self._bar:  # nothing new
            return replace(self.stopping, tol=None).ending(record, self._met)
        with self._optimality.booked():
            seen = self._fresh = self._fresh or self._observe(iterate.w)
            if optimality.contradictions(seen, record, self._drift):
                return limit
            if self._drift.updates:
                more = max(seen.objective - record["objective"], 0.0)
                gap = self._known.claimed(seen.objective, record["dual_gap"] + more)
                found = {"objective": seen.objective, "violation": seen.violation(), "dual_gap": gap}
                limit = self.stopping.ending(record | found, self._met)
                if limit is None or limit.status != "converged":
                    return limit
        if self.stopping.tol is not None and not self._near(seen):
            return replace(self.stopping, tol=None).ending(record, self._met)
        return limit

    def _near(self, point: Point) -> bool:
        """Return whether nothing known contradicts that a point has converged."""
        excess = optimality.excess(point, self._known, self.stopping.tol or USUAL_TOL)
        if excess is not None:
            self._excess, self._bar = excess, point.objective - 0.5 * excess
        return excess is None

    def begins_at(self, iterate: Iterate) -> bool:
        """Tell whether a branch begins at this iterate, at which the old run was before."""
        return self.origin is not None and iterate.iteration == self.origin.iteration

    def _iterates(self) -> Generator[Iterate, None, object]:
        """Yield the iterates to record, computed on the clock; return what the solver returned."""
        iterate: Iterate | None = None
        if self.origin is None:
            iterates = self.solver.iterate(self.problem, self.w0)
        else:
            iterate, iterates = self._replay(self.origin)
            yield iterate
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
        self._known, self._bar = Known(self.problem.at().objective), math.inf
        self._met = partial(optimality.met, self.problem)
        self.here = self.problem.with_pulse(self._pulse_of_given)
        self.stopping = stopping(self.here)
        seconds = self._cpu, self._wall
        said = change(self.problem, iterate.iteration + 1, self.stopping.f_star, seconds)
        self.trace.change(lambda info: replace(info, lams=(*info.lams, said)))
        self.trace.problem = self.here
        return taken_over(iterate, self.solver, self.problem, turned=True)

    def _replay(self, origin: Origin) -> tuple[Iterate, Iterates]:
        """Replay the old run, off the clock; return the iterate at its origin, and those that follow."""
        self.trace.status = "replaying"
        replay = branch(self.problem, self.solver, origin)
        while True:
            try:
                self.replayed = self._advance(replay).iteration
            except StopIteration as stop:
                self._replay_seconds, (self._cpu, self._wall) = self._cpu, origin.seconds
                self.trace.status = "running"
                return stop.value
            self._pulse()

    def _advance(self, iterates: Iterator[Iterate]) -> Iterate:
        wall, cpu, waited = time.perf_counter(), time.thread_time(), self._pulse.waited
        helpers, compiled = self.problem.team.cpu_seconds, compile_clock.spent()
        derived = self.problem.design.derived.spent
        try:
            iterate = next(iterates)
        finally:
            compiling = np.subtract(compile_clock.spent(), compiled)
            self.compile_seconds += compiling[0]
            off_wall, off_cpu = compiling + np.subtract(self.problem.design.derived.spent, derived)
            used = time.thread_time() - cpu + self.problem.team.cpu_seconds - helpers
            self._cpu += max(used - off_cpu, 0.0)
            self._wall += max(time.perf_counter() - wall - off_wall - (self._pulse.waited - waited), 0.0)
        # a branch of a branch replays some iterates twice
        before = -1 if self.trace.status == "replaying" else self._number
        yielded.check(iterate, self.solver.id, self.problem.size, before)
        self._number = int(iterate.iteration)
        if not np.isnan(iterate.cpu_seconds):  # it comes of a run of its own, which took so long
            self._cpu, self._wall = iterate.cpu_seconds, iterate.wall_seconds
        return iterate

    def _record(self, iterate: Iterate) -> None:
        self._pulse()
        self._fresh, self._drift = None, Drift()
        iterate.cpu_seconds, iterate.wall_seconds = self._cpu, self._wall
        iterate.passes = self.problem.passes if self.solver.counts_passes else math.nan
        if "point" not in iterate.live and iterate.w is not None:
            seen = self._fresh = self._observe(iterate.w)
            iterate.live = {**iterate.live, "point": seen}
            iterate.objective, iterate.loss, iterate.penalty = seen.objective, seen.loss, seen.penalty
            iterate.nnz, iterate.nnz_rows = seen.sparsity()
            if "dual" in iterate.live:
                bound = dual_bound(seen.problem, iterate.live["dual"]())
                iterate.dual_gap = max(seen.objective - bound + seen.rounding(), 0.0)
        elif "point" in iterate.live:
            self._drift = iterate.live["point"].drift
        measure = optimality.missing(self.problem, self.solver.knows)
        unknown = measure is not None and np.isnan(getattr(iterate, measure))
        if measure is not None and unknown and iterate.w is not None and self._optimality.allows(self._cpu):
            with self._optimality.booked():
                self._fresh = self._fresh or self._observe(iterate.w)
                setattr(iterate, measure, optimality.measured(measure, self._fresh))
        believed = self._known.checked if unknown and measure == "dual_gap" else self._known.claimed
        iterate.dual_gap = believed(iterate.objective, iterate.dual_gap)
        if self.origin is not None and self.begins_at(iterate):
            self.origin.check(iterate)
        if iterate.w is not None:
            if iterate.w.size <= COPIED:
                support = np.flatnonzero(iterate.w != 0.0)
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
            with contextlib.suppress(Exception, SystemExit), np.errstate(all="ignore"):
                iterates = solver.rehearsal().iterate(self.problem.tiny(), None)
                for _, _ in zip(range(4), iterates, strict=False):
                    self._pulse()
                iterates.close()
        self._pulse()
        self.compile_seconds += time.perf_counter() - began

    def _prepare(self) -> None:
        """Let the solver tune itself; its time is set-up, not solving."""
        self.problem.violation_at_zero()  # accounted for by the problem, and never on the solver's clock
        self._known = Known(self.problem.at().objective)
        began = compile_clock.net()[1]
        self.solver = self.solver.prepare(self.problem)
        derived = self.problem.design.derived.spent[1]
        self._setup = compile_clock.net()[1] - began - derived
        self.problem.design.touched = 0
        self.trace.tell(params=asdict(self.solver))

    def _finish(self, ending: Ending) -> None:
        trace = self.trace
        trace.w = self._weights()
        last, ending = trace.last, replace(ending, message=printable(ending.message))
        made = self.problem.setup_seconds + self.problem.design.derived.setup_seconds
        result: dict[str, Any] = {
            "type": "result",
            "label": self.label,
            "solver": self.solver.id,
            **asdict(ending),
            **last_numbers(last, self._cpu, self._wall),
            "setup_seconds": self._setup + made,
            "compile_seconds": self.compile_seconds,
            "train_metric": None,
            "test_metric": None,
            "metric_name": self.problem.loss.metric_name,
        }
        if self.origin is not None:
            result["replay_seconds"] = self._replay_seconds
        if ending.status not in ("stopped", "failed") and trace.w is not None:
            false: list[str] = []
            try:
                with one_blas_thread():
                    point = self._fresh
                    if point is None or not np.array_equal(point.w, trace.w):
                        point = self._observe(trace.w)
                    compiled = compile_clock.spent()[0]
                    false = judge(point, last, result, self._known, self._drift)
                    result["compile_seconds"] += compile_clock.spent()[0] - compiled
                    if ending.status == "converged" and not (false or self._settled or self._near(point)):
                        above = f"f is above the minimum by at least {self._excess:.3g}: give a smaller tol"
                        ending = saying(replace(ending, status="stalled"), above)
            except Interrupted:  # a run that is stopped here ends without these
                pass
            except Exception as error:
                ending = saying(ending, f"no metrics, {described(error)}")
            if ending.status in ("converged", "stalled") and not false:
                ending = saying(ending, of_bound(result["dual_gap"], result["objective"]))
            ending = disputed(ending, false)
            result |= asdict(ending)
        self._fresh = None
        trace.result = plain(result)
        trace.finish(ending.status, ending.message)
