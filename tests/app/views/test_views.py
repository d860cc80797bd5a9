"""Every view works alone, on one trace or several, at any cursor, and costs nothing while hidden."""

from __future__ import annotations

import gc
import re
from weakref import ref

import numpy as np
import pytest
from bokeh.plotting import figure

from solverscope import datasets, solvers
from solverscope.app import ui, views
from solverscope.app.page.cursor_bar import CursorBar
from solverscope.app.page.session import Session
from solverscope.app.runs.pool import RunPool
from solverscope.app.views import (
    TABS,
    Accuracy,
    Convergence,
    LineSearch,
    Record,
    Sparsity,
    Steps,
    Table,
)
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.base.plot import X_AXES
from solverscope.app.views.compare.summary import seconds_to
from solverscope.solvers import FIELDS, Trace, relative_gap
from tests.app.helpers import click, covered, curves, hint, mark

#: Views of runs; a sweep has a view of its own records.
ALL = [Convergence, Sparsity, *(view for view in TABS.values() if view.id != "sweep")]


def filled(view) -> list[dict]:
    """What is drawn of each run."""
    return [source.data for source in curves(view.figure) if len(source.data["x"])]


@pytest.mark.quick("convergence", "shrinking", "memory")
@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_view_is_made_from_one_trace_as_in_a_notebook(view, drawable):
    shown = view(drawable(view)[0])
    assert shown.has_content()
    assert shown.__panel__().get_root() is not None


@pytest.mark.quick("convergence", "steps", "shrinking")
@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_the_label_of_a_vertical_axis_fits_beside_its_plot(view, drawable):
    trace = drawable(view)[0]
    shown = view(trace, Cursor(run=trace, iteration=30, follow=False))
    figures = {m for root in shown.__panel__().get_root().select({"type": figure}) for m in [root]}
    assert figures or not [*shown.shown_figures()]
    for plot in figures:
        (least,) = re.findall(r"(\d+)px", plot.styles["min-height"])
        longest = max(map(len, (plot.yaxis[0].axis_label or "").split("\n")))
        # 12 px letters are 5.5 px wide on average; the horizontal axis with its label takes 56 px
        assert 5.5 * longest <= int(least) - 56, plot.yaxis[0].axis_label


@pytest.mark.parametrize("view", [*ALL, TABS["sweep"]], ids=lambda view: view.id)
def test_a_view_without_runs_says_what_to_do(view):
    shown = view()
    assert not shown.has_content()
    assert covered(shown)
    assert shown.hint.split()[0] in ("Press", "Run", "Trace", "Choose", "Past")
    assert shown.hint.endswith(".")


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_view_stands_a_trace_that_has_no_rows_yet(view):
    shown = view([Trace({"label": "young", "params": {}})])
    shown.update()
    assert not shown.has_content()


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_nobody_is_asked_to_start_a_run_while_runs_are_under_way(view):
    shown = view()
    assert "no iterate &amp; yet" not in hint(shown)
    shown.awaits = "no iterate & yet"
    for part in (shown, *shown.parts):
        assert "no iterate &amp; yet" in hint(part)
    shown.awaits = ""
    assert shown.hint in hint(shown)


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_hidden_view_says_what_has_to_come_first_when_it_is_shown(view):
    hidden = view(visible=False)
    before = [hint(part) for part in (hidden, *hidden.parts)]
    hidden.awaits = "loading"
    assert [hint(part) for part in (hidden, *hidden.parts)] == before, "nothing is sent for it"
    hidden.visible = True
    assert all("loading" in hint(part) for part in (hidden, *hidden.parts))


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_hidden_view_reads_no_trace(view, traces):
    class Unread(Trace):
        def since(self, cursor):
            raise AssertionError("a hidden view looked at a trace")

    shown = view([Unread()], Cursor(), visible=False)
    shown.update()
    shown.cursor.iteration = 3


