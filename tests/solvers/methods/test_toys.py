"""The functions of two variables of Yu et al. 2010, on which smooth methods fail and repaired ones do not.

What is asserted was measured independently; numbers of equations are the paper's (2.1.1 and appendix E).
Searches are exact, and the subgradient after a step is the steepest along it, unless a test says otherwise.
"""

import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers

BOTH = pytest.mark.parametrize("subgradient", ["sup", "random"])


def trajectory(data, id, most=60, **params):
    """Points, values and events of a run, and why it ended (None: it was cut off)."""
    params = {"line_search": "exact", "subgradient": "sup"} | params
    if id == "bfgs":
        params = {"scaled": False} | params
    problem = solvers.make_problem(datasets.load(data))
    iterates, points, values, events, ending = (
        solvers.make_solver(id, **params).iterate(problem),
        [],
        [],
        [],
        None,
    )
    for _ in range(most):
        try:
            it = next(iterates)
        except StopIteration as stop:
            ending = stop.value
            break
        points.append(it.w.copy())
        values.append(it.objective)
        events.append(it.events)
    return np.array(points), np.array(values), events, ending


@BOTH
@pytest.mark.parametrize(("id", "slope"), [("gd", 99.0), ("bfgs", 3.99)])
def test_a_gradient_method_stops_at_the_hinge_of_8(id, slope, subgradient):
    points, values, events, ending = trajectory("toy-abs", id, subgradient=subgradient)
    np.testing.assert_allclose(points, [[1.0, 1.0], [0.0, 0.9]], atol=1e-12)
    assert ending.status == "stalled"
    assert f"slope of f along it is {slope:.3g}" in ending.message
    assert values[-1] == pytest.approx(0.9)
    assert "kink" in events[-1]


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_subbfgs_is_at_the_minimum_of_8_at_its_second_iterate(subgradient, seed):
    _, values, _, ending = trajectory("toy-abs", "subbfgs", subgradient=subgradient, seed=seed)
    assert values[2] <= 1e-12
    assert ending.status == "converged"


def test_bfgs_with_an_inexact_search_oscillates_around_the_minimum_of_8():
    points, values, _, _ = trajectory("toy-abs", "bfgs", 25, line_search="ils", c1=1e-3, c2=0.8)
    assert np.mean(np.diff(np.sign(points[:15, 0])) != 0.0) > 0.4
    assert 1e-6 < values[:16].min() < 1e-2


@BOTH
def test_gd_shrinks_towards_a_point_of_wolfes_function_that_is_no_minimum(subgradient):
    points, values, _, _ = trajectory("toy-wolfe", "gd", 18, subgradient=subgradient)
    assert np.all(points[:, 0] >= np.abs(points[:, 1]))
    lengths = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(lengths[4:] / lengths[3:-1], 0.28, atol=0.01)
    assert lengths[10] < 1e-5
    assert values[-1] > 0.0


def test_bfgs_and_subbfgs_leave_the_cone_of_wolfes_function():
    for id in ("bfgs", "subbfgs"):
        points, _, _, ending = trajectory("toy-wolfe", id)
        assert ending.status == "unbounded"
        assert "along (-24.7924, 1.05031)" in ending.message
        assert len(points) == 2


def test_steepest_descent_with_exact_steps_closes_in_on_no_minimum_of_113():
    points, values, _, _ = trajectory("toy-hull", "subgd", 16)
    np.testing.assert_allclose(points[:3], [[3.0, 9.0], [-1.0, 3.0], [1.0 / 3.0, 1.0]], atol=1e-9)
    k = np.arange(1, 16)
    np.testing.assert_allclose(values[1:], 11.0 * 3.0 ** (1 - k), rtol=1e-6)


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_gd_left_running_ends_at_the_point_of_112_that_is_no_minimum(subgradient, seed):
    """Where f is 1e-10 of what it was, rounding does not yet tell what ties: the paper's ending is shown."""
    points, values, events, ending = trajectory("toy-wolfe", "gd", 200, subgradient=subgradient, seed=seed)
    assert ending.status == "stalled"
    assert "fell by less than 1e-10 of the first f" in ending.message
    lengths = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(lengths[4:] / lengths[3:-1], 0.28, atol=0.01)
    assert lengths[-1] < 1e-12
    assert not any(events)
    assert values[-1] > 0.0


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_subgd_left_running_ends_at_the_point_of_113_that_is_no_minimum(subgradient, seed):
    points, values, _, ending = trajectory("toy-hull", "subgd", 200, subgradient=subgradient, seed=seed)
    k = np.arange(1, len(values))
    np.testing.assert_allclose(values[1:], 11.0 * 3.0 ** (1 - k), rtol=1e-12)
    np.testing.assert_allclose(points[1:, 1], 3.0 * np.abs(points[1:, 0]), rtol=1e-12)
    assert np.linalg.norm(points[-1]) < 1e-10
    assert ending.status == "stalled"


