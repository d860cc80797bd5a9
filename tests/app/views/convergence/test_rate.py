"""The rate of convergence, on sequences whose rate is known."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.page.page import Page
from solverscope.app.views import Rate
from solverscope.solvers import Probe, Trace
from solverscope.solvers.methods.iterate import Iterate
from solverscope.solvers.probes.probe import ProbeStore
from tests.app.helpers import curves


def run(away, steps=None, **info) -> Trace:
    """A run whose scores are ``away`` from (1, 1), and its objective as far from 2."""
    probe = Probe("scores", lambda it: {"z": 1.0 + it.w})
    store, steps = ProbeStore([probe]), steps or [float("nan")] + [1.0] * (len(away) - 1)
    for k, size in enumerate(away):
        store.observe(Iterate(k, w=np.array([0.6, 0.8]) * size))
    records = [
        {"iteration": k, "objective": 2.0 + size, "step": step}
        for k, (size, step) in enumerate(zip(away, steps, strict=True))
    ]
    trace = Trace.from_records(records, label="a", **info)
    trace.probes = store
    trace.result = {"violation": away[-1], "objective": 2.0 + away[-1]}
    return trace


def ratios(view: Rate, k: int = 0) -> np.ndarray:
    return np.array(curves(view.figure)[k].data["y"])


def test_its_axis_is_iterations_until_another_is_chosen():
    assert Rate().x == "iteration"
    page = Page({"tab": "rate"})
    try:
        assert page.convergence.x == "cpu_seconds"
        assert page.tabs["rate"].x == "iteration"
        page.convergence.x = "passes"
        assert page.tabs["rate"].x == "passes"
    finally:
        page.session.close()


def test_linear_convergence_is_a_constant():
    view = Rate(run(0.5 ** np.arange(12), f_star=2.0))
    assert np.isnan(ratios(view)[0])
    np.testing.assert_allclose(ratios(view)[1:], 0.5, rtol=1e-6)


def test_superlinear_convergence_falls_to_zero():
    view = Rate(run([1.0, 0.5, 0.125, 0.0125, 5e-4], f_star=2.0))
    np.testing.assert_allclose(ratios(view)[1:], [0.5, 0.25, 0.1, 0.04], rtol=1e-6)


def test_what_is_rounding_has_no_rate():
    view = Rate(run([1.0, 1e-3, 1e-13, 1e-14], f_star=2.0))
    assert np.isfinite(ratios(view)).tolist() == [False, True, False, False]


def test_unit_steps_are_filled():
    view = Rate(run([1.0, 0.5, 0.2], steps=[float("nan"), 0.5, 1.0], f_star=2.0))
    np.testing.assert_array_equal(curves(view.figure)[0].data["unit"], [0, 0, 1])


def test_without_f_star_there_is_only_the_hint():
    trace = run([1.0, 0.5])
    view = Rate(trace)
    assert not view.has_content()
    trace.tell(f_star=2.0)
    view.update()
    assert ratios(view)[1] == pytest.approx(0.5)


def test_scores_are_measured_from_those_of_the_run_that_came_nearest():
    problem = {"key": "one"}
    near = run([1.0, 1e-2, 1e-5, 1e-10, 1e-15], problem=problem)
    far = run(0.5 ** np.arange(20), problem=problem)
    other = run([3.0, 2.0, 1.0], problem={"key": "another"})
    view = Rate([far, near, other], measure="scores")
    np.testing.assert_allclose(ratios(view, 0)[1:], 0.5, rtol=1e-4)
    np.testing.assert_allclose(ratios(view, 1)[1:3], [1e-2, 1e-3], rtol=1e-4)
    assert np.isnan(ratios(view, 1)[-1]), "a run's own end says nothing of its distance to the optimum"
    assert np.isnan(ratios(view, 2)).all(), "its last step is as long as the way to the end"


def test_a_gap_in_what_was_recorded_is_no_iteration():
    trace = run(0.5 ** np.arange(6), f_star=2.0)
    records = [r for r in trace.records() if r["iteration"] != 3]
    view = Rate(Trace.from_records(records, label="a", f_star=2.0))
    assert np.isfinite(ratios(view)).tolist() == [False, True, True, False, True]


def test_no_ratio_is_drawn_across_a_change_of_lambda_and_each_part_has_its_own_optimum():
    trace = run([8.0, 4.0, 2.0, 21.0, 7.0, 7.0 / 3.0], f_star=2.0, problem={"lam": 1.0, "key": "a"})
    change = {"iteration": 3, "lam": 0.5, "key": "b", "f_star": 2.0, "cpu_seconds": 0.0, "wall_seconds": 0.0}
    trace.tell(lams=(change,))
    np.testing.assert_allclose(ratios(Rate(trace)), [np.nan, 0.5, 0.5, np.nan, 1 / 3, 1 / 3], rtol=1e-6)
    trace.tell(lams=(change | {"f_star": None},))
    np.testing.assert_allclose(ratios(Rate(trace)), [np.nan, 0.5, 0.5, *[np.nan] * 3], rtol=1e-6)
