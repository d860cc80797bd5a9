"""The diagnosis of a run: all rules, and their findings in order of cost."""

from __future__ import annotations

from collections.abc import Callable

from ..problems.problem import Problem
from ..traces.trace import Trace
from .evidence import Evidence
from .finding import Finding
from .goal_rules import (
    columns_of_unlike_scale,
    kink,
    lam_too_small,
    nearly_equal_columns,
    tol_below_rounding,
    wrong_tool,
)
from .step_rules import (
    first_step_mistuned,
    memory_too_short,
    momentum_not_restarted,
    steps_cut_back,
    steps_never_lengthened,
    time_in_search,
    unit_step_refused,
)
from .work_rules import (
    inner_limit,
    set_drops_what_returns,
    set_never_shrinks,
    time_in_inner_sweeps,
    time_in_setup,
)

#: Fraction of the cost below which a finding is not reported.
LEAST_SHARE = 0.15
DIAGNOSTIC_RULES: tuple[Callable[[Evidence], Finding | None], ...] = (
    columns_of_unlike_scale,
    nearly_equal_columns,
    memory_too_short,
    steps_cut_back,
    steps_never_lengthened,
    unit_step_refused,
    inner_limit,
    set_drops_what_returns,
    set_never_shrinks,
    kink,
    first_step_mistuned,
    momentum_not_restarted,
    lam_too_small,
    tol_below_rounding,
    time_in_setup,
    time_in_search,
    time_in_inner_sweeps,
    wrong_tool,
)


def why_slow(trace: Trace, problem: Problem | None = None) -> list[Finding]:
    """Return why a run is slow, the costliest reason first.

    Parameters
    ----------
    trace : Trace
        The run, which need not have ended.
    problem : Problem, optional
        Its problem; by default ``trace.problem``, if it is still in memory.

    Returns
    -------
    list of Finding
        The findings; empty if no rule finds a reason.

    Raises
    ------
    ValueError
        If the problem is unknown, or if the run has no iterate yet.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("digits"), penalty="l2", lam=1e-4)
    >>> trace = solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), tol=1e-5)
    >>> solvers.why_slow(trace)[0].id
    'memory-too-short'
    """
    problem = problem or trace.problem
    if problem is None:
        raise ValueError(f"the problem of {trace.info.label} is not in memory: give it as problem")
    run = Evidence(trace, problem)
    found = [finding for rule in DIAGNOSTIC_RULES if (finding := rule(run)) is not None]
    return sorted((one for one in found if one.share >= LEAST_SHARE), key=lambda one: -one.share)
