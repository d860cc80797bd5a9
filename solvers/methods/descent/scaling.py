"""Iterative scaling of log-linear models: all weights of an output change at once, each by its own bound.

After R. Jin, R. Yan, J. Zhang, A. G. Hauptmann: A Faster Iterative Scaling Algorithm for Conditional
Exponential Model, ICML 2003, and A. L. Berger, S. A. Della Pietra, V. J. Della Pietra: A Maximum Entropy
Approach to Natural Language Processing, Computational Linguistics 22, 1996.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...compute.jit import kernel
from ...compute.team import no_pulse
from ...declare import Trait, as_printed, param
from ...linalg.by_columns import scores_by_output
from ...linalg.design import Design
from ...linalg.scores import Scores
from ...problems.point import REFRESH, Point
from ...problems.problem import Problem
from ..iterate import Ending, Iterate
from ..solver import Solver
from .progress import DescentProgress

#: Entries of X that one kernel call handles, some 50 ms.
SCALE_ENTRIES_PER_CALL = 1_000_000
#: The most that a step of a weight may add to the log-odds of its rows on average. Without a penalty, the
#: bound of a weight of a feature that no positive sample has is unbounded below.
FARTHEST = 10.0


@dataclass(frozen=True)
class FIS(Solver):
    """Faster iterative scaling, and improved iterative scaling (``variant="iis"``).

    If only the weights of one output change, by δ, the loss changes by Σ_i log(1 - p_i + p_i exp(x_iᵀδ)) -
    t_i x_iᵀδ. Here p_i is the output's probability in row i, and t_i is 1 if the output is the label of the
    row, else 0. With a_i = Σ_j |x_ij|, x_iᵀδ is a mean of the sign(x_ij) a_i δ_j with weights |x_ij|/a_i.
    Since the change is convex in x_iᵀδ, it is at most a sum over j of functions of single δ_j. A ridge is
    such a sum too. Each δ_j is found by ``newton`` steps on the derivative of its own part. If that part does
    not decrease, δ_j is the step of a quadratic bound, which always decreases it. So f never rises. IIS also
    uses log u <= u - 1 in the bound. Outputs come one after the other; an iterate is one round of them.

    The update that Jin et al. print could not be verified. The bound here has the property that they claim
    for theirs: it is tighter than that of IIS. Mathur and Chakrabarti compute the difference vector δ "just
    once at the start and use it for all subsequent iterations": with ``difference="once"`` the first round's
    δ is added again while f does not rise. Then the run ends, usually far from the optimum.
    """

    id = "fis"
    name = "FIS"
    summary = "iterative scaling: all weights at once, each by its own bound"
    paper = "after Jin et al. 2003 and Berger et al. 1996; Mathur and Chakrabarti 2006, section II-A"
    needs = Trait.SMOOTH | Trait.LOG_LINEAR | Trait.SMOOTH_PENALTY | Trait.UNIFORM
    presets = as_printed(difference="once")
    carries = ()

    variant: str = param(
        "fis",
        "the bound: faster or improved iterative scaling",
        choices=("fis", "iis"),
        title="kind of bound",
    )
    newton: int = param(
        3,
        "Newton steps on the derivative of the bound of a weight",
        low=1,
        high=1000,
        title="Newton steps a weight",
    )
    difference: str = param(
        "each",
        "the difference vector δ: found in each round, or in the first one alone and added in all",
        choices=("each", "once"),
        title="difference vector δ",
    )

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        point, progress, rounds = (
            problem.at(w0),
            DescentProgress(problem.penalty.convexity),
            _Round(self, problem),
        )
        iteration, moved, delta = 0, True, None
        while True:
            g, violation = point.gradient(), point.violation()
            gap = progress.update(point, float(g @ g))
            live = {"gradient": g}
            yield Iterate.at(point, iteration, violation=violation, dual_gap=gap, ls_kind="none", live=live)
            if violation <= problem.noise:
                return Ending("converged", f"the violation, {violation:.3g}, is no more than rounding")
            if not moved:
                return Ending("stalled", "no weight moves by more than rounding")
            iteration += 1
            if delta is not None and self.difference == "once":
                line = problem.line(point, delta)
                if not line(1.0) <= point.objective:
                    return Ending("stalled", "f would rise if the first δ were added once more")
                point = line.move(1.0)
                continue
            before = point.w.copy()
            moved = rounds.run(point.w, point.scores)
            delta = point.w - before
            drift = point.drift.after(problem, point.w, delta)
            if drift is None or drift.updates >= REFRESH:
                point = problem.at(point.w)
            else:
                point = Point(problem, point.w, point.scores, drift=drift)


class _Round:
    """A round over the outputs, and the data that all rounds read."""

    def __init__(self, solver: FIS, problem: Problem) -> None:
        self.solver, self.problem, self.design = solver, problem, problem.design
        # other runs wait for the sums: no pulse, at which this one may be held
        quiet = self.design.attached(no_pulse)
        self.sums = self.design.derived("sums of |x| of rows", lambda: absolute_sums(quiet))
        work = np.cumsum(self.design.column_nnz)
        cuts = np.searchsorted(work, np.arange(SCALE_ENTRIES_PER_CALL, work[-1], SCALE_ENTRIES_PER_CALL)) + 1
        self.edges = np.unique(np.concatenate([[0], cuts, [work.size]])).astype(np.int64)
        self.longest = int(self.design.column_nnz.max(initial=1))

    def run(self, w: np.ndarray, scores: Scores) -> bool:
        """Update w and the scores in one round over the outputs; return whether any weight moved."""
        loss, design = self.problem.loss, self.design
        W, moved = design.split(w)[0], False
        columns = design.starts, design.edges, design.rows, design.values
        ridge, iis = self.problem.penalty.ridge / self.problem.scale, self.solver.variant == "iis"
        for c in range(design.n_outputs):
            odds, truth = loss.log_odds(scores, c), loss.truths(c)
            delta, before = np.empty(design.n_features), W[:, c].copy()
            for lo, hi in zip(self.edges[:-1], self.edges[1:], strict=True):
                rows = odds, truth, self.sums
                design.touched += scaling_steps(
                    columns, rows, before, ridge, iis, self.solver.newton, lo, hi, delta, self.longest
                )
                self.problem.pulse()
            W[:, c] = before + delta
            moved = moved or bool((W[:, c] != before).any())
            scores.Z[:, c] += column_of_scores(design, W[:, c] - before, design.values)
            design.touched += design.nnz
        return moved


def column_of_scores(design: Design, v: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return X v for one output, with ``values`` in place of the entries of X (empty: ones)."""
    z, every = np.zeros((design.n_rows, 1)), np.arange(design.n_features)
    one = np.array([0, v.size])
    for b in range(design.n_blocks):
        slab = z[design.edges[b] : design.edges[b + 1]]
        scores_by_output(design.starts[b], design.rows, values, one, every, v, 0, v.size, slab)
        design.pulse()
    return z[:, 0]


