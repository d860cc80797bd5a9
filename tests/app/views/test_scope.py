"""A scope draws runs while they are at work in the cell's own thread, at most a tenth of the time."""

from __future__ import annotations

import copy

import numpy as np
import panel as pn
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from solverscope import datasets, solvers
from solverscope.app import notebook, views
from solverscope.app.notebook import Scope, solverscope_run
from solverscope.app.ui.colours import COLORS
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.scope import DRAW_SPACING, MOST_TRACES
from solverscope.solvers.estimators import SparseLogistic


@pytest.fixture(scope="module")
def cancer():
    part = datasets.load("breast-cancer").train
    return part.X, part.y


def drawn(view):
    """Points of each curve."""
    lines = [line for line in view.figure.renderers if line.name]
    return {line.name: len(line.data_source.data["x"]) for line in lines}


def test_estimators_draw_in_one_scope_beside_each_other(cancer):
    scope = Scope([views.Convergence(measure="objective")])
    for id in ("prox-qn", "owl-qn"):
        model = SparseLogistic(id, lam=0.01, scope=scope).fit(*cancer)
        assert drawn(scope.views[0])[id] == len(model.trace_)
    assert [trace.info.label for trace in scope.traces] == ["prox-qn", "owl-qn"]
    assert clone(model).scope is scope
    assert copy.deepcopy(scope) is scope


def legends(view):
    """The legends of runs that a view shows, as HTML."""
    panes = view.__panel__().select(lambda one: isinstance(one, pn.pane.HTML) and "legend" in str(one.object))
    return [pane.object for pane in panes]


def test_plots_in_a_notebook_have_a_legend_and_the_scope_says_what_it_is(cancer):
    scope = Scope([views.Convergence(measure="objective"), views.Record()])
    assert "no runs yet" in repr(scope)
    problem = solvers.make_problem(*cancer, penalty="l1", lam=0.01)
    for memory in (3, 5):
        scope(solvers.solve(problem, "prox-qn", memory=memory, max_iter=2))
    for view in scope.views:
        (legend,) = legends(view)
        assert legend.count("<li>") == 2
        assert "prox-qn memory=3" in legend
        assert COLORS[0] in legend
    assert "prox-qn memory=5: max-iter at iteration 2" in repr(scope)
    assert legends(views.Convergence(scope.traces, Cursor())) == []  # a page has its own


def test_scope_of_an_estimator_is_a_new_one_in_the_cell(cancer, monkeypatch):
    made = []
    monkeypatch.setattr(notebook, "live", lambda: made.append(Scope()) or made[-1])
    model = SparseLogistic(lam=0.01, scope=True).fit(*cancer)
    ((scope,), (trace,)) = made, made[0].traces
    assert trace is model.trace_
    assert drawn(scope.views[0])["newton-cd"] == len(trace)


def test_drawing_takes_at_most_a_tenth_of_the_time():
    now, drawing = 0.0, 0.0

    class Slow(views.Convergence):
        def draw(self):
            nonlocal now, drawing
            now, drawing = now + 1.0, drawing + 1.0

    scope = Scope([Slow], clock=lambda: now)
    now = drawing = 0.0
    trace = solvers.Trace({"label": "mine"})
    for k in range(1000):
        trace.append({"iteration": k, "objective": 1.0})
        scope(trace)
        now += 0.1
    assert 5 < drawing <= 1.0 + now / DRAW_SPACING


def test_a_loop_of_ones_own_is_drawn_beside_a_solver(cancer):
    problem = solvers.make_problem(*cancer, penalty="l1", lam=0.01)
    scope = Scope([views.Convergence(measure="objective")])
    scope(solvers.solve(problem, solvers.make_solver("prox-qn")))
    with solverscope_run("mine", problem, scope) as run:
        w = np.zeros(problem.size)
        for _ in range(20):
            run.iterate(w=w)
            w = problem.penalty.prox(w - 0.1 * problem.at(w).gradient(), 0.1)
    assert drawn(scope.views[0]) == {"prox-qn": len(scope.traces[0]), "mine": len(run.trace)}


def test_scope_draws_what_a_loop_without_a_problem_tells():
    scope = Scope()
    with solverscope_run("mine", None, scope) as run:
        for k in range(4):
            run.iterate(trust_radius=0.5**k)
    objective, nonzeros, own = scope.views
    assert (objective.visible, nonzeros.visible) == (False, False)
    assert (own.field, drawn(own)["mine"]) == ("trust_radius", 4)


def test_a_scope_watches_estimators_of_scikit_learn_s_and_ours(cancer):
    scope = Scope([views.Convergence(measure="objective")])
    model = scope.watch(LogisticRegression(C=0.1)).fit(*cancer)
    (trace,) = scope.traces
    assert drawn(scope.views[0]) == {"LogisticRegression(C=0.1)": len(trace)}
    assert len(trace) == model.n_iter_[0] + 1
    search = scope.watch(GridSearchCV(SparseLogistic(), {"lam_ratio": [0.3, 0.1]}, cv=2))
    search.fit(*cancer)
    assert len(scope.traces) == 1 + 5


def test_an_estimator_without_callbacks_is_refused():
    with pytest.raises(
        TypeError, match="KNeighborsClassifier takes no callbacks: scikit-learn's LogisticReg"
    ):
        Scope().watch(KNeighborsClassifier())


def test_a_scope_draws_the_newest_runs():
    scope = Scope([views.Convergence(measure="objective")])
    for k in range(MOST_TRACES + 2):
        scope(solvers.Trace.from_records([{"iteration": 0, "objective": 1.0}], label=str(k)))
    assert [trace.info.label for trace in scope.traces] == [str(k) for k in range(2, MOST_TRACES + 2)]
