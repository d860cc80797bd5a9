"""Rules about the work of an iteration: models and their sweeps, working sets, set-up.

A rule returns its finding, or None if it does not apply.
"""

from __future__ import annotations

import numpy as np

from .evidence import Evidence
from .finding import Finding, Remedy

#: Returns relative to the non-zero weights from which on a set drops too much: by a rule that is not the
#: solver's usual one, and by that.
MANY_RETURNS, VERY_MANY_RETURNS = 3.0, 10.0
#: Share of non-zero weights up to which a set could shrink.
SPARSE_SHARE = 0.3
#: Share of the iterations whose sweeps the limit ended.
OFTEN = 0.5
#: Fraction of the time in set-up from which on it is the reason.
MOSTLY = 0.8
#: Fraction of the time in sweeps from which on they are costly.
COSTLY_SWEEPS = 0.6
#: Seconds of set-up that are negligible.
UNNOTICED = 0.02
ON_SHRINKING = "Zhong et al. 2014, section 2.3, shrinking"


def inner_limit(run: Evidence) -> Finding | None:
    """Return the finding that the limit on sweeps ends most models early, and is below the default."""
    limit, sweeps = run.param("max_inner"), run.known("inner_iterations")
    if limit is None or not sweeps.size or limit >= run.usual("max_inner"):
        return None
    hit = float(np.mean(sweeps >= limit))
    if hit < OFTEN or run.iterations < 10:
        return None
    text = (
        f"{100 * hit:.0f} % of {run.iterations:,} models were left after {limit} "
        f"{'sweep' if limit == 1 else 'sweeps'}, the limit: the steps are not those of the models."
    )
    share = hit * min(0.9, 0.9 / limit**0.25) * (1.0 - 10.0 / (run.iterations + 10.0))
    reference = "Zhong et al. 2014, section 2.2, coordinate descent for the inner problem"
    remedy = run.changing(max_inner=run.usual("max_inner"))
    return Finding("inner-limit", text, share, reference, remedy)


def set_drops_what_returns(run: Evidence) -> Finding | None:
    """Return the finding that weights leave the working set and come back."""
    kept = max(run.last("nnz"), 1.0)
    returned = float(run.known("returned").sum()) if run.known("returned").size else 0.0
    ordinary = run.param("rule") is None or run.param("rule") == run.usual("rule")
    rules = [run.param("rule"), None if run.param("rule") is None else run.usual("rule")]
    if all(str(rule).startswith("growing") for rule in rules):
        return None  # such sets return weights by design
    most, stuck = VERY_MANY_RETURNS if ordinary else MANY_RETURNS, _left_out(run)
    if stuck:
        text = (
            f"{stuck:,} weights left the working set for good, and are zero though f would fall along them: "
            f"the run ended as {run.trace.status}."
        )
        share = 0.9
    elif returned >= most * kept and run.iterations >= 10:
        text = (
            f"{returned:,.0f} weights returned that the working set had left out, "
            f"{returned / kept:.1f} times the {kept:,.0f} that are non-zero. "
            "Each return undoes part of the work before it."
        )
        share = min(0.7, 0.2 + 0.1 * float(np.log2(returned / kept)))
    else:
        return None
    remedy = None
    if run.param("look_back") is False:
        remedy = run.changing(look_back=True)
    elif run.param("rule") is not None:
        usual = run.usual("rule")
        remedy = run.changing(rule=usual if run.param("rule") != usual else "none")
    return Finding("set-drops-what-returns", text, share, ON_SHRINKING, remedy)


def _left_out(run: Evidence) -> int:
    """Return the number of weights that are stuck at zero, because the solver never screens them again."""
    never = run.param("look_back") is False or run.param("rule") == "no-return"
    if not never or run.w is None or not run.problem.smooth or run.trace.status != "stalled":
        return 0
    pull = run.own.subgradient(run.w, run.point.gradient())
    return int(np.count_nonzero((run.w == 0.0) & (np.abs(pull) > 1e-6 * run.problem.violation_at_zero())))


def set_never_shrinks(run: Evidence) -> Finding | None:
    """Return the finding that all weights stay in the working set though few are non-zero."""
    off = run.param("shrinking") is False or run.param("rule") == "none"
    sizes, size = run.known("working_set"), run.problem.size
    if not off or not sizes.size or run.iterations < 5 or not run.problem.penalty.sparse:
        return None
    rows = run.problem.design.n_features
    nonzero = run.last("nnz") / size
    if run.param("moves") is not None or run.id.startswith("bcd"):
        nonzero = run.last("nnz_rows") / rows
    if sizes.min() < 0.95 * sizes.max() or not nonzero <= SPARSE_SHARE:
        return None
    text = (
        f"Every iteration worked on all {int(sizes[-1]):,} weights, and {100 * nonzero:.2g} % are non-zero: "
        "the working set never shrank."
    )
    changed = {}
    if run.param("shrinking") is False:
        changed["shrinking"] = True
    if run.param("rule") == "none":
        changed["rule"] = run.usual("rule")
    share = 0.85 * (1.0 - nonzero) * (1.0 - 5.0 / (run.iterations + 5.0))
    return Finding("set-never-shrinks", text, share, ON_SHRINKING, run.changing(**changed))


def time_in_inner_sweeps(run: Evidence) -> Finding | None:
    """Return the finding that models are solved more accurately than usual, and take most of the time."""
    sweeps = run.known("inner_iterations")
    strict = {}
    for name, low in (("inner", True), ("forcing", True), ("max_inner", False)):
        value = run.param(name)
        if value is not None and (value < run.usual(name) if low else value > run.usual(name)):
            strict[name] = run.usual(name)
    if not strict or not sweeps.size:
        return None
    share = 1.0 - run.iterations * run.step_seconds / max(run.seconds, 1e-9)
    if share < COSTLY_SWEEPS or sweeps.mean() < 5.0:
        return None
    text = (
        f"A model took {sweeps.mean():,.0f} sweeps on average, {100 * share:.0f} % of the time, "
        f"in {run.iterations:,} iterations."
    )
    reference = "Eisenstat and Walker 1996, Choosing the Forcing Terms in an Inexact Newton Method"
    return Finding("time-in-inner-sweeps", text, 0.9 * share, reference, run.changing(**strict))


def time_in_setup(run: Evidence) -> Finding | None:
    """Return the finding that a fit for the penalty factors takes longer than the run."""
    factors = run.trace.info.problem.get("penalty_factors")
    share = run.setup / max(run.setup + run.seconds, 1e-9)
    if factors != "adaptive" or share < MOSTLY or run.setup < UNNOTICED:
        return None
    text = (
        f"Set-up took {run.setup:.2g} s and the solver {run.seconds:.2g} s: "
        "adaptive penalty factors are the weights of a ridge, which is fitted first."
    )
    remedy = Remedy("no penalty factors", problem={"penalty_factors": None}, setup=True)
    reference = "Zou 2006, The Adaptive Lasso and Its Oracle Properties"
    return Finding("time-in-setup", text, share, reference, remedy)
