"""Quantities computed from the records of a sweep's cells: f*, gaps, and the time until a gap is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solverscope.solvers import Trace, relative_gap, undercuts


def problem_of(record: Mapping[str, Any]) -> str | None:
    """Return the key of a record's problem, or None if the problem could not be built."""
    return (record.get("problem") or {}).get("key")


def f_stars(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return f* of each problem by its key: the computed f*, or the best objective of any run if that is
    lower."""
    found: dict[str, float] = {}
    for record in records:
        key = problem_of(record)
        for value in (record.get("f_star"), record.get("objective")):
            if key is not None and value is not None:
                found[key] = min(value, found.get(key, np.inf))
    return found


def gap_of(record: Mapping[str, Any], best: Mapping[str, float]) -> float | None:
    """Return (f - f*)/|f*| at the end of a run, or None if it is unknown."""
    key, objective = problem_of(record), record.get("objective")
    if key not in best or objective is None or undercuts(objective, best[key]):
        return None
    return max(relative_gap(objective, best[key]), 0.0)


def seconds_to(trace: Trace, f_star: float, gap: float) -> float | None:
    """Return the CPU seconds until the relative gap was at most ``gap``; None if it never was."""
    reached = np.flatnonzero(relative_gap(trace["objective"], f_star) <= gap)
    return float(trace["cpu_seconds"][reached[0]]) if reached.size else None
