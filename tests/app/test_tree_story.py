"""What the story of the tree says is true: on a small tree, and at its own size under ``-m bench``."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.stories import stories
from solverscope.solvers import relative_gap

STORY = stories()["tree"]
#: Options of the data; what the size makes the solver choose by itself; the share of the weights that the
#: working set falls below in the first epoch.
SIZES = [
    pytest.param(
        {"n_features": 20_000, "n_nodes": 200, "n_leaves": 120}, {"shrink_first": "on"}, 0.01, id="small"
    ),
    pytest.param(STORY.setting.problem.options, {}, 0.001, id="paper", marks=pytest.mark.bench),
]


def test_it_has_as_many_weights_as_it_says():
    options = datasets.describe(STORY.setting.problem.data).parse(STORY.setting.problem.options)
    assert options["n_features"] * options["n_nodes"] == 121_866_804
    assert "121 866 804" in STORY.question


@pytest.mark.parametrize(("options", "params", "share"), SIZES)
def test_all_weights_are_looked_at_once_an_epoch_and_few_of_them_between(options, params, share):
    setting = STORY.setting.problem
    data = datasets.load(setting.data, seed=setting.seed, **options)
    problem = solvers.make_problem(data, loss=setting.loss, penalty=setting.penalty, lam=setting.lam)
    (chosen,) = STORY.setting.entrants
    solver = solvers.make_solver(chosen.id, **chosen.params, **params)
    trace = solvers.solve(problem, solver, max_iter=40)
    begins = ["epoch-start" in events for events in trace.events]
    assert sum(begins) > 1
    np.testing.assert_array_equal(np.isfinite(trace.violation), begins)
    assert trace.working_set[trace.epoch == 0].min() < share * problem.size
    assert trace.passes[-1] < 20
    if options == setting.options:
        gap = relative_gap(trace.objective[-1], STORY.optimum(setting))
        assert -1e-7 < gap < 1e-4
    plain = solvers.solve(problem, solvers.make_solver("prox-gd"), max_iter=5)
    assert plain.passes[-1] >= 5