@pytest.mark.quick("convergence", "steps", "sparsity")
@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_view_stands_a_run_that_grows_and_thins_itself_between_two_reads(view, restless):
    shown = view(restless)
    for k in (0, 20, 70, 90, 2000):
        shown.cursor.place(restless[k % 2], k)
        for _ in range(10):
            shown.update()
    shown.cursor.follow = True
    for _ in range(20):
        shown.update()
    assert shown.has_content()


def test_the_cursor_bar_stands_a_run_that_grows_and_thins_itself_between_two_reads(restless):
    session = Session(RunPool(1))
    bar = CursorBar(session, on_space=lambda: None)
    session.cursor.place(restless[0], 10)
    for _ in range(100):
        bar.update()
        bar.receive({"action": "by", "by": 1})
    assert bar.state["iteration"] > 100
    assert restless[0].cadence > 1


def test_what_the_cursor_shows_is_one_row_of_a_run_that_thins_itself(restless):
    for trace in restless:
        view = Convergence(restless, measure="objective", x="iteration")
        for k in range(0, 200, 7):
            view.cursor.place(trace, k)
            rows, _, _ = Trace.since(trace, None)
            (x,), (y,) = mark(view.figure)["x"], mark(view.figure)["y"]
            assert abs(x - k) <= 2 * trace.cadence or k > rows["iteration"][-1]
            assert y in rows["objective"]


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_run_that_is_gone_is_kept_by_no_view(view, traces, again):
    gc.freeze()  # what is older does not die here: the collector need not look at it
    run = again(traces[0])
    shown, gone = view(run, Cursor(run=run)), ref(run)
    shown.visible = False
    shown.traces = []
    shown.cursor.run = None
    del run
    gc.collect()
    gc.unfreeze()
    assert gone() is None


@pytest.mark.quick("steps", "trajectories")
@pytest.mark.parametrize("view", ALL, ids=lambda view: view.id)
def test_a_part_has_the_runs_of_its_view(view, traces):
    shown = view(traces)
    assert all(part.traces == traces for part in shown.parts)
    shown.visible = False
    shown.traces = traces[:1]
    assert all(part.traces == traces[:1] for part in shown.parts)


def test_the_gap_is_what_the_trace_says(traces):
    f_star = float(min(t.objective.min() for t in traces)) - 1.0
    for trace in traces:
        trace.tell(f_star=f_star)
    view = Convergence(traces)
    for trace, data in zip(traces, filled(view), strict=True):
        np.testing.assert_allclose(data["y"], relative_gap(trace.objective, f_star), rtol=1e-6)
        np.testing.assert_allclose(data["x"], trace.cpu_seconds, rtol=1e-6)
    assert view.figure.yaxis[0].axis_label == "(f − f*) / |f*|"
    view.x, view.measure = "iteration", "objective"
    np.testing.assert_allclose(filled(view)[0]["y"], traces[0].objective, rtol=1e-6)
    np.testing.assert_allclose(filled(view)[0]["x"], traces[0].iteration)
    for trace in traces:
        trace.tell(f_star=None)


def test_without_f_star_the_axis_says_best_so_far_and_the_leaders_best_point_is_not_drawn(traces):
    view = Convergence(traces)
    assert "best so far" in view.figure.yaxis[0].axis_label
    assert "the leader seems to plunge" in view.figure.yaxis[0].axis_label
    best = min(range(2), key=lambda k: traces[k].objective.min())
    assert np.isnan(filled(view)[best]["y"][-1])
    assert np.isfinite(filled(view)[1 - best]["y"]).all()


def test_f_star_found_later_redraws_the_curves(traces):
    trace = Trace.from_records([{"iteration": k, "objective": 3.0 - k} for k in range(2)], label="a")
    view = Convergence(trace)
    assert np.isnan(filled(view)[0]["y"][-1])
    trace.tell(f_star=1.0)
    view.update()
    np.testing.assert_allclose(filled(view)[0]["y"], [2.0, 1.0])
    assert view.figure.yaxis[0].axis_label == "(f − f*) / |f*|"


def test_an_unbounded_problem_has_no_gap_axis():
    trace = Trace.from_records([{"iteration": 0, "objective": -1e9}], label="a", status="unbounded")
    view = Convergence(trace)
    assert view.measure == "objective"
    assert not view.logarithmic


