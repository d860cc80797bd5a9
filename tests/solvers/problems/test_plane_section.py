"""The objective on a plane, against f computed at each place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from solverscope import datasets, solvers
from solverscope.solvers import PlaneSection, main_plane, plane_along

PROBLEMS = [
    ("digits", "multiclass-logistic", "l1", 3e-3, {}),
    ("digits", "multiclass-squared-hinge", "l1-l2", 1e-2, {}),
    ("digits", "multiclass-logistic", "elastic-net", 1e-2, {"intercept": True}),
    ("breast-cancer", "binary-hinge", "l2", 1e-3, {}),
    ("diabetes", "squared", "l1", 0.1, {"intercept": True}),
    ("synthetic-multilabel", "multilabel-hinge", "l2", 1e-2, {}),
]


def scattered(size: int, n: int = 6, seed: int = 0) -> sparse.csr_array:
    """Sparse points, the first of them zero."""
    points = sparse.random_array((n, size), density=min(1.0, 40 / size), rng=np.random.default_rng(seed))
    points = points.tolil()
    points[0] = 0.0
    return sparse.csr_array(points)


@pytest.mark.parametrize(("data", "loss", "penalty", "lam", "more"), PROBLEMS)
def test_values_on_a_plane_are_those_of_f(data, loss, penalty, lam, more):
    problem = solvers.make_problem(datasets.load(data), loss=loss, penalty=penalty, lam=lam, **more)
    plane = main_plane(scattered(problem.size), 0, 3)
    a, b = np.array([-1.0, 0.0, 0.7]), np.array([0.0, 0.4])
    losses, penalties = PlaneSection(problem, plane).values(a, b)
    for i, up in enumerate(b):
        for k, across in enumerate(a):
            point = problem.at(plane.origin + across * plane.u + up * plane.v)
            assert losses[i, k] == pytest.approx(point.loss, rel=1e-12)
            assert penalties[i, k] == pytest.approx(point.penalty, rel=1e-12, abs=1e-15)


def test_values_on_a_plane_are_those_of_f_for_a_chain():
    problem = solvers.make_problem(datasets.load("digit-strings", n_samples=100), lam=2.0)
    plane = main_plane(scattered(problem.size), 0, 3)
    losses, penalties = PlaneSection(problem, plane).values(np.array([0.5]), np.array([-0.5]))
    point = problem.at(plane.origin + 0.5 * plane.u - 0.5 * plane.v)
    assert losses[0, 0] + penalties[0, 0] == pytest.approx(point.objective, rel=1e-12)


def test_the_main_plane_is_that_of_principal_components():
    points = scattered(200, n=12)
    plane = main_plane(points, 0, 5)
    dense = points.toarray() - points.toarray()[5]
    u = dense[0] / np.linalg.norm(dense[0])
    rest = dense - np.outer(dense @ u, u)
    v = np.linalg.svd(rest)[2][0]
    assert np.allclose(plane.origin, points.toarray()[5])
    assert np.allclose(plane.u, u, atol=1e-12)
    assert abs(plane.v @ v) == pytest.approx(1.0, abs=1e-10)
    a, b, distance = plane.place(points)
    back = plane.origin + np.outer(a, plane.u) + np.outer(b, plane.v)
    assert np.allclose(np.linalg.norm(points.toarray() - back, axis=1), distance, atol=1e-7)
    assert (a[5], b[5], distance[5]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-7)


@pytest.mark.parametrize("coefficients", [(0.0, 0.0, 0.0), (0.0, 1.0, 3.0), (2.0, 2.0, 2.0)])
def test_points_on_a_line_or_all_the_same_still_have_a_plane(coefficients):
    direction = np.zeros(30)
    direction[[3, 7, 11]] = 1.0, -2.0, 0.5
    points = sparse.csr_array(np.outer(coefficients, direction))
    plane = main_plane(points, 0, 2)
    assert np.allclose([plane.u @ plane.u, plane.v @ plane.v, plane.u @ plane.v], [1.0, 1.0, 0.0], atol=1e-12)
    assert np.allclose(plane.place(points)[2], 0.0, atol=1e-6)


def test_directions_that_span_no_plane_are_refused_in_a_sentence():
    w = np.zeros(3)
    with pytest.raises(ValueError, match="the first direction is zero"):
        plane_along(w, w, np.ones(3))
    with pytest.raises(ValueError, match="both directions are the same"):
        plane_along(w, np.ones(3), -2.0 * np.ones(3))
