"""The line-search lab of exact searches: where there is no step, and the models of the solver."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.views import LineSearch
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import LINE, Iterate
from solverscope.solvers.probes.probe import ProbeStore
from solverscope.solvers.search.outcome import SearchLog
from tests.app.helpers import said
from tests.solvers.helpers import searched


@pytest.fixture(scope="module")
def hinge() -> solvers.Problem:
    return solvers.make_problem(datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-3)


def test_where_f_does_not_fall_no_rule_has_a_step(hinge):
    w = np.zeros(hinge.size)
    d = hinge.at(w).gradient()
    search = SearchLog(hinge.at(w).objective, d, active=hinge.design.working_set())
    search.segment = 0.0, 0.0

    view = shown(hinge, LINE.take(Iterate(4, w=w, step=0.0, live={"line": search})))
    assert "no step was taken" in said(view)
    assert "does not decrease along the direction: its slope is" in said(view)
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
    d = np.zeros(hinge.size)
    d[seen["d_at"]] = seen["d"]
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
