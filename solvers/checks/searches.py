"""Checks of steps: the line that was searched, the accepted step, and the stored pairs."""

from __future__ import annotations

import math

import numpy as np

from ..declare import Trait
from ..problems.line import Line
from ..search.outcome import SearchLog
from .claims import KINKED, objective_error
from .finding import Checks, Fault, Faults
from .observed import Observed, ObservedRun

#: Relative error of what is compared along a line, and of pairs.
LINE_SHARE, PAIR_SHARE = 1e-6, 1e-5
#: Slope that an exact search may leave, relative to that at 0.
LEFT_BY_EXACT = 1e-3
#: ‖By - s‖/‖s‖ beyond which B does not satisfy the secant equation.
SECANT_SHARE = 1e-6
#: Length of a step, relative to w, below which a pair is rounding.
SHORT_STEP = 1e-7
#: Why checks of searches do not apply.
UNSEARCHED = "no iterate shows a search along a line from the one before"

searches = Checks()


def _searched(run: ObservedRun, kind: str = "") -> list[tuple[Observed, Observed, SearchLog, Line]]:
    """Return the steps along straight lines: the iterates before and after, the log, and the recomputed line.

    Only those of one ``kind`` of search are returned if it is given. Return an empty list if the solver's
    searches do not start at its iterates, but for example at a proximal point.
    """
    kinked = Trait.DIRECTIONAL_DERIVATIVE in run.problem.loss.traits
    found = []
    for before, after, point, _ in run.steps():
        log = after.line
        if log is None or after.n != before.n + 1 or not (run.problem.smooth or kinked):
            continue
        if not log.trials or not np.any(log.d):
            continue
        start = point.objective
        if abs(log.objective - start) > objective_error(before, point) + 1e-8 * abs(start):
            return []
        if after.told["ls_kind"] == kind or not kind:
            found.append((before, after, log))
    lines = []
    for before, after, log in found:
        active = run.problem.design.working_set(None if log.active.full else log.active.coordinates)
        line = run.problem.line(run.problem.at(before.w), log.d, active)
        lines.append((before, after, log, line))
    return lines


@searches("step", "the iterate is w + td: w before, the direction d of the search, the step t that is told")
def iterate_is_a_step_along_the_direction(run: ObservedRun) -> Faults:
    for before, after, _, line in (searched := _searched(run)):
        d, t = line.d, after.told["step"]
        moved = line.active.take(after.w) - line.active.take(before.w)
        if math.isnan(t):
            continue
        scale = float(np.abs(before.w).max() + np.abs(t * d).max())
        if not np.abs(moved - t * d).max() <= LINE_SHARE * np.abs(moved).max() + 1e-12 * scale:
            share = float(moved @ d) / float(d @ d)
            yield Fault(
                f"the step is told as {t:.6g}, and w moved by {share:.6g} times the direction", after.n
            )
    return run.untold("step") if searched else UNSEARCHED


@searches("direction", "f falls along the direction: its slope at t = 0 is negative")
def direction_descends(run: ObservedRun) -> Faults:
    for before, after, _, line in (searched := _searched(run)):
        slope, f = line.slope(), line.point.objective
        length = float(np.abs(line.d).max()) * run.scale
        if slope > 1e-9 * length + 1e-12 * abs(f):
            yield Fault(
                f"the slope of f along the direction is {slope:.6g} at w of iteration {before.n}", after.n
            )
    return None if searched else UNSEARCHED


@searches("objective", "each trial of a search is f at its step")
def trials_are_f_along_the_line(run: ObservedRun) -> Faults:
    for _, after, log, line in (searched := _searched(run)):
        error = objective_error(after, line.point)
        for t, value in log.trials:
            fresh = line(t)
            if math.isfinite(fresh) and not abs(value - fresh) <= error + 1e-8 * (abs(fresh) + abs(value)):
                yield Fault(f"f is told as {value:.9g} at the step {t:.6g}, and it is {fresh:.9g}", after.n)
                break
    return None if searched else UNSEARCHED


