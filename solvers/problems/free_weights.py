"""The best values of the weights that are not penalised, such as an intercept, while all others are zero."""

from __future__ import annotations

import math
import sys

import numpy as np

from ..search.line_search import Armijo
from .line import Line
from .objective import Objective
from .point import Point

#: Newton steps, and the accuracy of each relative to the gradient.
NEWTON_STEPS, SOLVE_TOL = 100, 1e-8
#: Units of rounding of ‖x_j‖‖G‖ below which a gradient counts as zero.
GRADIENT_ROUNDING = 4 * sys.float_info.epsilon


def fit_free_weights(problem: Objective, free: np.ndarray) -> np.ndarray:
    """Minimize f over the weights ``free``, ascending, while all others are zero, and return all weights.

    The loss must have ``Trait.HESSIAN``. Newton's method with Armijo's rule runs until the gradient is at
    rounding level or no step decreases f. Where the curvature is zero, it takes a gradient step. If f has no
    minimum, return the weights after ``NEWTON_STEPS`` steps.
    """
    from scipy.sparse.linalg import LinearOperator, cg  # here, since it is slow to import

    members = problem.design.working_set(free)
    w = np.zeros(problem.size)
    point = Point(problem, w, problem.design.scores(np.zeros(free.size), members), active=members)
    for _ in range(NEWTON_STEPS):
        g = point.gradient(members)
        length = math.sqrt(point.residual.dot(point.residual))
        if _largest(g) <= GRADIENT_ROUNDING * problem.scale * length * problem.design.longest_column():
            break
        curved = problem.loss.hessian(point.scores, point.residual)

        def times(u: np.ndarray, curved=curved) -> np.ndarray:
            problem.pulse()
            return problem.scale * problem.design.adjoint(curved(problem.design.scores(u, members)), members)

        H = LinearOperator((free.size, free.size), times, dtype=np.float64)
        with np.errstate(all="ignore"):  # the curvature may be zero, if all margins are on straight parts
            d = -cg(H, g, rtol=SOLVE_TOL, maxiter=10 * free.size)[0]
        slope = float(g @ d)
        if not np.isfinite(d).all() or not slope < 0.0:
            d = -Line(point, -g, members).first_step() * g
            slope = float(g @ d)
        found = Line(point, d, members).armijo(slope, Armijo())
        if found.t == 0.0:  # f no longer tells a better point, and its gradient still does
            w = point.w.copy()
            w[free] += d
            there = Point(problem, w, problem.design.scores(w[free], members), active=members)
            if not _largest(there.gradient(members)) < 0.5 * _largest(g):
                break
            point = there
        else:
            point = found.point
    return point.w


def _largest(v: np.ndarray) -> float:
    return float(np.abs(v).max())
