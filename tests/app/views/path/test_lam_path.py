"""The λ path view: how runs become paths, what is drawn of them, and when."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import panel as pn
import pytest
from bokeh.core.property.wrappers import PropertyValueColumnData
from bokeh.core.serialization import Serializer
from bokeh.document import Document
from bokeh.io.doc import patch_curdoc
from bokeh.models import SaveTool

from solverscope import datasets, solvers
from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import Menu
from solverscope.app.views import Path
from solverscope.app.views.path import path_elements
from solverscope.app.views.path.lam_path import ALL_PLOTS, grouped, table
from solverscope.app.views.path.path_elements import NAME_ROOM, NAMED, TRACED
from solverscope.app.views.path.path_plots import PATH_PLOTS, metrics
from solverscope.app.views.path.solutions import BriefSolution, RowSizes, keep_largest
from solverscope.app.views.sweep.sweep_figures import Chosen
from solverscope.solvers import Names, Trace


def solution(lam, nnz, *, label="a", loss="multiclass-logistic", outputs=2, w=None, **result):
    """A finished run as a path has them."""
    about = {
        "loss": loss,
        "penalty": "l1-l2",
        "lam": lam,
        "n_features": 4,
        "n_outputs": outputs,
        "n_params": 8,
    }
    trace = Trace({"label": label, "problem": about})
    trace.w = w
    trace.result = {
        **{"objective": 1.0 + lam, "gap": 1e-5, "nnz": nnz, "nnz_rows": nnz // 2, "metric_name": "accuracy"},
        **{"train_metric": 0.9, "test_metric": 0.8 - lam, "test_micro_f1": None, "cpu_seconds": 0.1},
        **{"members_start": 8, "members_half": 7, "members_end": max(nnz, 1)},
        **result,
    }
    trace.finish("converged")
    return trace


def weights(*rows):
    return np.array(rows, dtype=float).reshape(-1)


@pytest.fixture
def path():
    return [
        solution(0.1, 0, w=weights([0, 0], [0, 0], [0, 0], [0, 0])),
        solution(0.03, 4, w=weights([0, 0], [3, 4], [0, 0], [1, 0])),
        solution(0.01, 6, w=weights([0, 0], [6, 8], [0, -2], [1, 0])),
    ]


def figures(*paths):
    """All plots but that of the choice, with the weights of the first path."""
    metric = next(iter(metrics(paths).values()))
    found = {name: plot(name, paths, paths[0], "members_half", metric) for name, plot in PATH_PLOTS.items()}
    found["path-weights"] = path_elements.drawn("path-weights", paths, paths[0], ()).state
    return [found[name] for name in ALL_PLOTS if name in found]


def curves(figure, glyph):
    """The data of the renderers with this glyph."""
    return [r.data_source.data for r in figure.renderers if type(r.glyph).__name__ == glyph]


def test_runs_of_one_label_and_objective_make_a_path(path):
    other = [solution(0.1, 2, label="b"), solution(0.1, 2, loss="multiclass-squared-hinge")]
    paths = grouped([*path, *other])
    assert [len(p.traces) for p in paths] == [3, 1, 1]
    assert [p.label for p in paths] == ["a, multiclass-logistic", "b", "a, multiclass-squared-hinge"]
    assert [p.color for p in paths] == list(ui.COLORS[:3])
    (alone,) = grouped(path)
    assert alone.label == "a"


def test_a_path_has_the_style_of_its_run(path):
    for trace in path:
        run_styles.set_style(trace, 3)
    assert grouped(path)[0].color == ui.COLORS[3]


def test_rows_are_drawn_by_their_norms_largest_first(path):
    path[0].names = Names(features=["w", "x", "y", "z"])
    (found,) = grouped(path)
    names, lams, sizes = found.rows(10)
    assert names == ["x", "y", "z"]
    np.testing.assert_allclose(lams, [0.1, 0.03, 0.01])
    np.testing.assert_allclose(sizes, [[0, 0, 0], [5, 0, 1], [10, 2, 1]])
    assert found.rows(1)[0] == ["x"]
    np.testing.assert_allclose(found.row_share(), [0, 50, 75])


def test_single_weights_keep_their_sign():
    (found,) = grouped([solution(0.1, 1, outputs=1, w=weights(0, -2, 0, 1))])
    assert found.signed
    np.testing.assert_allclose(found.rows(10)[2], [[-2, 1]])


def test_the_intercept_is_no_curve():
    trace = solution(0.1, 1, outputs=1, w=weights(0, -2, 0, 99))
    trace.info.problem["intercept"] = True
    (found,) = grouped([trace])
    assert found.rows(10)[0] == ["feature 2"]


def test_rows_that_are_kept_are_drawn_as_those_of_the_weights(path):
    briefs = [BriefSolution(trace) for trace in path]
    for brief, trace in zip(briefs, path, strict=True):
        brief.rows = RowSizes.of(trace)
    assert [brief.rows.features.tolist() for brief in briefs] == [[], [1, 3], [1, 2, 3]]
    (kept,), (whole,) = grouped(briefs), grouped(path)
    for one, other in zip(kept.rows(10), whole.rows(10), strict=True):
        np.testing.assert_array_equal(one, other)
    keep_largest(briefs, 2)
    assert [brief.rows.features.tolist() for brief in briefs] == [[], [1], [1, 2]]
    assert kept.rows(10)[0] == ["feature 2", "feature 3"]


def test_the_largest_have_names_next_to_their_ends():
    ends = [10.0, -10.0, 7.0, 6.8, *np.linspace(0.1, 0.2, 30)]
    trace = solution(0.1, len(ends), outputs=1, w=np.array(ends))
    trace.info.problem["n_features"] = len(ends)
    trace.names = Names(features=["a name that is long", "b", "c", "d"])
    (found,) = grouped([trace])
    fig = figures(found)[1]
    axis, (leads,), (lines,) = fig.right[0], curves(fig, "Segment"), curves(fig, "MultiLine")
    names = [axis.major_label_overrides[place] for place in axis.ticker.ticks]
    assert len(names) == NAMED < len(lines["feature"])
    assert (names[0], names[-3:]) == ("b", ["d", "c", "a name that is …"])
    order = np.argsort(leads["y1"])
    ends, places = leads["y0"][order], leads["y1"][order]
    assert ends[[0, -3, -2, -1]].tolist() == [-10.0, 6.8, 7.0, 10.0]
    assert places.tolist() == axis.ticker.ticks
    assert np.diff(places).min() >= 0.99 * NAME_ROOM * 20.0, "names do not overlap"
    assert (places.min(), places.max()) == pytest.approx((-10.0, 10.0))
    assert (np.array(lines["alpha"]) > 0.5).sum() == NAMED
    drawn = hv.render(Path([trace]).to_holoviews()[1], backend="bokeh")
    assert drawn.right[0].major_label_overrides == axis.major_label_overrides


def test_non_zeros_are_called_degrees_of_freedom_where_the_penalty_is_l1(path):
    (found,) = grouped(path)
    assert figures(found)[2].yaxis[0].axis_label == "non-zero weights"
    for trace in path:
        trace.info.problem["penalty"] = "l1"
    assert figures(found)[2].yaxis[0].axis_label == "non-zero weights\ndegrees of freedom"


def test_transitions_of_a_chain_are_no_rows_of_features():
    (found,) = grouped([solution(0.1, 1, outputs=1, w=weights(0, 1, 0, 0, 99))])
    np.testing.assert_allclose(found.rows(10)[2], [[1]])


def test_solutions_whose_weights_were_not_kept_are_left_out_of_their_plot_alone(path):
    path[1].w = None
    (found,) = grouped(path)
    assert len(found.rows(10)[1]) == 2
    path[0].w = path[2].w = None
    assert found.rows(10)[0] == []
    assert len(figures(found)) == 5


def test_the_plots_show_what_the_results_say(path):
    (found,) = grouped(path)
    accuracy, rows, nnz, seconds, members = figures(found)
    (line,) = curves(accuracy, "Line")
    np.testing.assert_allclose(line["x"], [np.nan, 50, 75])  # where all is zero the metric says nothing
    np.testing.assert_allclose(line["y"], [np.nan, 0.77, 0.79])
    assert accuracy.yaxis[0].axis_label == "accuracy\non the test part"
    (lines,) = curves(rows, "MultiLine")
    np.testing.assert_allclose(lines["ys"][0], [0, 5, 10])
    (line,) = curves(nnz, "Line")
    np.testing.assert_allclose(line["y"], [0, 4, 6])
    (dots,) = curves(seconds, "Scatter")
    np.testing.assert_allclose(dots["gap"], 1e-5)
    sizes, non_zeros = curves(members, "Line")
    np.testing.assert_allclose(sizes["y"], 7)
    np.testing.assert_allclose(non_zeros["y"], [np.nan, 4, 6])
    for one in (rows, nnz, seconds, members):
        assert one.x_range.start > one.x_range.end, "λ falls to the right"
    tools = [tool for one in (accuracy, rows, nnz, seconds, members) for tool in one.toolbar.tools]
    saved = [tool.filename for tool in tools if isinstance(tool, SaveTool)]
    assert saved == [name for name in ALL_PLOTS if name != "path-choice"]


def test_another_measure_of_predictions_can_be_drawn(path):
    def measure(view):
        (menu,) = (menu for menu in pn.panel(view).select(Menu) if menu.label == "Measure")
        return menu

    assert not measure(Path(path)).visible, "there is but one"
    for trace, error in zip(path, (3.0, 2.0, 1.0), strict=True):
        trace.result |= {"metric_name": "R²", "test_mse": error}
    view = Path(path)
    menu = measure(view)
    assert menu.options == {"R²": "test_metric", "MSE": "test_mse"}
    menu.value = "test_mse"
    drawn = view.panes["path-accuracy"].object
    np.testing.assert_allclose(curves(drawn, "Line")[0]["y"], [np.nan, 2.0, 1.0])
    assert drawn.yaxis[0].axis_label == "MSE\non the test part"


def test_without_a_test_part_the_training_part_is_drawn(path):
    for trace in path:
        trace.result["test_metric"] = None
    (found,) = grouped(path)
    accuracy = figures(found)[0]
    np.testing.assert_allclose(curves(accuracy, "Line")[0]["y"], [np.nan, 0.9, 0.9])
    assert accuracy.yaxis[0].axis_label == "accuracy\non the train part"


def test_one_solution_has_axes_that_can_be_drawn(path):
    (found,) = grouped(path[:1])
    found.traces[0].result["cpu_seconds"] = 0.0
    for one in figures(found)[1:]:
        assert 0.0 < one.x_range.end < 0.1 < one.x_range.start
    assert 0.0 < one.y_range.start < one.y_range.end


def test_every_plot_has_one_tool_of_a_kind_and_tooltips_with_few_digits(path):
    (found,) = grouped(path)
    for one in figures(found):
        kinds = [type(tool).__name__ for tool in one.toolbar.tools]
        assert sorted(kinds) == ["BoxZoomTool", "HoverTool", "PanTool", "ResetTool", "SaveTool"]
        (hover,) = (tool for tool in one.toolbar.tools if type(tool).__name__ == "HoverTool")
        for _, field in hover.tooltips:
            name, number, _ = field.partition("{%.4g}")
            assert hover.formatters.get(name) == ("printf" if number else None)


def test_what_the_page_sends_while_a_path_is_drawn_arrives_as_it_is(path, monkeypatch):
    (found,) = grouped(path)
    shown = figures(found)[2]
    fill, sent = PropertyValueColumnData.update, []

    def fill_and_send(data, *args, **more):  # the page's thread may send at any moment of a drawing
        sent.append(Serializer(deferred=False).encode(shown))
        fill(data, *args, **more)

    as_it_is = Serializer(deferred=False).encode(shown)
    monkeypatch.setattr(PropertyValueColumnData, "update", fill_and_send)
    figures(found)
    assert sent
    assert all(one == as_it_is for one in sent)


def test_of_many_features_the_largest_are_drawn():
    w = np.arange(2.0 * (TRACED + 20))
    trace = solution(0.1, 9, w=w)
    trace.info.problem["n_features"] = TRACED + 20
    (found,) = grouped([trace, trace])
    assert len(curves(figures(found)[1], "MultiLine")[0]["ys"]) == TRACED


def test_the_table_has_a_row_a_solution_and_the_gap_beside_the_time(path):
    heads, rows = table(grouped(path))
    assert len(rows) == 3
    assert {"gap at most", "test accuracy"} <= {*heads}
    assert all({"1e−5", "0.10 s"} <= {*row} for row in rows)
    assert "micro-F1" not in heads


def test_plots_are_made_once_for_the_same_runs_and_off_the_page_if_told_to(path):
    asked = []
    view = Path(path[:2], later=lambda work, then: asked.append((work, then)))
    view.update()
    shown = [pane for pane in view.panes.values() if pane.visible]
    assert len(asked) == len(shown) == len(ALL_PLOTS) - 1
    view.show(path)
    assert len(asked) == len(shown), "a second drawing waits for the first"
    for work, then in list(asked):
        then(work(lambda: None))
    assert all(pane.object is not None for pane in shown)
    assert len(asked) == 2 * len(shown), "what came in meanwhile is drawn next"
    for _, then in asked[len(shown) :]:
        then(None)
    view.update()
    assert len(asked) == 2 * len(shown), "what failed is not tried again"


def test_a_hidden_view_makes_no_plots(path):
    asked = []
    view = Path(path, later=lambda work, then: asked.append(work), visible=False)
    view.update()
    assert not asked
    assert view.table.rows == []
    view.visible = True
    assert len(asked) == len(ALL_PLOTS) - 1


def test_holoviews_draws_the_choice_of_lam_and_the_view_hands_out_its_elements(path):
    view = Path(path)
    assert not view.panes["path-choice"].visible
    over = ((0.1, 0.7, 0.05), (0.03, 0.85, 0.04), (0.01, 0.88, 0.04))
    view.choices = [Chosen("d", "a", "", 0.01, 0.88, over, lam_1se=0.03, metric_1se=0.85, metric_name="R²")]
    view.update()
    plot = view.panes["path-choice"].object
    dots, marks = curves(plot.state, "Scatter")
    np.testing.assert_allclose(dots["mean"], [0.7, 0.85, 0.88])
    assert [*zip(marks["lam"], marks["marker"], strict=True)] == [(0.01, "circle"), (0.03, "square")]
    (bars,) = curves(plot.state, "Segment")
    np.testing.assert_allclose(bars["y1"] - bars["y0"], [0.1, 0.08, 0.08])
    assert plot.state.yaxis[0].axis_label == "R²\nheld out"
    handed = view.to_holoviews()
    assert len(handed) == len(ALL_PLOTS) + 1, "all plots, and the table"
    assert plot.hmap.last in [*handed], "no picture of it, but the element itself"


def test_the_weights_of_each_path_can_be_looked_at(path):
    view = Path([*path, solution(0.1, 2, label="b", w=weights([1, 0], [0, 0], [0, 0], [0, 0]))])
    (which,) = (menu for menu in pn.panel(view).select(Menu) if menu.label == "Weights of")
    assert which.visible
    assert which.options == ["a", "b"]
    which.value = "b"
    assert view.panes["path-weights"].object.state.yaxis[0].axis_label.endswith("b")


def test_working_sets_are_drawn_where_a_rule_keeps_some_at_the_moment_of_the_menu(path):
    view = Path(path)
    (when,) = (menu for menu in pn.panel(view).select(Menu) if menu.label == "Working set")
    assert when.visible
    sizes = {}
    for words, field in when.options.items():
        when.value = field
        drawn = view.panes["path-members"].object
        assert drawn.yaxis[0].axis_label.endswith(words)
        sizes[field] = list(curves(drawn, "Line")[0]["y"])
    assert sizes == {"members_start": [8, 8, 8], "members_half": [7, 7, 7], "members_end": [1, 4, 6]}
    for trace in path:
        trace.result |= dict.fromkeys(sizes, 8)
    view = Path(path)
    assert view.panes["path-members"].object is None
    assert not view.panes["path-members"].visible


def test_a_path_just_traced_is_drawn_as_in_a_notebook():
    problem = solvers.make_problem(datasets.load("digits"), loss="multiclass-squared-hinge", penalty="l1-l2")
    traces = list(solvers.solve_path(problem, solvers.make_solver("fista-ls"), max_iter=20))
    view = Path(traces)
    assert view.has_content()
    assert len(curves(view.panes["path-nnz"].object, "Line")[0]["y"]) == 10
    assert "pixel (3, 4)" in curves(view.panes["path-weights"].object.state, "MultiLine")[0]["feature"]


def test_plots_do_not_touch_the_document_of_another_visitor(path):
    gone, other = Document(), Document()
    visitor = list[object]().append
    gone.on_change(visitor)
    gone.destroy(visitor)  # who has left
    theme = other.theme
    (found,) = grouped(path)
    for document in (gone, other):
        with patch_curdoc(document):
            assert all(curves(plot, "Scatter") or curves(plot, "MultiLine") for plot in figures(found))
    assert other.theme is theme
