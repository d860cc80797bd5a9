"""Runs of solvers with copies of every iterate: what the solver recorded, and its live references."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..compute.jit import compile_clock
from ..compute.lazy import lazy
from ..compute.threads import CodePlace, is_compiling, last_user_place, raise_in, stack
from ..curvature.memory import pairs_of
from ..linalg.working_set import WorkingSet
from ..methods.iterate import Ending, Iterate
from ..methods.solver import Solver
from ..problems.certificates.optimality import met
from ..problems.point import Drift, Point
from ..problems.problem import Problem
from ..runs.iterate_checks import BadIterate, check
from ..search.outcome import SearchLog

#: Maximal number of iterates of a run, and of its seconds.
MOST_ITERATES, MOST_SECONDS = 400, 3.0
#: Violation or gap, relative, at which an observed run ends.
TOL_OF_CHECKS = 1e-7
#: Seconds between two checks of a run, and by which it may exceed its own limit.
SECONDS_BETWEEN_LOOKS, OVER_LIMIT = 0.2, 2.0
#: Wall seconds that a limit of a CPU second stands for at most: a busy machine is no failure, a wait is.
WALL_SECONDS = 10.0


class TimeIsUp(BaseException):
    """Raised in a solver that neither yields nor ends; plug-ins that catch Exception do not catch it."""


class Deadline:
    """A context manager that raises :class:`TimeIsUp` in its thread after a number of CPU seconds.

    A thread that waits has ``WALL_SECONDS`` times as many. ``place`` is then the line that the thread
    executed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._left, self._lock = seconds, threading.Event(), threading.Lock()
        self.place: CodePlace | None = None

    def __enter__(self) -> Self:
        clock = getattr(time, "pthread_getcpuclockid", None)
        ident = threading.get_ident()
        self._clock = None if clock is None else clock(ident)
        threading.Thread(target=self._wait, args=(ident, self._now()), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._left.set()

    def _now(self) -> float:
        return time.monotonic() if self._clock is None else time.clock_gettime(self._clock)

    def _wait(self, thread: int, began: float) -> None:
        before = latest = time.monotonic()
        latest += WALL_SECONDS * self._seconds
        cpu = began
        while not self._left.wait(SECONDS_BETWEEN_LOOKS):
            with self._lock:
                places = stack(thread)
                if is_compiling(places):  # which is no fault of the solver
                    began += self._now() - cpu
                    latest += time.monotonic() - before
                cpu, before = self._now(), time.monotonic()
                early = cpu - began < self._seconds and before < latest
                if self._left.is_set() or early or is_compiling(places):
                    continue
                self.place = last_user_place(places)
                raise_in(thread, TimeIsUp)
                return


@dataclass(frozen=True)
class Observed:
    """A copy of an iterate.

    Attributes
    ----------
    n : int
        The index of the iterate.
    told : mapping
        The record; nan, -1 or None stand for unknown values.
    w : array, (weights,)
        The weights.
    active : WorkingSet or None
        The working set among the live references.
    gradient : array or None
        The gradient among the live references, with one entry per member.
    prox_from : array or None
        The weights from which the proximal step to ``w`` started.
    search : SearchLog or None
        The log of the search that led here.
    pairs : list of (s, y)
        The L-BFGS pairs among the live references, oldest first.
    secant : float or None
        ‖By - s‖/‖s‖ of the newest pair for the estimate B of the inverse Hessian.
    proved : array or None
        Blocks that a rule has proved to be zero at the optimum, and their width.
    drift : Drift
        A bound on the difference between the solver's scores and those of its weights.
    """

    n: int
    told: Mapping[str, Any]
    w: np.ndarray
    active: WorkingSet | None = None
    gradient: np.ndarray | None = None
    prox_from: np.ndarray | None = None
    search: SearchLog | None = None
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    secant: float | None = None
    proved: tuple[np.ndarray, int] | None = None
    clustered: bool = False
    drift: Drift = field(default_factory=Drift)

    @classmethod
    def of(cls, iterate: Iterate) -> Self:
        """Return a copy of an iterate."""
        live = iterate.live
        active, memory, selection = live.get("active"), live.get("memory"), live.get("selection")
        gradient, point, y = live.get("gradient"), live.get("point"), live.get("prox_from")
        return cls(
            int(iterate.iteration),
            iterate.record(),
            np.array(iterate.w, dtype=float),
            active if isinstance(active, WorkingSet) else None,
            None if gradient is None else np.array(gradient, dtype=float),
            None if y is None else np.array(getattr(y, "w", y), dtype=float),
            _copied(live.get("line")),
            tuple((s.copy(), y.copy()) for s, y in pairs_of(memory)),
            _secant(live),
            None if selection is None else (selection.proved.copy(), selection.width),
            live.get("clustering") is not None,
            point.drift if isinstance(point, Point) else Drift(),
        )

    @property
    def line(self) -> SearchLog | None:
        """Return the log of the search if it was along a straight line in the space of all weights, else
        None."""
        search = self.search
        if search is None or search.d is None or search.active is None or search.block >= 0:
            return None
        straight = isinstance(search.active, WorkingSet) and search.active.size == self.w.size
        return search if straight and len(search.active) == len(search.d) else None


def _copied(search: Any) -> SearchLog | None:
    if not isinstance(search, SearchLog):
        return None
    other = copy.copy(search)
    other.trials, other.allowed, other.slopes = [*search.trials], [*search.allowed], [*search.slopes]
    other.d = None if search.d is None else search.d.copy()
    return other


def _secant(live: Mapping[str, Any]) -> float | None:
    inverse, memory = live.get("inverse"), live.get("memory")
    if inverse is None or not (pairs := pairs_of(memory)):
        return None
    s, y = pairs[-1]
    product = getattr(inverse, "inverse_product", inverse)
    length = float(np.linalg.norm(s))
    return None if not length else float(np.linalg.norm(product(y) - s)) / length


@dataclass
class ObservedRun:
    """A run with all its iterates, and the reason why it ended.

    Attributes
    ----------
    iterates : list of Observed
        The iterates, numbered as the solver numbers them, usually 0, 1, 2, ...
    ending : Ending or None
        The return value of the solver; None if the run was ended by the check.
    failure : str
        The message of an exception, or about an invalid iterate; empty if there was neither.
    met_tol, endless, cut : bool
        Whether the violation met the tolerance; whether the solver neither yielded nor ended; whether the run
        was cut off by its time limit.
    silence : float
        The longest time, in CPU seconds, between two pulses or iterates.
    """

    solver: Solver
    problem: Problem
    w0: np.ndarray | None = None
    iterates: list[Observed] = field(default_factory=list)
    ending: Ending | None = None
    failure: str = ""
    met_tol: bool = False
    endless: bool = False
    cut: bool = False
    silence: float = 0.0
    silent_at: int = -1

    @lazy
    def points(self) -> list[Point]:
        """Return a point for each iterate, computed from its weights only."""
        return [self.problem.at(iterate.w) for iterate in self.iterates]

    @property
    def converged(self) -> bool:
        """Return whether the solver reported convergence, or a violation that meets the tolerance."""
        return self.met_tol or (self.ending is not None and self.ending.status == "converged")

    def steps(self) -> Iterator[tuple[Observed, Observed, Point, Point]]:
        """Yield each iterate and its successor, with their points."""
        for k in range(len(self.iterates) - 1):
            yield self.iterates[k], self.iterates[k + 1], self.points[k], self.points[k + 1]

    def each(self) -> Iterator[tuple[Observed, Point]]:
        """Yield each iterate with its point."""
        yield from zip(self.iterates, self.points, strict=True)

    def untold(self, *names: str) -> str | None:
        """Return why checks of these fields do not apply; return None if they do.

        They do not if no iterate has a known value of any of them.
        """
        for iterate in self.iterates:
            if any((value := iterate.told[name]) == value and value not in (-1, None) for name in names):
                return None
        return f"no iterate tells {' or '.join(names)}"

    def unseen(self, name: str, what: str) -> str | None:
        """Return why checks of a live reference do not apply; return None if they do.

        They do not if no iterate has it. ``what`` is its description.
        """
        values = (getattr(iterate, name) for iterate in self.iterates)
        seen = any(not (value is None or (isinstance(value, tuple) and not value)) for value in values)
        return None if seen else f"no iterate shows {what}"

    @property
    def scale(self) -> float:
        """Return the largest |g_j| at the start, relative to which entries count as zero."""
        if not self.problem.smooth or not self.iterates:
            return 1.0
        return float(np.abs(self.points[0].gradient()).max()) or 1.0


def observe(
    solver: Solver,
    problem: Problem,
    *,
    w0: np.ndarray | None = None,
    max_iter: int = MOST_ITERATES,
    seconds: float = MOST_SECONDS,
    tol: float = TOL_OF_CHECKS,
) -> ObservedRun:
    """Run a solver and copy every iterate, up to a tolerance, a number of iterates, or a time limit."""
    life = _SignsOfLife()
    run = ObservedRun(solver, problem, w0)
    problem.violation_at_zero()  # as where a run begins
    began, deadline = compile_clock.net()[1], Deadline(seconds + OVER_LIMIT)
    try:
        with deadline:
            its_own = problem.with_pulse(life)
            solver = solver.with_tol(tol).prepare(its_own)
            iterates = solver.iterate(its_own, w0)
            life.begin()
            while True:
                try:
                    iterate = next(iterates)
                except StopIteration as end:
                    run.ending = end.value if isinstance(end.value, Ending) else None
                    break
                life.sign()
                before = run.iterates[-1].n if run.iterates else -1
                check(iterate, solver.id, problem.size, before)
                if iterate.w is None:
                    raise BadIterate(f"{solver.id} yields no w at iteration {iterate.iteration}")
                run.iterates.append(Observed.of(iterate))
                run.met_tol = met(problem, run.iterates[-1].told, tol) is not None
                run.cut = compile_clock.net()[1] - began > seconds
                if run.met_tol or run.cut or iterate.iteration >= max_iter:
                    break
                life.begin()
            iterates.close()
    except TimeIsUp:
        after = f"after iterate {run.iterates[-1].n}" if run.iterates else "before its first iterate"
        at = "" if deadline.place is None else f", it is at {deadline.place}"
        run.failure = f"it neither yields nor ends {after} in {seconds + OVER_LIMIT:g} CPU seconds{at}"
        run.endless = True
    except BadIterate as error:
        run.failure = str(error)
    except Exception as error:
        run.failure = f"{type(error).__name__}: {error}".rstrip(": ")
    run.silence, run.silent_at = life.longest, life.at
    return run


class _SignsOfLife:
    """A pulse that measures the longest time between two calls, in CPU seconds of the thread."""

    def __init__(self) -> None:
        self.longest, self.at, self._count, self._last = 0.0, -1, -1, math.nan

    def begin(self) -> None:
        self._last, self._count = compile_clock.net()[1], self._count + 1

    def sign(self) -> None:
        now = compile_clock.net()[1]
        if now - self._last > self.longest:
            self.longest, self.at = now - self._last, self._count
        self._last = now

    def __call__(self) -> None:
        self.sign()
