"""The labels of one sample are drawn below a line search of a multiclass hinge, label by label."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.views import LineSearch
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.search.label_figure import LabelFigure
from solverscope.solvers.probes.label_lines import LabelLines, stages


@pytest.fixture
def figure():
    """Five lines, of which the second one is popped by the third."""
    a, b = np.array([-1.0, 0.0, 1.0, 3.0, -2.0]), np.array([2.0, 1.5, 0.5, 0.2, 0.0])
    figure = LabelFigure("label-lines")
    figure.show(LabelLines(7, 0, a, b, stages(a, b)), 2.0)
    return figure


def drawn(figure, name):
    (line,) = [one for one in figure.figure.renderers if one.name == name]
    return {key: np.asarray(value).tolist() for key, value in line.data_source.data.items()}


def test_all_lines_are_examined_at_first(figure):
    found = drawn(figure, "maximum")
    assert found["t"] == pytest.approx([0.0, 0.45, 2.0])
    assert found["value"] == pytest.approx([2.0, 1.55, 6.2])
    assert "Sample 7, label 0: line 4 of 4 is that of label 3." in figure.said.object
    assert "It crosses before" in figure.said.object


def test_the_slider_goes_back_label_by_label(figure):
    figure.slider.value = 2
    assert drawn(figure, "maximum")["t"] == pytest.approx([0.0, 0.5, 2.0])
    assert drawn(figure, "new")["value"] == [1.5, 1.5]
    assert "It is pushed onto the stack at t = 0.5." in figure.said.object
    figure.slider.value = 1
    assert drawn(figure, "maximum")["t"] == [0.0, 2.0]
    assert "It is the maximum at t = 0." in figure.said.object


def test_the_view_shows_them_for_a_multiclass_hinge_alone():
    problem = solvers.make_problem(datasets.load("digits"), loss="multiclass-hinge", penalty="l2", lam=1e-3)
    solver, stopping = solvers.make_solver("sublbfgs"), solvers.Stopping(max_iter=3)
    trace = solvers.Run(problem, solver, stopping=stopping, probes=(solvers.LINE,)).execute()
    view = LineSearch(trace, Cursor(run=trace, iteration=2, follow=False))
    assert "Sample " in view.labels.said.object
    assert len(drawn(view.labels, "maximum")["t"]) >= 2
