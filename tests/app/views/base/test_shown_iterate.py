"""Every view says which iterate it shows whenever that is not the cursor's."""

from __future__ import annotations

import pytest

from solverscope.app import ui, views
from solverscope.app.views import Cursor
from solverscope.solvers import Trace
from tests.app.helpers import note

#: Views that draw something of the iterate under the cursor.
AT_CURSOR = (
    *(views.Shrinking, views.Memory, views.LineSearch, views.Trajectories, views.Bundle, views.Steps),
    *(views.RowSparsity, views.Model, views.Record, views.EventLog, views.Algorithm, *views.ABOVE_TABS),
)


def move(cursor, iteration):
    """Let the cursor go on with its run, as a tick does, and nobody draw."""
    cursor.keeping_up = True
    cursor.iteration = iteration
    cursor.keeping_up = False


@pytest.mark.quick("shrinking", "model", "steps")
@pytest.mark.parametrize("view", AT_CURSOR, ids=lambda view: view.id)
def test_a_view_says_which_iterate_it_shows_until_it_is_drawn_again(view, drawable):
    trace = drawable(view)[0]
    cursor = Cursor(run=trace, iteration=20, follow=False)
    made = view(trace, cursor)
    made.update()
    assert note(made) == ""
    move(cursor, 24)
    made.tell()
    assert "Showing iterate 20<" in note(made)
    made.update()
    assert "Showing iterate 24<" in note(made), "it would flicker"
    made.tell()
    assert note(made) == ""
    move(cursor, 31)
    made.visible = False
    made.tell()
    made.visible = True
    assert note(made) == "", "it is drawn when it is shown"


def test_the_nearest_recorded_iterate_is_named(traces):
    gaps = Trace.from_records(list(traces[0].records())[::4], **traces[0].info.record())
    made = views.Convergence(gaps, Cursor(run=gaps, iteration=21, follow=False))
    assert "Showing iterate 20<" in note(made)


def test_panes_of_a_view_that_show_different_iterates_are_named(traces):
    trace = traces[0]
    made = views.Memory(trace, Cursor(run=trace, iteration=20, follow=False))
    move(made.cursor, 21)
    for part in made.parts:
        part.update()
    made.tell()
    titles = ", ".join(part.title for part in made.parts)
    assert f"Memory: iterate 20 · {titles}: iterate 21<" in note(made)


def test_a_run_that_is_not_the_cursors_is_named(traces):
    one, other = traces
    made = views.Convergence(traces, Cursor(run=one, iteration=20, follow=False))
    made.cursor.keeping_up = True
    made.cursor.run = other
    made.tell()
    assert f"Showing iterate 20 of {one.info.label}<" in note(made)
    made.traces = [other]
    made.tell()
    assert "Showing iterate 20 of an earlier run<" in note(made)


def test_numbers_are_written_as_everywhere(traces):
    made = views.Convergence(traces, Cursor(run=traces[0], iteration=20, follow=False))
    move(made.cursor, 12_345)
    made.tell()
    assert f"Showing iterate {ui.number(20)}<" in note(made)
