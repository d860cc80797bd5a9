"""φ of piecewise functions: breakpoints, staircase, the segment that an exact search ends in."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import LINE, Iterate
from solverscope.solvers.probes.search_lines import kept
from solverscope.solvers.probes.study import MAX_EXACT_BREAKPOINTS, Study
from solverscope.solvers.search.line_search import Armijo
from solverscope.solvers.search.outcome import SearchLog
from tests.solvers.helpers import searched


@pytest.fixture(scope="module")
def hinge() -> solvers.Problem:
    return solvers.make_problem(datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-3)


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
    assert study.marked(lo, hi).size == expected.size


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
    assert study.marked(*study.near).size >= 1


def test_of_very_many_breakpoints_some_are_drawn_and_the_staircase_still_rises(monkeypatch, hinge):
    seen, _ = searched(hinge, steps=1)
    study = Study(hinge, seen)
    whole = study.marked(*study.window).size
    monkeypatch.setattr("solverscope.solvers.probes.study.MAX_EXACT_BREAKPOINTS", 10)
    picture = study.drawn(*study.window)
    assert whole > 10 >= study.marked(*study.window).size
    assert (np.diff(picture.slope) >= -1e-13).all()
    assert picture.slope[-1] == pytest.approx(study.slope(study.window[1], -1), rel=1e-9)
    assert MAX_EXACT_BREAKPOINTS > 10


def test_rules_begin_at_one_where_an_exact_search_tried_nothing(hinge):
    seen, _ = searched(hinge)
    found = Study(hinge, seen).armijo(Armijo(0.5, 0.01))
    assert found.search.trials[0][0] == 1.0
    assert found.search.promised == pytest.approx(float(Study(hinge, seen).slope(0.0)))


def test_without_a_model_there_is_none_to_draw(hinge):
    seen, _ = searched(hinge)
    assert np.isnan(Study(hinge, seen).model)


def test_weights_that_pass_zero_are_breakpoints_of_the_one_norm():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam_ratio=0.01)
    rng = np.random.default_rng(3)
    w, d = rng.normal(size=(2, problem.size)) * 0.1
    search = SearchLog(problem.at(w).objective, d, active=problem.design.working_set())
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
