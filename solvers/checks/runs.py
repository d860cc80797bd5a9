"""Checks of whole runs: how they end, and what must not change if a run or its problem changes."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np

from ..registry import PENALTIES
from ..traces.first_difference import compare_runs
from .bench import Bench, scaled
from .case import CheckCase
from .claims import KINKED, bound_is_not_below, objective_error
from .finding import Checks, Fault, Faults, common
from .observed import TOL_OF_CHECKS, ObservedRun, observe
from .sets import NOT_TRUSTED, proved_zeros_are_zero

#: How far above the minimum a run may end: one that says that it converged, relative to its decrease of f;
#: one that says that it can get no further; and one that a limit ends.
CONVERGED_SHARE, STALLED_SHARE, UNFINISHED_SHARE = 1e-3, 0.02, 0.1
#: A run is at rest if its second half covers less than this fraction of the way to the minimum.
AT_REST_SHARE = 0.05
#: Violation of a run at rest, relative to that at w = 0, beyond which it is at no minimum.
REST_SHARE = 1e-3
#: Change of weights, relative to the largest, by which rounding differs when samples change their order.
ROUNDING_OF_ORDER = 1e-6
#: Distance of f from the minimum, relative to f, within which twins are not compared. Two right L-BFGS differ
#: by 1e-9 in γ from 1e-10 on: rounding grows with the iterations, and relative to pairs that get short.
CLOSE_FOR_TWINS = 1e-8
#: Iterates of runs that are compared bit for bit, and of those on degenerate data.
COMPARED_ITERATES, DEGENERATE_ITERATES = 4, 30
#: CPU seconds between two signs of life that are too long; the contract requires 0.05.
MOST_SILENCE = 0.2
#: Entries of the large problem on which signs of life are counted.
LARGE_SAMPLES, LARGE_FEATURES, LARGE_SECONDS = 20_000, 40, 1.5
#: Change of f, relative to its decrease, when samples or features change their order or unit.
ORDER_SHARE = 0.02
#: Factor by which features change their unit.
UNIT_FACTOR = 8.0

#: Why some checks do not apply.
SEQUENCES, UNFINISHED = "samples are sequences", "no run converges or comes to rest in time"

runs = Checks()
#: Checks against a twin.
twin_checks = Checks()


@runs("run", "a run ends by itself or at a limit, and all its numbers are finite")
def run_does_not_fail(bench: Bench) -> Faults:
    for run in bench.runs:
        if run.failure:
            yield Fault(run.failure, len(run.iterates) - 1)
        if not run.iterates and not run.failure:
            yield Fault("it ends before its first iterate: iteration 0 is the starting point")


@runs("w0", "w0 and the arrays of the problem belong to the caller: a run does not change them")
def start_is_left_as_it_is(bench: Bench) -> Faults:
    if not bench.solver.takes_start:
        return "it takes no start"
    w0 = bench.random_start.copy()
    bench.observe(w0=w0, max_iter=COMPARED_ITERATES)
    if (j := _first_difference(w0, bench.random_start)) is not None:
        yield Fault(f"w0[{j}] is {w0[j]:.6g} after the run, and it was {bench.random_start[j]:.6g}")
    return None


@runs("data", "X and y belong to the problem: a run does not change them")
def data_are_left_as_they_are(bench: Bench) -> Faults:
    problem = bench.case.problem()
    w = np.linspace(-1.0, 1.0, problem.size)
    kept = {
        f.name: np.copy(a)
        for f in fields(problem.loss)
        if isinstance(a := getattr(problem.loss, f.name), np.ndarray)
    }
    digest, before = problem.design.digest(), problem.at(w).objective
    observe(bench.solver, problem, max_iter=COMPARED_ITERATES, seconds=bench.seconds)
    for name, old in kept.items():
        new = np.asarray(getattr(problem.loss, name))
        if (i := _first_difference(new.reshape(-1), old.reshape(-1))) is not None:
            yield Fault(
                f"entry {i} of {name} is {new.reshape(-1)[i]} after a run, and it was {old.reshape(-1)[i]}"
            )
    if problem.design.digest() != digest:
        yield Fault("the entries of X are others after a run")
    elif (after := problem.at(w).objective) != before:
        yield Fault(f"f at one w is {after:.9g} after a run, and it was {before:.9g}")


@runs("repetition", "the same solver, seed and problem give the same iterates, bit for bit")
def runs_repeat_bit_for_bit(bench: Bench) -> Faults:
    again = bench.observe(max_iter=COMPARED_ITERATES)
    for one, other in zip(bench.run.iterates, again.iterates, strict=False):
        if (j := _first_difference(one.w, other.w)) is not None:
            yield Fault(f"weight {j} is {one.w[j]:.17g} in one run and {other.w[j]:.17g} in the next", one.n)
            return


@runs("objective", "a run gets to the minimum that a trusted solver finds")
def end_is_the_minimum(bench: Bench) -> Faults:
    if bench.trusted is None:
        return NOT_TRUSTED
    reasons = []
    for run in bench.runs:
        reasons.append((yield from _above_minimum(bench, run)))
    return common(reasons)


def _above_minimum(bench: Bench, run: ObservedRun) -> Faults:
    if run.failure or not run.iterates:
        return UNFINISHED
    id = bench.trusted[0] if bench.trusted else ""
    f, least = min(point.objective for point in run.points), bench.least
    start = max(bench.problem.at().objective, run.points[0].objective)
    status = "converged" if run.converged else "" if run.ending is None else run.ending.status
    stopped = run.ending is not None and not run.converged
    if not run.converged and not stopped and not _at_rest(run, least):
        return UNFINISHED  # it may get there
    if stopped and not run.problem.smooth:
        return KINKED  # methods of gradients stop at kinks, and say so
    if run.converged:
        f = run.points[-1].objective
    share = CONVERGED_SHARE if run.converged else STALLED_SHARE if stopped else UNFINISHED_SHARE
    fall, away = start - least, f - least
    if not away <= share * fall + 1e-9 * abs(least):
        ended = (
            f"the run ends as {status}"
            if status
            else f"after {run.iterates[-1].n} iterations the best iterate is"
        )
        said = f"{ended} at f = {f:.9g}, and {id} finds {least:.9g}"
        yield Fault(said, run.iterates[-1].n)
    return None


def _at_rest(run: ObservedRun, least: float, factor: float = 1.0) -> bool:
    """Return whether the best f hardly approached ``least`` in the second half of a run.

    f is multiplied by ``factor``.
    """
    if run.cut:
        return False
    values = [factor * point.objective for point in run.points]
    half, end = min(values[: len(values) // 2 + 1]), min(values)
    return half - end <= AT_REST_SHARE * (half - least)


@runs("violation", "a solver that says it has converged is at a point whose violation says so")
def convergence_is_true(bench: Bench) -> Faults:
    if not bench.problem.smooth:
        return KINKED
    for run in bench.runs:
        if not (run.converged and run.iterates):
            continue
        last, point = run.iterates[-1], run.points[-1]
        violation, first = point.violation(), max(run.problem.violation_at_zero(), run.problem.noise)
        if violation > 1e-3 * first:
            yield Fault(
                f"the run ends as converged with violation {violation:.6g}, and that at w = 0 is {first:.6g}",
                last.n,
            )
    return None if any(run.converged for run in bench.runs) else "no run converges"


@runs("violation", "a run comes to rest at a minimum: the gradient of loss and ridge, -g, is in λ∂R(w) there")
def rest_is_at_a_minimum(bench: Bench) -> Faults:
    """Check the violation of runs whose f has stopped decreasing, however near it is to the minimum.

    Runs that depend on the order of samples are exempt: methods of single samples rest around a minimum.
    """
    if not bench.problem.smooth:
        return KINKED
    compared = False
    for run in bench.runs:
        if run.failure or run.converged or not run.iterates:
            continue
        first = max(run.problem.violation_at_zero(), run.problem.noise)
        half = len(run.points) // 2
        late, penalty = run.points[half:], run.problem.penalty
        violation = min(point.violation() for point in late)
        if not _at_rest(run, bench.least) or _falls_steadily(run) or _by_single_samples(bench):
            continue
        compared = True
        if violation <= REST_SHARE * first:
            continue
        said = f"f is at rest with violation {violation:.6g}, and that at w = 0 is {first:.6g}"
        if penalty.ridge:
            gradients = ((p.w, p.gradient() - penalty.ridge_gradient(p.w)) for p in late)
            said += f"; without the ridge it is {min(penalty.violation(w, g) for w, g in gradients):.3g}"
        yield Fault(said, run.iterates[half].n)
    return None if compared else "no run of whole gradients comes to rest without converging"


def _falls_steadily(run: ObservedRun) -> bool:
    """Return whether the best f decreases in the last quarter of a run at least half as much as in the third.

    Then the steps are merely short, and f may still reach the minimum.
    """
    best = np.minimum.accumulate([point.objective for point in run.points])
    middle, late, end = (best[(len(best) - 1) * k // 4] for k in (2, 3, 4))
    return bool(late - end > max(0.5 * (middle - late), 1e-12 * abs(end)))


def _by_single_samples(bench: Bench) -> bool:
    """Return whether the order of samples changes the first iterates by more than rounding."""
    order = np.random.default_rng(2).permutation(bench.case.n_samples)
    other = bench.on(bench.case.take(order)).observe(max_iter=COMPARED_ITERATES)
    return any(
        np.abs(one.w - two.w).max() > ROUNDING_OF_ORDER * np.abs(one.w).max()
        for one, two in zip(bench.run.iterates, other.iterates, strict=False)
    )


@runs("dual_gap", "dual_gap is a proved bound of f - f*, never below it")
def bounds_hold_at_the_optimum(bench: Bench) -> Faults:
    reasons = []
    for run in bench.runs:
        reasons.append((yield from bound_is_not_below(run, bench.least)))
    return common(reasons)


@runs("working_set", "what a safe rule has proved to be zero is zero at the optimum")
def safe_rules_are_safe(bench: Bench) -> Faults:
    known = None if bench.trusted is None else bench.trusted[1]
    reasons = []
    for run in bench.runs:
        reasons.append((yield from proved_zeros_are_zero(run, known)))
    return common(reasons)


@runs("sample", "every sample counts: a run changes if one of them does")
def every_sample_counts(bench: Bench) -> Faults:
    case = bench.case
    if case.offsets is not None or case.n_samples < 2:
        return SEQUENCES if case.n_samples > 1 else "there is one sample"
    ours = bench.observe(max_iter=COMPARED_ITERATES)
    for i in (0, case.n_samples // 2, case.n_samples - 1):
        X = case.X.copy()
        X[i] *= -0.5
        lam = bench.problem.lam
        other = bench.on(replace(case, X=X, lam=lam, lam_ratio=None)).observe(max_iter=COMPARED_ITERATES)
        moved = any(np.any(one.w != ours.iterates[0].w) for one in ours.iterates)
        same = zip(ours.iterates, other.iterates, strict=False)
        if moved and all(_first_difference(a.w, b.w) is None for a, b in same):
            last = min(len(ours.iterates), len(other.iterates)) - 1
            yield Fault(f"the first {last} iterations are the same if sample {i} is multiplied by -0.5", last)
    return None


@runs("order", "the order of samples does not change the minimum")
def order_of_samples_is_no_matter(bench: Bench) -> Faults:
    order = np.random.default_rng(2).permutation(bench.case.n_samples)
    return (yield from _another_order(bench, bench.case.take(order), "samples in another order"))


@runs("order", "the order of features does not change the minimum")
def order_of_features_is_no_matter(bench: Bench) -> Faults:
    order = np.random.default_rng(2).permutation(bench.case.X.shape[1])
    return (yield from _another_order(bench, bench.case.with_features(order), "features in another order"))


@runs("scale", "X times c and λ times c are the same problem in another unit")
def unit_of_features_is_no_matter(bench: Bench) -> Faults:
    case = scaled(bench.case, UNIT_FACTOR)
    if case is None:
        return "features and λ have no common unit with this penalty"
    return (yield from _another_order(bench, case, f"features times {UNIT_FACTOR:g} and λ in proportion"))


@runs("lam", "a sum over n instances with nλ is n times the average with λ")
def sum_and_average_agree(bench: Bench) -> Faults:
    case, problem = bench.case, bench.problem
    n, lam = problem.loss.n_instances, problem.lam
    if lam is None:
        return "the penalty has no λ"
    strength = {"average": not problem.average, "lam_ratio": None}
    other = replace(case, **strength, lam=lam * n if problem.average else lam / n)
    factor = 1.0 / n if problem.average else float(n)
    how = "the sum and nλ" if problem.average else "the average"
    return (yield from _another_order(bench, other, how, factor))


def _another_order(bench: Bench, case: CheckCase, how: str, factor: float = 1.0) -> Faults:
    """Compare the least f of the run with that on an equivalent problem, whose f is multiplied by
    ``factor``."""
    run = bench.run
    if run.failure or not run.iterates:
        return UNFINISHED
    other = bench.on(case)
    theirs = other.run
    if theirs.failure or not theirs.iterates:
        yield Fault(f"with {how} it fails: {theirs.failure}")
        return None
    start, ours = run.points[0].objective, min(point.objective for point in run.points)
    found = factor * min(point.objective for point in theirs.points)
    done = run.converged or _at_rest(run, bench.least)
    if not (done and (theirs.converged or _at_rest(theirs, bench.least, factor))):
        return UNFINISHED
    share = ORDER_SHARE if run.converged and theirs.converged else 5.0 * ORDER_SHARE
    if not abs(found - ours) <= share * (start - min(ours, found)) + 1e-9 * abs(start):
        yield Fault(f"the least f is {ours:.9g}, and {found:.9g} with {how}", run.iterates[-1].n)
    return None


@runs("degenerate", "degenerate data make no numbers that are none, and no exception")
def degenerate_data_do_no_harm(bench: Bench) -> Faults:
    case = bench.case
    if case.offsets is not None:
        return SEQUENCES
    for name, X in degenerate_features(case.X).items():
        lam = None if not PENALTIES[case.penalty].takes_lam else 0.01
        other = bench.on(replace(case, X=X, y=case.y[: len(X)], lam=lam, lam_ratio=None))
        try:
            run = other.observe(max_iter=DEGENERATE_ITERATES)
        except ValueError:  # no such problem, as with one label alone
            continue
        if run.failure:
            yield Fault(f"with {name}: {run.failure}", len(run.iterates) - 1)
            continue
        for iterate, point in run.each():
            told, fresh = iterate.told["objective"], point.objective
            if not math.isnan(told) and not abs(told - fresh) <= objective_error(iterate, point) + 1e-9:
                yield Fault(
                    f"with {name} f is told as {told:.9g}, and at w it is {fresh:.9g}", iterate.n, "objective"
                )
                break
    return None


def degenerate_features(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return degenerate variants of the features, by a description of what is degenerate."""
    other_units = X.copy()
    other_units[:, 0] *= 1e6
    return {
        "features that are all zero": np.zeros_like(X),
        "equal samples": np.tile(X[:1], (len(X), 1)),
        "one feature": X[:, :1],
        "a constant feature": np.column_stack([X, np.ones(len(X))]),
        "a feature of zeros": np.column_stack([X, np.zeros(len(X))]),
        "features of unlike units": other_units,
    }


