"""Rules about steps: searches, scaling of the first matrix, memory, step lengths of stochastic methods.

A rule returns its finding, or None if it does not apply.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .evidence import Evidence
from .finding import Finding, Remedy
from .goal_rules import FEW

#: Trials of a search from which on it is long.
LONG_SEARCH = 2.5
#: Fraction of the time in searches from which on they are costly.
COSTLY_SEARCH = 0.25
#: Number of pairs up to which they are few.
FEW_PAIRS = 4
#: Factor from which on a first step differs from a tuned one.
MISTUNED = 8.0
#: Factor by which a step is shorter than the curvature allows.
TOO_SHORT = 3.0
#: Solvers whose first trial is the step 1 of a quadratic model.
OF_MODELS = (
    *("bfgs", "lbfgs", "subbfgs", "sublbfgs", "owl-qn", "owl-qn-star", "clustered-bfgs", "clustered-lbfgs"),
    *("prox-qn", "newton-cd", "ssn"),
)
#: Solvers whose trials cost a product with X each.
OF_PRODUCTS = ("prox-gd", "fista-ls", "sparsa", "owl-qn", "owl-qn-star", "ssn")
INITIAL_STEP = "Nocedal and Wright, Numerical Optimization, section 3.5, initial step lengths"


def _searching(run: Evidence) -> tuple[float, float]:
    """Return the number of search trials per iteration, and the fraction of the time that they take."""
    trials = run.known("ls_trials")
    if not trials.size or not run.iterations:
        return 0.0, 0.0
    each = float(trials.mean())
    if run.id in OF_PRODUCTS:
        return each, each / (each + 1.0)
    return each, min(1.0, each * run.iterations * run.trial_seconds / max(run.seconds, 1e-9))


def _refused(run: Evidence) -> float:
    """Return the fraction of iterations in which the first trial was rejected."""
    events = run.rows["events"][1:]
    return sum("backtracked" in event for event in events) / max(len(events), 1)


def steps_cut_back(run: Evidence) -> Finding | None:
    """Return the finding that a method without a model begins each search with a step far too long."""
    each, share = _searching(run)
    if run.id in OF_MODELS or run.id.startswith("bcd") or each < LONG_SEARCH:
        return None
    refused = _refused(run)
    if run.iterations < 10 or refused < 0.6:
        return None
    step = float(np.median(run.known("step")))
    text = (
        f"{100 * refused:.0f} % of the steps were cut back, by {each:.1f} trials on average "
        f"to t = {step:.2g}; trials took about {100 * share:.0f} % of the time."
    )
    remedy = None
    if run.param("line_search") == "armijo":
        remedy = run.changing(line_search="wolfe")
    elif run.param("growth") is not None and run.param("growth") > 1.2:
        remedy = run.changing(growth=1.2, beta=run.usual("beta"))
    elif run.param("beta") is not None and run.param("beta") > run.usual("beta"):
        remedy = run.changing(beta=run.usual("beta"))
    return Finding("steps-cut-back", text, share * (1.0 - 1.2 / each), INITIAL_STEP, remedy)


def steps_never_lengthened(run: Evidence) -> Finding | None:
    """Return the finding that steps never grew though the curvature allows longer ones."""
    if run.id not in ("gd", "prox-gd", "fista-cst", "bcd-cst") or run.w is None or not run.problem.smooth:
        return None
    steps = run.known("step")
    if run.iterations < 2 * FEW or (np.diff(steps) > 1e-9 * steps[1:]).any():
        return None
    text = f"In {run.iterations:,} iterations no step was longer than the one before"
    ratio = np.inf
    if steps.size:
        allowed = run.line.first_step()
        ratio = allowed / steps[-1]
        text += f": the last was {steps[-1]:.2g}, and the curvature along the gradient allows {allowed:.2g}"
    if ratio < TOO_SHORT:
        return None
    match run.id:
        case "gd":
            remedy = run.changing(line_search="wolfe") if run.param("line_search") == "armijo" else None
        case "prox-gd":
            remedy = run.changing(growth=1.2) if run.param("growth") < 1.2 else None
        case "fista-cst":
            remedy = run.changing(constant="tight") if run.param("constant") == "paper" else None
        case _:
            remedy = run.first_solver("bcd-ls")
    if remedy is None:
        return None
    share = 0.85 * (1.0 - FEW / (run.iterations + FEW))
    return Finding("steps-never-lengthened", text + ".", share, INITIAL_STEP, remedy)


def unit_step_refused(run: Evidence) -> Finding | None:
    """Return the finding that the step 1 of a quadratic model is hardly ever accepted."""
    each, share = _searching(run)
    refused = _refused(run)
    smooth = run.problem.smooth  # at kinks shorter steps are no mistake
    if run.id not in OF_MODELS or not smooth or run.iterations < 10 or refused < 0.5 or each < 1.5:
        return None
    step = float(np.median(run.known("step")))
    text = (
        f"The unit step was refused in {100 * refused:.0f} % of {run.iterations:,} iterations: "
        f"it took {each:.1f} trials on average, and the median step is {step:.2g}."
    )
    remedy = None
    if run.param("scaled") is False:
        remedy = run.changing(scaled=True)
    elif run.param("gamma0"):
        remedy = run.changing(gamma0=0.0, gamma=run.usual("gamma"))
    known = remedy is not None
    share = min(0.9, share * (1.0 - 1.2 / max(each, 1.2)) + (0.3 if known else 0.0))
    reference = "Nocedal and Wright, Numerical Optimization, section 6.1, the scale of the first matrix"
    return Finding("unit-step-refused", text, share, reference, remedy)


def time_in_search(run: Evidence) -> Finding | None:
    """Return the finding that accurate line searches take much of the time."""
    kind, c2 = run.param("line_search"), run.param("c2")
    strict = kind in ("exact", "ils") or (kind == "wolfe" and c2 is not None and c2 < 0.5)
    if not strict or not run.problem.smooth or run.iterations < 5 or run.id not in ("gd", "bfgs", "lbfgs"):
        return None
    each, share = _searching(run)
    if share < COSTLY_SEARCH or each < 1.5:
        return None
    text = (
        f"Line searches took {each:.1f} trials on average, each {run.trial_seconds:.2g} s, "
        f"about {100 * share:.0f} % of the time; Wolfe's conditions need about one."
    )
    remedy = run.changing(line_search="wolfe", c2=0.9)
    reference = "Nocedal and Wright, Numerical Optimization, section 3.1, inexact searches"
    return Finding("time-in-search", text, share * (1.0 - 1.1 / each), reference, remedy)


def memory_too_short(run: Evidence) -> Finding | None:
    """Return the finding that a quasi-Newton method holds few pairs and takes many iterations."""
    memory, pairs = run.param("memory"), run.known("memory_pairs")
    if not isinstance(memory, int) or memory > FEW_PAIRS or not pairs.size:
        return None
    if run.iterations < FEW + 10 * memory or np.median(pairs) < memory:
        return None
    pairs_held = f"{memory} {'pair' if memory == 1 else 'pairs'} (s, y)"
    text = (
        f"{run.id} held {pairs_held} in {run.iterations:,} iterations: "
        f"the curvature of {run.iterations - memory:,} steps was forgotten."
    )
    share = min(0.8, 0.8 / memory**0.5) * (0.6 if run.id.startswith("owl") else 1.0)
    reference = "Nocedal and Wright, Numerical Optimization, section 7.2, memory of L-BFGS"
    return Finding("memory-too-short", text, share, reference, run.changing(memory=20))


def first_step_mistuned(run: Evidence) -> Finding | None:
    """Return the finding that η0 is far from the best value in a short trial on a sample."""
    eta0 = run.param("eta0")
    if not eta0 or run.id not in ("sgd-l1", "fobos", "ftrl"):
        return None
    if run.id == "ftrl":
        return _by_record(run, eta0)
    prepared = replace(run.known_solver, eta0=0.0).prepare(run.own)
    tuned = float(vars(prepared)["eta0"])
    ratio = eta0 / tuned
    if 1.0 / MISTUNED < ratio < MISTUNED:
        return None
    large = ratio > 1.0
    times = f"{ratio:,.0f} times larger" if large else f"{1.0 / ratio:,.0f} times smaller"
    text = f"η0 = {eta0:.3g} is {times} than {tuned:.3g}, which lowers f most in a pass over a sample."
    return _mistuned(run, large, text, run.changing(eta0=0.0))


def _by_record(run: Evidence, eta0: float) -> Finding | None:
    """Return the finding that η0 is mistuned, from the course of f, for a method that does not tune η0.

    Return None if η0 is near its default, or if there are few iterates.
    """
    usual, f = run.usual("eta0"), run.known("objective")
    if 1.0 / MISTUNED < eta0 / usual < MISTUNED or f.size < 5:
        return None
    large = eta0 > usual
    text = (
        f"η0 = {eta0:.3g} is far from the usual {usual:.3g}; "
        f"f was {f[0]:.4g} after a pass, and is {f[-1]:.4g} now."
    )
    return _mistuned(run, large, text, run.changing(eta0=usual))


def _mistuned(run: Evidence, large: bool, text: str, remedy: Remedy) -> Finding:
    reference = "Bottou 2012, Stochastic Gradient Descent Tricks: the first step, tuned on a sample"
    return Finding(f"eta0-too-{'large' if large else 'small'}", text, 0.95, reference, remedy)


def momentum_not_restarted(run: Evidence) -> Finding | None:
    """Return the finding that accelerated steps overshoot repeatedly."""
    if run.param("restart") is not False or run.iterations < FEW:
        return None
    f = run.known("objective")
    rises = int(np.count_nonzero(np.diff(f) > 1e-12 * np.abs(f[1:])))
    if rises < 5:
        return None
    text = (
        f"f rose in {rises:,} of {run.iterations:,} iterations: "
        "the momentum overshoots, and is not restarted."
    )
    share = min(0.75, 0.4 + 2.0 * rises / run.iterations)
    reference = "O'Donoghue and Candès 2015, Adaptive Restart for Accelerated Gradient Schemes"
    return Finding("momentum-not-restarted", text, share, reference, run.changing(restart=True))
