"""How far an objective can be from the optimum at most, proved by duality or strong convexity."""

from __future__ import annotations

import numpy as np

from ..declare import Trait
from .point import Point
from .problem import Problem


def duality_gap(problem: Problem, point: Point) -> float | None:
    """Return an upper bound of f(w) - f* at ``point``, in units of f; None where none is known.

    A penalty with a ridge μ makes f μ-strongly convex: f(w) - f* <= ‖v‖²/(2μ), v the minimum-norm
    subgradient, or any other where the loss has kinks. For a norm λΩ the residual G of the loss, scaled by
    α = min(1, λ/Ω°(s AᵀG)), is feasible for Fenchel's dual, and the bound is f(w) + s L*(αG). Costs a full
    gradient, if the point has none yet, one pass over the scores, and no other vector over all weights.
    """
    penalty, loss = problem.penalty, problem.loss
    if penalty.ridge > 0.0:

        def squares(w: np.ndarray, g: np.ndarray) -> float:
            v = penalty.subgradient(w, g)
            return float(v @ v)

        return problem.total(squares, point.w, point.gradient()) / (2.0 * penalty.ridge)
    polar = problem.dual_norm(point.gradient())
    if polar is None or Trait.CONJUGATE not in loss.traits:
        return None
    alpha = 1.0 if polar <= penalty.lam else penalty.lam / polar
    dual = problem.scale * loss.dual_value(point.scores, point.residual, alpha)
    return max(point.objective - dual, 0.0)


def can_be_certified(problem: Problem) -> bool:
    """Tell whether :func:`duality_gap` knows a bound for this loss and penalty."""
    penalty = problem.penalty
    by_dual = penalty.sparse and problem.smooth and Trait.CONJUGATE in problem.loss.traits
    return penalty.ridge > 0.0 or by_dual
