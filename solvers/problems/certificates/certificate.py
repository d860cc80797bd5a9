"""Upper bounds on f - f*, proved by duality or strong convexity.

The bounds include the largest possible effect of rounding, see :func:`.point.rounding_of_sums`. So they hold
in floating-point arithmetic too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...declare import Trait
from ...linalg.scores import Scores
from ..point import Point, rounding_of_sums
from ..problem import Problem

#: Weights per piece of a vector that is copied several times.
COPIED_AT_ONCE = 20_000
#: Weights without a penalty up to which a bound is computed.
MOST_FREE = 100
#: Maximal number of Newton steps of a projection, and the shortest step.
PROJECTION_STEPS, SHORTEST_STEP = 50, 1e-6
#: Share of f and f* by which a lower bound may be above f* for rounding's sake; one that is further above is
#: false.
BOUND_ROUNDING = 1e-12


class Dual(NamedTuple):
    """A point of Fenchel's dual: a residual G at which the conjugate L* of the loss is finite, and the value
    -L*(G)."""

    residual: Scores
    value: float


def duality_gap(problem: Problem, point: Point) -> float | None:
    """Return an upper bound on f(w) - f* at a point.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : Point
        A point of the problem. Its full gradient is computed if it has none yet.

    Returns
    -------
    float or None
        The bound, in units of f; None if no bound is known.

    Notes
    -----
    The residual G of the loss at w is a point of Fenchel's dual: f* >= -s L*(G) - (λR)*(-s AᵀG). For a norm
    λR, whose conjugate is 0 or infinite, G is scaled by α = min(1, λ/Ω°(s AᵀG)). If L* is not known, a
    ridge μ makes f μ-strongly convex: f(w) - f* <= ‖v‖²/(2μ). Here v is the minimum-norm subgradient, or any
    subgradient if the loss has kinks. With penalty factors μ is the smallest ridge of a weight. G must be
    orthogonal to the columns of weights without a penalty: see :func:`orthogonal`. The cost is a full
    gradient, if the point has none yet, and one pass over the scores. Weights without a penalty add another
    product and the projection.
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
    if problem.free.size:  # what rounding leaves of their derivatives, times weights that are as far off
        _, sizes = _partial_terms(problem, point.residual.Z)
        gap += 2.0 * problem.scale * rounding_of_sums(problem) * float(sizes @ np.abs(point.w[problem.free]))
    return max(gap, 0.0)


def orthogonal(problem: Problem, point: Point) -> Scores | None:
    """Return a residual near that of a point, orthogonal to the columns of weights without a penalty.

    Without such weights, return the residual of the point. Otherwise scale the residual of sample i by a t_i
    between 0 and 1, so that L* stays finite. Here t is the projection of (1, ..., 1), see :func:`shares`.
    Return None for chains, and if there are more than ``MOST_FREE`` such weights.
    """
    if problem.free.size == 0:
        return point.residual
    if not _can_be_orthogonal(problem):
        return None
    Z = point.residual.Z
    return Scores(
        Z * shares(*_partial_terms(problem, Z), problem.loss.instance_weights)[:, None], point.residual.tail
    )


def _can_be_orthogonal(problem: Problem) -> bool:
    """Return whether residuals can be scaled row by row, with few enough equations."""
    return problem.free.size <= MOST_FREE and problem.design.n_tail == 0


