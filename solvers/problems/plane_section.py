"""The objective on a two-dimensional plane in the space of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from .problem import Problem

#: Distance from the first axis, relative to the largest one, below which points lie on the axis.
FLAT = 1e-7


class WeightPlane(NamedTuple):
    """The plane of all w = origin + a·u + b·v, with orthonormal u and v."""

    origin: np.ndarray  # (weights,)
    u: np.ndarray
    v: np.ndarray

    def place(self, points: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Project points onto the plane.

        Return the coordinates a and b of the projection of each row of ``points``, and the distance of the
        row from the plane. The distance is exact to about 1e-7 of ‖w‖.
        """
        a = points @ self.u - self.origin @ self.u
        b = points @ self.v - self.origin @ self.v
        squares = points.multiply(points).sum(axis=1) - 2.0 * (points @ self.origin)
        rest = squares + self.origin @ self.origin - a * a - b * b
        return a, b, np.sqrt(np.maximum(rest, 0.0))

    @property
    def support(self) -> np.ndarray:
        """Return the indices of the weights that are not zero on the whole plane, ascending."""
        return np.flatnonzero((self.origin != 0.0) | (self.u != 0.0) | (self.v != 0.0))


def plane_along(origin: np.ndarray, first: np.ndarray, second: np.ndarray) -> WeightPlane:
    """Return the plane through a point that is spanned by two directions, which are made orthonormal.

    Parameters
    ----------
    origin, first, second : array, (weights,)
        The point and the directions.

    Raises
    ------
    ValueError
        If the directions do not span a plane.
    """
    length = float(np.linalg.norm(first))
    if not length > 0.0:
        raise ValueError("the first direction is zero")
    u = first / length
    across = second - (u @ second) * u
    across -= (u @ across) * u  # once more: the first time leaves rounding
    width = float(np.linalg.norm(across))
    if not width > FLAT * np.linalg.norm(second):
        raise ValueError("both directions are the same")
    return WeightPlane(origin, u, across / width)


def main_plane(points: sparse.csr_array, start: int, best: int) -> WeightPlane:
    """Return the plane through two of the points that shows most of the variation of the others.

    The first axis leads from the best point to the start. Projected onto its orthogonal complement, the
    points vary most along the second axis. This is the first principal component about the best point. If all
    points are on one line, the second axis is random, within the weights that the points use.

    Parameters
    ----------
    points : sparse array, (points, weights)
        The points, one per row.
    start, best : int
        Indices of the two rows that the plane contains.
    """
    gram = (points @ points.T).toarray()
    gram = gram - gram[best] - gram[:, [best]] + gram[best, best]  # of the differences from the best point
    origin = points[[best]].toarray().ravel()
    variances = np.diag(gram)
    far = start if variances[start] > 0.0 else int(variances.argmax())
    first = points[[far]].toarray().ravel() - origin
    if not variances[far] > 0.0:  # a single point
        first = _at_random(points, origin, 0)
    along = gram[far] / np.sqrt(variances[far]) if variances[far] > 0.0 else np.zeros(len(gram))
    sizes, vectors = np.linalg.eigh(gram - np.outer(along, along))
    if sizes[-1] > FLAT**2 * max(variances.max(), np.finfo(float).tiny):
        shares = vectors[:, -1]
        second = points.T @ shares - shares.sum() * origin
    else:
        second = _at_random(points, origin, 1)
    return plane_along(origin, first, second)


def _at_random(points: sparse.csr_array, origin: np.ndarray, seed: int) -> np.ndarray:
    """Return a random direction that is non-zero on the weights that the points use, and on the first two."""
    used = np.union1d(np.unique(points.indices), np.arange(min(2, origin.size)))
    direction = np.zeros(origin.size)
    direction[used] = np.random.default_rng(seed).standard_normal(used.size)
    return direction


class PlaneSection:
    """The objective on a plane.

    Scores are linear in w, and those of the origin and of the two axes are computed once. Each grid point
    then costs one evaluation of the loss, and one of the penalty on the plane's ``support``.

    Parameters
    ----------
    problem : Problem
        The problem, with two weights at least.
    plane : WeightPlane
        The plane.
    """

    def __init__(self, problem: Problem, plane: WeightPlane) -> None:
        self.problem, self.plane = problem, plane
        width = problem.design.n_outputs
        body = problem.design.n_features * width
        used = plane.support
        rows = np.unique(used[used < body] // width)  # whole rows: a penalty may be one of rows
        whole = (rows[:, None] * width + np.arange(width)).ravel()
        self._active = problem.design.working_set(np.concatenate([whole, used[used >= body]]))
        start = problem.at(plane.origin)
        self._scores = start.scores
        self._across, self._up = (
            problem.line(start, self._active.take(axis), self._active).delta for axis in (plane.u, plane.v)
        )

    def values(
        self, a: np.ndarray, b: np.ndarray, pulse: Callable[[], None] = lambda: None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return s L(A w) and λR(w) at all points of a grid, each of shape (len(b), len(a)).

        ``pulse`` is called between evaluations.
        """
        origin, u, v = map(self._active.take, self.plane)
        penalty = self.problem.penalty_on(self._active)
        losses, penalties = np.empty((2, len(b), len(a)))
        for i, up in enumerate(b):
            scores, row = self._scores.plus(float(up), self._up), origin + up * v
            for k, across in enumerate(a):
                pulse()
                losses[i, k] = self.problem.loss.value(scores, self._across, float(across))
                penalties[i, k] = penalty.value(row + across * u)
        return self.problem.scale * losses, penalties