def absolute_sums(design: Design) -> np.ndarray:
    """Return a_i = Σ_j |x_ij| of each row."""
    return column_of_scores(design, np.ones(design.n_features), np.abs(design.values))


@kernel
def scaling_steps(columns, rows, w, ridge, iis, newton, lo, hi, delta, longest):
    """Write the steps δ_j of weights lo to hi - 1 to ``delta``; return the number of entries of X read."""
    starts, edges, numbers, values = columns
    odds, truth, sums = rows
    x, a, o, t = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    touched = 0
    for j in range(lo, hi):
        n = 0
        for b in range(starts.shape[0]):
            for p in range(starts[b, j], starts[b, j + 1]):
                i = edges[b] + numbers[p]
                x[n] = values[p] if values.size else 1.0
                a[n], o[n], t[n] = sums[i], odds[i], truth[i]
                n += 1
        column = x[:n], a[:n], o[:n], t[:n]
        size = reach = 0.0
        for p in range(n):
            size += abs(x[p])
            reach += abs(x[p]) * a[p]
        curvature, longest_step = ridge + 0.25 * reach, FARTHEST * size / reach if reach > 0.0 else 0.0
        slope, second = bound_slope(column, w[j], ridge, 0.0, iis)
        touched += n
        safe = -slope / curvature if curvature > 0.0 else 0.0
        step = 0.0
        for _ in range(newton):
            if not second > 0.0:
                break
            step = min(max(step - slope / second, -longest_step), longest_step)
            slope, second = bound_slope(column, w[j], ridge, step, iis)
            touched += n
        # the bound is convex: it is lower wherever its slope still leads away from 0
        if not slope * step <= 0.0:
            touched += n
            if not bound_change(column, w[j], ridge, step, iis) <= 0.0:
                step = safe
        delta[j] = step
    return touched


@kernel
def bound_slope(column, w, ridge, step, iis):
    """Return the first and second derivative, at δ_j = ``step``, of the part of the bound for one weight.

    ``column`` has x_ij, a_i, the log-odds of p_i, and t_i for the rows of feature j; ``w`` is the weight.
    With ``iis`` the bound is that of IIS.
    """
    x, a, o, t = column
    slope, second = ridge * (w + step), ridge
    for p in range(x.size):
        s = a[p] if x[p] >= 0.0 else -a[p]
        if iis:
            share = np.exp(s * step) / (1.0 + np.exp(-o[p]))
            second += abs(x[p]) * a[p] * share
        else:
            share = 1.0 / (1.0 + np.exp(-o[p] - s * step))
            second += abs(x[p]) * a[p] * share * (1.0 - share)
        slope += x[p] * (share - t[p])
    return slope, second


@kernel
def bound_change(column, w, ridge, step, iis):
    """Return the change of the part of the bound for one weight from δ_j = 0 to ``step``.

    Arguments are those of :func:`bound_slope`. A change of at most 0 proves that f does not rise.
    """
    x, a, o, t = column
    change = ridge * step * (w + 0.5 * step)
    for p in range(x.size):
        s = a[p] if x[p] >= 0.0 else -a[p]
        u = s * step
        if iis or abs(u) < 1.0:
            growth = np.expm1(u) / (1.0 + np.exp(-o[p]))
            part = growth if iis else np.log1p(growth)
        else:
            part = softplus(o[p] + u) - softplus(o[p])
        change += abs(x[p]) / a[p] * part - x[p] * t[p] * step
    return change


@kernel
def softplus(z):
    """Return log(1 + exp z)."""
    return max(z, 0.0) + np.log1p(np.exp(-abs(z)))
