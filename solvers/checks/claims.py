"""Checks of the records of iterates: each quantity is compared with the one recomputed from the weights."""

from __future__ import annotations

import math

import numpy as np

from ..declare import Trait
from ..problems.certificates.optimality import NOISE, WRONG_SHARE
from ..problems.point import Point, rounding_of_sums
from ..rivals.observation_mode import RERUN
from .finding import Checks, Fault, Faults
from .observed import Observed, ObservedRun

#: Relative error of gradients and violations, beyond which they are not those of the weights.
GRADIENT_SHARE = 1e-6
#: Why a check of gradients does not apply.
KINKED = "the losses that were tried have kinks"

claims = Checks()


@claims("iteration", "iterates are numbered 0, 1, 2, ... (solvers/README.md, Add a solver)")
def iterates_are_numbered(run: ObservedRun) -> Faults:
    if any(iterate.told["phase"] == RERUN for iterate in run.iterates):
        return "each iterate is the end of a run anew, and some are left out"
    for k, iterate in enumerate(run.iterates):
        if iterate.n != k:
            yield Fault(f"the iterate after number {k - 1} has the number {iterate.n}", iterate.n)
    return None


@claims("w0", "iteration 0 is the starting point (solvers/README.md, Add a solver)")
def first_iterate_is_the_start(run: ObservedRun) -> Faults:
    if Trait.DUAL_COORDINATES in run.solver.needs:
        return "it starts from variables of the dual"
    if run.iterates:
        start = run.problem.at().w if run.w0 is None else run.w0
        j = int(np.argmax(np.abs(run.iterates[0].w - start)))
        here = run.iterates[0].w[j]
        if here != start[j]:
            yield Fault(f"weight {j} is {here:.6g} at iteration 0, and it starts from {start[j]:.6g}", 0)
    return None


@claims("objective", "objective, loss and penalty are those of f at the iterate's weights")
def objective_is_f_at_w(run: ObservedRun) -> Faults:
    for iterate, point in run.each():
        for name in ("objective", "loss", "penalty"):
            told, fresh = iterate.told[name], getattr(point, name)
            if not math.isnan(told) and not abs(told - fresh) <= objective_error(iterate, point):
                yield Fault(f"{name} is told as {told:.12g}, and at w it is {fresh:.12g}", iterate.n)
    return run.untold("objective", "loss", "penalty")


@claims("nnz", "nnz counts the non-zero weights, nnz_rows the features with one")
def sparsity_is_that_of_w(run: ObservedRun) -> Faults:
    for iterate, point in run.each():
        for name, fresh in zip(("nnz", "nnz_rows"), point.sparsity(), strict=True):
            told = iterate.told[name]
            if told not in (-1, fresh):
                yield Fault(f"{name} is told as {told}, and w has {fresh}", iterate.n)
    return run.untold("nnz", "nnz_rows")


@claims("gradient", "live gradient: that of the smooth part at w, an entry for each member of the set")
def gradient_is_that_of_w(run: ObservedRun) -> Faults:
    for iterate, point in run.each():
        if not run.problem.smooth or (shown := iterate.gradient) is None:
            continue
        members = iterate.active or run.problem.design.working_set()
        if shown.size == run.problem.size:
            members = run.problem.design.working_set()
        if shown.shape != (len(members),):
            if not iterate.clustered:
                entries = f"{shown.size} entries and the working set {len(members)} members"
                yield Fault(f"the gradient that is shown has {entries}", iterate.n)
            continue
        fresh = members.take(point.gradient())
        k = int(np.argmax(np.abs(shown - fresh)))
        if not abs(shown[k] - fresh[k]) <= gradient_error(iterate, point) + GRADIENT_SHARE * run.scale:
            j = members.coordinates[k]
            yield Fault(
                f"entry {j} of the gradient is shown as {shown[k]:.6g}, and at w it is {fresh[k]:.6g}",
                iterate.n,
            )
    return run.unseen("gradient", "its gradient") if run.problem.smooth else KINKED


