"""Above the tabs stand two plots, or a view made for the problem shown."""

from __future__ import annotations

import pytest

from solverscope.app import views
from solverscope.app.views import REPLACEMENTS, Convergence, Playground, ProblemView, Sparsity
from solverscope.solvers import PLANE
from tests.app.helpers import press

TOY = {"data": "toy-abs", "solvers": "bfgs=bfgs,line_search=exact;subbfgs"}


def kinds(page) -> list[type]:
    return [type(view) for view in page.top_views.shown]


def finish(page, wait_until) -> None:
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    page.session.tick()


def test_nothing_is_made_for_toys_before_one_is_chosen_and_the_plots_come_back(visit, wait_until):
    page = visit(data="breast-cancer", solvers="prox-qn")
    assert kinds(page) == [Convergence, Sparsity]
    assert not any(isinstance(view, Playground) for view in page.session.views)
    page.problem.data.value = "toy-abs"
    assert kinds(page) == [Convergence, Sparsity], "what is there stays until the data are"
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert kinds(page) == [Playground]
    assert not page.convergence.visible
    assert not page.sparsity.visible
    (view,) = page.top_views.shown
    assert len(view.plane.sources["contours"].data["across"]), "the function is there before any run"
    for data, shown in (("breast-cancer", [Convergence, Sparsity]), ("toy-hull", [Playground])):
        page.problem.data.value = data
        wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
        assert kinds(page) == shown
        assert view.visible == (shown == [Playground])
        assert page.convergence.visible != view.visible
    assert page.top_views.shown == [view]


def test_a_click_is_the_option_in_the_form_and_in_the_address_and_runs_start_there(visit, wait_until):
    page = visit(**TOY)
    (view,) = page.top_views.shown
    page.controls.go()
    finish(page, wait_until)
    view.on_option("start", "0.5,-2")
    assert page.session.runs == []
    assert page.problem.options.values == {"start": "0.5,-2"}
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert page.query()["options"] == "start=0.5,-2"
    page.controls.go()
    finish(page, wait_until)
    page.session.tick()
    for curve in view.plane.curves.values():
        data = curve.feed.source.data
        assert (data["x"][0], data["y"][0]) == (0.5, -2.0)
    again = visit(**page.query())
    assert again.problem.setting == page.problem.setting
    assert len(again.notices) == 0


def test_step_moves_every_run_by_one_iterate(visit, wait_until):
    page = visit(**TOY)
    (view,) = page.top_views.shown
    for k in (1, 2):
        press(page.controls.step)
        wait_until(lambda: all(run.state == "paused" for run in page.session.runs))
        page.session.tick()
        assert [len(curve.feed.source.data["x"]) for curve in view.plane.curves.values()] == [k, k]


def test_runs_are_observed_for_it_where_it_is_shown_alone(visit, small_problem):
    toy = visit(**TOY).problem.problem
    assert PLANE in views.probes(toy)
    assert PLANE in views.probes()
    assert set(views.probes()) - set(views.probes(small_problem)) == {PLANE}


def test_a_plug_in_brings_a_view_for_problems_of_its_own(visit, monkeypatch):
    monkeypatch.setattr(views, "REPLACEMENTS", mine := [*REPLACEMENTS])
    monkeypatch.setattr("solverscope.app.page.top_views.REPLACEMENTS", mine)

    class Few(ProblemView):
        id = "few"
        title = "Few weights"

        @classmethod
        def suits(cls, problem):
            return 2 < problem.size < 100

        def build(self):
            self.drawn = []

        def draw(self):
            self.drawn.append(self.problem)

    assert views.register(Few) is Few
    assert views.register(Few) is Few
    assert mine == [*REPLACEMENTS, Few]
    page = visit(data="breast-cancer", solvers="prox-qn")
    (view,) = page.top_views.shown
    assert view.drawn[-1] is page.problem.problem

    class Taken(ProblemView):
        id = "playground"
        title = "Another"

    with pytest.raises(ValueError, match="playground is registered already"):
        views.register(Taken)