def _partial_terms(problem: Problem, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M, (n_rows, free weights), and the size of the terms that cancel in each of its columns.

    Column k of M sums to the partial derivative of L with respect to the k-th weight without a penalty, for
    the residual Z.
    """
    design = problem.design
    features, outputs = np.divmod(problem.free, design.n_outputs)
    M, largest = np.empty((len(Z), problem.free.size)), np.abs(Z).max(axis=1)
    sizes = np.empty(problem.free.size)
    for feature in np.unique(features):
        one = design.working_set(np.array([feature * design.n_outputs]))
        x, own = design.scores(np.ones(1), one).Z[:, 0], features == feature
        M[:, own] = x[:, None] * Z[:, outputs[own]]
        sizes[own] = np.abs(x) @ largest
    return M, sizes


def shares(M: np.ndarray, sizes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the projection t of (1, ..., 1) onto {t: Mᵀt = 0, 0 <= t_i <= 1}.

    The norm weights the squared distance of sample i by ``weights[i]``. With V = M, row i divided by this
    weight, t_i = clip(1 - (V u)_i, 0, 1). A semismooth Newton method finds the u that maximizes the concave
    dual, whose gradient is Mᵀt. If Mᵀt does not reach the rounding level of terms of these ``sizes``, return
    t = 0, which is feasible.
    """
    rounding = 8.0 * np.finfo(float).eps * sizes
    s = np.ones(len(M)) if weights is None else weights
    V, u = M / s[:, None], np.zeros(M.shape[1])
    t, slope, value = np.ones(len(M)), M.sum(axis=0), 0.0
    for _ in range(PROJECTION_STEPS):
        if (np.abs(slope) <= rounding).all():
            return t
        within = (t > 0.0) & ((t < 1.0) | (V @ u >= 0.0))
        step = np.linalg.lstsq(V[within].T @ M[within], slope, rcond=1e-12)[0]
        length, before = 1.0, (_length(slope), value)
        while length > SHORTEST_STEP:
            t = np.clip(1.0 - V @ (u + length * step), 0.0, 1.0)
            slope = M.T @ t
            value = 0.5 * float(s @ (1.0 - t) ** 2) + float((u + length * step) @ slope)
            if value > before[1] or _length(slope) < 0.5 * before[0]:  # near the end only the slope tells
                break
            length *= 0.5
        u += length * step
    return np.zeros(len(M))


def dual_bound(problem: Problem, dual: Dual, *, at: Point | None = None) -> float:
    """Return -s L*(G) - (λR)*(-s AᵀG), a lower bound on f*, for a dual point and a penalty with a ridge μ.

    Here (λR)*(-g) = Σ S(g)_j²/(2μv_j), S(g) the minimum-norm subgradient at w = 0, and v the penalty factors.
    The sum leaves out weights without a penalty, whose g must be 0. If G is the residual at the point ``at``,
    its gradient saves a product.
    """
    penalty, design = problem.penalty, problem.design
    g = problem.scale * design.adjoint(dual.residual) if at is None else at.gradient()
    unit, off = rounding_of_sums(problem), problem.scale * _off(problem, dual.residual)
    squares = noise = 0.0
    for part in problem.pieces(COPIED_AT_ONCE):
        own, here = g[part], penalty.on(part)
        ridge = np.zeros_like(own) if at is None else here.ridge_gradient(at.w[part])
        v = here.subgradient(np.zeros_like(own), own - ridge)
        u, factors = v, here.factors
        if factors is not None:  # weights without a penalty are left out
            u = np.divide(v, factors, out=np.zeros_like(v), where=factors > 0.0)
        squares += float(u @ v)
        noise += off * design.reach(u, first=part.start) + unit * float(np.abs(u) @ np.abs(ridge))
    noise += 0.5 * design.n_outputs * (off * _length(design.column_lengths())) ** 2 / penalty.least_factor
    value = problem.scale * dual.value
    return value - (0.5 * squares + noise) / penalty.ridge - unit * (abs(value) + squares / penalty.ridge)


def bound_by_convexity(point: Point, squares: float, *, tied: bool = False) -> float:
    """Return f(w) - ‖g‖²/(2μ), a lower bound on f*; return -inf if ‖g‖² is infinite.

    ``squares`` is ‖g‖² of a subgradient at a point, and the penalty has a ridge μ. Set ``tied`` if the
    subgradient may combine functions within the tie tolerance below the maximum.
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
    """Return the lower bounds on f* that follow from proved gaps.

    Parameters
    ----------
    objective, gap : (n,) float64 or float
        f of each iterate, and an upper bound on f - f*.

    Returns
    -------
    (n,) float64 or float
        Lower bounds on f*: f - gap, less the rounding error of both, which matters if f is far above f*.

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
    """Return a bound on the rounding error of x_jᵀG, for the residual G and a column x_j of X of length 1."""
    return rounding_of_sums(problem) * math.sqrt(residual.dot(residual))


def _length(v: np.ndarray) -> float:
    return float(np.linalg.norm(v))


class KnownMinimum:
    """The least upper bound on f* that a run knows, ``most``: f at w = 0, or the least f seen.

    A lower bound above ``most`` is false. Then ``refuted`` is set, and its source is ignored from there on.
    """

    def __init__(self, most: float) -> None:
        self.start = self.most = most
        self.refuted = False

    def claimed(self, objective: float, gap: float) -> float:
        """Return :meth:`checked` of the gap that the solver claims; return nan from its first false claim
        on."""
        found = self.checked(objective, gap)
        self.refuted = self.refuted or (math.isnan(found) and not math.isnan(gap))
        return math.nan if self.refuted else found

    def checked(self, objective: float, gap: float) -> float:
        """Return the bound ``gap`` on f - f* of an iterate with this objective; nan if the bound is false.

        If the lower bound objective - gap exceeds ``most`` by rounding only, increase the gap by the
        difference.
        """
        if not math.isfinite(objective):
            return gap
        self.most = min(self.most, objective)
        above = (objective - gap) - self.most
        false = above > BOUND_ROUNDING * (abs(objective) + abs(self.most))
        return math.nan if false or math.isnan(gap) else max(gap, objective - self.most)


def can_be_certified(problem: Problem) -> bool:
    """Return whether :func:`duality_gap` can prove a bound for this loss and penalty."""
    penalty, traits = problem.penalty, problem.loss.traits
    by_dual = Trait.CONJUGATE in traits and penalty.sparse and problem.smooth
    if problem.free.size:
        by_ridge = Trait.CONJUGATE in traits and penalty.ridge > 0.0
        return _can_be_orthogonal(problem) and (by_ridge or by_dual)
    return penalty.ridge > 0.0 or by_dual
