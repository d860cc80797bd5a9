"""The landscape view: which plane, what stands on it, and what the cursor does."""

from __future__ import annotations

import gc
from weakref import ref

import holoviews as hv
import numpy as np
import panel as pn
import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.landscape.landscape_data import MAX_PLACED, LandscapeSetting, observed, scene
from solverscope.app.views.landscape.landscape_elements import log_heights
from solverscope.solvers import SUPPORT, WIDE, Trace
from solverscope.solvers.probes.kept_weights import weight_entries
from tests.app.helpers import click, hint, said


@pytest.fixture(scope="module")
def traces(small_problem):
    made = {id: solvers.make_solver(id) for id in ("prox-qn", "prox-gd")}
    return [
        solvers.solve(small_problem, solver, max_iter=25, probes=[SUPPORT, WIDE]) for solver in made.values()
    ]


def shown_of(traces, kind="main", ground="objective", run=None, iteration=0, pair=(0, 1)):
    newest = [weight_entries(trace.probes)[-1][0] for trace in traces]
    return LandscapeSetting(traces[0].problem, list(traces), newest, kind, ground, run, iteration, pair)


def test_iterates_stand_where_they_are_and_the_ground_is_f_there(traces, small_problem):
    found = scene(shown_of(traces), lambda: None)
    for run in found.runs:
        iterations, points = observed(run.trace, small_problem.size)
        assert run.iteration.tolist() == iterations.tolist()
        for k in (0, len(iterations) // 2, -1):
            on_plane = found.plane.origin + run.a[k] * found.plane.u + run.b[k] * found.plane.v
            assert np.linalg.norm(points[[k]].toarray() - on_plane) == pytest.approx(
                run.distance[k], abs=1e-6
            )
    window, (up, across) = found.window, found.heights.shape
    corner = found.plane.origin + window.x1 * found.plane.u + window.y0 * found.plane.v
    assert found.heights[0, across - 1] == pytest.approx(small_problem.at(corner).objective, rel=1e-12)
    assert up == across >= 21
    assert 0.0 < found.captured <= 1.0


@pytest.mark.parametrize("ground", ["loss", "penalty"])
def test_loss_and_penalty_alone_are_drawn_as_well(traces, small_problem, ground):
    found = scene(shown_of(traces, ground=ground), lambda: None)
    w = found.plane.origin + found.window.x0 * found.plane.u + found.window.y0 * found.plane.v
    assert found.heights[0, 0] == pytest.approx(getattr(small_problem.at(w), ground), rel=1e-12)


def test_two_weights_span_a_plane_with_their_own_values_on_its_axes(traces):
    found = scene(shown_of(traces, "weights", pair=(3, 7)), lambda: None)
    for run in found.runs:
        _, points = observed(run.trace, 30)
        assert np.allclose(np.stack([run.a, run.b], axis=1), points[:, [3, 7]].toarray(), atol=1e-12)
    kinks = [ends for ends, _ in found.kinks]
    assert sorted(tuple(np.flatnonzero(np.all(ends == 0.0, axis=0))) for ends in kinks) == [(0,), (1,)]


def test_a_step_leads_along_the_first_axis(traces):
    run = traces[1]
    found = scene(shown_of(traces, "step", run=run, iteration=4), lambda: None)
    own = next(placed for placed in found.runs if placed.trace is run)
    k = own.at(4)
    assert (own.a[k], own.b[k], own.distance[k]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    assert (own.b[k + 1], own.distance[k + 1]) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert own.a[k + 1] > 0.0


def test_a_weight_against_itself_is_refused_in_a_sentence(traces):
    with pytest.raises(ValueError, match="both directions are the same"):
        scene(shown_of(traces, "weights", pair=(3, 3)), lambda: None)


def test_long_runs_are_thinned_and_end_at_their_last_iterate(small_problem):
    trace = solvers.solve(small_problem, solvers.make_solver("prox-gd"), max_iter=1000, probes=[SUPPORT])
    iterations, points = observed(trace, small_problem.size)
    assert len(iterations) == points.shape[0] <= MAX_PLACED + 1
    assert (iterations[0], iterations[-1]) == (0, trace.last["iteration"])
    assert trace.last["iteration"] > MAX_PLACED


def test_iterates_with_many_weights_are_kept_in_single_precision(chain_problem):
    trace = solvers.solve(chain_problem, solvers.make_solver("prox-gd"), max_iter=3, probes=[SUPPORT, WIDE])
    assert [k for k, _ in weight_entries(trace.probes)] == [0, 1, 2, 3]
    assert trace.probes.iterations(WIDE.name), "more than SUPPORT keeps"
    _, points = observed(trace, chain_problem.size)
    assert np.allclose(points[[3]].toarray().ravel(), trace.w, rtol=1e-6, atol=1e-12)


def test_heights_on_a_log_scale_run_from_zero_to_one():
    shares = log_heights(np.array([[2.0, 2.1], [3.0, 102.0]]))
    assert (shares.min(), shares.max()) == (0.0, 1.0)
    assert np.all(np.diff(shares.ravel()) > 0.0)
    assert np.all(log_heights(np.full((2, 2), 5.0)) == 0.0)


def test_the_view_draws_runs_marks_the_cursor_and_says_where_it_is(traces):
    view = views.Landscape(traces)
    view.cursor.place(traces[1], 7)
    ((_, plot),) = view.shown_figures()
    assert plot.name == "landscape"
    assert "iterate 7" in said(view)
    assert isinstance(view.to_holoviews(), hv.Overlay)


def test_a_click_on_an_iterate_moves_the_cursor_there_and_one_beside_none_does_not(traces):
    view = views.Landscape(traces)
    view.update()
    ((_, plot),) = view.shown_figures()
    found = scene(shown_of(traces), lambda: None)
    run = found.runs[1]
    click(plot, run.a[3], run.b[3])
    assert (view.cursor.run, view.cursor.iteration) == (run.trace, 3)
    click(plot, found.window.x0, found.window.y1)
    assert view.cursor.iteration == 3


def test_a_plane_that_cannot_be_drawn_is_said_to_be_so(traces):
    view = views.Landscape(traces)
    kind, _, across, up = pn.panel(view).select(Menu)
    kind.value = "weights"
    up.value = across.value
    assert "This plane cannot be drawn: both directions are the same." in said(view)


def test_runs_that_are_gone_are_not_kept_in_memory(small_problem):
    trace = solvers.solve(small_problem, "prox-gd", max_iter=5, probes=[SUPPORT])
    view = views.Landscape([trace])
    gone = ref(trace)
    view.show([])
    view.cursor.run = None
    del trace
    gc.collect()
    assert gone() is None


def test_of_a_run_whose_problem_is_gone_it_says_so(traces):
    loaded = Trace.from_records(list(traces[0].records()), **traces[0].info.record())
    view = views.Landscape([loaded], Cursor(run=loaded, follow=False))
    assert "This run's problem is not in memory" in hint(view)


def test_problems_of_two_variables_have_their_playground():
    problem = solvers.make_problem(datasets.load("toy-abs"))
    assert not views.Landscape.fits(problem, [])
    assert views.Landscape.fits(None, [])
