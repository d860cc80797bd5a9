"""Endings of runs, from the value that a solver returned or the error that it raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from traceback import walk_tb
from typing import NoReturn

import numpy as np

from ..compute.threads import CodePlace, is_compiling, last_user_place
from ..methods.iterate import Ending
from ..methods.solver import Solver
from ..problems.problem import Problem
from ..problems.shards.worker_pool import ShardLost
from ..traces.trace import Trace
from .branch import Diverged
from .iterate_checks import BadIterate

#: Statuses of runs whose results cannot be trusted; commands report them by their exit status.
BROKEN = ("failed", "disputed")
#: Message if a violation was small, but f is known to be lower elsewhere.
TOO_EARLY = "where the violation met the tolerance, f was above the minimum by at least"


class SolverFailed(RuntimeError):
    """Raised if a solver's run has failed without an exception, for example because f became nan.

    Attributes
    ----------
    trace : Trace
        The record of the run up to its end.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(f"solver {trace.info.solver} failed: {trace.message}")
        self.trace = trace


def raise_failure(trace: Trace) -> NoReturn:
    """Raise the exception that ended a failed run, with its traceback, or SolverFailed if there was none."""
    error = trace.exception
    if not isinstance(error, Exception):  # sys.exit would end the program of the caller as well
        raise SolverFailed(trace) from error
    reached = f"after iteration {trace.last['iteration']}" if trace.last else "before its first iterate"
    error.add_note(f'{trace.info.label} failed {reached}: with on_error="keep" its trace is returned')
    raise error


def returned(value: object) -> Ending:
    """Return the ending for the return value of a solver's generator."""
    if isinstance(value, Ending):
        return value
    return Ending("stalled", str(value) if value else "the solver ended by itself")


def failure(error: BaseException) -> Ending:
    """Return the ending of a run in which this error was raised."""
    if isinstance(error, SystemExit | KeyboardInterrupt):
        code = getattr(error, "code", None)
        how = "KeyboardInterrupt" if isinstance(error, KeyboardInterrupt) else "sys.exit"
        ends = f"the solver raised {how}" + ("" if code is None else f" ({code})")
        return Ending("failed", f"{ends}, which ends a program: return solvers.Ending, or raise an error")
    if isinstance(error, Diverged | ShardLost | BadIterate):
        return Ending("failed", str(error))
    if isinstance(error, MemoryError):
        return Ending("failed", "out of memory: take a smaller problem or fewer pairs")
    return Ending("failed", describe_error(error))


def not_answered(solver: str, what: str, places: list[CodePlace]) -> str:
    """Return the message for a run that was abandoned, with the line that its thread executed."""
    said = f"{solver} did not answer {what}, and was given up"
    if is_compiling(places):
        return f"{said} while Numba compiled"
    place = last_user_place(places)
    at = "" if place is None else f" at {place}"
    return f"{said}{at}: it should yield, or call problem.pulse()"


def with_messages(ending: Ending, *more: str | None) -> Ending:
    """Return an ending with messages appended; empty ones are ignored."""
    return replace(ending, message="; ".join(filter(None, [ending.message, *more])))


def missing_violation(tol: float | None, problem: Problem, solver: Solver, trace: Trace) -> str | None:
    """Return why ``tol`` could not end a run: no iterate had the violation that its solver declares.

    The message names the remedy for the author of a solver. Return None if this is not the case.
    """
    promised = tol is not None and problem.smooth and solver.knows.violation
    if not (promised and np.isnan(trace.violation).all()):
        return None
    said = "no iterate has a violation to compare tol with"
    if type(solver).__module__.partition(".")[0] == __name__.partition(".")[0]:
        return said
    return f"{said}: yield it, or give the solver knows = solvers.Knows(violation=False, dual_gap=False)"


def describe_bound(gap: float | None, objective: float) -> str:
    """Return a clause about the proved bound on f - f*."""
    if gap is None:
        return "no bound of f - f* is known"
    share = f" ({100.0 * gap / abs(objective):.2g} %)" if gap and objective else ""
    return f"f is at most {gap:.2g}{share} above the minimum"


def disputed(ending: Ending, false: Sequence[str]) -> Ending:
    """Return the ending of a run whose solver made the claims ``false``; return ``ending`` if there are none.

    Then the solver's other claims cannot be trusted either.
    """
    if not false:
        return ending
    return with_messages(
        Ending("disputed", "; ".join(false)), f"it ended as {ending.status}: {ending.message}"
    )


def describe_error(error: BaseException) -> str:
    """Return an error's message with the file and line that it came from, for the author of a solver.

    This is the last line in a file outside this package, such as a plug-in's, if there is one.
    """
    said, frames = f"{type(error).__name__}: {error}", list(walk_tb(error.__traceback__))
    if not frames:
        return said
    package, files = __name__.partition(".")[0], [frame.f_code.co_filename for frame, _ in frames]
    ours = [frame.f_globals.get("__name__", "").partition(".")[0] == package for frame, _ in frames]
    file = files[-1] if all(ours) else files[ours.index(False)]
    line = next(line for frame, line in reversed(frames) if frame.f_code.co_filename == file)
    return f"{said} ({Path(file).name}, line {line})"
