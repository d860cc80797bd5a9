"""Views of probes draw what is new, and the page's runs are observed for all its views."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app import ui, views
from solverscope.app.views import TABS, Cursor, ProbeView, View
from solverscope.app.views.base.drawn import Drawn
from solverscope.solvers import Iterate, Probe, Trace
from solverscope.solvers.probes.probe import ProbeStore

DOUBLE = Probe("double", lambda iterate: None if iterate.iteration < 2 else {"w": 2.0 * iterate.w})


class Doubled(ProbeView):
    """A view as a plug-in might bring it."""

    id = "doubled"
    title = "Doubled weights"
    probe = DOUBLE

    def build(self) -> None:
        self.shown = []
        self._body.append(ui.html())

    def draw_seen(self, iteration: int, seen: dict[str, np.ndarray]) -> None:
        self.shown.append((iteration, float(seen["w"][0])))


def observed(label: str = "a", iterates: int = 5) -> Trace:
    trace = Trace.from_records([{"iteration": k} for k in range(iterates)], label=label)
    trace.probes = ProbeStore([DOUBLE])
    for k in range(iterates):
        trace.probes.observe(Iterate(k, w=np.full(3, float(k))))
    return trace


def test_a_probe_view_gets_what_was_seen_last_up_to_the_cursor_and_draws_it_once():
    trace = observed()
    view = Doubled(trace, Cursor(run=trace, iteration=3, follow=False))
    assert view.iterations() == [2, 3, 4]
    for _ in range(3):
        view.update()
    view.cursor.iteration = 4
    view.cursor.iteration = 3
    assert view.shown == [(3, 6.0), (4, 8.0), (3, 6.0)]


def test_a_probe_view_has_nothing_of_a_run_that_it_does_not_draw_or_that_was_not_observed():
    trace, bare = observed(), Trace.from_records([{"iteration": 0}], label="b")
    view = Doubled([bare], Cursor(run=trace, iteration=3, follow=False))
    assert (view.seen(), view.iterations(), view.has_content()) == (None, [], False)
    view.cursor.run = bare
    assert (view.seen(), view.iterations(), view.has_content()) == (None, [], False)
    assert view.shown == []
    view.traces = [bare, trace]
    view.cursor.run = trace
    assert view.has_content()
    view.cursor.run = bare
    assert not view.has_content()
    assert view.shown == [(3, 6.0)], "it is covered"


def test_a_picture_is_drawn_again_only_from_something_else():
    drawn, trace = Drawn(), observed()
    assert not drawn.changed("bands")
    assert drawn.changed("bands", trace, 3)
    assert not drawn.changed("bands", trace, 3)
    assert drawn.shows("bands", trace, 3)
    assert not drawn.shows("bands", trace, 4)
    assert drawn.changed("dots", trace, 3)
    assert drawn.changed("bands", trace, 4)
    assert drawn.changed("bands", observed(), 4)
    assert drawn.changed("bands", [(trace, 4)])
    assert not drawn.changed("bands", [(trace, 4)])
    assert drawn.changed("bands")
    assert not drawn.changed("bands")


def test_what_was_drawn_keeps_no_run_alive():
    drawn, trace = Drawn(), observed()
    drawn.changed("bands", [trace, (trace, 2)])
    gone = ref(trace)
    del trace
    gc.collect()
    assert gone() is None
    assert drawn.changed("bands", [observed(), (observed(), 2)])


def test_each_view_names_the_probes_it_draws_and_together_they_are_the_pages():
    every = "active code-lines cuts direction learned line memory plane rows scores shrinking support"
    assert sorted(probe.name for probe in views.probes()) == [*every.split(), "trajectories", "wide"]
    for id, wanted in (
        ("line-search", {"line", "support", "wide"}),
        ("landscape", {"support", "wide"}),
        ("memory", {"memory"}),
        ("shrinking", {"shrinking", "active"}),
        ("rows", {"rows"}),
        ("direction", {"direction"}),
        ("algorithm", {"code-lines"}),
        ("model", {"learned"}),
        ("rate", {"scores"}),
        ("trajectories", {"trajectories"}),
        ("steps", set()),
    ):
        assert {probe.name for probe in TABS[id].probes} == wanted


@pytest.mark.quick("rate", "model", "trajectories")
@pytest.mark.parametrize("view", [view for view in TABS.values() if view.probes], ids=lambda view: view.id)
def test_the_probes_that_a_view_names_are_all_that_it_needs(view, chain_problem, hinge_problem):
    """With them alone it draws what it draws with those of all views."""
    of_hinge = {solvers.CUTS: "bmrm", solvers.DIRECTION: "sublbfgs"}
    id = next((id for probe, id in of_hinge.items() if probe in view.probes), "prox-qn")
    problem, solver = chain_problem if id == "prox-qn" else hinge_problem, solvers.make_solver(id)
    own, every = (
        solvers.solve(problem, solver, max_iter=8, probes=probes) for probes in (view.probes, views.probes())
    )
    for trace in (own, every):
        trace.tell(f_star=0.5 * trace.objective[-1])
    alone, beside = (view(trace, Cursor(run=trace, iteration=8, follow=False)) for trace in (own, every))
    assert alone.has_content()
    assert beside.has_content()
    said = [getattr(getattr(each, "_said", None), "object", None) for each in (alone, beside)]
    assert said[0] == said[1]


def test_a_view_of_a_plug_in_joins_the_tabs_and_the_runs_are_observed_for_it(monkeypatch):
    monkeypatch.setattr(views, "TABS", dict(TABS))
    assert views.register(Doubled) is Doubled
    assert list(views.TABS)[-1] == "doubled"
    assert DOUBLE in views.probes()
    assert views.register(Doubled) is Doubled

    class Taken(View):
        id = "doubled"
        title = "Another"

    with pytest.raises(ValueError, match="doubled is registered already"):
        views.register(Taken)
