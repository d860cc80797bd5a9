"""The solution path of one problem: at each λ the solver starts from the solution at the previous λ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..declare import Trait
from ..methods.iterate import FIELDS
from ..methods.solver import Solver
from ..probes.probe import Probe
from ..problems.metrics.multilabel import micro_f1, ranking_loss
from ..problems.metrics.regression import mean_absolute_error, mean_squared_error
from ..problems.problem import Problem
from ..traces.trace import Trace, plain
from .run import Gate, Run
from .stopping import Stopping, relative_gap, undercuts

#: Default number of values of λ.
N_LAMS = 10
#: Maximal number of values of λ on the command line, the same as of runs in a sweep.
MOST_LAMS = 10_000
#: Factor of λ_max that makes up for rounding: all weights are zero there.
ROUNDED_UP = 1.0 + 1e-12
#: Measures of predictions on the test part, besides the metric of the loss.
TEST_MEASURES = ("test_ranking_loss", "test_micro_f1", "test_mse", "test_mae", "test_deviance")


def log_spaced(
    problem: Problem, n: int = N_LAMS, first: float = 1.0, last: float = 0.01, *, relative: bool = True
) -> list[float]:
    """Return log-spaced values of λ.

    Parameters
    ----------
    problem : Problem
        The problem whose λ_max is used.
    n : int
        Number of values.
    first, last : float
        The first and the last value.
    relative : bool
        Whether ``first`` and ``last`` are multiples of λ_max; otherwise they are values of λ.

    Returns
    -------
    list of float

    Raises
    ------
    ValueError
        If the penalty has no λ, or no λ_max although ``relative``, or if ``n``, ``first`` or ``last`` is not
        above 0.
    """
    check_takes_lam(problem)
    lam_max = problem.lam_max if relative else None
    if relative and not lam_max:
        raise ValueError(f"penalty {problem.penalty.id} has no λ_max: give the λ themselves")
    if not (n >= 1 and first > 0 and last > 0):
        raise ValueError(f"{n} values of λ from {first} to {last}: give at least one value, above 0")
    unit = lam_max * ROUNDED_UP if lam_max else 1.0
    return [float(lam) for lam in unit * np.geomspace(first, last, n)]


def path_runs(
    problem: Problem,
    solver: Solver,
    lams: Sequence[float],
    *,
    label: str | None = None,
    stopping: Callable[[Problem], Stopping] = lambda problem: Stopping().or_usual(),
    probes: Sequence[Probe] = (),
    gate: Gate[Run] | None = None,
) -> Iterator[Run]:
    """Yield a run for each λ, which the caller must execute before requesting the next one.

    Runs share data and products, and the solver's own data for the path. Each starts from the final weights
    of the previous run, unless that failed.

    Parameters
    ----------
    problem, solver
        The problem and the solver.
    lams : sequence of float
        The values of λ, in order.
    stopping : callable
        Function that returns the limits for the problem at one λ.
    label, probes, gate
        As for :class:`solvers.Run`.

    Raises
    ------
    ValueError
        If the penalty has no λ.
    """
    check_takes_lam(problem)
    w: np.ndarray | None = None
    shared: dict[str, Any] = {}
    for n, lam in enumerate(lams):
        at = problem.at_lam(lam)
        limits = stopping(at)
        own = solver.with_tol(limits.tol).sharing(shared)
        run = Run(at, own, label=label, stopping=limits, probes=probes, gate=gate, w0=w, compiled=n > 0)
        yield run
        if run.trace.status != "failed" and run.trace.w is not None:
            w = run.trace.w


def solve_path(
    problem: Problem,
    solver: Solver,
    lams: Sequence[float] | None = None,
    *,
    label: str | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    probes: Sequence[Probe] = (),
    gate: Gate[Run] | None = None,
) -> Iterator[Trace]:
    """Solve a problem at many λ, each from the solution at the previous λ.

    Parameters
    ----------
    problem, solver
        The problem and the solver.
    lams : sequence of float, optional
        The values of λ, in order; by default those of :func:`log_spaced`.
    tol, max_iter, max_seconds
        Limits at each λ, as for :func:`solvers.solve`.
    label, probes, gate
        As for :class:`solvers.Run`. If the gate stops a run, the path ends after that run.

    Yields
    ------
    Trace
        The trace of the finished run at each λ. ``trace.w`` are the weights, and ``trace.result`` also has
        the fields of :func:`measured`.

    Raises
    ------
    ValueError
        If the penalty has no λ, or no λ_max for the default values, or the solver refuses the problem.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam_ratio=0.1)
    >>> lams = solvers.log_spaced(problem, 3, last=0.1)
    >>> path = solvers.solve_path(problem, solvers.make_solver("prox-qn"), lams)
    >>> [trace.result["nnz"] for trace in path]
    [0, 3, 7]
    """
    limits = Stopping(tol=tol, max_iter=max_iter, max_seconds=max_seconds).or_usual()
    lams = log_spaced(problem) if lams is None else lams
    runs = path_runs(problem, solver, lams, label=label, stopping=lambda at: limits, probes=probes, gate=gate)
    for run in runs:
        trace = run.execute()
        trace.result |= measured(run)
        yield trace
        if trace.status == "stopped":
            return


def measured(run: Run) -> dict[str, Any]:
    """Return the fields that a run on a path adds to its result, as plain Python values (None: unknown).

    The fields are ``loss``, ``penalty``, ``lam``, ``lam_max``, and ``gap``: (f - f*)/|f*| unless f is below
    f*. If f* is not known, ``gap`` is an upper bound proved by duality. For test instances with sets of
    labels there are also ``test_ranking_loss`` and ``test_micro_f1`` (see :mod:`.metrics.multilabel`). For
    numeric targets there are ``test_mse`` and ``test_mae``, the mean squared and absolute error. For
    Poisson's loss there is ``test_deviance``, the mean deviance: twice the mean loss. ``members_start``,
    ``members_half`` and ``members_end`` are the sizes of the working set at the start, after half of the CPU
    time, and at the end.

    There is no field for degrees of freedom. For the Lasso ``nnz``, which counts an intercept, is an unbiased
    estimate of them (Zou, Hastie and Tibshirani 2007). For the elastic net they would need the trace of the
    hat matrix on the support, which is not computed.
    """
    problem, trace = run.problem, run.trace
    about = problem.describe()
    found = {name: about[name] for name in ("loss", "penalty", "lam", "lam_max")}
    found |= dict.fromkeys(("gap", *TEST_MEASURES))
    found |= _members(trace)
    if trace.status in ("stopped", "failed") or trace.w is None:
        return found
    found["gap"] = _gap(run)
    return plain(found | held_out_measures(run))


def held_out_measures(run: Run) -> dict[str, float]:
    """Return the values of :data:`TEST_MEASURES` that apply to the test part, at the end of a run."""
    problem, trace, found = run.problem, run.trace, dict[str, float]()
    if problem.has_test and trace.w is not None and trace.status not in ("stopped", "failed"):
        loss, scores = problem.test_scores(trace.w)
        if loss.numeric:
            predicted, weights = loss.predict(scores), loss.metric_weights
            found["test_mse"] = mean_squared_error(predicted, loss.y, weights)
            found["test_mae"] = mean_absolute_error(predicted, loss.y, weights)
            if Trait.POISSON in loss.traits:
                found["test_deviance"] = 2.0 * float(np.average(loss.values(scores), weights=weights))
        elif (Y := loss.truth).ndim > 1:
            found["test_ranking_loss"] = ranking_loss(scores.Z, Y)
            found["test_micro_f1"] = micro_f1(scores.Z, Y)
    return plain(found)


def _members(trace: Trace) -> dict[str, Any]:
    members, seconds = trace.working_set, trace.cpu_seconds
    half = int(np.searchsorted(seconds, 0.5 * seconds[-1], "right")) - 1 if len(trace) else 0
    times = {"members_start": 0, "members_half": half, "members_end": -1}
    known = FIELDS["working_set"].is_known
    return {
        name: int(members[place]) if len(trace) and known(members[place]) else None
        for name, place in times.items()
    }


def _gap(run: Run) -> float | None:
    objective, f_star = run.trace.result["objective"], run.stopping.f_star
    if f_star is None:
        bound = run.trace.result["dual_gap"]
        f_star = None if bound is None else objective - bound
        if f_star is None or f_star <= 0.0:  # all losses are positive: so far below, it says nothing
            return None
    return None if undercuts(objective, f_star) else relative_gap(objective, f_star)


def check_takes_lam(problem: Problem) -> None:
    """Raise ValueError if the problem's penalty has no λ."""
    if not problem.penalty.takes_lam:
        raise ValueError(f"penalty {problem.penalty.id} has no λ: choose another penalty for a path")