def test_subgd_left_running_ends_there_from_a_start_that_rounding_spoils_too():
    """Thirds of these are no numbers of a machine."""
    problem = solvers.make_problem(datasets.load("toy-hull", start="0.3,0.9"))
    trace = solvers.solve(problem, solvers.make_solver("subgd"), max_iter=200)
    assert trace.status == "stalled"
    assert 0.0 < trace.objective[-1] < 1e-9
    np.testing.assert_allclose(trace.objective[6:] / trace.objective[5:-1], 1.0 / 3.0, rtol=1e-9)


@pytest.mark.parametrize("finding", ["algorithm-2", "qp"])
def test_subbfgs_reaches_the_floor_of_113_in_two_iterates(finding):
    points, values, _, _ = trajectory("toy-hull", "subbfgs", finding=finding)
    np.testing.assert_allclose(points[2], [100.0, -300.0], rtol=1e-9)
    assert values[2] == pytest.approx(-100.0)


@BOTH
def test_bfgs_stops_at_a_kink_of_114_and_subbfgs_finds_the_way_down(subgradient):
    points, _, _, ending = trajectory("toy-lewis-overton", "bfgs", subgradient=subgradient)
    np.testing.assert_allclose(points[-1], [0.0, -4.0], atol=1e-9)
    assert ending.status == "stalled"
    assert "slope of f along it is 8.12" in ending.message
    points, values, _, ending = trajectory("toy-lewis-overton", "subbfgs", subgradient=subgradient)
    assert ending.status == "unbounded"
    assert "along (0, -1.25) from (0, -4)" in ending.message
    assert np.isfinite(values).all()


def test_stepping_to_the_last_kink_of_a_ray_lands_on_the_hinge_as_in_the_picture_of_112():
    points, values, events, ending = trajectory("toy-wolfe", "subbfgs", unbounded="last-kink")
    np.testing.assert_allclose(points[2], [-7.12372, 0.0], atol=1e-5)
    assert values[2] < values[1]
    assert "kink" in events[2]
    assert (ending.status, len(points)) == ("unbounded", 3)


def test_a_result_is_unbounded_and_keeps_the_last_finite_value():
    problem = solvers.make_problem(datasets.load("toy-wolfe"))
    trace = solvers.solve(problem, solvers.make_solver("subbfgs"), max_iter=50)
    assert (trace.status, trace.result["status"]) == ("unbounded", "unbounded")
    assert np.isfinite(trace.result["objective"])
    assert trace.result["objective"] == trace.objective[-1] == pytest.approx(10.0313, rel=1e-4)


def test_a_pair_of_no_curvature_is_skipped():
    """Steps within a linear piece do not change the gradient."""
    problem = solvers.make_problem(datasets.load("toy-abs", start="30,30"))
    iterates = solvers.make_solver("lbfgs", line_search="armijo").iterate(problem)
    seen = [(it.w.copy(), it.events, it.memory_pairs) for it in itertools.islice(iterates, 3)]
    np.testing.assert_allclose([w for w, _, _ in seen], [[30, 30], [20, 29], [10, 28]])
    assert [(events, pairs) for _, events, pairs in seen[1:]] == [(("curvature-skipped",), 0)] * 2


@pytest.mark.parametrize("data", ["toy-abs", "toy-hull", "toy-lewis-overton", "toy-wolfe"])
def test_live_references_draw_the_direction_and_the_matrix(data):
    problem = solvers.make_problem(datasets.load(data))
    for it in itertools.islice(solvers.make_solver("subbfgs").iterate(problem), 3):
        d = it.live["direction"]
        B = np.stack([it.live["inverse"].inverse_product(e) for e in np.eye(2)], axis=1)
        np.testing.assert_allclose(B, B.T)
        np.testing.assert_allclose(d.p, -B @ d.combination, atol=1e-9)
        np.testing.assert_allclose(d.weights @ np.array(d.met), d.combination, atol=1e-9)
        assert it.inner_iterations == d.steps
