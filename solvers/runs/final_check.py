"""The check at the end of a run: its last measurements, and the corrections to its ending that they
require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..compute.blas import one_blas_thread
from ..compute.jit import compile_clock
from ..methods.iterate import Ending
from ..problems.certificates.certificate import KnownMinimum, duality_gap
from ..problems.certificates.optimality import contradictions
from ..problems.point import Drift, Point
from .end_rules import EndRules
from .endings import describe_bound, describe_error, disputed, with_messages
from .gate import Interrupted
from .observer import Observer


def last_numbers(last: Mapping[str, Any], cpu: float, wall: float) -> dict[str, Any]:
    """Return the fields of the result that are in the last record of a run.

    ``cpu`` and ``wall`` are the seconds if the record lacks them.
    """
    return {
        **{name: last.get(name) for name in ("objective", "violation", "dual_gap", "nnz", "nnz_rows")},
        "iterations": last.get("iteration", 0),
        "epochs": last.get("epoch", -1) + 1,
        "passes": last.get("passes", 0.0),
        "cpu_seconds": last.get("cpu_seconds", cpu),
        "wall_seconds": last.get("wall_seconds", wall),
    }


def check_end(
    ending: Ending,
    w: np.ndarray,
    last: Mapping[str, Any],
    result: dict[str, Any],
    observer: Observer,
    rules: EndRules,
    *,
    settled: bool,
) -> Ending:
    """Measure the last weights of a run, and correct its ending accordingly.

    Parameters
    ----------
    ending : Ending
        The ending that the solver returned, or that of a limit.
    w : array of shape (d,)
        The last weights.
    last : mapping
        The last record.
    result : dict
        The run's result, to which the measurements are added.
    observer, rules
        Observer and rules of the run.
    settled : bool
        Whether the rules have ended the run, and so have already measured this point.

    Returns
    -------
    Ending
        ``disputed`` if a claim of the solver is false; ``stalled`` if the solver claimed to have converged,
        and f is known to be lower elsewhere; otherwise the given one.
    """
    false: list[str] = []
    try:
        with one_blas_thread():
            point = observer.last(w)
            compiled = compile_clock.spent()[0]
            false = measure_last(point, last, result, rules.known, observer.drift)
            result["compile_seconds"] += compile_clock.spent()[0] - compiled
            if ending.status == "converged" and not (false or settled or rules.near_minimum(point)):
                above = f"f is above the minimum by at least {rules.excess:.3g}: give a smaller tol"
                ending = with_messages(replace(ending, status="stalled"), above)
    except Interrupted:  # a run that is stopped here ends without these
        pass
    except Exception as error:
        ending = with_messages(ending, f"no metrics, {describe_error(error)}")
    if ending.status in ("converged", "stalled") and not false:
        ending = with_messages(ending, describe_bound(result["dual_gap"], result["objective"]))
    ending = disputed(ending, false)
    result |= asdict(ending)
    return ending


def measure_last(
    point: Point, last: Mapping[str, Any], result: dict[str, Any], known: KnownMinimum, drift: Drift
) -> list[str]:
    """Add violation, objective, proved gap and metrics at the last point of a run to its ``result``.

    Return the claims of the solver in its ``last`` record that are false.
    """
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
