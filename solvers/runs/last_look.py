"""The numbers that a run ends with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problems.certificates.certificate import Known, duality_gap
from ..problems.certificates.optimality import contradictions
from ..problems.point import Drift, Point


def last_numbers(last: Mapping[str, Any], cpu: float, wall: float) -> dict[str, Any]:
    """Return what the last record of a run says; ``cpu`` and ``wall`` are its seconds where there is none."""
    return {
        **{name: last.get(name) for name in ("objective", "violation", "dual_gap", "nnz", "nnz_rows")},
        "iterations": last.get("iteration", 0),
        "epochs": last.get("epoch", -1) + 1,
        "passes": last.get("passes", 0.0),
        "cpu_seconds": last.get("cpu_seconds", cpu),
        "wall_seconds": last.get("wall_seconds", wall),
    }


def judge(
    point: Point, last: Mapping[str, Any], result: dict[str, Any], known: Known, drift: Drift
) -> list[str]:
    """Put violation, objective, proved gap and metrics at the last point of a run into its ``result``; return
    what proved false of what the solver said in its ``last`` record."""
    problem = point.problem
    result["violation"] = point.violation()
    result["train_metric"] = problem.train_metric(point)
    f, gap = point.objective, duality_gap(problem, point)
    # what is claimed is the gap of the f that the solver knew
    gaps = [known.claimed(f, result["dual_gap"] + max(f - result["objective"], 0.0))]
    gaps += [] if gap is None else [known.checked(f, gap)]
    result["objective"] = f
    result["dual_gap"] = min((gap for gap in gaps if np.isfinite(gap)), default=None)
    if problem.has_test:
        result["test_metric"] = problem.test_metric(point.w)
    false = contradictions(point, last, drift)
    return [*false, "its bound of f* is above f elsewhere"] if known.refuted else false
