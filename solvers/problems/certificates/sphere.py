"""Balls that contain the optimum of the dual, from the duality gap: Ndiaye et al., JMLR 2017.

The residual G* at the optimum maximizes Fenchel's dual, D(G) = -s L*(G) - (λR)*(-s AᵀG). If the gradient of L
is κ-Lipschitz, D is s/κ-strongly concave: ½ s/κ ‖G - G*‖² <= D(G*) - D(G) <= f(w) - D(G) for any w and any
feasible G. So G* is within r = √(2 κ gap/s) of G, and s x_jᵀG* within s‖x_j‖ r of s x_jᵀG.

Rows whose curvature κ_t is smaller than κ tighten this: ½ s Σ_t ‖G_t - G*_t‖²/κ_t is below the gap as well.
So (Σ_t κ_t/κ x_tj²)^½ may replace ‖x_j‖. For chains G contains the marginals of labels and those of pairs of
neighbours, and transitions are features of the pairs. D(G) is then the entropy of the chain with these
marginals (:meth:`.crf.BoundChains.dual_value`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...declare import Trait
from ..point import Point, rounding_of_sums
from ..problem import Problem


def why_no_sphere(problem: Problem) -> str | None:
    """Return why no ball around the optimum of the dual is known; return None if there is a ball.

    The string is the predicate of a sentence whose subject is the rule.
    """
    loss, penalty = problem.loss, problem.penalty
    if Trait.CONJUGATE not in loss.traits or not loss.traits & (Trait.LIPSCHITZ | Trait.CHAINS):
        return f"needs a loss with a Lipschitz gradient and a known conjugate, and {loss.id} has none"
    if penalty.factors is not None:
        return f"needs {Trait.UNIFORM.phrase}"
    if penalty.smooth:
        return f"needs a penalty that sets weights to zero, and {penalty.id} does not"
    return None


@dataclass(frozen=True)
class Bends:
    """Curvature of the loss in rows and columns.

    ``largest`` is κ, the largest curvature κ_t of a row. ``columns`` and ``tail`` have (Σ_t κ_t/κ x_tj²)^½ of
    each column of X and of each weight of the tail.
    """

    largest: float
    columns: np.ndarray
    tail: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Bends:
        """Return the curvature bounds of the loss, for a problem with a ball around its dual optimum."""
        bounds, design = problem.loss.bends(), problem.design
        largest = float(bounds.Z.max(initial=0.0))
        if np.all(largest == bounds.Z):
            columns = design.column_lengths()
        else:
            columns = np.sqrt(design.squared_sums(bounds.Z / largest)[:, 0])
        return cls(largest, columns, np.sqrt(bounds.tail / (largest or 1.0)))


@dataclass(frozen=True)
class DualPoint:
    """A feasible point of the dual of the problem on some of the blocks: the scaled residual αG.

    ``gradient`` is s AᵀαG on those blocks, flat, and ``value`` a lower bound on D at this point. ``length``
    is ‖αG‖, which scales the rounding error of the gradient of a column of length 1.
    """

    gradient: np.ndarray
    value: float
    length: float

    def restricted(self, kept: np.ndarray) -> DualPoint:
        """Return the point for the weights in the mask ``kept``; it remains feasible for fewer weights."""
        return DualPoint(self.gradient[kept], self.value, self.length)


def dual_point(point: Point, coordinates: np.ndarray | None, g: np.ndarray, lengths: np.ndarray) -> DualPoint:
    """Return the dual point from the residual at ``point``, for the problem on some of the weights.

    These are whole blocks, and w is zero outside them. ``g`` is the gradient of loss and ridge on these
    ``coordinates`` (None: all weights), ``lengths`` is ‖x_j‖ for each. With a ridge every residual is
    feasible; otherwise G is scaled by α = min(1, λ/Ω°(s AᵀG)).
    """
    problem = point.problem
    penalty, loss, residual = problem.penalty, problem.loss, point.residual
    unit, length = rounding_of_sums(problem), math.sqrt(residual.dot(residual))
    off = problem.scale * unit * length
    if penalty.ridge > 0.0:
        ridge = penalty.ridge * (point.w if coordinates is None else point.w[coordinates])
        own = g - ridge
        v = penalty.subgradient(np.zeros_like(own), own)
        squares = float(v @ v)
        noise = off * float(lengths @ np.abs(v)) + unit * float(np.abs(v) @ np.abs(ridge))
        noise += 0.5 * (off * float(np.linalg.norm(lengths))) ** 2
        value = problem.scale * loss.dual_value(point.scores, residual, 1.0)
        value -= (0.5 * squares + noise) / penalty.ridge + unit * (abs(value) + squares / penalty.ridge)
        return DualPoint(own, value, length)
    polar = penalty.lam_max(g) if g.size else 0.0
    one = penalty.lam_max(np.ones(problem.design.n_outputs))
    assert polar is not None  # why_no_sphere refuses a penalty without
    assert one is not None
    polar += off * float(lengths.max(initial=0.0)) * one
    alpha = 1.0 if polar <= penalty.lam else penalty.lam / polar
    value = problem.scale * loss.dual_value(point.scores, residual, alpha)
    return DualPoint(alpha * g, value - unit * abs(value), alpha * length)


def gap_and_radius(point: Point, dual: DualPoint, curvature: float) -> tuple[float, float]:
    """Return a proved bound on f(w) - f*, and the radius of the ball around ``dual`` that contains G*.

    The ball is in the space of residuals; ``curvature`` is κ.
    """
    problem = point.problem
    gap = max(point.objective - dual.value + 2.0 * point.rounding(), 0.0)
    return gap, math.sqrt(2.0 * curvature * gap / problem.scale) + rounding_of_sums(problem) * dual.length
