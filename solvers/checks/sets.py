"""Checks of working sets: which weights leave, which stay out, and which a rule has proved to be zero."""

from __future__ import annotations

import numpy as np

from ..problems.point import Point
from .claims import KINKED
from .finding import Checks, Fault, Faults
from .observed import Observed, ObservedRun

#: Violation of a weight that is left out, relative to the largest gradient at the start.
LEFT_OUT_SHARE = 1e-5

sets = Checks()
#: Why checks of sets do not apply.
NO_SET = "no iterate shows a working set of weights"
NOT_TRUSTED = "no solver that is trusted finds the minimum"


@sets(
    "working_set",
    "a weight leaves the set where it is zero and optimal: |g_j| <= λ (Zhong et al. 2014, Algorithm 2)",
)
def set_shrinks_by_optimal_weights(run: ObservedRun) -> Faults:
    compared = False
    for before, after, *points in run.steps():
        old, new = _members(before), _members(after)
        if old is None or new is None or before.told["epoch"] != after.told["epoch"]:
            continue
        if after.line is None:  # in a pass over blocks sets shrink on the way, where w was another
            continue
        if np.setdiff1d(new, old).size:  # the set was chosen afresh
            continue
        gone = np.setdiff1d(old, new)
        compared = compared or gone.size > 0
        # it is chosen before the step, or after it
        where = f"left the working set of iteration {before.n}"
        faults = [fault for point in points if (fault := _worst(run, gone, point, where))]
        if len(faults) == len(points):
            yield Fault(faults[0], after.n)
    return None if compared else _without_sets(run) or "no weight leaves a set between two searches"


@sets("working_set", "at the end of a run that converged no weight that was left out violates")
def nothing_left_out_violates_at_the_end(run: ObservedRun) -> Faults:
    if not run.converged or not run.iterates:
        return "no run converges"
    last, point = run.iterates[-1], run.points[-1]
    members = _members(last)
    if members is not None:
        out = np.setdiff1d(np.arange(last.w.size), members)
        if fault := _worst(run, out, point, f"is outside the working set of {members.size} at the end"):
            yield Fault(fault, last.n)
        return None if run.problem.smooth else KINKED
    return NO_SET


@sets("working_set", "a new epoch begins with every weight that violates (Zhong et al. 2014, Algorithm 2)")
def epoch_begins_with_all_that_violate(run: ObservedRun) -> Faults:
    compared = False
    for before, after, _, point in run.steps():
        if before.told["epoch"] == -1 or after.told["epoch"] != before.told["epoch"] + 1:
            continue
        members, last = _members(after), _members(before)
        if members is None or last is None or members.size < last.size:
            continue
        if after.told["violation"] == after.told["violation"] and run.problem.smooth:
            compared = True
            out = np.setdiff1d(np.arange(after.w.size), members)
            if fault := _worst(
                run, out, point, f"is outside the set with which epoch {after.told['epoch']} begins"
            ):
                yield Fault(fault, after.n)
    return None if compared else _without_sets(run) or "no epoch follows another one"


@sets("working_set", "what a safe rule has proved to be zero is zero at the optimum")
def proved_zeros_are_zero(run: ObservedRun, optimum: np.ndarray | None) -> Faults:
    """Compare proofs with ``optimum``, the weights of a trusted solver, unless it is None."""
    if optimum is None:
        return NOT_TRUSTED
    largest = float(np.abs(optimum).max(initial=0.0))
    for iterate in run.iterates:
        if iterate.proved is None or not len(iterate.proved[0]):
            continue
        blocks, width = iterate.proved
        weights = (blocks[:, None] * width + np.arange(width)).reshape(-1)
        j = weights[np.argmax(np.abs(optimum[weights]))]
        if abs(optimum[j]) > 1e-4 * largest:
            yield Fault(
                f"weight {j} is proved to be zero, and it is {optimum[j]:.6g} at the optimum", iterate.n
            )
    return run.unseen("proved", "weights that a safe rule has proved to be zero")


def _without_sets(run: ObservedRun) -> str | None:
    """Return why checks of working sets do not apply; return None if they do."""
    return None if any(_members(iterate) is not None for iterate in run.iterates) else NO_SET


def _members(iterate: Observed) -> np.ndarray | None:
    active = iterate.active
    return None if active is None or active.size != iterate.w.size else active.coordinates


def _worst(run: ObservedRun, weights: np.ndarray, point: Point, where: str) -> str | None:
    """Return a sentence about the weight that violates optimality most; return None if none does."""
    if not weights.size or not run.problem.smooth:
        return None
    problem, g = run.problem, point.gradient()
    shortest = np.abs(problem.penalty.subgradient(point.w, g))
    j = weights[np.argmax(shortest[weights])]
    if shortest[j] <= LEFT_OUT_SHARE * run.scale:
        return None
    return (
        f"weight {j} {where} with w = {point.w[j]:.6g} and a violation of {shortest[j]:.6g}, g = {g[j]:.6g}"
    )
