"""Phases of a run, and where they are marked."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.models import Scatter

from solverscope.app.views import Convergence
from solverscope.app.views.base.phases import Span, spans, turns
from solverscope.solvers import Trace
from tests.app.helpers import glyphs

ROUNDS = [("fine", 0)] * 3 + [("coarse", 0)] * 2 + [("fine", 1)] + [("patch-up", 1)] * 2


def run(phases: list = ROUNDS, **info) -> Trace:
    records = [
        {"iteration": k, "objective": 2.0**-k, "phase": phase, "epoch": epoch}
        for k, (phase, epoch) in enumerate(phases)
    ]
    return Trace.from_records(records, label="a", params={}, **info)


def test_a_phase_is_what_has_one_name_in_one_round():
    rows, _, _ = run().since(None)
    assert spans(rows) == [
        Span("fine", 0, 0, 2),
        Span("coarse", 0, 3, 4),
        Span("fine", 1, 5, 5),
        Span("patch-up", 1, 6, 7),
    ]
    assert turns(rows).tolist() == [2, 4, 5]


@pytest.mark.parametrize("phases", [[], [(None, None)] * 4, [("shrink", 0)] * 2 + [("shrink", 1)] * 2])
def test_a_run_without_phases_or_with_epochs_of_one_turns_nowhere(phases):
    rows, _, _ = run(phases).since(None)
    assert turns(rows).size == 0
    assert len(spans(rows)) == (2 if phases and phases[0][0] else 0)


def squares(view: Convergence) -> dict[str, list]:
    (found,) = (r for r in glyphs(view.figure, Scatter) if r.glyph.marker == "square")
    return found.data_source.data


def test_where_a_phase_ends_there_is_a_square_on_the_curve():
    view = Convergence([run(), plain := run([(None, None)] * 8)], measure="objective", x="iteration")
    marks = squares(view)
    assert marks["x"] == [2.0, 4.0, 5.0]
    np.testing.assert_allclose(marks["y"], 2.0 ** -np.array([2, 4, 5]))
    assert len(set(marks["color"])) == 1
    view.scale, view.measure = "linear", "absolute"
    np.testing.assert_allclose(squares(view)["y"], 2.0 ** -np.array([2, 4, 5]) - 2.0**-7)
    view.show([plain])
    assert squares(view)["x"] == []


def test_squares_come_while_the_run_goes_on():
    trace = run(ROUNDS[:4])
    view = Convergence(trace, measure="objective", x="iteration")
    assert squares(view)["x"] == [2.0]
    for k, (phase, epoch) in enumerate(ROUNDS[4:6], 4):
        trace.append({"iteration": k, "objective": 0.1, "phase": phase, "epoch": epoch})
    view.update()
    assert squares(view)["x"] == [2.0, 4.0]
