"""Upper bounds of f - f*, proved by duality or strong convexity.

Bounds include the largest possible effect of rounding, see :func:`.point.rounding_of_sums`. So a printed
bound really is a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...declare import Trait
from ...linalg.scores import Scores
from ..point import Point, rounding_of_sums
from ..problem import Problem

#: Weights of a piece of which several copies are made.
COPIED_AT_ONCE = 20_000
#: Share of f and f* by which a lower bound may be above f* for rounding's sake; one that is further above is
#: false.
BOUND_ROUNDING = 1e-12


class Dual(NamedTuple):
    """A point of Fenchel's dual: a residual G at which the conjugate L* of the loss is finite, and -L*(G)."""

    residual: Scores
    value: float


def duality_gap(problem: Problem, point: Point) -> float | None:
    """Return an upper bound of f(w) - f* at a point.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : Point
        A point of it. A full gradient is computed if it has none yet.

    Returns
    -------
    float or None
        The bound, in units of f; None if no bound is known.

    Notes
    -----
    The residual G of the loss at w is a point of Fenchel's dual: f* >= -s L*(G) - (λR)*(-s AᵀG). For a norm
    λR, whose conjugate is 0 or infinite, G is scaled by α = min(1, λ/Ω°(s AᵀG)). If L* is not known, a
    ridge μ makes f μ-strongly convex: f(w) - f* <= ‖v‖²/(2μ). Here v is the minimum-norm subgradient, or any
    subgradient if the loss has kinks. The cost is a full gradient, if the point has none yet, and one pass
    over the scores. No other vector over all weights is needed.
    """
    penalty, loss = problem.penalty, problem.loss
    if Trait.CONJUGATE not in loss.traits:
        if penalty.ridge == 0.0:
            return None

        def squares(w: np.ndarray, g: np.ndarray) -> float:
            v = penalty.subgradient(w, g)
            return float(v @ v)

        bound = bound_by_convexity(point, problem.total(squares, point.w, point.gradient()))
    elif penalty.ridge > 0.0:
        value = loss.dual_value(point.scores, point.residual, 1.0)
        bound = dual_bound(problem, Dual(point.residual, value), at=point)
    else:
        polar = problem.dual_norm(point.gradient())
        if polar is None:
            return None
        off = problem.scale * _off(problem, point.residual) * problem.design.longest_column()
        unit = problem.penalty.lam_max(np.ones(problem.design.n_outputs))
        assert unit is not None  # a penalty has a λ_max for each gradient or for none
        polar += off * unit
        alpha = 1.0 if polar <= penalty.lam else penalty.lam / polar
        value = problem.scale * loss.dual_value(point.scores, point.residual, alpha)
        bound = value - rounding_of_sums(problem) * abs(value)
    # once for f, and once for the bound, which is made of what f is
    return max(point.objective - bound + 2.0 * point.rounding(), 0.0)


def dual_bound(problem: Problem, dual: Dual, *, at: Point | None = None) -> float:
    """Return -s L*(G) - (λR)*(-s AᵀG), a lower bound of f*, for a point of the dual and a penalty with a
    ridge μ: (λR)*(-g) = ‖S(g)‖²/(2μ), S(g) the minimum-norm subgradient at w = 0. The gradient of the point
    ``at`` saves a product, if G is the residual there."""
    penalty, design = problem.penalty, problem.design
    g = problem.scale * design.adjoint(dual.residual) if at is None else at.gradient()
    unit, off = rounding_of_sums(problem), problem.scale * _off(problem, dual.residual)
    squares = noise = 0.0
    for part in problem.pieces(COPIED_AT_ONCE):
        own = g[part]
        ridge = np.zeros_like(own) if at is None else penalty.ridge_gradient(at.w[part])
        v = penalty.subgradient(np.zeros_like(own), own - ridge)
        squares += float(v @ v)
        noise += off * design.reach(v, first=part.start) + unit * float(np.abs(v) @ np.abs(ridge))
    noise += 0.5 * design.n_outputs * (off * _length(design.column_lengths())) ** 2
    value = problem.scale * dual.value
    return value - (0.5 * squares + noise) / penalty.ridge - unit * (abs(value) + squares / penalty.ridge)


def bound_by_convexity(point: Point, squares: float, *, tied: bool = False) -> float:
    """Return f(w) - ‖g‖²/(2μ), a lower bound of f*, or -inf if ‖g‖² is infinite.

    ``squares`` is ‖g‖² of a subgradient at a point, and the penalty has a ridge μ. ``tied`` means that the
    subgradient may combine functions that count as tied with the maximum, and are below it by the tolerance.
    """
    if squares == math.inf:
        return -math.inf
    problem = point.problem
    off = problem.scale * _off(problem, point.residual) * _length(problem.design.column_lengths())
    off += rounding_of_sums(problem) * problem.penalty.ridge * _length(point.w)
    longest = math.sqrt(squares) + off
    below = problem.scale * problem.loss.tie_slack(point.loss / problem.scale) if tied else 0.0
    return point.objective - point.rounding() - below - 0.5 * longest * longest / problem.penalty.ridge


def lower_bound(objective: np.ndarray | float, gap: np.ndarray | float) -> np.ndarray | float:
    """Return the lower bounds of f* that follow from proved gaps.

    Parameters
    ----------
    objective, gap : (n,) float64 or float
        f of each iterate, and an upper bound of f - f*.

    Returns
    -------
    (n,) float64 or float
        Lower bounds of f*: f - gap, less the rounding of both, which matters if f is far above f*.

    Examples
    --------
    >>> from solverscope.solvers import lower_bound
    >>> bool(1e14 - (1e14 - 0.95) > 0.95)
    True
    >>> bool(lower_bound(1e14, 1e14 - 0.95) > 0.95)
    False
    """
    return objective - gap - np.finfo(float).eps * (np.abs(objective) + np.abs(gap))


def _off(problem: Problem, residual: Scores) -> float:
    """Return a bound of the rounding error of this residual's product with a column of X of length 1."""
    return rounding_of_sums(problem) * math.sqrt(residual.dot(residual))


def _length(v: np.ndarray) -> float:
    return float(np.linalg.norm(v))


class KnownMinimum:
    """A run's own upper bound of f*: f at w = 0, or the least f seen.

    ``most`` is this bound. A lower bound above it is false, and its source is not believed again
    (``refuted``).
    """

    def __init__(self, most: float) -> None:
        self.start = self.most = most
        self.refuted = False

    def claimed(self, objective: float, gap: float) -> float:
        """Return :meth:`checked` of the gap that the solver claims; return nan once a claim was false."""
        found = self.checked(objective, gap)
        self.refuted = self.refuted or (math.isnan(found) and not math.isnan(gap))
        return math.nan if self.refuted else found

    def checked(self, objective: float, gap: float) -> float:
        """Return the bound ``gap`` of f - f* of an iterate with this objective; return nan if it is false.

        If the lower bound exceeds ``most`` by rounding only, the gap is increased by the difference.
        """
        if not math.isfinite(objective):
            return gap
        self.most = min(self.most, objective)
        above = (objective - gap) - self.most
        false = above > BOUND_ROUNDING * (abs(objective) + abs(self.most))
        return math.nan if false or math.isnan(gap) else max(gap, objective - self.most)


def can_be_certified(problem: Problem) -> bool:
    """Return whether :func:`duality_gap` knows a bound for this loss and penalty."""
    penalty = problem.penalty
    by_dual = penalty.sparse and problem.smooth and Trait.CONJUGATE in problem.loss.traits
    return penalty.ridge > 0.0 or by_dual
