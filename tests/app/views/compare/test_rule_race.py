"""The race of rules: members, cost of the tests, wrong guesses and the gap."""

from __future__ import annotations

from functools import cache

import numpy as np

from solverscope import solvers
from solverscope.app.views import RuleRace
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.base.run_events import returns
from solverscope.solvers import SHRINKING, Trace
from tests.app.helpers import figures
from tests.solvers.methods.test_working_sets import correlated


@cache
def runs() -> list[Trace]:
    problem = correlated(60, 40, 1, 0.99)
    made = [
        ("newton-cd", {"rule": rule, "inner": 0.9, "covariance_updates": False})
        for rule in ("none", "zhong", "gap-safe")
    ]
    made.append(("fista-cst", {}))
    return [
        solvers.solve(problem, solvers.make_solver(id, **params), tol=1e-8, max_iter=300, probes=(SHRINKING,))
        for id, params in made
    ]


def curves(view: RuleRace, name: str) -> list[np.ndarray]:
    """What a figure draws of each run."""
    part = next(part for part in view.parts if part.id == name)
    return [curve.feed.source.data["y"] for curve in part.curves.values()]


def test_each_plot_draws_what_the_runs_have():
    view = RuleRace(runs(), Cursor(run=runs()[1], iteration=3, follow=False), x="iteration")
    assert list(figures(view)) == ["rule-members", "rule-cost", "rule-mistakes", "rule-gap"]
    for trace, members in zip(runs(), curves(view, "rule-members"), strict=True):
        np.testing.assert_allclose(members, 100.0 * trace.working_set / 40, rtol=1e-6)
    none, zhong, safe, fista = curves(view, "rule-mistakes")
    np.testing.assert_array_equal(zhong, np.cumsum(returns(runs()[1].since(None)[0])))
    assert zhong[-1] > 0 == safe[-1] == none[-1]
    assert np.isnan(fista).all(), "it has no working set to be wrong about"


def test_the_cost_of_tests_grows_and_is_known_of_rules_alone():
    view = RuleRace(runs(), Cursor(run=runs()[1], iteration=3, follow=False))
    none, zhong, safe, fista = curves(view, "rule-cost")
    for cost, trace in ((zhong, runs()[1]), (safe, runs()[2])):
        assert np.all(np.diff(cost) >= 0.0)
        assert 0.0 < cost[-1] < trace.cpu_seconds[-1]
    assert np.isnan(none).all()
    assert np.isnan(fista).all()


def test_all_share_one_axis():
    view = RuleRace(runs(), x="iteration")
    assert len({id(part.figure.x_range) for part in view.parts}) == 1
    view.x = "passes"
    assert {part.x for part in view.parts} == {"passes"}
