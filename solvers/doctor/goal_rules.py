"""Rules about problem and goal: columns of X, λ, kinks, the tolerance, the choice of solver."""

from __future__ import annotations

import numpy as np

from ..declare import Trait
from ..from_data import DEFAULT_RIDGE
from ..runs.solve import solve
from .evidence import Evidence
from .finding import Finding, Remedy

#: Ratio of the sizes of entries in two columns from which on their scales differ too much.
UNLIKE_SCALES = 50.0
#: Correlation from which on two columns are nearly equal.
NEARLY_EQUAL = 0.99
#: Fraction of the columns that must be nearly equal to another column.
COMMON = 0.2
#: Columns compared with each other, and entries of them read, at most.
COMPARED_COLUMNS, COMPARED_ENTRIES = 200, 5_000_000
#: Relative accuracy of f below which a gap is rounding.
ROUNDING_OF_F = 1e-13
#: Loss, relative to that at the start, below which data are fitted exactly.
FITTED_EXACTLY = 1e-3
#: Gradient of the penalty relative to the noise of that of the loss, below which λ has no effect.
WITHOUT_EFFECT = 1e-3
#: λ of the experiment relative to the present one, and relative to λ_max, at least and at most.
LARGER_LAM, LARGER_LAM_RATIO, MOST_LAM_RATIO = 1000.0, 0.01, 0.1
#: Violation of another solver, relative to the least of the run, from which on it is far smaller.
FAR_BELOW = 0.1
#: CPU seconds for another solver, at most.
MOST_COMPARED_SECONDS = 1.0
#: Steps at the end, relative to those at the start, that are negligible.
COLLAPSED = 1e-3
#: Iterations that a run may take without being slow.
FEW = 30

#: Solvers without curvature, and the fraction of their cost that one with curvature saves.
FIRST_ORDER = (
    *("prox-gd", "fista-ls", "fista-cst", "sparsa", "sgd-l1", "fobos", "ftrl", "bcd-cst", "crf-bcd"),
    *("gd", "subgd", "fis", "bmrm"),
)


def columns_of_unlike_scale(run: Evidence) -> Finding | None:
    """Return the finding that entries of some columns are far larger than those of others, if so."""
    design = run.problem.design
    if run.iterations < FEW or _invariant(run) or not hasattr(design, "stored"):
        return None
    filled = design.column_nnz > 0
    if np.count_nonzero(filled) < 2:
        return None
    sizes = np.sqrt(design.column_squares()[filled] / design.column_nnz[filled])
    small, large = np.quantile(sizes, (0.05, 0.95), method="nearest")
    if not large >= UNLIKE_SCALES * small > 0.0:
        return None
    ratio = large / small
    text = (
        f"Typical entries of the columns of X range from {small:.2g} to {large:.2g}, "
        f"a factor of {ratio:.2g}, and {run.id} steps equally far along all of them."
    )
    dense = design.nnz > 0.5 * design.n_rows * design.n_features
    scale = "standard" if dense else "max"
    remedy = Remedy(f"scale={scale}", problem={"options": {"scale": scale}})
    share = 1.0 - FEW / max(run.iterations, 2 * FEW)
    reference = "Nocedal and Wright, Numerical Optimization, section 2.2, scaling"
    return Finding("columns-of-unlike-scale", text, share, reference, remedy)


def _invariant(run: Evidence) -> bool:
    """Return whether the scale of columns hardly matters, because the solver uses curvatures or cuts.

    Return True for unknown and external solvers too.
    """
    solver = run.solver
    if solver is None:
        return True
    knows = Trait.DIAGONAL_HESSIAN | Trait.HESSIAN | Trait.ROW_KERNELS
    return bool(solver.needs & knows) or "cuts" in (solver.carries or ()) or bool(solver.observation_mode)


