"""What the stories about line searches say is true."""

from __future__ import annotations

import numpy as np
import pytest

import solvers
from app.stories import Story, stories
from app.views.study import Study
from solvers import LINE, Stopping, Trace, relative_gap
from tests.app.test_stories import problem_of


def raced(story: Story, problem: solvers.Problem | None = None) -> dict[str, Trace]:
    """The runs of a story by label, as far as the page would let them go, with their searches."""
    problem, setting = problem or problem_of(story), story.setting
    stopping = Stopping(tol=setting.tol, max_seconds=setting.max_seconds)
    found = {}
    for chosen in setting.solvers:
        solver = chosen.make().towards(stopping.tol)
        found[chosen.label] = solvers.Run(problem, solver, stopping=stopping, probes=(LINE,)).execute()
    return found


def on_breakpoints(trace: Trace) -> float:
    """The share of the exact searches that ended on a breakpoint."""
    searches = [seen for _, seen in trace.probes.entries("line") if len(seen["t"])]
    return float(np.mean([float(seen["step"]) in seen["segment"] for seen in searches]))


@pytest.fixture(scope="module")
def exact():
    return raced(stories()["exact-search"])


def test_exact_searches_on_a_hinge_land_on_breakpoints(exact):
    assert on_breakpoints(exact["subL-BFGS"]) > 0.9
    assert on_breakpoints(exact["L-BFGS"]) == 1.0


def test_at_the_kink_where_it_lands_one_subgradient_is_stuck_and_direction_finding_goes_on(exact):
    f_star = stories()["exact-search"].f_star["l2"]
    stuck, on = exact["L-BFGS"], exact["subL-BFGS"]
    assert stuck.status == "stalled"
    assert stuck.iteration[-1] < 60
    assert relative_gap(stuck.objective, f_star)[-1] > 0.01
    assert on.objective[-1] < stuck.objective[-1]


def test_a_large_ridge_makes_it_land_between_breakpoints():
    story = stories()["exact-search"]
    assert on_breakpoints(raced(story, problem_of(story).at_lam(10.0))["subL-BFGS"]) < 0.5


@pytest.fixture(scope="module")
def rules():
    story = stories()["armijo"]
    problem = problem_of(story)
    return problem, raced(story, problem)


def accepted_at_once(problem: solvers.Problem, trace: Trace, sigma: float) -> float:
    """The share of searches whose first step Armijo's rule with this σ would take."""
    searches = [Study(problem, seen) for _, seen in trace.probes.entries("line")]
    return float(np.mean([study.armijo(sigma, 0.5).trials == 1 for study in searches]))


def test_a_lax_rule_takes_nearly_every_first_step_and_one_that_asks_for_most_of_the_promise_none(rules):
    problem, traces = rules
    assert np.mean(traces["lax"].ls_trials[1:] == 1) > 0.9
    assert accepted_at_once(problem, traces["lax"], 0.4) > 0.75
    assert accepted_at_once(problem, traces["lax"], 0.9) == 0.0


def test_a_strict_rule_tries_more_steps_and_saves_less_than_one_iteration_in_five(rules):
    _, traces = rules
    lax, strict = traces["lax"], traces["strict"]
    assert lax.status == strict.status == "converged"
    assert strict.ls_trials[1:].mean() > 1.2 * lax.ls_trials[1:].mean()
    assert strict.iteration[-1] > 0.8 * lax.iteration[-1]


def test_the_minimum_of_a_parabola_lies_on_the_line_of_half_the_promise():
    def phi(t):
        return 3.0 - 2.0 * t + t * t

    assert phi(1.0) == min(phi(t) for t in np.linspace(0.0, 2.0, 101)) == 3.0 + 0.5 * 1.0 * -2.0


def test_the_settings_are_those_that_the_sentences_are_about():
    story = stories()["armijo"]
    sigma = {chosen.label: chosen.make().sigma for chosen in story.setting.solvers}
    assert sigma == {"lax": 1e-4, "strict": 0.5}
