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
    subgradient if the loss has kinks. With penalty factors μ is that of the weight that has the least ridge.
    For weights without a penalty G must be orthogonal to their columns: see :func:`orthogonal`. The cost is a
    full gradient, if the point has none yet, and one pass over the scores; with an intercept another product.
    No other vector over all weights is needed without an intercept.
    """
    penalty, loss = problem.penalty, problem.loss
    if Trait.CONJUGATE not in loss.traits:
        if penalty.convexity == 0.0:
            return None
        pieces = problem.parts(None, point.w, point.gradient())
        shortest = (penalty.subgradient(w, g) for penalty, w, g in pieces)
        bound = bound_by_convexity(point, float(sum(v @ v for v in shortest)))
    elif (residual := orthogonal(problem, point)) is None:
        return None
    elif penalty.ridge > 0.0:
        value = loss.dual_value(point.scores, residual, 1.0)
        bound = dual_bound(problem, Dual(residual, value), at=point if residual is point.residual else None)
    else:
        own = residual is point.residual
        g = point.gradient() if own else problem.scale * problem.design.adjoint(residual)
        polar = problem.dual_norm(g)
        if polar is None:
            return None
        off = problem.scale * _off(problem, residual) * problem.design.longest_column()
        unit = penalty.unit_norm(problem.design.n_outputs)
        assert unit is not None  # a penalty has a λ_max for each gradient or for none
        polar += off * unit
        alpha = 1.0 if polar <= penalty.lam else penalty.lam / polar
        value = problem.scale * loss.dual_value(point.scores, residual, alpha)
        bound = value - rounding_of_sums(problem) * abs(value)
    # once for f, and once for the bound, which is made of what f is
    gap = point.objective - bound + 2.0 * point.rounding()
    if problem.free.size:  # what rounding leaves of the sum of G, times an intercept that is as far off
        gap += 2.0 * problem.scale * rounding_of_sums(problem) * _free_reach(problem, point)
    return max(gap, 0.0)


def _free_reach(problem: Problem, point: Point) -> float:
    return float(np.abs(point.residual.Z).sum() * np.abs(point.w[problem.free]).max())


def orthogonal(problem: Problem, point: Point) -> Scores | None:
    """Return a residual near that of a point, orthogonal to the columns of weights without a penalty.

    It is the point's own if there are no such weights. For an intercept and one score a sample the residuals
    of one sign are scaled down until the sum is 0: each stays between 0 and itself, hence where L* is finite.
    Return None in other cases, in which none is known.
    """
    if problem.free.size == 0:
        return point.residual
    if not problem.intercept or problem.free.size > 1 or Trait.ONE_SCORE not in problem.loss.traits:
        return None
    Z = point.residual.Z
    above, below = float(Z[Z > 0.0].sum()), -float(Z[Z < 0.0].sum())
    share = min(above, below)
    factors = np.where(Z > 0.0, share / above if above else 0.0, share / below if below else 0.0)
    return Scores(Z * factors, point.residual.tail)


def dual_bound(problem: Problem, dual: Dual, *, at: Point | None = None) -> float:
    """Return -s L*(G) - (λR)*(-s AᵀG), a lower bound of f*, for a point of the dual and a penalty with a
    ridge μ: (λR)*(-g) = Σ S(g)_j²/(2μv_j), S(g) the minimum-norm subgradient at w = 0, and v the penalty
    factors. The sum leaves out weights without a penalty, whose g must be 0. The gradient of the point
    ``at`` saves a product, if G is the residual there."""
    penalty, design = problem.penalty, problem.design
    g = problem.scale * design.adjoint(dual.residual) if at is None else at.gradient()
    unit, off = rounding_of_sums(problem), problem.scale * _off(problem, dual.residual)
    squares = noise = 0.0
    for part in problem.pieces(COPIED_AT_ONCE):
        own, here = g[part], penalty.on(part)
        ridge = np.zeros_like(own) if at is None else here.ridge_gradient(at.w[part])
        v = here.subgradient(np.zeros_like(own), own - ridge)
        u = v if here.factors is None else _divided(v, here.factors)
        squares += float(u @ v)
        noise += off * design.reach(u, first=part.start) + unit * float(np.abs(u) @ np.abs(ridge))
    noise += 0.5 * design.n_outputs * (off * _length(design.column_lengths())) ** 2 / penalty.least_factor
    value = problem.scale * dual.value
    return value - (0.5 * squares + noise) / penalty.ridge - unit * (abs(value) + squares / penalty.ridge)


def _divided(v: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return v_j over the factor of j, and 0 for weights without a penalty."""
    return np.divide(v, factors, out=np.zeros_like(v), where=factors > 0.0)


def bound_by_convexity(point: Point, squares: float, *, tied: bool = False) -> float:
    """Return f(w) - ‖g‖²/(2μ), a lower bound of f*, or -inf if ‖g‖² is infinite.

    ``squares`` is ‖g‖² of a subgradient at a point, and the penalty has a ridge μ. ``tied`` means that the
    subgradient may combine functions that count as tied with the maximum, and are below it by the tolerance.
    """
    if squares == math.inf:
        return -math.inf
    problem = point.problem
    off = problem.scale * _off(problem, point.residual) * _length(problem.design.column_lengths())
    penalty = problem.penalty
    off += rounding_of_sums(problem) * float(np.max(penalty.each(penalty.ridge))) * _length(point.w)
    longest = math.sqrt(squares) + off
    below = problem.scale * problem.loss.tie_slack(point.loss / problem.scale) if tied else 0.0
    return point.objective - point.rounding() - below - 0.5 * longest * longest / penalty.convexity


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
    penalty, traits = problem.penalty, problem.loss.traits
    if problem.free.size:
        one_sum = problem.intercept and problem.free.size == 1 and Trait.ONE_SCORE in traits
        known = one_sum and Trait.CONJUGATE in traits
        return known and (penalty.ridge > 0.0 or (penalty.sparse and problem.smooth))
    by_dual = penalty.sparse and problem.smooth and Trait.CONJUGATE in traits
    return penalty.ridge > 0.0 or by_dual
