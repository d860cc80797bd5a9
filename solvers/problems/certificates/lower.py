"""A search for points with a lower f than that of a given point, which bound f* from above.

A violation is measured relative to the violation at w = 0, which is huge if features have a large offset or
different units. The relative violation may then be small although f is far above the minimum. Only a lower f
proves that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...declare import Trait
from ...linalg.working_set import WorkingSet
from ..point import Point
from ..problem import Problem

#: Numbers of Newton steps, of products with the Hessian for each, and of trial steps 2, 1, 1/2, ...
DESCENT_STEPS, PRODUCTS, LENGTHS = 3, 20, 12
#: Gain, relative to the predicted decrease so far, below which another product is not worthwhile.
LITTLE_GAIN = 0.01


def lower_objective(point: Point, enough: float) -> float:
    """Return the least f found by a few truncated Newton steps from a point; at most f at the point.

    Parameters
    ----------
    point : Point
        A point of a problem whose loss is smooth.
    enough : float
        The search ends once f has decreased by this much.

    Returns
    -------
    float
        A value of f, hence an upper bound on f*.

    Notes
    -----
    Each step moves the weights that are non-zero or violate optimality. Conjugate gradients, preconditioned
    by the diagonal of the Hessian, solve for it. A weight that was zero may only move against its
    subgradient. Steps need not be exact, as any value of f is a valid bound. The cost is at most
    ``DESCENT_STEPS`` × (``PRODUCTS`` + 3) passes.
    """
    problem, first = point.problem, point.objective
    if Trait.HESSIAN not in problem.loss.traits:
        return first
    for _ in range(DESCENT_STEPS):
        v = problem.subgradient(point.w, point.gradient())
        free = _whole_rows(problem, problem.where(lambda w, v: (w != 0.0) | (v != 0.0), point.w, v))
        w, v = free.take(point.w), free.take(v)
        if not v.any():
            break
        d = _direction(point, free, v)
        d[(w == 0.0) & (d * v > 0.0)] = 0.0
        line = problem.line(point, d, free)
        lengths = 2.0 ** np.arange(1, 1 - LENGTHS, -1)
        values = [line(t) for t in lengths]
        best = int(np.argmin(np.nan_to_num(values, nan=np.inf)))
        if not values[best] < point.objective:
            break
        w = point.w.copy()
        w[slice(None) if free.full else free.coordinates] += lengths[best] * d
        point = Point(problem, w, problem.design.scores(w))
        if first - point.objective >= enough:
            break
    return min(first, point.objective)


def _whole_rows(problem: Problem, free: WorkingSet) -> WorkingSet:
    """Extend a set of weights to whole rows if the penalty has a norm of rows."""
    width = problem.penalty.width
    if free.full or width == 1:
        return free
    rows = np.unique(free.coordinates // width)
    coordinates = (rows[:, None] * width + np.arange(width)).ravel()
    return problem.design.working_set(coordinates if coordinates.size < problem.size else None)


def _direction(point: Point, free: WorkingSet, v: np.ndarray) -> np.ndarray:
    """Return approximately -H⁻¹v, H the Hessian of the smooth part with respect to the ``free`` weights."""
    diagonal = point.hessian_diagonal(free)
    top = float(diagonal.max(initial=0.0))
    diagonal = np.where(diagonal > 1e-14 * top, diagonal, top if top > 0.0 else 1.0)
    times = _hessian(point, free)
    d, r = np.zeros_like(v), -v
    z = r / diagonal
    u, rho, promised = z.copy(), float(r @ z), 0.0
    for _ in range(PRODUCTS):
        Hu = times(u)
        curvature = float(u @ Hu)
        if not curvature > 0.0:
            return d if d.any() else u
        d += rho / curvature * u
        r -= rho / curvature * Hu
        more = 0.5 * rho * rho / curvature
        promised += more
        z = r / diagonal
        before, rho = rho, float(r @ z)
        if more <= LITTLE_GAIN * promised:
            break
        u = z + rho / before * u
    return d


def _hessian(point: Point, free: WorkingSet) -> Callable[[np.ndarray], np.ndarray]:
    problem: Problem = point.problem
    curved = problem.loss.hessian(point.scores, point.residual)
    penalty = problem.penalty_on(free)

    def times(u: np.ndarray) -> np.ndarray:
        problem.pulse()
        Hu = problem.scale * problem.design.adjoint(curved(problem.design.scores(u, free)), free)
        return Hu + penalty.ridge_gradient(u)

    return times
