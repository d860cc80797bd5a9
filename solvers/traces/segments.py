"""Segments of a run between changes of λ, each with a problem and an optimum of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..problems.problem import Problem
from .run_info import RunInfo
from .trace import Trace

#: Prefix of the event of the first iterate at another λ; the new λ follows.
MARK = "lam="


@dataclass(frozen=True)
class Segment:
    """Iterates of a run at one λ.

    Attributes
    ----------
    first : int
        The index of the first of these iterates.
    lam, key, f_star
        λ, the key of the problem, and its minimum; None if unknown.
    seconds : (float, float)
        The run's CPU and wall seconds at the first of these iterates.
    """

    first: int
    lam: float | None
    key: str | None
    f_star: float | None
    seconds: tuple[float, float] = (0.0, 0.0)


def mark(lam: float) -> str:
    """Return the event that marks the first iterate at this λ."""
    return f"{MARK}{lam:.6g}"


def marked(event: str) -> str | None:
    """Return the λ in an event, as a string; return None for any other event."""
    return event.removeprefix(MARK) if event.startswith(MARK) else None


def change(
    problem: Problem, first: int, f_star: float | None, seconds: tuple[float, float]
) -> dict[str, Any]:
    """Return the record of a change of λ for ``info.lams``.

    ``first`` is the index of the first iterate on ``problem``.
    """
    clocks = {"cpu_seconds": seconds[0], "wall_seconds": seconds[1]}
    return {"iteration": first, "lam": problem.lam, "key": problem.key, "f_star": f_star, **clocks}


def segments(trace: Trace) -> list[Segment]:
    """Return the segments of a run, each with one λ.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    list of Segment
        The segments in order; a single one if λ was never changed.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the trace is from a file whose record of changes of λ is invalid.
    """
    info = trace.info
    found = [Segment(0, info.problem.get("lam"), info.problem.get("key"), info.f_star)]
    for said in info.lams:
        seconds = float(said["cpu_seconds"]), float(said["wall_seconds"])
        found.append(
            Segment(int(said["iteration"]), float(said["lam"]), said["key"], said["f_star"], seconds)
        )
        if found[-1].first <= found[-2].first:
            raise ValueError("changes of λ come one after the other")
    return found


def segment_at(trace: Trace, iteration: int) -> Segment:
    """Return the segment that an iterate belongs to."""
    return next(s for s in reversed(segments(trace)) if s.first <= iteration or s.first == 0)


def about_at(trace: Trace, iteration: int) -> dict[str, Any]:
    """Return the record of the problem that an iterate belongs to."""
    here = segment_at(trace, iteration)
    return {**trace.info.problem, "lam": here.lam, "key": here.key}


def problem_at(trace: Trace, iteration: int) -> Problem | None:
    """Return the problem that an iterate belongs to; None if no other object holds the run's problem."""
    problem, lam = trace.problem, segment_at(trace, iteration).lam
    return problem if problem is None or lam in (None, problem.lam) else problem.at_lam(lam)


def update_f_stars(trace: Trace, f_stars: Mapping[str, float | None]) -> None:
    """Set the minima that a trace has, by the keys of their problems; None removes a minimum."""

    def learned(info: RunInfo) -> RunInfo:
        lams = (
            {**said, "f_star": f_stars[said["key"]]} if said["key"] in f_stars else said for said in info.lams
        )
        return replace(info, f_star=f_stars.get(info.problem.get("key", ""), info.f_star), lams=tuple(lams))

    trace.change(learned)