def nearly_equal_columns(run: Evidence) -> Finding | None:
    """Return the finding that columns of the support are nearly equal, if so."""
    design = run.problem.design
    if not run.problem.smooth or Trait.ONE_SCORE not in run.problem.loss.traits:
        return None  # for others no solver here has a model of all weights together
    random = run.param("eta0") is not None  # noise hides how flat f is
    if run.iterations < 2 * FEW or run.id in ("newton-cd", "ssn") or random or not hasattr(design, "stored"):
        return None
    strength = design.column_squares() * 1.0
    if run.w is not None:
        W, _ = design.split(run.w)
        strength *= (np.abs(W).max(axis=1) > 0.0) if W.ndim == 2 else W != 0.0
    chosen = np.argsort(-strength)[:COMPARED_COLUMNS]
    chosen = np.sort(chosen[strength[chosen] > 0.0])
    if chosen.size < 2 or chosen.size * design.n_rows > COMPARED_ENTRIES:
        return None
    X = np.zeros((design.n_rows, chosen.size))
    for k, j in enumerate(chosen):
        rows, values = design.column(j)
        X[rows, k] = values if values.size else 1.0
    X -= X.mean(axis=0)
    lengths = np.linalg.norm(X, axis=0)
    lengths[lengths == 0.0] = np.inf
    alike = np.abs(X.T @ X / np.outer(lengths, lengths))
    np.fill_diagonal(alike, 0.0)
    count = int(np.count_nonzero(alike.max(axis=0) > NEARLY_EQUAL))
    if count < max(2, COMMON * chosen.size):
        return None
    a, b = np.unravel_index(int(alike.argmax()), alike.shape)
    names = [run.problem.names.feature(int(chosen[k])) for k in (a, b)]
    text = (
        f"{count} of {chosen.size} columns with a weight have a correlation above {NEARLY_EQUAL} "
        f"with another: {names[0]} and {names[1]} have {alike[a, b]:.5f}. "
        "f is flat along the difference of two such weights."
    )
    remedy = run.first_solver("newton-cd", "ssn", "lbfgs")
    share = 0.9 * (1.0 - FEW / run.iterations)
    reference = "Nocedal and Wright, Numerical Optimization, theorem 3.4, the rate by the condition number"
    return Finding("nearly-equal-columns", text, share, reference, remedy)


def lam_too_small(run: Evidence) -> Finding | None:
    """Return the finding that λ is too small to have an effect above the noise of the data, so that f is
    flat."""
    problem = run.problem
    if not problem.lam or run.w is None or not problem.smooth or run.iterations < 3 * FEW:
        return None
    start, end = run.rows["loss"][0], run.last("loss")
    exact = np.isfinite(start) and end < FITTED_EXACTLY * start
    if exact:
        shown = f"The loss fell to {end / start:.1e} of that at the start: the data are fitted exactly"
    else:
        ratio = _effect_of_lam(run, run.w)
        if not ratio < WITHOUT_EFFECT:
            return None
        shown = f"The gradient of the penalty is {ratio:.1e} of the noise of that of the loss"
    lam = LARGER_LAM * problem.lam
    if problem.penalty.sparse and problem.lam_max is not None:
        lam = min(max(lam, LARGER_LAM_RATIO * problem.lam_max), MOST_LAM_RATIO * problem.lam_max)
    elif not problem.penalty.sparse:
        lam = max(lam, DEFAULT_RIDGE * (1.0 if problem.average else problem.loss.n_instances))
    text = f"{shown}, so that λ = {problem.lam:.3g} leaves f flat in {run.iterations:,} iterations."
    remedy = Remedy(f"λ={lam:.3g}", problem={"lam": lam})
    reference = "Bickel, Ritov and Tsybakov 2009: λ of the order of the noise, σ√(log d / n)"
    share = 0.9 * (1.0 - FEW / run.iterations)
    return Finding("lam-too-small", text, share if exact else 0.8 * share, reference, remedy)


def _effect_of_lam(run: Evidence, w: np.ndarray) -> float:
    """Return the gradient of the penalty relative to the standard error of that of the loss."""
    problem, point = run.problem, run.point
    design = problem.design
    if not hasattr(design, "stored") or design.n_tail or design.nnz > COMPARED_ENTRIES or not problem.lam:
        return np.nan
    G = problem.scale * np.asarray(point.residual.Z)
    noise = float(np.sqrt(np.median(design.squared_sums(G * G))))
    penalty = problem.penalty
    pull = problem.lam if penalty.sparse else penalty.ridge * float(np.median(np.abs(w)))
    return pull / noise if noise > 0.0 else np.nan


def kink(run: Evidence) -> Finding | None:
    """Return the finding that a method for smooth functions is stuck at kinks, if so."""
    if run.problem.smooth or run.id not in ("gd", "bfgs", "lbfgs"):
        return None
    kinks = sum("kink" in events for events in run.rows["events"])
    gap, f = run.trace.result.get("dual_gap"), run.last("objective")
    stalled = run.trace.status in ("stalled", "failed")
    above = "" if gap is None or not f else f", and f is proved to within {100 * gap / abs(f):.2g} % only"
    how = (
        f"it stalled after {run.iterations:,} iterations" if stalled else f"it took {run.iterations:,} so far"
    )
    at = f", {kinks:,} of them at a kink" if kinks else ""
    text = f"f has kinks, and {run.id} follows one subgradient: {how}{at}{above}."
    small = run.problem.size <= 500
    better = ("bfgs" if run.id == "gd" else "subbfgs") if small else "sublbfgs"
    remedy = run.first_solver("ls-bmrm", better)
    reference = "Yu et al. 2010, section 2.1, (L)BFGS on nonsmooth objectives"
    return Finding("kink", text, 0.95 if stalled else 0.5, reference, remedy)


