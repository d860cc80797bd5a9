"""Any field of the record as a plot, also those that a run alone has."""

from __future__ import annotations

import numpy as np

from solverscope.app.views import Record
from solverscope.solvers import FIELDS, Trace
from tests.app.helpers import curves


def run(label: str, **own: float) -> Trace:
    records = [{"iteration": k, "objective": 1.0, "violation": 0.1**k, **own} for k in range(3)]
    return Trace.from_records(records, label=label)


def test_fields_of_a_run_of_its_own_are_offered_first_and_drawn_for_the_runs_that_have_them():
    view = Record([run("a", radius=0.5), run("b")])
    view.field = "radius"
    assert view.about.axis == "radius"
    assert view.scale == "linear"
    drawn, empty = (np.asarray(line.data["y"]) for line in curves(view.figure))
    assert drawn.tolist() == [0.5] * 3
    assert len(empty) == 0


def test_a_field_that_no_run_has_any_more_gives_way_to_a_usual_one():
    view = Record([run("a", radius=0.5)], field="radius")
    view.show([run("b")])
    assert view.field in FIELDS