def test_the_cursor_is_shown_in_every_plot_and_moved_by_a_click(traces):
    cursor = Cursor(follow=False)
    shown = [Convergence(traces, cursor), Sparsity(traces, cursor), Record(traces, cursor)]
    cursor.place(traces[1], 25)
    for view in shown:
        assert mark(view.figure)["x"] == [pytest.approx(float(traces[1].cpu_seconds[25]), rel=1e-5)]
    click(shown[1].figure, float(traces[0].cpu_seconds[40]), float(traces[0].nnz[40]))
    assert cursor.run is traces[0]
    assert cursor.iteration == 40
    assert not cursor.follow


def test_two_plots_side_by_side_have_one_zoom_whatever_their_axes_are(traces):
    convergence = Convergence(traces)
    sparsity = Sparsity(traces, convergence.cursor, beside=convergence)
    assert sparsity.figure.x_range is convergence.figure.x_range
    convergence.scale = "linear"
    assert sparsity.figure.x_range is convergence.figure.x_range
    covered = {id(renderer) for renderer in convergence.figure.x_range.renderers}
    assert covered == {id(r) for view in (convergence, sparsity) for r in view.figure.y_range.renderers}
    for view in (convergence, sparsity):
        view.x = "iteration"
    assert sparsity.figure.x_range is convergence.figure.x_range
    assert {id(r) for r in convergence.figure.x_range.renderers} == {
        id(r) for view in (convergence, sparsity) for r in view.figure.y_range.renderers
    }
    assert Sparsity(traces).figure.x_range is not Sparsity(traces).figure.x_range


def test_the_summary_has_its_runs_in_their_order(traces):
    view = Table(traces)
    assert [label for label, *_ in view.table.rows] == [trace.info.label for trace in traces]


def test_runs_taken_away_leave_empty_curves_that_the_next_runs_fill(traces):
    view = Convergence(traces)
    renderers = list(view.figure.renderers)
    view.show(traces[:1])
    assert len(filled(view)) == 1
    assert [len(source.data["x"]) > 0 for source in curves(view.figure)] == [True, False]
    view.show([])
    assert filled(view) == []
    view.show(traces)
    assert view.figure.renderers == renderers
    np.testing.assert_allclose(filled(view)[0]["x"], traces[0].cpu_seconds, rtol=1e-6)


def test_another_run_in_the_same_colour_replaces_the_curve(traces):
    again = Trace.from_records([{"iteration": k, "objective": 3.0 - k} for k in range(2)], style=0, label="a")
    view = Convergence(traces[0], x="iteration")
    view.show([again])
    np.testing.assert_allclose(filled(view)[0]["x"], [0, 1])


def test_two_runs_of_one_style_are_both_drawn(traces):
    assert len(filled(Convergence([traces[0], traces[0]]))) == 2


def test_a_run_keeps_its_colour_when_others_are_hidden(traces):
    both, alone = Convergence(traces), Convergence(traces[1:])
    color = lambda view: view.figure.y_range.renderers[-1].glyph.line_color  # noqa: E731
    assert color(both) == color(alone)


def test_the_record_draws_any_field(traces):
    view = Record(traces[0])
    for field in ("step", "ls_trials", "memory_pairs", "violation"):
        view.field = field
        assert view.figure.yaxis[0].axis_label == view.y_label
    known = np.isfinite(traces[0].violation)
    np.testing.assert_allclose(filled(view)[0]["y"], traces[0].violation[known], rtol=1e-6)


def test_a_field_that_is_seldom_known_is_drawn_as_dots_where_it_is():
    records = [{"iteration": k, "violation": 1.0 / (k + 1) if k % 20 == 0 else np.nan} for k in range(90)]
    trace = Trace.from_records(records[:50], label="a")
    view = Record(trace, x="iteration")
    assert list(filled(view)[0]["x"]) == [0, 20, 40]
    for record in records[50:]:
        trace.append(record)
        view.update()
    (data,) = filled(view)
    assert list(data["x"]) == [0, 20, 40, 60, 80]
    assert set(data["dot"]) == {1.0}
    assert np.isfinite(data["y"]).all()