def tol_below_rounding(run: Evidence) -> Finding | None:
    """Return the finding that f stayed within rounding of its last value for much of the run, if so.

    Either the tolerance is too small, or the solver is to blame, if another one reaches a far smaller
    violation.
    """
    f, violation = run.rows["objective"], run.rows["violation"]
    if not run.problem.smooth or len(f) < 10 or not np.isfinite(f[-1]):
        return None
    reached = int(np.argmax(f <= f[-1] + ROUNDING_OF_F * abs(f[-1])))
    spent = 1.0 - run.rows["cpu_seconds"][reached] / max(run.seconds, 1e-9)
    known = np.flatnonzero(np.isfinite(violation[reached:]))
    if spent < 0.25 or not known.size:
        return None
    there = float(violation[reached + known[0]]) / (run.problem.violation_at_zero() or 1.0)
    if not 0.0 < there < 1e-4 or reached + known[0] > 0.9 * len(f):
        return None
    text = (
        f"f was within rounding of its last value from iteration {run.rows['iteration'][reached]:,} on, "
        f"at a relative violation of {there:.1e}: {100 * spent:.0f} % of the time came after it."
    )
    reference = "Higham 2002, Accuracy and Stability of Numerical Algorithms: rounding of a sum"
    if run.trace.status != "converged" and (other := _far_below(run, float(np.nanmin(violation)))):
        remedy, reached = other
        text = f"{text[:-1]}, and {remedy.says} gets to {reached:.1e}."
        steps = run.known("step")
        first, last = (float(np.median(part)) if steps.size else 0.0 for part in (steps[:FEW], steps[-FEW:]))
        if last < COLLAPSED * first:
            text += (
                f" The step fell from {first:.2g} to {last:.2g}: "
                "trials that differ by rounding alone are refused as if f rose."
            )
        return Finding("search-below-rounding", text, spent, reference, remedy)
    remedy = Remedy(f"tol={there:.1e}", tol=there)
    return Finding("tol-below-rounding", text, spent, reference, remedy)


def _far_below(run: Evidence, violation: float) -> tuple[Remedy, float] | None:
    """Return a solver that reaches a far smaller violation in the time of the run, and its relative
    violation.

    Return None if there is none.
    """
    remedy = run.first_solver("newton-cd", "prox-qn", "lbfgs", "fista-ls")
    first = run.problem.violation_at_zero()
    if remedy is None or remedy.solver is None or not violation > 0.0 or not first > 0.0:
        return None
    tol, seconds = FAR_BELOW * violation / first, min(run.seconds, MOST_COMPARED_SECONDS)
    trace = solve(run.own, remedy.solver, tol=tol, max_seconds=seconds, on_error="keep")
    reached = trace.result.get("violation")
    if trace.status != "converged" or reached is None or not reached <= FAR_BELOW * violation:
        return None
    return remedy, reached / first


def wrong_tool(run: Evidence) -> Finding | None:
    """Return the finding that a solver which uses curvature would be faster, if so."""
    slow = run.id in FIRST_ORDER
    if run.iterations < FEW or not (slow or run.id in ("owl-qn", "owl-qn-star")):
        return None
    problem = run.problem
    if not problem.smooth:
        ids: tuple[str, ...] = ("ls-bmrm", "sublbfgs")
    elif problem.penalty.sparse:
        chains = run.problem.design.n_tail or Trait.DIAGONAL_HESSIAN not in problem.loss.traits
        ids = ("prox-qn", "newton-cd") if chains else ("newton-cd", "prox-qn", "bcd-ls")
    else:
        ids = ("lbfgs",)
    remedy = run.first_solver(*ids)
    if remedy is None:
        return None
    text = (
        f"{run.id} took {run.iterations:,} iterations without a model of the curvature; "
        f"{remedy.says} has one for this loss and penalty, and was faster on our benchmarks."
    )
    share = (0.8 if slow else 0.5) * (1.0 - FEW / (run.iterations + FEW))
    reference = "Bach et al. 2012, Optimization with Sparsity-Inducing Penalties, section 8"
    return Finding("wrong-tool", text, share, reference, remedy)
