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
from .evidence import solver_of
from .finding import Finding

#: Accuracy, relative to what the first run gained, to which the second must reach the same objective.
SAME_OBJECTIVE = 1e-6
#: Largest relative cost of a second run that confirms a finding.
CONFIRMING_SHARE = 0.9
#: CPU seconds that a second run may take in any case.
LEAST_TRY = 0.05
#: Decrease of a metric, such as accuracy or R², up to which another λ is as good.
AS_GOOD = 0.02


class Spent(NamedTuple):
    """The cost of a run up to an iterate; ``seconds`` are CPU seconds."""

    iterations: int
    passes: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment.

    Attributes
    ----------
    confirmed : bool
        Whether the second run cost at least a tenth less.
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
        """Return the seconds of the first run divided by those of the second."""
        return self.first.seconds / max(self.second.seconds, 1e-9)


@dataclass(frozen=True)
class TrialLimits:
    """The goal of the second run of an experiment, fixed at its start, as the first run may continue.

    Attributes
    ----------
    stopping : Stopping
        The limits of the second run, which may take the time of the first one.
    before : Spent
        The cost of the first run up to the goal, including set-up if that counts.
    objective : float or None
        The objective to reach; None if the problem is another one.
    violation : float or None
        The violation to reach on another problem, relative to that at the start.
    """

    stopping: Stopping
    before: Spent
    objective: float | None = None
    violation: float | None = None


def trial_of(finding: Finding, first: Trace, problem: Problem) -> TrialLimits:
    """Return the goal of the experiment for a finding.

    Raises ValueError if the finding has no experiment, or if the problem is another one and the first run has
    no violation to compare.
    """
    remedy = finding.remedy
    if remedy is None:
        raise ValueError(f"no experiment is known for {finding.id}")
    best = float(np.nanmin(first.objective))
    target = best + SAME_OBJECTIVE * max(float(first.objective[0]) - best, 0.0)
    row = -1 if remedy.problem or remedy.tol is not None else int(np.argmax(first.objective <= target))
    before = _spent(first, row, setup=remedy.setup)
    seconds = max(before.seconds, LEAST_TRY)
    if first.status == "stalled":  # a lower f is worth some more time
        seconds = max(2.0 * seconds, 0.2)
    seconds = _short(seconds)
    if remedy.problem:
        violation = first.result.get("violation")
        known = first.violation[np.isfinite(first.violation)]
        if violation is None and known.size:
            violation = float(known[-1])
        if violation is None or not problem.smooth:
            raise ValueError(f"{first.info.label} has no violation to compare another problem with")
        tol = _short(violation / (problem.violation_at_zero() or 1.0))
        return TrialLimits(Stopping(tol=tol, max_seconds=seconds), before, violation=tol)
    if remedy.tol is not None:
        return TrialLimits(Stopping(tol=remedy.tol, max_seconds=seconds), before, objective=target)
    # where the first run stalled above the minimum, the second goes on to below
    goal = 2.0 * best - target if first.status == "stalled" else target
    breaks = (Condition.parse(f"objective <= {goal!r}"),)
    return TrialLimits(Stopping(breaks=breaks, max_seconds=seconds), before, objective=target)


def judge(finding: Finding, trial: TrialLimits, first: Trace, second: Trace) -> Outcome:
    """Return the outcome of an experiment, from both runs."""
    remedy, before = finding.remedy, trial.before
    assert remedy is not None  # it has a trial
    row, where = -1, "to the same relative violation"
    if trial.objective is not None:
        found = np.flatnonzero(second.objective <= trial.objective)
        reached, where = bool(found.size), f"to f = {trial.objective:.8g}"
        row = int(found[0]) if reached and remedy.tol is None else -1
    else:
        reached = second.status == "converged" or _relative_violation(second) <= (trial.violation or 0.0)
    after = _spent(second, row, setup=remedy.setup)
    confirmed = reached and after.seconds <= CONFIRMING_SHARE * before.seconds
    costs = f"{_words(after)} in place of {_words(before)}, {where}"
    if not reached:
        costs = f"{_words(after)} did not lead {where}, in place of {_words(before)}"
    lowest = [float(np.nanmin(run.objective)) for run in (first, second)]
    lower = trial.objective is not None and lowest[1] <= 2.0 * lowest[0] - trial.objective
    if lower and first.status == "stalled":
        confirmed = True
        costs += f"; f fell to {lowest[1]:.6g}, and stalled at {lowest[0]:.6g} before"
    if "lam" in remedy.problem:
        old, now = (
            run.result.get("test_metric") or run.result.get("train_metric") for run in (first, second)
        )
        if old is not None and now is not None:
            confirmed = confirmed and now >= old - AS_GOOD
            costs += f"; {first.result.get('metric_name') or 'metric'} {now:.4g}, before {old:.4g}"
    return Outcome(confirmed, f"{remedy.says}: {costs}", before, after)


def prove(finding: Finding, first: Trace, problem: Problem) -> Outcome:
    """Test a finding with a second run, in which its remedy is applied, and compare the costs of both runs.

    Parameters
    ----------
    finding : Finding
        A finding about the first run, from :func:`solvers.why_slow`.
    first : Trace
        The trace of the first run.
    problem : Problem
        The problem of the first run.

    Returns
    -------
    Outcome
        Whether the second run confirms the finding, and the costs of both runs.

    Raises
    ------
    ValueError
        If the finding has no remedy to try, or the solver of the run does not exist here. Also if the remedy
        changes the data, which must then be loaded again: use the command ``solverscope why``.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("digits"), penalty="l2", lam=1e-4)
    >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), tol=1e-5)
    >>> finding = solvers.why_slow(trace)[0]
    >>> finding.remedy.says, solvers.prove(finding, trace, problem).confirmed
    ('memory=20', True)
    """
    trial, remedy = trial_of(finding, first, problem), finding.remedy
    assert remedy is not None  # it has a trial
    if remedy.problem.keys() - {"lam"}:
        raise ValueError(f"{remedy.says} needs the recipe of the data: use `solverscope why`")
    solver = remedy.solver or solver_of(first.info)
    if solver is None:
        raise ValueError(f"{first.info.solver} is no solver here: register it first")
    other = problem.at_lam(remedy.problem["lam"]) if "lam" in remedy.problem else problem
    run = Run(other, solver.with_tol(trial.stopping.tol), label=remedy.says, stopping=trial.stopping)
    return judge(finding, trial, first, run.execute())


def _relative_violation(trace: Trace) -> float:
    """Return the last violation relative to that at the start; inf if one of them is unknown."""
    violation, start = trace.result.get("violation"), float(trace.violation[0])
    return np.inf if violation is None or not start > 0.0 else violation / start


def _spent(trace: Trace, row: int, *, setup: bool) -> Spent:
    """Return the cost of a run up to a row, including set-up if that counts."""
    seconds = float(trace.cpu_seconds[row])
    if setup:
        seconds += float(trace.result.get("setup_seconds") or 0.0)
    return Spent(int(trace.iteration[row]), float(trace.passes[row]), seconds)


def _short(number: float) -> float:
    """Return a number rounded to three digits, for a command line."""
    return float(f"{number:.3g}")


def _words(spent: Spent) -> str:
    return f"{spent.seconds:.3g} CPU s and {spent.iterations:,} iterations"
