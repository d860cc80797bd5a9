"""How far an iterate is from optimal: by the violation of the optimality conditions, or by a proved gap.

A smooth loss has a gradient, hence a violation: the largest entry (or block norm) of the minimum-norm
subgradient. Where the loss has kinks one subgradient says nothing about optimality, and what counts is a
bound of f(w) - f*: the solver's own, or that of strong convexity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..point import Drift, Point, rounding_of_sums
from ..problem import NOISE, Problem
from .certificate import Known, can_be_certified, duality_gap
from .lower import lower_objective

#: Share of f by which the f that a solver knows may be off.
WRONG = 1e-9
#: Largest share of f by which f may be known to be too high where a run has converged.
SHARE = 0.01


class Knows(NamedTuple):
    """Tells which of the two measures a solver computes itself on every problem that it takes, for all or
    some of its iterates."""

    violation: bool
    dual_gap: bool


def met(problem: Problem, record: Mapping[str, Any], tol: float) -> str | None:
    """Say in a sentence why the iterate of a record is optimal to ``tol``; None if that is not known.

    A violation is compared with that at w = 0 and with rounding, a gap with |f|.
    """
    if problem.smooth:
        violation = record["violation"]
        # not (violation > ...) would be true for nan: a violation that is not known says nothing
        if violation <= tol * problem.violation_at_zero():
            return f"violation {violation:.3g} is at most {tol:g} times that at w = 0"
        if violation <= problem.noise:
            return f"violation {violation:.3g} is no more than rounding"
        return None
    gap, objective = record["dual_gap"], record["objective"]
    if gap <= tol * abs(objective):
        return f"the proved bound of f - f* is at most {tol:g} of f"
    return None


def contradictions(point: Point, claimed: Mapping[str, Any], drift: Drift) -> list[str]:
    """Return what a solver claims of an iterate and is false, a part of a sentence each, with both numbers.

    Parameters
    ----------
    point : Point
        The point at the iterate's weights, with scores computed from them.
    claimed : mapping
        The record of the iterate; nan claims nothing.
    drift : Drift
        How far the solver's scores may be from those of the weights.

    Returns
    -------
    list of str

    Notes
    -----
    An objective is false that is off by more than rounding on either side. A violation is false only if it is
    less than half of what is measured: one that is too large promises nothing.
    """
    problem, f, violation = point.problem, claimed["objective"], claimed["violation"]
    m, unit = problem.design.n_outputs, rounding_of_sums(problem)
    off = drift.rounding + drift.settled + unit * problem.design.reach(point.w)
    length = math.sqrt(point.residual.dot(point.residual))
    if not problem.smooth:  # at a kink each row's part of it may jump by a slope of every output
        length = max(length, math.sqrt(2.0 * m * problem.loss.n_instances))
    bends = 2.0 * m * off  # the residual changes by no more, as the scores are off
    false = []
    allowed = WRONG * abs(point.objective) + point.rounding() + problem.scale * off * (length + bends)
    if abs(f - point.objective) > allowed:
        false.append(f"the solver says f = {f:.9g}, and at its weights it is {point.objective:.9g}")
    if problem.smooth and not math.isnan(violation):
        measured, longest = point.violation(), problem.design.longest_column()
        noise = problem.scale * math.sqrt(m) * longest * (NOISE * length + bends)
        if measured > 2.0 * violation + noise:
            false.append(
                f"the solver says violation {violation:.3g}, and at its weights it is {measured:.3g}"
            )
    return false


def excess(point: Point, known: Known, tol: float) -> float | None:
    """Return by how much f at a point is above f* at least, if that is more than ``tol`` allows; None if it
    is not known to be.

    Parameters
    ----------
    point : Point
        A point at which the violation, or what else the solver goes by, has met ``tol``.
    known : Known
        What is known of f*; learns what is found here.
    tol : float
        The tolerance.

    Returns
    -------
    float or None

    Notes
    -----
    A violation is measured against that at w = 0, which says little where features have a large offset or
    other units. Allowed are √tol of f, 1 % at most (and ``tol`` if that is more), or tol of f at the start.
    What is proved to be within that is not searched; else a lower f is searched for, which costs some passes.
    """
    f = point.objective
    share = max(tol, min(math.sqrt(tol), SHARE))
    allowed = max(share * abs(f), tol * abs(known.start)) + point.rounding()
    if point.problem.smooth and not f - known.most > allowed:
        gap = duality_gap(point.problem, point) if can_be_certified(point.problem) else None
        if gap is None or gap > allowed:
            known.most = min(known.most, lower_objective(point, 10.0 * allowed))
    return f - known.most if f - known.most > allowed else None


def missing(problem: Problem, knows: Knows) -> str | None:
    """Name the field of the record to measure for a solver that does not know it; None if there is none."""
    if problem.smooth:
        return None if knows.violation else "violation"
    return None if knows.dual_gap or not can_be_certified(problem) else "dual_gap"


def measured(field: str, point: Point) -> float:
    """Compute the violation or the proved gap at a point; nan where there is no way to."""
    if field == "violation":
        return point.violation()
    gap = duality_gap(point.problem, point)
    return math.nan if gap is None else gap


def why_not_tolerance(problem: Problem, knows: Knows) -> str | None:
    """Return why a tolerance could never end a run of a solver on a problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    knows : Knows
        The solver's ``knows``.

    Returns
    -------
    str or None
        The end of a sentence that begins with the tolerance; None if it can.
    """
    if problem.smooth or knows.dual_gap or can_be_certified(problem):
        return None
    return (
        f"needs a smooth loss, a penalty with ridge or a solver that proves its gap to compare tol with, and "
        f"{problem.loss.id} with {problem.penalty.id} has none of them: give max_iter, max_seconds or gap "
        "instead"
    )