def test_steps_shows_two_fields_against_the_same_axis(traces):
    view = Steps(traces)
    view.x = "passes"
    assert [part.field for part in view.parts] == ["step", "ls_trials"]
    assert all(part.x == "passes" for part in view.parts)


def test_the_line_search_shows_the_recorded_trials(traces):
    cursor = Cursor(run=traces[0], follow=False)
    view = LineSearch(traces, cursor)
    k = int(traces[0].iteration[np.argmax(traces[0].ls_trials)])
    cursor.place(traces[0], k)
    data, rule = (view.figures.sources[name].data for name in ("trials", "rule"))
    assert len(data["t"]) == traces[0].ls_trials[k]
    assert data["t"][-1] == traces[0].step[k]
    assert traces[0].objective[k - 1] + data["phi"][-1] == pytest.approx(traces[0].objective[k], rel=1e-12)
    assert data["alpha"][-1] == 1.0
    assert rule["phi"][-1] < 0


def test_accuracy_is_drawn_where_it_was_measured_after_the_start(traces):
    view = Accuracy(traces[0])
    (start, _, _), *measured = traces[0].test_metric
    assert start == 0
    np.testing.assert_allclose(filled(view)[0]["y"], [value for _, _, value in measured])
    np.testing.assert_allclose(
        filled(view)[0]["x"], [traces[0].cpu_seconds[at] for at, _, _ in measured], rtol=1e-6
    )


def measured(*values: float, loss: str = "logistic") -> Trace:
    records = [{"iteration": k, "cpu_seconds": float(k)} for k in range(4)]
    trace = Trace.from_records(records, label="a", style=0, problem={"loss": loss})
    trace.test_metric = [(k, float(k), value) for k, value in enumerate(values)]
    return trace


def test_a_new_run_measured_as_often_takes_the_place_of_the_old_curve_on_a_hidden_tab():
    view = Accuracy(measured(0.1, 0.2, 0.3))
    view.visible = False
    view.traces = [measured(0.1, 0.8, 0.9)]
    view.visible = True
    np.testing.assert_allclose(filled(view)[0]["y"], [0.8, 0.9])


def test_what_is_measured_before_its_iterate_is_recorded_waits_for_it():
    trace = measured(0.1, 0.2, 0.3, 0.4)
    trace.test_metric.append((4, 4.0, 0.5))
    view = Accuracy(trace)
    np.testing.assert_allclose(filled(view)[0]["x"], [1, 2, 3])
    trace.append({"iteration": 4, "cpu_seconds": 9.0})
    view.update()
    np.testing.assert_allclose(filled(view)[0]["x"], [1, 2, 3, 9])


def test_the_axis_says_what_is_measured():
    view = Accuracy()
    assert view.figure.yaxis[0].axis_label == "metric\non the test part"
    view.show([measured(0.5, loss="multiclass-squared-hinge")])
    assert view.figure.yaxis[0].axis_label == "accuracy\non the test part"
    view.show([measured(0.5, loss="multilabel-squared-hinge")])
    assert view.figure.yaxis[0].axis_label == "pairs ranked right\non the test part"


def test_the_summary_has_a_line_a_run_and_seconds_to_gaps():
    records = [{"iteration": k, "objective": 1 + 0.5 * 10.0**-k, "cpu_seconds": 0.5 * k} for k in range(6)]
    trace = Trace.from_records(records, label="a<b", f_star=1.0)
    assert seconds_to(trace, 1e-2) == 1.0
    assert seconds_to(trace, 1e-9) is None
    trace.finish("max-seconds")
    table = Table(trace).table
    ((label, status, *_),) = table.rows
    assert (label, status) == ("a<b", "out of time")
    assert table.heads[-3:] == ["CPU to a gap of 0.01", "CPU to a gap of 1e−4", "CPU to a gap of 1e−6"]


