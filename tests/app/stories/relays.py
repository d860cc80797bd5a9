"""Claims of the story about a relay."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.views.base.phases import turns
from tests.app.stories.told import Told, claim


@claim(
    "head-start",
    "One solver twice: from zero on all strings, and with weights found on a sixteenth, then a quarter of "
    "them.",
    "Squares mark where head start goes on to more strings: to a quarter at iteration 15, to all at "
    "iteration 30.",
)
def _(told: Told) -> None:
    trace = told["head start"]
    names = ["prox-qn of 1/16", "prox-qn of 1/4", "prox-qn"]
    assert [leg.name for leg in told.entrant("head start").make().chosen(told.problem())] == names
    assert trace.iteration[turns(trace.since(None)[0])].tolist() == [15, 30]
    assert [trace["phase"][n] for n in (15, 16, 30, 31)] == [names[0], names[1], names[1], names[2]]
    assert told["cold"].objective[0] == trace.objective[0] == told.problem().at().objective


@claim(
    "head-start",
    "Count passes over the data: head start brings f below twice f* within two, and cold needs more than "
    "ten.",
    "A pass over a sixteenth of the strings costs a sixteenth.",
    "head start comes to a gap of 1e-4 with at least a tenth fewer passes than cold, and both come below "
    "1e-6.",
    "Which run will need fewer passes over the data to a gap of 1e-4?",
    "The weights found on a quarter of the strings are nearer to the optimum than those found by as many "
    "passes over all strings.",
)
def _(told: Told) -> None:
    assert told.work("head start", 1.0, "passes") < 2.0
    assert told.work("cold", 1.0, "passes") > 10.0
    assert told.work("head start", 1e-4, "passes") < 0.9 * told.work("cold", 1e-4, "passes")
    assert all(told.gap(label)[-1] < 1e-6 for label in told.labels)
    assert told.truth().right == ("head start",)
    sixteenth = told["head start"].passes[0] / told["cold"].passes[0]  # f at zero, of fewer strings
    assert sixteenth == pytest.approx(1 / 16, rel=0.15)
    cold, warm = told["cold"], told["head start"]
    (at,) = np.flatnonzero(warm.iteration == 30)
    there = cold["passes"] <= warm["passes"][at]
    assert told.gap("head start")[at] < told.gap("cold")[there].min()
