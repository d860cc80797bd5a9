"""The loop that advances a solver to its end: iterates are timed, recorded and compared with the limits.

Solvers need no code for this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..compatibility import refusal
from ..compute.blas import one_blas_thread
from ..compute.line_tracer import LineTracer
from ..compute.threads import CodePlace, raise_in, stack
from ..compute.user_code import functions_of, user_code
from ..methods.iterate import Ending, Iterate
from ..methods.solver import Solver
from ..probes.probe import Probe, ProbeStore
from ..problems.problem import Problem
from ..traces.records import printable
from ..traces.run_info import RunInfo
from ..traces.segments import change
from ..traces.trace import Trace, plain
from .branch import Iterates, Origin, branch, continue_from
from .breakpoints import BreakpointWatch
from .end_rules import EndRules
from .endings import TOO_EARLY, failure, missing_violation, not_answered, returned, with_messages
from .final_check import check_end, last_numbers
from .gate import Gate, Interrupted, RunPulse
from .iterate_checks import check
from .lam_changes import LamChanges, LimitsAt, checked_lam
from .observer import Observer
from .recorder import Recorder
from .solver_clock import SolverClock
from .stopping import Stopping
from .warm_up import warm_up


class Run:
    """One solver on one problem, advanced in the calling thread.

    ``execute`` advances it to the end, ``steps`` iterate by iterate; other threads may read ``trace``
    meanwhile. A run never raises a solver's exception: it sets the status, the message and the ``exception``
    of the trace.

    The clock counts CPU seconds of the calling thread inside the solver, and those of the problem's helper
    threads. It does not count compiling, recording, probing, metrics and waiting at the gate. Arrays derived
    once from the data (rows of X) count as set-up. An iterate that comes from a separate run has the seconds
    of that run. If the solver does not compute its violation or dual gap, these are computed from time to
    time, off the clock.

    Parameters
    ----------
    problem, solver
        The problem and the solver.
    label : str, optional
        Name of the run; by default the solver's id.
    stopping : Stopping, optional
        Limits; by default there are none.
    probes : sequence of Probe
        Further observations, recorded with the fields of the record.
    gate : Gate, optional
        May pause or interrupt the run, at every pulse and after every iterate.
    w0 : array of shape (d,), optional
        The starting point; by default that of the problem, which is usually w = 0.
    origin : Origin, optional
        Makes the run a branch: the old run is replayed up to its origin, off the clock. Iterations, passes,
        clocks and limits continue from there. ``replayed`` is the iteration that the replay has reached.
    ready : callable
        Called, off the clock, once everything is compiled and set up; may block, or raise Interrupted.
    compiled : bool
        Whether a run of this solver on these data, at another λ, has compiled all kernels already.

    Attributes
    ----------
    trace : Trace
        The record of the run, which grows while it is advanced.
    here : Problem
        The problem at the current λ, without the state of the run: see :meth:`set_lam`.
    problem, solver, label
        The problem, with the run's pulse, the solver, and the name of the run.
    stopping : Stopping
        The limits.
    abandoned : bool
        Whether :meth:`abandon` has ended the run.

    Raises
    ------
    ValueError
        If the solver does not accept the problem, if both ``w0`` and ``origin`` are given, or if the problem
        does not have the origin's λ.

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
        compiled: bool = False,
    ) -> None:
        if origin is not None and w0 is not None:
            raise ValueError("both w0 and origin are given: a branch starts at its origin, leave w0 out")
        if origin is not None and origin.lam not in (None, problem.lam):
            raise ValueError(
                f"the run had λ = {origin.lam:g} at iteration {origin.iteration}, and the problem of the "
                f"branch has {problem.lam}: give it at that λ"
            )
        if reason := refusal(solver, problem):
            raise ValueError(reason)
        self.here, self._pulse_of_given, self._pulse = problem, problem.pulse, RunPulse(gate)
        self.problem = problem.with_pulse(self._pulse)
        self.solver = solver
        self.label = label or solver.id
        self.gate, self._ready, self._compiled = gate, ready, compiled
        self.w0, self.origin, self.replayed = w0, origin, -1
        stopping = stopping or Stopping()
        code = user_code(type(solver))
        self.trace = Trace(
            RunInfo(
                label=self.label,
                solver=solver.id,
                params=asdict(solver),
                problem=problem.describe(),
                f_star=stopping.f_star,
                origin=None if origin is None else origin.describe(),
                warm=w0 is not None,
                code="" if code is None else code.digest,
            )
        )
        self.trace.names, self.trace.problem, self.trace.code = problem.names, self.here, code
        self.trace.probes = ProbeStore(probes, problem)
        self._clock = SolverClock(self._pulse)
        self._observer = Observer(self.problem, self._pulse)
        self._recorder = Recorder(self.trace, self._clock, self._observer)
        self._rules = EndRules(self.problem, stopping, self._observer)
        self._lam_changes = LamChanges()
        #: whether the rules have ended the run, and the number of the last iterate
        self._settled, self._number = False, -1
        self._thread_id: int | None = None
        self._closing, self.abandoned = threading.Lock(), False

    def __repr__(self) -> str:
        return f"<Run {self.trace.info.sentence(self.trace.status, self.trace.last)}; {self.here}>"

    def _repr_html_(self) -> str:
        return self.trace._repr_html_()

    @property
    def stopping(self) -> Stopping:
        """Return the limits at the current λ."""
        return self._rules.stopping

    @stopping.setter
    def stopping(self, limits: Stopping) -> None:
        self._rules.stopping = limits

    @property
    def compile_seconds(self) -> float:
        """Return the wall seconds spent compiling so far."""
        return self._clock.compile_seconds

    def interrupt(self) -> None:
        """End the run at the next pulse, after about 50 ms; callable from any thread.

        The trace keeps the last complete iterate.
        """
        self._pulse.interrupted = True

    @property
    def stack(self) -> list[CodePlace]:
        """Return the lines that the thread of the run currently executes, outermost first."""
        return [] if self._thread_id is None else stack(self._thread_id)

    def abandon(self, status: str, what: str) -> None:
        """End the run from another thread, because it does not respond; its complete iterates stay.

        A thread cannot be killed. Instead an exception is raised in it, which ends loops in Python. A
        compiled loop continues until it returns, and its result is discarded.

        Parameters
        ----------
        status : str
            The final status of the trace.
        what : str
            The request to which the run does not respond, for the message.
        """
        places = self.stack
        self.interrupt()
        with self._closing:
            if self.trace.result:
                return
            self.abandoned = True
        if self._thread_id is not None:
            raise_in(self._thread_id, Interrupted)
        ending = Ending(status, not_answered(self.solver.id, what, places))
        self._store(ending, self._result(ending))

    def set_lam(self, lam: float, stopping: LimitsAt | None = None) -> None:
        """Change λ from the next iterate on; callable from any thread.

        The solver restarts from the weights of that iterate, as in a branch; iterations, epochs, passes and
        clocks continue.

        Parameters
        ----------
        lam : float
            The new λ, above 0.
        stopping : callable, optional
            Function that returns the limits for the problem at the new λ. By default they stay the same, with
            f* unknown.

        Raises
        ------
        ValueError
            If λ cannot be changed.
        """
        kept = self.stopping if stopping is None else None
        lam = checked_lam(self.problem, self.solver, self.trace, lam, kept)
        self._lam_changes.request(lam, stopping or (lambda problem: replace(self.stopping, f_star=None)))

    def execute(self) -> Trace:
        """Advance the run to its end and return its trace."""
        for _ in self.steps():
            pass
        return self.trace

    def steps(self) -> Iterator[Trace]:
        """Advance by one iterate at a time and yield the trace after each; closing the generator stops the
        run."""
        ending, breaks = Ending("stopped", "stopped by the user"), BreakpointWatch(self.stopping.breaks)
        self._thread_id = threading.get_ident()
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
                    limit = self._rules.ending(self.trace.last, iterate.w)
                    if limit and not (limit.status == "converged" and self._lam_changes):
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
            ending, self.trace.exception = failure(error), error
        except KeyboardInterrupt as error:
            if threading.current_thread() is threading.main_thread():  # where Ctrl-C raises it
                raise
            ending, self.trace.exception = failure(error), error
        finally:  # also where the generator is closed, or Ctrl-C ends the program
            self._finish(ending)

    def _with_hint(self, limit: Ending) -> Ending:
        """Return the ending of a run that did not converge with the solver's hint on the problem appended.

        If no tolerance could have ended the run, the reason is appended too.
        """
        if limit.status not in ("max-iter", "max-seconds"):
            return limit
        untold = missing_violation(self.stopping.tol, self.problem, self.solver, self.trace)
        excess = self._rules.excess
        above = None if excess is None else f"{TOO_EARLY} {excess:.3g}"
        return with_messages(limit, self.solver.hint(self.problem), untold, above)

    def begins_at(self, iterate: Iterate) -> bool:
        """Return whether this iterate is the one from which the branch continues."""
        return self.origin is not None and iterate.iteration == self.origin.iteration

    def _iterates(self) -> Generator[Iterate, None, object]:
        """Yield the iterates to record, computed on the clock; return the return value of the solver."""
        iterate: Iterate | None = None
        if self.origin is None:
            iterates = self.solver.iterate(self.problem, self.w0)
        else:
            iterate, iterates = self._replay(self.origin)
            yield iterate
        while True:
            if self._lam_changes and iterate is not None:
                iterates = self._change_lam(iterate, iterates)
            try:
                iterate = self._advance(iterates)
            except StopIteration as stop:
                further = iterates
                if self._lam_changes and iterate is not None:
                    # the solver may have gone on in the array that it showed
                    iterate.w = self._recorder.weights()
                    further = self._change_lam(iterate, iterates)
                if further is iterates:
                    return stop.value
                iterates = further
            else:
                yield iterate

    def _change_lam(self, iterate: Iterate, old: Iterates) -> Iterates:
        """Change to the newest requested λ, and return the iterates that follow ``iterate`` there.

        Return ``old`` if the λ is the same.
        """
        lam, limits = self._lam_changes.take_newest()
        if lam == self.problem.lam:
            return old
        old.close()
        self.problem = self.problem.at_lam(lam)
        self.problem.violation_at_zero()  # as where a run begins: never on the solver's clock
        self._observer.problem = self.problem
        self._rules.begin(self.problem)
        self.here = self.problem.with_pulse(self._pulse_of_given)
        self._rules.stopping = limits(self.here)
        said = change(self.problem, iterate.iteration + 1, self.stopping.f_star, self._clock.seconds)
        self.trace.change(lambda info: replace(info, lams=(*info.lams, said)))
        self.trace.problem = self.here
        return continue_from(iterate, self.solver, self.problem, lam_changed=True)

    def _replay(self, origin: Origin) -> tuple[Iterate, Iterates]:
        """Replay the old run, off the clock; return the iterate at the origin and its successors."""
        self.trace.status = "replaying"
        replay = branch(self.problem, self.solver, origin)
        while True:
            try:
                self.replayed = self._advance(replay).iteration
            except StopIteration as stop:
                self._clock.end_replay(origin.seconds)
                self.trace.status = "running"
                return stop.value
            self._pulse()

    def _advance(self, iterates: Iterator[Iterate]) -> Iterate:
        iterate = self._follow_lines(iterates) or self._clock.advance(iterates, self.problem)
        # a branch of a branch replays some iterates twice
        before = -1 if self.trace.status == "replaying" else self._number
        check(iterate, self.solver.id, self.problem.size, before)
        self._number = int(iterate.iteration)
        self._clock.adopt(iterate)
        return iterate

    def _follow_lines(self, iterates: Iterator[Iterate]) -> Iterate | None:
        """Return the next iterate, with the executed lines of the plug-in's solver if they are wanted.

        Return None if lines are not wanted.
        """
        code = self.trace.code
        if code is None or not self.trace.follows_lines:
            return None
        tracer = LineTracer(code.file, functions_of(type(self.solver), code.file))
        with tracer.following():
            iterate = self._clock.advance(iterates, self.problem)
        self._clock.deduct(tracer.seconds)
        if isinstance(iterate, Iterate):
            lines = np.array(sorted(tracer.lines), dtype=np.int32)
            iterate.live = {**iterate.live, "executed_lines": lines}
        return iterate

    def _record(self, iterate: Iterate) -> None:
        self._pulse()
        self._recorder.complete(iterate, self.solver, self._rules.known)
        if self.origin is not None and self.begins_at(iterate):
            self.origin.check(iterate)
        self._recorder.append(iterate)

    def _warm_up(self) -> None:
        if self._compiled:
            return
        self.trace.status = "compiling"
        with self._clock.compiling():
            for solver in [self.solver] if self.origin is None else [self.origin.solver, self.solver]:
                warm_up(solver, self.problem, self._pulse)
            self._pulse()

    def _prepare(self) -> None:
        """Tune the solver on the problem; this counts as set-up time."""
        self.problem.violation_at_zero()  # accounted for by the problem, and never on the solver's clock
        self._rules.begin(self.problem)
        with self._clock.setting_up(self.problem):
            self.solver = self.solver.prepare(self.problem)
        self.problem.design.touched = 0
        self.trace.tell(params=asdict(self.solver))

    def _finish(self, ending: Ending) -> None:
        trace = self.trace
        trace.w = self._recorder.weights()
        ending = replace(ending, message=printable(ending.message))
        result = self._result(ending)
        if self.origin is not None:
            result["replay_seconds"] = self._clock.replay_seconds
        if ending.status not in ("stopped", "failed") and trace.w is not None:
            about = trace.last, result, self._observer, self._rules
            ending = check_end(ending, trace.w, *about, settled=self._settled)
        self._observer.forget()
        with self._closing:
            if not self.abandoned:
                self._store(ending, result)

    def _result(self, ending: Ending) -> dict[str, Any]:
        """Return the result, except for the fields that :func:`.final_check.check_end` adds."""
        clock = self._clock
        made = self.problem.setup_seconds + self.problem.design.derived.setup_seconds
        return {
            "type": "result",
            "label": self.label,
            "solver": self.solver.id,
            **asdict(ending),
            **last_numbers(self.trace.last, *clock.seconds),
            "setup_seconds": clock.setup_seconds + made,
            "compile_seconds": clock.compile_seconds,
            "train_metric": None,
            "test_metric": None,
            "metric_name": self.problem.loss.metric_name,
        }

    def _store(self, ending: Ending, result: dict[str, Any]) -> None:
        self.trace.result = plain(result)
        self.trace.finish(ending.status, ending.message)