def test_a_field_is_drawn_in_a_menu_and_in_a_table_by_the_name_that_the_record_declares(traces):
    view = Record(traces, Cursor(run=traces[0]))
    numeric = {name for name, field in FIELDS.items() if field.numeric}
    assert set(view.param.field.objects) == set(view.param.x.objects) == numeric
    for name in view.param.field.objects:
        view.field = view.x = name
        assert view.figure.yaxis[0].axis_label == view.figure.xaxis[0].axis_label == FIELDS[name].axis
    assert X_AXES["wall_seconds"] == ("Wall seconds", "wall time of the run (s)")
    heads = Table(traces).table.heads
    for name in ("objective", "violation", "nnz", "iteration", "passes", "cpu_seconds"):
        assert FIELDS[name].title in heads


def test_views_are_a_registry_by_id():
    assert all(view.id == id for id, view in TABS.items())
    assert len({view.title for view in TABS.values()}) == len(TABS)
    assert all(any(named is view for named in vars(views).values()) for view in TABS.values())


def test_a_branch_has_no_seconds_to_a_gap_that_its_old_run_was_within_already():
    records = [
        {"iteration": n, "objective": f, "cpu_seconds": float(n)} for n, f in ((5, 1.005), (6, 1.00005))
    ]
    branch = Trace.from_records(records, label="a from 5", f_star=1.0, **{"from": {"label": "a"}})
    assert seconds_to(branch, 1e-2) is None
    assert seconds_to(branch, 1e-4) == 6.0


def test_seconds_to_a_gap_count_from_the_last_change_of_lambda():
    records = [
        {"iteration": k, "objective": f, "cpu_seconds": float(k)} for k, f in enumerate((4, 2, 3, 1.001))
    ]
    trace = Trace.from_records(records, label="a", f_star=2.0, problem={"lam": 1.0, "key": "a"})
    assert seconds_to(trace, 1e-2) == 1.0
    change = {"iteration": 2, "lam": 0.5, "key": "b", "f_star": 1.0, "cpu_seconds": 1.5, "wall_seconds": 0.0}
    trace.tell(lams=(change,))
    assert seconds_to(trace, 1e-2) == 1.5
    assert seconds_to(trace, 1e-4) is None
    trace.tell(lams=(change | {"f_star": None},))
    assert seconds_to(trace, 1e-2) is None


def test_the_distance_to_an_f_star_that_is_not_known_stands_a_run_that_grows_between_two_reads(restless):
    for trace in restless:
        trace.tell(f_star=None)
    shown = Convergence(restless)
    shown.update()
    assert len(filled(shown)[0]["y"]) > 1


@pytest.fixture(scope="module")
def unobserved():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    return {id: solvers.solve(problem, solvers.make_solver(id), max_iter=4) for id in ("prox-qn", "prox-gd")}


@pytest.mark.parametrize(
    ("id", "names"),
    [
        ("line-search", ["LINE", "SUPPORT", "WIDE"]),
        ("trajectories", ["TRAJECTORIES"]),
        ("shrinking", ["ACTIVE", "SHRINKING"]),
        ("rows", ["ROWS"]),
        ("model", ["LEARNED"]),
    ],
)
def test_a_view_of_a_finished_run_says_which_probes_it_lacks(unobserved, id, names):
    """Not that a solver with a line search is to be run: it was."""
    shown = TABS[id](unobserved["prox-qn"])
    assert covered(shown)
    said = f"probes=[{', '.join(f'solvers.{name}' for name in names)}]"
    assert said in hint(shown)
    probes = [getattr(solvers, name) for name in names]
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    assert TABS[id](
        solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=4, probes=probes)
    ).has_content()


def test_what_a_probe_would_add_to_a_view_is_said_in_its_place(unobserved):
    shown = TABS["memory"](unobserved["prox-qn"])
    assert shown.has_content()
    said = [pane.object for pane in shown.__panel__().select(ui.CursorText) if pane.object]
    assert any("probes=[solvers.MEMORY]" in text for text in said)


def test_a_solver_that_gives_a_probe_nothing_is_told_from_a_run_without_it(unobserved):
    for id in ("shrinking", "memory", "bundle"):
        assert TABS[id].hint in hint(TABS[id](unobserved["prox-gd"]))
