"""Checks of proximal steps: whether they lead to the right point, and are short enough."""

from __future__ import annotations

import math

import numpy as np

from ..declare import Trait
from ..problems.point import Point
from .claims import GRADIENT_SHARE, KINKED, gradient_error, objective_error
from .finding import Checks, Fault, Faults
from .observed import Observed, ObservedRun

#: Error of a weight, relative to the largest, that counts as rounding.
WEIGHT_SHARE = 1e-9

proximal_steps = Checks()
#: Why the checks do not apply.
UNSHOWN = "no iterate shows prox_from and tells its step"


@proximal_steps(
    "w", "w = prox(y - t∇F(y), t) with the step t that is told and the y shown as prox_from, F loss and ridge"
)
def iterate_is_a_proximal_step(run: ObservedRun) -> Faults:
    if reason := _unusable(run):
        return reason
    for iterate, _, y in _shown(run):
        if y is None:
            assert iterate.prox_from is not None  # it is shown
            shapes = f"the shape {iterate.prox_from.shape}, and w {iterate.w.shape}"
            yield Fault(f"prox_from has {shapes}", iterate.n)
        elif fault := _elsewhere(run, iterate, y):
            yield Fault(fault, iterate.n)
    return None


@proximal_steps(
    "step",
    "F(w) <= F(y) + ∇F(y)ᵀ(w - y) + ‖w - y‖²/2t, F loss and ridge (Beck and Teboulle 2009)",
)
def accelerated_step_is_short_enough(run: ObservedRun) -> Faults:
    """Check the steps of runs in which some step starts elsewhere than at an iterate.

    In other runs steps may be up to twice as long.
    """
    if reason := _unusable(run):
        return reason
    if not _extrapolates(run):
        return "every proximal step starts from the iterate before"
    for iterate, point, y in _shown(run):
        if y is None or _elsewhere(run, iterate, y):
            continue
        t, d = iterate.told["step"], point.w - y.w
        bound = y.smooth_part + float(y.gradient() @ d) + float(d @ d) / (2.0 * t)
        if point.smooth_part > bound + objective_error(iterate, point) + objective_error(iterate, y):
            yield Fault(
                f"at the step t = {t:.6g} F(w) is {point.smooth_part:.9g}, and the bound is {bound:.9g}",
                iterate.n,
            )
    return None


def _unusable(run: ObservedRun) -> str | None:
    """Return why checks of proximal steps do not apply; None if they do."""
    if not run.problem.smooth:
        return KINKED
    if Trait.PROX not in run.problem.penalty.traits:
        return "the penalties that were tried have no proximal operator in closed form"
    return None if _shown(run) else UNSHOWN


def _shown(run: ObservedRun) -> list[tuple[Observed, Point, Point | None]]:
    """Return the iterates that have y and t, with the points w and y; None replaces a y of the wrong
    shape."""
    found = []
    for iterate, point in run.each():
        t, y = iterate.told["step"], iterate.prox_from
        if y is not None and math.isfinite(t) and t > 0.0:
            found.append((iterate, point, run.problem.at(y) if y.shape == iterate.w.shape else None))
    return found


def _extrapolates(run: ObservedRun) -> bool:
    return any(
        after.prox_from is not None and after.n == before.n + 1 and np.any(after.prox_from != before.w)
        for before, after, *_ in run.steps()
    )


def _elsewhere(run: ObservedRun, iterate: Observed, y: Point) -> str | None:
    """Return a sentence about the weight farthest from the proximal step; return None if w is that step."""
    t, g = iterate.told["step"], y.gradient()
    fresh = run.problem.prox_step(y.w, g, t)
    apart = np.abs(iterate.w - fresh)
    j = int(np.argmax(apart))
    largest = float(max(np.abs(y.w).max(), np.abs(fresh).max()))
    if apart[j] <= t * (gradient_error(iterate, y) + GRADIENT_SHARE * run.scale) + WEIGHT_SHARE * largest:
        return None
    return f"weight {j} is {iterate.w[j]:.6g}, and prox(y - t∇F(y), t) is {fresh[j]:.6g} for t = {t:.6g}"
