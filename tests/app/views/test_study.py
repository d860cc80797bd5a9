"""φ of piecewise functions: breakpoints, staircase, the segment that an exact search ends in, models."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
import solvers
from app.views import LineSearch
from app.views.cursor import Cursor
from app.views.study import MARKED, Study
from solvers import LINE, Iterate
from solvers.parts.linesearch import Search
from solvers.runs.lines import kept
from solvers.runs.probes import ProbeStore


@pytest.fixture(scope="module")
def hinge() -> solvers.Problem:
    return solvers.make_problem(datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-3)


def searched(
    problem: solvers.Problem, steps: int = 4, model: float = float("nan")
) -> tuple[dict, np.ndarray]:
    """What the LINE probe sees of an exact search along a subgradient, after some such steps; and w."""
    point = problem.at()
    for _ in range(steps):
        before = point.w.copy()
        found = problem.line(point, -point.gradient()).exact()
        point = found.point
    found.search.model = model
    assert found.search.active is not None
    return LINE.take(Iterate(steps, w=point.w, step=found.t, live={"line": found.search})), before


def direction(problem: solvers.Problem, seen: dict) -> np.ndarray:
    d = np.zeros(problem.size)
    d[seen["d_at"]] = seen["d"]
    return d


def test_breakpoints_are_where_a_margin_is_passed(hinge):
    seen, w = searched(hinge)
    study, d = Study(hinge, seen), direction(hinge, seen)
    X, y = datasets.load("breast-cancer").train.X, hinge.loss.y
    z, dz = X @ w, X @ d
    t = (1.0 - y * z) / (y * dz)
    lo, hi = study.window
    expected = np.sort(t[(t > 1e-12) & (t <= hi)])
    np.testing.assert_allclose(np.unique(study.marked(0.0, hi)), np.unique(expected), rtol=1e-9)
    assert study.count(lo, hi) == expected.size


def test_the_staircase_has_the_slopes_on_both_sides_of_each_breakpoint(hinge):
    seen, w = searched(hinge)
    study, d = Study(hinge, seen), direction(hinge, seen)
    picture = study.drawn(*study.window)
    assert (np.diff(picture.slope) >= -1e-13).all()
    assert (np.diff(picture.slope_t) >= 0.0).all()
    h = 1e-7
    for t in np.unique(picture.slope_t)[1:-1]:
        here = picture.slope[picture.slope_t == t]
        for side, slope in ((-1, here[0]), (1, here[-1])):
            ahead, at = (hinge.at(w + s * d).objective for s in (t + side * h, t))
            assert slope == pytest.approx(side * (ahead - at) / h, abs=2e-5)


def test_an_exact_search_ends_in_its_target_segment_at_the_minimum(hinge):
    seen, w = searched(hinge)
    study, d = Study(hinge, seen), direction(hinge, seen)
    lo, hi = study.segment
    step = float(seen["step"])
    assert lo <= step <= hi
    values = [hinge.at(w + t * d).objective for t in (0.999 * step, step, 1.001 * step)]
    assert values[1] == min(values)
    assert study.near[0] < step < study.near[1]
    assert study.count(*study.near) >= 1


def test_of_very_many_breakpoints_some_are_drawn_and_the_staircase_still_rises(monkeypatch, hinge):
    seen, _ = searched(hinge, steps=1)
    study = Study(hinge, seen)
    whole = study.count(*study.window)
    monkeypatch.setattr("app.views.study.MARKED", 10)
    picture = study.drawn(*study.window)
    assert whole > 10 >= study.marked(*study.window).size
    assert (np.diff(picture.slope) >= -1e-13).all()
    assert picture.slope[-1] == pytest.approx(study.slope(study.window[1], -1), rel=1e-9)
    assert MARKED > 10


def test_rules_begin_at_one_where_an_exact_search_tried_nothing(hinge):
    seen, _ = searched(hinge)
    found = Study(hinge, seen).armijo(0.01, 0.5)
    assert found.search.trials[0][0] == 1.0
    assert found.search.promised == pytest.approx(float(Study(hinge, seen).slope(0.0)))


def test_where_f_does_not_fall_no_rule_has_a_step(hinge):
    w = np.zeros(hinge.size)
    d = hinge.at(w).gradient()
    search = Search(hinge.at(w).objective, d, active=hinge.design.working_set())
    search.segment = 0.0, 0.0

    view = shown(hinge, LINE.take(Iterate(4, w=w, step=0.0, live={"line": search})))
    assert "no step was taken" in view._said.object
    assert "does not fall along the direction: its slope is" in view._would.object
    assert not len(view.figures.sources["by_armijo"].data["t"])
    curve = view.figures.sources["curve"].data
    np.testing.assert_allclose(
        curve["phi"], [hinge.at(t * d).objective - search.objective for t in curve["t"]]
    )


def shown(problem: solvers.Problem, seen: dict, **params: object) -> LineSearch:
    """The view at an iterate of which the LINE probe saw this."""
    trace = solvers.Trace({"label": "a", "params": {}})
    trace.append({"iteration": 4, "ls_trials": 1, "step": float(seen["step"])})
    trace.probes = ProbeStore([solvers.Probe("line", lambda it: seen)])
    trace.probes.observe(Iterate(4))
    trace.problem = problem
    return LineSearch(trace, Cursor(run=trace, iteration=4, follow=False), **params)


def test_models_are_tangent_parabolas_and_the_steepest_of_them_is_the_pseudo_quadratic(hinge):
    seen, w = searched(hinge, model=0.25)
    d = direction(hinge, seen)
    view = shown(hinge, seen, models=True)
    model, each = (view.figures.sources[name].data for name in ("model", "subgradients"))
    line = hinge.line(hinge.at(w), d)
    t = np.asarray(model["t"])
    slope = np.where(t >= 0, line.slope(0.0, 1), line.slope(0.0, -1))
    np.testing.assert_allclose(model["phi"], slope * t + 0.125 * t * t, rtol=1e-12)
    assert line.slope(0.0, -1) < line.slope(0.0, 1), "it began on a kink"
    lines = np.split(np.asarray(each["phi"]), np.flatnonzero(np.isnan(each["phi"])))[:-1]
    assert len(lines) > 1
    for one in lines:
        one = one[~np.isnan(one)]
        assert (one <= np.asarray(model["phi"]) + 1e-15).all(), "no model of one subgradient is above"
    view.models = False
    assert not len(view.figures.sources["model"].data["t"])


def test_without_a_model_there_is_none_to_draw(hinge):
    seen, _ = searched(hinge)
    assert np.isnan(Study(hinge, seen).model)


def test_weights_that_pass_zero_are_breakpoints_of_the_one_norm():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam_ratio=0.01)
    rng = np.random.default_rng(3)
    w, d = rng.normal(size=(2, problem.size)) * 0.1
    search = Search(problem.at(w).objective, d, active=problem.design.working_set())
    search.note(1.0, problem.at(w + d).objective, search.objective)
    seen = LINE.take(Iterate(1, w=w + d, step=1.0, live={"line": search}))
    assert kept(search, w + d, 1.0)["d"].size == d.size
    study = Study(problem, seen)
    t = -w / d
    _, hi = study.window
    np.testing.assert_allclose(study.marked(0.0, hi), np.sort(t[(t > 0.0) & (t <= hi)]), rtol=1e-9)
    k = int(np.argmin(np.where((t > 0.1) & (t < hi), t, np.inf)))
    jump = study.slope(float(study.marked(t[k] - 1e-9, t[k] + 1e-9)[0]), 1) - study.slope(
        float(study.marked(t[k] - 1e-9, t[k] + 1e-9)[0]), -1
    )
    exact = study.breakpoints.jump[np.argmin(np.abs(study.breakpoints.t - t[k]))]
    assert exact == pytest.approx(2.0 * problem.lam * abs(d[k]), rel=1e-9)
    assert 0.0 <= jump <= exact * (1 + 1e-6)


@pytest.mark.parametrize(("loss", "id"), [("logistic", "lbfgs"), ("binary-hinge", "sublbfgs")])
def test_the_model_of_a_quasi_newton_method_has_its_minimum_at_the_unit_step(loss, id):
    """p = -B g minimises gᵀp + ½pᵀB⁻¹p, also along p; Algorithm 2 stops at a gap of ε, supᵀp + pᵀB⁻¹p."""
    problem = solvers.make_problem(datasets.load("breast-cancer"), loss=loss, penalty="l2", lam=1e-3)
    solver = solvers.make_solver(id)
    trace = solvers.solve(problem, solver, max_iter=8, probes=(LINE,))
    for _, seen in trace.probes.entries("line")[1:]:
        study = Study(problem, seen)
        if problem.smooth:
            assert study.model == pytest.approx(-study.slope(0.0), rel=1e-9)
        else:
            assert -1e-12 <= study.slope(0.0) + study.model <= 1.01 * solver.epsilon
