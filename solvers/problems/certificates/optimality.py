"""Measures of optimality: the violation of the optimality conditions, or a proved gap.

A smooth loss has a gradient, hence a violation: the largest entry (or block norm) of the minimum-norm
subgradient. If the loss has kinks, one subgradient says nothing about optimality. Then a bound on f(w) - f*
replaces the violation: the bound of the solver, or that of strong convexity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..point import Drift, Point, rounding_of_sums
from ..problem import NOISE, Problem
from .certificate import KnownMinimum, can_be_certified, duality_gap
from .lower import lower_objective

#: Relative error permitted in the f that a solver reports.
WRONG_SHARE = 1e-9
#: Largest relative excess of f over f* at which a run may count as converged.
EXCESS_SHARE = 0.01


class Knows(NamedTuple):
    """Which of the two measures a solver computes itself, on every problem that it accepts.

    It may compute them at some of its iterates only.
    """

    violation: bool
    dual_gap: bool


def met(problem: Problem, record: Mapping[str, Any], tol: float) -> str | None:
    """Return why the iterate of a record is optimal to ``tol``, as a sentence; None if that is not known.

    A violation is compared with the violation at w = 0 and with rounding, a gap with |f|.
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
    """Return the false claims of a solver about an iterate, each as a clause with both numbers.

    Parameters
    ----------
    point : Point
        The point at the iterate's weights, with scores computed from them.
    claimed : mapping
        The record of the iterate; a nan makes no claim.
    drift : Drift
        A bound on the distance of the solver's scores from those of the weights.

    Returns
    -------
    list of str

    Notes
    -----
    An objective is false if it is off by more than rounding, in either direction. A violation is false only
    if it is less than half of the measured one: a violation that is too large promises nothing.
    """
    problem, f, violation = point.problem, claimed["objective"], claimed["violation"]
    m, unit = problem.design.n_outputs, rounding_of_sums(problem)
    most = problem.loss.largest_weight
    off = drift.rounding + drift.settled + unit * problem.design.reach(point.w)
    length = math.sqrt(point.residual.dot(point.residual))
    if not problem.smooth:  # at a kink each row's part of it may jump by a slope of every output
        length = max(length, most * math.sqrt(2.0 * m * problem.loss.n_instances))
    bends = 2.0 * m * most * off  # the residual changes by no more, as the scores are off
    false = []
    allowed = WRONG_SHARE * abs(point.objective) + point.rounding() + problem.scale * off * (length + bends)
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


def excess(point: Point, known: KnownMinimum, tol: float) -> float | None:
    """Return a lower bound on f - f* at a point if it exceeds what ``tol`` allows.

    Return None if f is within the allowed excess, or no bound proves that it exceeds it.

    Parameters
    ----------
    point : Point
        A point at which the violation, or another measure of the solver, has met ``tol``.
    known : KnownMinimum
        The known upper bound on f*, which is updated.
    tol : float
        The tolerance.

    Returns
    -------
    float or None

    Notes
    -----
    A violation is measured relative to that at w = 0, which says little if features have a large offset or
    different units. The allowed excess is √tol of f, 1 % at most (or ``tol`` if that is more), or tol of f at
    the start. If a bound proves that f is within this excess, nothing is searched. Otherwise a search for a
    lower f follows, which costs some passes.
    """
    f = point.objective
    share = max(tol, min(math.sqrt(tol), EXCESS_SHARE))
    allowed = max(share * abs(f), tol * abs(known.start)) + point.rounding()
    if point.problem.smooth and not f - known.most > allowed:
        gap = duality_gap(point.problem, point) if can_be_certified(point.problem) else None
        if gap is None or gap > allowed:
            known.most = min(known.most, lower_objective(point, 10.0 * allowed))
    return f - known.most if f - known.most > allowed else None


def missing(problem: Problem, knows: Knows) -> str | None:
    """Return the measure that a solver does not compute itself: "violation" or "dual_gap".

    Return None if the solver computes it, or if no gap can be proved.
    """
    if problem.smooth:
        return None if knows.violation else "violation"
    return None if knows.dual_gap or not can_be_certified(problem) else "dual_gap"


def measured(field: str, point: Point) -> float:
    """Compute the violation or the proved gap at a point; return nan if neither can be computed."""
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
        The measures that the solver computes.

    Returns
    -------
    str or None
        The predicate of a sentence whose subject is the tolerance; None if it can end a run.
    """
    if problem.smooth or knows.dual_gap or can_be_certified(problem):
        return None
    return (
        f"needs a smooth loss, a penalty with ridge or a solver that proves its gap to compare tol with, and "
        f"{problem.loss.id} with {problem.penalty.id} has none of them: give max_iter, max_seconds or gap "
        "instead"
    )


def check_tolerance(tol: float | None, problem: Problem, knows: Knows) -> None:
    """Raise ValueError if ``tol`` is given and could never end a run."""
    if tol is not None and (reason := why_not_tolerance(problem, knows)):
        raise ValueError(f"a tol of {tol:g} {reason}")
