"""Experiments: second runs whose cost confirms or refutes a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..problems.problem import Problem
from ..runs.breakpoints import Condition
from ..runs.run import Run
from ..runs.stopping import Stopping
from ..traces.trace import Trace
from .case import solver_of
from .finding import Finding

#: Accuracy, relative to what the first run gained, to which the second must reach the same objective.
SAME_OBJECTIVE = 1e-6
#: Share of the cost that the second run may have at most, to confirm a finding.
CONFIRMING_SHARE = 0.9
#: CPU seconds that a second run may take in any case.
LEAST_TRY = 0.05
#: Loss of a metric of the model, as accuracy or R², up to which another λ is as good.
AS_GOOD = 0.02


class Spent(NamedTuple):
    """The cost of a run up to an iterate; ``seconds`` are CPU seconds."""

    iterations: int
    passes: float
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """The result of an experiment.

    Attributes
    ----------
    confirmed : bool
        Whether the second run cost less, by a tenth at least.
    text : str
        The result in a sentence.
    first, second : Spent
        The costs of both runs to the same objective, or to the same relative violation on another problem.
    """

    confirmed: bool
    text: str
    first: Spent
    second: Spent

    @property
    def factor(self) -> float:
        """Return how many times fewer seconds the second run took."""
        return self.first.seconds / max(self.second.seconds, 1e-9)


def experiment_limits(finding: Finding, first: Trace, problem: Problem) -> Stopping:
    """Return the limits of the second run: the same objective, or all of the first one's time.

    On another problem the objective differs: there it is the same relative violation. Raises ValueError, one
    sentence, if the finding has no experiment, or the first run has no violation to compare with.
    """
    change = finding.change
    if change is None:
        raise ValueError(f"no experiment is known for {finding.id}")
    seconds = max(_spent(first, _row(finding, first)).seconds, LEAST_TRY)
    if change.setup:
        seconds += float(first.result.get("setup_seconds") or 0.0)
    if first.status == "stalled":  # a lower f is worth some more time
        seconds = max(2.0 * seconds, 0.2)
    seconds = _short(seconds)
    if change.tol is not None:
        return Stopping(tol=change.tol, max_seconds=seconds)
    if change.problem:
        violation = first.result.get("violation")
        known = first.violation[np.isfinite(first.violation)]
        if violation is None and known.size:
            violation = float(known[-1])
        if violation is None or not problem.smooth:
            raise ValueError(f"{first.info.label} has no violation to compare another problem with")
        tol = _short(violation / (problem.violation_at_zero() or 1.0))
        return Stopping(tol=tol, max_seconds=seconds)
    return Stopping(max_seconds=seconds, breaks=(Condition.parse(f"objective <= {_target(first)!r}"),))


def judge(finding: Finding, first: Trace, second: Trace) -> Verdict:
    """Return what the second run says of a finding on the first."""
    change, before = finding.change, _spent(first, _row(finding, first))
    assert change is not None  # that was checked before the second run
    where = "to the same relative violation"
    reached = second.status == "converged" or _relative_violation(second) <= _relative_violation(first)
    if not change.problem:
        target = _target(first)
        found = np.flatnonzero(second.objective <= target)
        reached, where = bool(found.size), f"to f = {target:.8g}"
        after = _spent(second, int(found[0]) if reached else -1)
        if change.tol is not None:
            after, before = _spent(second, -1), _spent(first, -1)
    else:
        after = _spent(second, -1)
    if change.setup:
        before = before._replace(seconds=before.seconds + float(first.result.get("setup_seconds") or 0.0))
        after = after._replace(seconds=after.seconds + float(second.result.get("setup_seconds") or 0.0))
    confirmed = reached and after.seconds <= CONFIRMING_SHARE * before.seconds
    costs = f"{_words(after)} in place of {_words(before)}, {where}"
    if not reached:
        costs = f"{_words(after)} did not lead {where}, in place of {_words(before)}"
    lower = first.objective.min() - second.objective.min()
    gained = max(first.objective[0] - first.objective.min(), 0.0)
    if not change.problem and first.status == "stalled" and lower > 1e-3 * gained:
        confirmed = True
        costs += (
            f"; f fell to {second.objective.min():.6g}, and stalled at {first.objective.min():.6g} before"
        )
    if "lam" in change.problem:
        metrics = [run.result.get("test_metric") or run.result.get("train_metric") for run in (first, second)]
        if None not in metrics:
            confirmed = confirmed and metrics[1] >= metrics[0] - AS_GOOD
            costs += (
                f"; {first.result.get('metric_name') or 'metric'} {metrics[1]:.4g}, before {metrics[0]:.4g}"
            )
    return Verdict(confirmed, f"{change.says}: {costs}", before, after)


def prove(finding: Finding, first: Trace, problem: Problem) -> Verdict:
    """Run the experiment of a finding, and return what it says.

    Parameters
    ----------
    finding : Finding
        A finding on the first run.
    first : Trace
        The run.
    problem : Problem
        Its problem.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        If the finding has no experiment, or one with other data: that needs their recipe, see
        ``solverscope why``.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("digits"), penalty="l2", lam=1e-4)
    >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), tol=1e-5)
    >>> finding = solvers.why_slow(trace)[0]
    >>> finding.change.says, solvers.prove(finding, trace, problem).confirmed
    ('memory=20', True)
    """
    limits, change = experiment_limits(finding, first, problem), finding.change
    assert change is not None  # it has limits
    if change.problem.keys() - {"lam"}:
        raise ValueError(f"{change.says} needs the recipe of the data: use `solverscope why`")
    solver = change.solver or solver_of(first.info)
    if solver is None:
        raise ValueError(f"{first.info.solver} is no solver here: register it first")
    other = problem.at_lam(change.problem["lam"]) if "lam" in change.problem else problem
    run = Run(other, solver.with_tol(limits.tol), label=change.says, stopping=limits)
    return judge(finding, first, run.execute())


def _target(trace: Trace) -> float:
    """Return the objective that both runs must reach, a little above the best of the first."""
    best = float(np.nanmin(trace.objective))
    return best + SAME_OBJECTIVE * max(float(trace.objective[0]) - best, 0.0)


def _relative_violation(trace: Trace) -> float:
    """Return the last violation relative to that at the start, inf if one is not known."""
    violation, start = trace.result.get("violation"), float(trace.violation[0])
    return np.inf if violation is None or not start > 0.0 else violation / start


def _row(finding: Finding, trace: Trace) -> int:
    """Return the row of the first run at which its cost counts."""
    change = finding.change
    if change is None or change.problem or change.tol is not None:
        return -1
    return int(np.argmax(trace.objective <= _target(trace)))


def _spent(trace: Trace, row: int) -> Spent:
    return Spent(int(trace.iteration[row]), float(trace.passes[row]), float(trace.cpu_seconds[row]))


def _short(number: float) -> float:
    """Return a number with three digits, which a command line shows."""
    return float(f"{number:.3g}")


def _words(spent: Spent) -> str:
    return f"{spent.seconds:.3g} CPU s and {spent.iterations:,} iterations"