@runs("pulse", "long loops call problem.pulse() about every 50 ms (solvers/README.md, How it works)")
def long_loops_call_pulse(bench: Bench) -> Faults:
    case = bench.case
    if case.offsets is not None:
        return SEQUENCES
    many = np.arange(LARGE_SAMPLES) % case.n_samples
    X = np.tile(case.X[many], (1, -(-LARGE_FEATURES // case.X.shape[1])))[:, :LARGE_FEATURES]
    lam = bench.problem.lam
    large = bench.on(replace(case, X=X, y=case.y[many], lam=lam, lam_ratio=None))
    for _ in range(2):  # what compiles first, or another process, does not count
        run = large.observe(max_iter=1, seconds=LARGE_SECONDS)
        if run.silence <= MOST_SILENCE:
            return None
    yield Fault(
        f"on {LARGE_SAMPLES:,} samples no pulse comes for {run.silence:.2g} CPU seconds: "
        "Stop and Pause would wait as long",
        run.silent_at,
    )
    return None


@twin_checks("iterate", "the iterates are those of the twin")
def iterates_are_those_of_the_twin(bench: Bench) -> Faults:
    """Yield the first quantity that differs from the twin's, before f is so close to the minimum that
    rounding decides.

    Yield nothing if the solver fails, which another check reports.
    """
    ours, theirs = bench.solver, bench.twin
    if theirs is None or bench.run.failure:
        return "the run fails"
    problems = (bench.problem.with_pulse(lambda: None) for _ in range(2))
    iterates = [
        one.with_tol(TOL_OF_CHECKS).iterate(it) for one, it in zip((ours, theirs), problems, strict=True)
    ]
    found = compare_runs(*iterates, max_iter=_last_apart_from_minimum(bench)).difference
    for generator in iterates:
        generator.close()
    if found is not None and found.name != "end":  # who ends first is a matter of the ending alone
        entry = "" if found.entry is None else f"entry {found.entry} is "
        yield Fault(entry + found.values(ours.id, theirs.id), found.iteration, found.title)
    return None


def _last_apart_from_minimum(bench: Bench) -> int:
    """Return the index of the last iterate before the first one that is close to the minimum."""
    start, least = bench.run.points[0].objective, bench.least
    close = least + CLOSE_FOR_TWINS * (abs(start - least) + abs(least))
    for iterate, point in bench.run.each():
        if point.objective <= close:
            return max(iterate.n - 1, 0)
    return bench.max_iter


def _first_difference(one: np.ndarray, other: np.ndarray) -> int | None:
    if np.array_equal(one, other):
        return None
    return int(np.argmax(one != other))