@searches("step", "an accepted step decreases f by the share that its rule asks for")
def accepted_step_decreases_f(run: ObservedRun) -> Faults:
    compared = False
    for before, after, from_, to in run.steps():
        log = after.search
        if log is None or not log.trials or log.block >= 0 or after.told["ls_kind"] == "none":
            continue
        compared = True
        error = objective_error(after, to) + objective_error(before, from_)
        rise = to.objective - log.reference
        if rise > error + 1e-9 * abs(log.reference):
            kind = after.told["ls_kind"] or "a search"
            yield Fault(
                f"the step that {kind} accepted raises f by {rise:.6g}, to {to.objective:.9g}", after.n
            )
            continue
        if after.told["ls_kind"] not in ("armijo", "wolfe"):
            continue
        t, allowed = after.told["step"], log.allowed[-1]
        if allowed > log.reference + error:
            more = allowed - log.reference
            yield Fault(f"at the step {t:.6g} the search allows f to rise by {more:.6g}", after.n)
        elif to.objective > allowed + error:
            yield Fault(
                f"f is {to.objective:.9g} at the accepted step {t:.6g}, and the search allows {allowed:.9g}",
                after.n,
            )
    return None if compared else "no iterate shows a search over all weights"


@searches(
    "step",
    "Wolfe: φ(t) <= φ(0) + c₁tφ'(0) and φ'(t) >= c₂φ'(0), 0 < c₁ < c₂ < 1 (Yu et al. 2010, eqs. (23)-(24))",
)
def wolfe_step_satisfies_both_conditions(run: ObservedRun) -> Faults:
    c2 = getattr(run.solver, "c2", math.nan)
    for _, after, log, line in (searched := _searched(run, "wolfe")):
        start = line.slope()
        if not start < 0.0:
            continue
        error = objective_error(after, line.point)
        for (t, value), allowed in zip(log.trials, log.allowed, strict=True):
            c1, here = (allowed - log.reference) / (t * start), line.slope(t)
            if t == log.trials[-1][0]:
                if here < (c2 if 0.0 < c2 < 1.0 else 1.0) * start * (1.0 + LINE_SHARE) - error / t:
                    left = f"φ'(t) = {here:.6g} is left of φ'(0) = {start:.6g}"
                    yield Fault(f"at the accepted step {t:.6g} {left}, more than c₂ allows", after.n)
            elif value < allowed - error and here > max(c1, 0.0) * start * (1.0 - LINE_SHARE) + error / t:
                # true of (24) for every c2 > c1
                left = f"φ'(t) = {here:.6g} >= c₁φ'(0) = {c1 * start:.6g}"
                yield Fault(f"the step {t:.6g} is refused although {left}: c₂ is not above c₁", after.n)
                break
    return None if searched else "it makes no Wolfe search"


@searches("step", "an exact search ends where the slope changes its sign")
def exact_step_is_a_minimum(run: ObservedRun) -> Faults:
    for _, after, _, line in (searched := _searched(run, "exact")):
        t = after.told["step"]
        if not t > 0.0 or after.told["events"]:
            continue
        start, left, right = line.slope(), line.slope(t * (1.0 - 1e-6), -1), line.slope(t * (1.0 + 1e-6))
        slack = LEFT_BY_EXACT * abs(start) + objective_error(after, line.point) / t
        if left > slack or right < -slack:
            side, slope = ("before", left) if left > slack else ("after", right)
            yield Fault(f"φ' is {slope:.6g} just {side} the step {t:.6g}, and φ'(0) = {start:.6g}", after.n)
    return None if searched else "it makes no exact search"


@searches("memory_pairs", "memory_pairs counts the pairs (s, y) that are held")
def pairs_are_counted(run: ObservedRun) -> Faults:
    for iterate in run.iterates:
        told = iterate.told["memory_pairs"]
        if iterate.pairs and told not in (-1, len(iterate.pairs)):
            yield Fault(f"memory_pairs is told as {told}, and {len(iterate.pairs)} are held", iterate.n)
    return _unpaired(run)


@searches("memory_pairs", "no more pairs (s, y) are held than the hyper-parameter memory says")
def no_more_pairs_than_memory_says(run: ObservedRun) -> Faults:
    most = getattr(run.solver, "memory", None)
    if not isinstance(most, int) or isinstance(most, bool):
        return "it has no hyper-parameter memory that is a number"
    for iterate in run.iterates:
        held = max(len(iterate.pairs), iterate.told["memory_pairs"])
        if held > most:
            yield Fault(f"{held} pairs are held, and memory is {most}", iterate.n)
    return _unpaired(run) and run.untold("memory_pairs")


@searches(
    "pair", "a pair (s, y) is kept if its curvature sᵀy > 0 (Nocedal and Wright, Numerical Optimization)"
)
def pairs_have_positive_curvature(run: ObservedRun) -> Faults:
    for iterate in run.iterates:
        if not iterate.pairs or iterate.clustered:
            continue
        s, y = iterate.pairs[-1]
        if not s @ y > 0.0 and len(s) == iterate.w.size:
            yield Fault(f"the newest pair that is kept has sᵀy = {s @ y:.6g}", iterate.n)
    return _unpaired(run)


