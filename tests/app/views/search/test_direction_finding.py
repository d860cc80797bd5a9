"""The view of direction finding draws the steps that the solver took at the cursor's iterate."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.views import DirectionFinding
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers.probes.direction_steps import gap_bound
from tests.app.helpers import hint, text


@pytest.fixture
def found(descents):
    """The view at the iterate with most steps, and what the probe saw there."""
    trace = descents[0]
    k, seen = max(trace.probes.entries("direction"), key=lambda entry: int(entry[1]["steps"]))
    return DirectionFinding(trace, Cursor(run=trace, iteration=k, follow=False)), trace, k, seen


def column(plot, name):
    """The data of the first line with this column."""
    (line, *_) = [one for one in plot.renderers if getattr(one.glyph, "y", None) == name]
    return np.asarray(line.data_source.data[name])


def test_steps_at_the_cursor_are_drawn(found):
    view, _, k, seen = found
    assert seen["gap"].size >= 3
    np.testing.assert_array_equal(column(view.values, "model"), seen["model"])
    np.testing.assert_array_equal(column(view.values, "dual"), seen["dual"])
    np.testing.assert_allclose(column(view.gaps, "bound"), gap_bound(seen))
    assert column(view.gaps, "epsilon").tolist() == [1e-5] * 2
    said = text(view)
    assert f"at iteration {k}: {seen['gap'].size} steps of direction finding" in said
    assert "p descends: the largest gᵀp is −" in said
    assert "Theorem 7 allows an ε" in said


def test_the_cursor_moves_to_another_iterate(found):
    view, trace, _, _ = found
    view.cursor.place(trace, 0)
    assert column(view.gaps, "gap").size == 1
    assert "1 step of direction finding" in text(view)
    assert "a tolerance of 1." in text(view)


def test_without_the_largest_eigenvalue_there_is_no_bound(found):
    _, trace, k, seen = found
    seen["H"] = np.array(np.nan)
    again = DirectionFinding(trace, Cursor(run=trace, iteration=k, follow=False))
    assert np.isnan(column(again.gaps, "bound")).all()
    assert "is not known here" in text(again)


def test_solvers_that_find_no_directions_have_none():
    assert not DirectionFinding.fits(None, [solvers.SOLVERS["prox-qn"]])
    assert DirectionFinding.fits(None, [solvers.SOLVERS["sublbfgs"]])
    assert DirectionFinding.fits(None, [solvers.SOLVERS["owl-qn-star"]])
    assert "Run subgd, subbfgs, sublbfgs or owl-qn-star" in hint(DirectionFinding())
