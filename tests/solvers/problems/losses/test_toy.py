"""The functions of two variables of Yu et al. 2010: values, subgradients, starts and exact steps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope import datasets, solvers
from solverscope.solvers.search.line_search import Exact
from tests.solvers.helpers import slopes_after

FORMULAS = {
    "toy-abs": (lambda x, y: 10 * abs(x) + abs(y), (1, 1)),
    "toy-wolfe": (
        lambda x, y: 5 * math.sqrt(9 * x * x + 16 * y * y) if x >= abs(y) else 9 * x + 16 * abs(y),
        (2, 1),
    ),
    "toy-hull": (lambda x, y: max(-100, 2 * abs(x) + 3 * y, 5 * abs(x) + 2 * y), (3, 9)),
    "toy-lewis-overton": (lambda x, y: max(2 * abs(x) + y, 3 * y), (10, 1)),
}
OWN = {"pieces": "2x+y; -2x+y; 0.5x^2+y^2-2; x^2-0.5xy+0.5y^2"}
PLACES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])


def problem(id, **options):
    return solvers.make_problem(datasets.load(id, **options))


def own(x, y):
    return max(2 * abs(x) + y, 0.5 * x * x + y * y - 2, x * x - 0.5 * x * y + 0.5 * y * y)


@pytest.mark.parametrize("id", FORMULAS)
def test_values_and_starts_are_those_of_the_paper(id):
    formula, start = FORMULAS[id]
    f = problem(id)
    assert (f.loss.id, f.penalty.id, f.lam) == ("toy", "none", None)
    np.testing.assert_array_equal(f.at().w, start)
    for w in np.random.default_rng(0).integers(-4, 5, (200, 2)) / 2.0:
        assert f.at(w).objective == pytest.approx(formula(*w), rel=1e-14)
    np.testing.assert_array_equal(problem(id, start="-0.5,2").at().w, [-0.5, 2.0])


@pytest.mark.parametrize("id", [*FORMULAS, "toy"])
@settings(deadline=None)
@given(PLACES, PLACES, PLACES, PLACES)
def test_slopes_are_one_sided_differences_at_kinks_too(id, x, y, dx, dy):
    f = problem(id, **(OWN if id == "toy" else {}))
    line = f.line(f.at(np.array([x, y])), np.array([dx, dy]))
    for t in (0.0, 0.5, 1.0):
        for side in (1, -1):
            difference = (line(t + side * 1e-7) - line(t)) * side * 1e7
            assert line.slope(t, side) == pytest.approx(difference, abs=1e-4)


def test_the_slope_at_the_apex_of_wolfes_cone_is_the_function_ahead():
    f = problem("toy-wolfe")
    apex = f.at(np.zeros(2))
    for d, slope in (((-1.0, 0.0), -9.0), ((0.0, 1.0), 16.0), ((-1.0, -0.25), -5.0), ((1.0, 0.0), 15.0)):
        assert f.line(apex, np.array(d)).slope() == slope


@pytest.mark.parametrize("id", [*FORMULAS, "toy"])
def test_subgradients_are_extreme_points_and_support_the_function(id):
    formula = own if id == "toy" else FORMULAS[id][0]
    f, rng = problem(id, **(OWN if id == "toy" else {})), np.random.default_rng(0)
    for w in rng.integers(-4, 5, (60, 2)) / 2.0:
        point = f.at(w)
        loss, delta = f.loss, f.line(point, rng.normal(size=2)).delta
        extreme, sup = loss.random_subgradient(point.scores, rng), loss.subgradient_sup(point.scores, delta)
        for g in (point.gradient(), point.adjoint_gradient(extreme), point.adjoint_gradient(sup)):
            for other in rng.integers(-4, 5, (20, 2)) / 2.0:
                assert formula(*other) >= point.objective + g @ (other - w) - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("id", [*FORMULAS, "toy"])
def test_exact_steps_are_no_higher_than_any_point_of_the_ray(id):
    f, rng, seen = problem(id, **(OWN if id == "toy" else {})), np.random.default_rng(1), 0
    for _ in range(200):
        point, d = f.at(rng.normal(size=2) * 3.0), rng.normal(size=2)
        line = f.line(point, d)
        grid = min(line(t) for t in np.concatenate([np.linspace(0.0, 5.0, 200), line.breakpoints().t]))
        found = line.exact()
        if found.t == np.inf:
            assert f.line(f.at(point.w + 1e3 * d), d).slope() < 0.0
            continue
        seen += found.t > 0.0
        assert found.point.objective <= grid + 1e-12
    assert seen > 20


def test_an_exact_step_in_wolfes_cone_is_that_of_the_closed_form():
    """sqrt(wᵀHw) along d is least where wᵀHw is; steps of steepest descent, which stays in the cone."""
    f, H = problem("toy-wolfe"), np.array([225.0, 400.0])
    point = f.at()
    for _ in range(15):
        w, d = point.w.copy(), -point.gradient()
        found = f.line(point, d).exact()
        assert found.t == pytest.approx(-((H * w) @ d) / ((H * d) @ d), rel=1e-15)
        point = found.point
        assert point.w[0] >= abs(point.w[1])
    assert np.linalg.norm(point.w) < 1e-7


def test_rays_that_fall_for_ever_are_told_from_those_that_end():
    f = problem("toy-lewis-overton")
    down = f.line(f.at(np.array([0.0, -4.0])), np.array([0.0, -1.25]))
    assert down.exact().t == np.inf
    kinks = f.line(f.at(np.array([3.0, 5.0])), np.array([-0.6, -1.8]))
    assert kinks.exact().t == np.inf or slopes_after(kinks.breakpoints())[-1] >= 0.0
    g = problem("toy-wolfe")
    ray = g.line(g.at(np.array([1.0, 2.0])), np.array([-3.0, -1.0]))
    marks = ray.breakpoints()
    np.testing.assert_allclose(marks.t, [2.0])
    assert ray.exact().t == np.inf
    found = ray.exact(Exact(to_last_kink=True))
    np.testing.assert_allclose(found.point.w, [-5.0, 0.0], atol=1e-14)
    assert found.t == marks.t[0]


def test_a_tied_piece_is_no_breakpoint_of_its_own():
    f = problem("toy-hull")
    found = f.line(f.at(), np.array([-4.0, -6.0])).exact()
    on = f.line(found.point, np.array([1.0, -1.0]))
    assert on.breakpoints().t.min() > 1e-3


def test_a_run_says_what_a_function_has_no_measure_of():
    f = problem("toy-abs")
    assert math.isnan(f.train_metric(f.at()))
    assert f.lam_max is None
    assert f.tiny().at().objective == 11.0