@searches("pair", "s = w⁺ - w and y = g⁺ - g of two successive iterates, on the weights of the working set")
def pairs_are_differences_of_iterates(run: ObservedRun) -> Faults:
    if not run.problem.smooth:
        return KINKED
    made: list[_Difference] = []
    gradients = [point.gradient() for point in run.points]
    for k, iterate in enumerate(run.iterates):
        if k and iterate.n == run.iterates[k - 1].n + 1:
            made.append(
                _Difference.of(run.iterates[k - 1], iterate, gradients[k - 1], gradients[k], iterate.n)
            )
        members = np.arange(iterate.w.size)
        if iterate.active is not None and iterate.pairs and len(iterate.pairs[-1][0]) == len(iterate.active):
            members = iterate.active.coordinates
        for place, (s, y) in enumerate(iterate.pairs):
            if iterate.clustered:
                break
            if s.shape != members.shape or y.shape != members.shape:
                yield Fault(
                    f"a pair has {s.size} and {y.size} entries, for {members.size} weights", iterate.n
                )
                break
            if made and not any(one.is_of(s, y, members) for one in made):
                newest = place == len(iterate.pairs) - 1
                yield Fault(_mismatch(s, y, members, made, place, len(iterate.pairs), newest), iterate.n)
                break
    return _unpaired(run)


@searches(
    "pair",
    "the secant equation By = s holds for the newest pair (Nocedal and Wright, Numerical Optimization)",
)
def newest_pair_satisfies_the_secant_equation(run: ObservedRun) -> Faults:
    for iterate in run.iterates:
        if iterate.secant is not None and not iterate.secant <= SECANT_SHARE:
            yield Fault(f"‖By - s‖ is {iterate.secant:.3g} times ‖s‖ of the newest pair", iterate.n)
    return run.unseen("secant", "its pairs and the inverse Hessian")


def _unpaired(run: ObservedRun) -> str | None:
    """Return why checks of pairs do not apply; None if they do."""
    return run.unseen("pairs", "its pairs")


class _Difference:
    """The difference of two successive iterates, and that of their gradients."""

    def __init__(self, n: int, s: np.ndarray, y: np.ndarray, error_s: float, error_y: float) -> None:
        self.n, self.s, self.y, self.error_s, self.error_y = n, s, y, error_s, error_y

    @classmethod
    def of(cls, before: Observed, after: Observed, g: np.ndarray, g_new: np.ndarray, n: int) -> _Difference:
        w, w_new = before.w, after.w
        s, y = w_new - w, g_new - g
        error_s = PAIR_SHARE * np.abs(s).max() + 1e-13 * np.abs(w_new).max()
        error_y = PAIR_SHARE * np.abs(y).max() + 1e-12 * np.abs(g).max()
        return cls(n, s, y, float(error_s), float(error_y))

    @property
    def rounding(self) -> float:
        return self.error_s * float(np.abs(self.y).max()) + self.error_y * float(np.abs(self.s).max())

    def is_of(self, s: np.ndarray, y: np.ndarray, members: np.ndarray) -> bool:
        """Return whether a pair (s, y) can be this difference.

        Products of entries are compared, which no diagonal scaling changes. An entry may be zero: then the
        weight was not in the working set.
        """
        off = np.abs(s * y - (self.s * self.y)[members]) > self.rounding
        return not np.any(off & ((s != 0.0) | (y != 0.0)))


def _mismatch(
    s: np.ndarray,
    y: np.ndarray,
    members: np.ndarray,
    made: list[_Difference],
    place: int,
    held: int,
    newest: bool,
) -> str:
    """Return a sentence about a pair that is the difference of no two iterates."""
    if not newest:
        return f"pair {place + 1} of {held}, with sᵀy = {s @ y:.6g}, is the difference of no two iterates"
    last = made[-1]
    for name, shown, fresh, error in (("s", s, last.s, last.error_s), ("y", y, last.y, last.error_y)):
        k = int(np.argmax(np.abs(shown - fresh[members])))
        if abs(shown[k] - fresh[members[k]]) > error:
            what = "w" if name == "s" else "the gradient"
            return (
                f"entry {members[k]} of the newest pair's {name} is {shown[k]:.6g}, and {what} changed by "
                f"{fresh[members[k]]:.6g}"
            )
    return f"the newest pair, with sᵀy = {s @ y:.6g}, is the difference of no two iterates"