@claims("violation", "violation: the largest entry of the minimum-norm subgradient over all weights")
def violation_is_that_of_w(run: ObservedRun) -> Faults:
    for iterate, point in run.each():
        told = iterate.told["violation"]
        if not run.problem.smooth or math.isnan(told):
            continue
        fresh = point.violation()
        error = gradient_error(iterate, point) + GRADIENT_SHARE * max(fresh, told)
        if not abs(told - fresh) <= error + 1e-9 * run.scale:
            yield Fault(f"violation is told as {told:.6g}, and at w it is {fresh:.6g}", iterate.n)
    return run.untold("violation") if run.problem.smooth else KINKED


@claims("working_set", "working_set counts the weights that could move; the others do not move")
def working_set_holds_what_moves(run: ObservedRun) -> Faults:
    before: Observed | None = None
    for iterate in run.iterates:
        told, active = iterate.told["working_set"], iterate.active
        if active is None or active.size != iterate.w.size:
            continue
        if told not in (-1, len(active)):
            yield Fault(f"working_set is told as {told}, and {len(active)} weights are in it", iterate.n)
        if before is not None and before.active is not None:
            # the set of the step is that of the iterate before, or the one shown now
            free = active.mask() | before.active.mask()
            moved = np.flatnonzero((iterate.w != before.w) & ~free)
            if moved.size:
                j = moved[0]
                sizes = f"{len(before.active)} and then {len(active)} weights"
                yield Fault(
                    f"weight {j} went from {before.w[j]:.6g} to {iterate.w[j]:.6g}, outside sets of {sizes}",
                    iterate.n,
                )
        before = iterate
    return "no iterate shows a working set of weights" if before is None else None


@claims("epoch", "epochs count from 0, and rise by one")
def epochs_count_from_zero(run: ObservedRun) -> Faults:
    before = -1
    for iterate in run.iterates:
        epoch = iterate.told["epoch"]
        if epoch == -1:
            continue
        if before == -1 and epoch != 0:
            yield Fault(f"the first epoch has the number {epoch}", iterate.n)
        elif before != -1 and epoch not in (before, before + 1):
            yield Fault(f"epoch {epoch} follows epoch {before}", iterate.n)
        before = epoch
    return run.untold("epoch")


@claims("dual_gap", "dual_gap is a proved bound of f - f*, never below it")
def bound_is_not_below(run: ObservedRun, least: float) -> Faults:
    """Compare bounds with ``least``, the smallest known value of f."""
    for iterate, point in run.each():
        gap = iterate.told["dual_gap"]
        if math.isnan(gap):
            continue
        away = point.objective - least
        if away > gap + 1e-9 * max(abs(least), abs(point.objective)) + point.rounding():
            yield Fault(
                f"f - f* is told to be at most {gap:.6g}, and f is lower by {away:.6g} elsewhere", iterate.n
            )
    return run.untold("dual_gap")


def objective_error(iterate: Observed, point: Point) -> float:
    """Return the largest permissible error of an objective, from rounding and drift of the scores."""
    problem, m = point.problem, point.problem.design.n_outputs
    length = math.sqrt(point.residual.dot(point.residual))
    if not problem.smooth:
        length = max(length, problem.loss.largest_weight * math.sqrt(2.0 * m * problem.loss.n_instances))
    off = _scores_error(iterate, point)
    bends = 2.0 * m * problem.loss.largest_weight * off
    return WRONG_SHARE * abs(point.objective) + point.rounding() + problem.scale * off * (length + bends)


def gradient_error(iterate: Observed, point: Point) -> float:
    """Return the largest permissible error of an entry of the gradient."""
    problem, m = point.problem, point.problem.design.n_outputs
    length = math.sqrt(point.residual.dot(point.residual))
    bends = 2.0 * m * problem.loss.largest_weight * _scores_error(iterate, point)
    return problem.scale * math.sqrt(m) * problem.design.longest_column() * (NOISE * length + bends)


def _scores_error(iterate: Observed, point: Point) -> float:
    unit = rounding_of_sums(point.problem)
    return iterate.drift.rounding + iterate.drift.settled + unit * point.problem.design.reach(point.w)
