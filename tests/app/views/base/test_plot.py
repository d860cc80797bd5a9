"""Another axis is another label, scale and columns of the figure and curves that are there."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.models import BasicTicker, CustomJSTicker, LinearScale, LogScale

from solverscope.app.benchopt.curves import BenchoptCurves
from solverscope.app.views import Accuracy, Convergence, Memory, Rate, Record, RowSparsity, Sparsity, Steps
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.base.plot import AXES, X_AXES, RunPlot, share_axis
from solverscope.app.views.bundle.cutting_planes import BundleBounds
from solverscope.app.views.compare.rule_race import Mistakes
from solverscope.app.views.playground.playground import Heights
from tests.app.helpers import click, curves, drawn, mark, pointer

PLOTS = [Convergence, Sparsity, Record, Rate, Accuracy]
OF_SEVERAL = [Steps, Memory, RowSparsity]


def plots(view) -> list[RunPlot]:
    return [view] if isinstance(view, RunPlot) else [p for p in view.parts if isinstance(p, RunPlot)]


def sources(plot: RunPlot) -> list[dict]:
    return [source.data for source in curves(plot.figure)]


def state(view) -> list[tuple[str, list]]:
    """Labels and horizontal columns of what a view draws."""
    return [(p.figure.xaxis[0].axis_label, [data["x"] for data in sources(p)]) for p in plots(view)]


def same(after: list[tuple[str, list]], before: list[tuple[str, list]]) -> list[bool]:
    """Of which plots neither label nor columns were made anew."""
    pairs = zip(after, before, strict=True)
    return [a[0] == b[0] and all(x is y for x, y in zip(a[1], b[1], strict=True)) for a, b in pairs]


@pytest.mark.parametrize("view", PLOTS + OF_SEVERAL, ids=lambda view: view.id)
def test_another_axis_keeps_the_figure_and_its_curves(view, traces):
    shown = view(traces)
    before = [(plot.figure, list(plot.figure.renderers), plot.figure.x_range) for plot in plots(shown)]
    for x in X_AXES:
        shown.x = x
        for plot in plots(shown):
            plot.scale = "linear" if plot.scale == "log" else "log"
            assert plot.figure.xaxis[0].axis_label == X_AXES[x][1]
            assert isinstance(plot.figure.y_scale, LogScale if plot.scale == "log" else LinearScale)
            ticker = CustomJSTicker if plot.scale == "log" else BasicTicker
            assert isinstance(plot.figure.yaxis[0].ticker, ticker)
            assert plot.figure.ygrid[0].ticker is plot.figure.yaxis[0].ticker
    after = [(plot.figure, list(plot.figure.renderers), plot.figure.x_range) for plot in plots(shown)]
    assert after == before


@pytest.mark.parametrize("plot", [BundleBounds, Mistakes, Heights, BenchoptCurves], ids=lambda plot: plot.id)
def test_a_plot_that_begins_with_axes_of_its_own_takes_others(plot):
    shown = plot()
    for scale, kind in (("log", LogScale), ("linear", LinearScale), ("log", LogScale)):
        shown.scale = scale
        assert isinstance(shown.figure.y_scale, kind)
    for x in ("iteration", "wall_seconds"):
        shown.x = x
        assert shown.figure.xaxis[0].axis_label == X_AXES[x][1]


@pytest.mark.parametrize("view", PLOTS + OF_SEVERAL, ids=lambda view: view.id)
def test_a_view_and_its_parts_take_the_horizontal_axis_of_a_plot_and_its_scale(view, traces):
    shown = view(traces)
    share_axis(Convergence(x="passes", x_scale="log"), shown)
    assert {plot.figure.xaxis[0].axis_label for plot in plots(shown)} == {X_AXES["passes"][1]}
    assert all(isinstance(plot.figure.x_scale, LogScale) for plot in plots(shown))
    share_axis(Convergence(x="nnz", x_scale="linear"), shown)
    may = "nnz" in shown.param.x.objects
    assert {plot.figure.xaxis[0].axis_label for plot in plots(shown)} == {AXES["nnz" if may else "passes"][1]}
    assert all(isinstance(plot.figure.x_scale, LinearScale) for plot in plots(shown))


def test_curves_marks_and_cursor_follow_the_axis(traces):
    view = Sparsity(traces, Cursor(run=traces[0], iteration=20, follow=False))
    view.x = "iteration"
    assert mark(view.figure)["x"] == [20.0]
    np.testing.assert_allclose(sources(view)[0]["x"], traces[0].iteration)
    assert len(drawn(view.figure, "x0").data["x0"])
    assert set(drawn(view.figure, "x0").data["x0"]) <= set(traces[0].iteration)
    view.scale = "linear"
    assert np.isfinite(sources(view)[0]["working_set"]).all()


@pytest.mark.parametrize("view", PLOTS + OF_SEVERAL, ids=lambda view: view.id)
def test_a_hidden_plot_changes_when_it_is_shown(view, traces):
    shown = view(traces)
    shown.visible = False
    before = state(shown)
    shown.x = "passes"
    assert same(state(shown), before) == [True] * len(before)
    shown.visible = True
    assert {plot.figure.xaxis[0].axis_label for plot in plots(shown)} == {X_AXES["passes"][1]}
    assert same(state(shown), before) == [False] * len(before)


def test_without_runs_there_is_no_cursor_left_on_another_axis(traces):
    view = Convergence(traces, Cursor(run=traces[0], iteration=20, follow=False), x="iteration")
    assert mark(view.figure)["x"] == [20.0]
    view.show([])
    view.x = "cpu_seconds"
    assert mark(view.figure)["x"] == []


def test_a_plot_beside_another_has_its_axis_whoever_changes_it(traces):
    left = Convergence(traces)
    right = Sparsity(traces, left.cursor, beside=left)
    right.x = "passes"
    assert left.x == "passes"
    left.x = "iteration"
    assert right.x == "iteration"
    assert right.figure.x_range is left.figure.x_range


def test_the_pointer_is_told_what_the_axes_show(traces):
    view = Convergence(traces)
    assert pointer(view.figure)["said"] == [["CPU seconds", "x"], ["(f − best so far) / |best so far|", "y"]]
    view.x, view.measure = "iteration", "objective"
    assert pointer(view.figure)["said"] == [["f", "y"]], "the iteration is said anyway"
    np.testing.assert_array_equal(sources(view)[0]["iteration"], traces[0].iteration)


@pytest.mark.parametrize("x", AXES)
def test_any_field_of_the_record_can_be_drawn_against_any_other(traces, x):
    view = Record(traces, field="objective", x=x)
    for data, trace in zip(sources(view), traces, strict=True):
        values = trace.column(x).astype(float)
        known = values >= 0 if trace.column(x).dtype.kind == "i" else np.isfinite(values)
        np.testing.assert_allclose(data["x"], values[known].astype(np.float32), rtol=1e-6)
        np.testing.assert_array_equal(data["iteration"], trace.iteration[known])
    assert view.figure.xaxis[0].axis_label == AXES[x][1]


def test_a_logarithmic_horizontal_axis_has_its_scale_and_ticks_and_leaves_out_what_is_not_above_zero(traces):
    view = Convergence(traces, x="iteration", x_scale="log")
    assert isinstance(view.figure.x_scale, LogScale)
    assert isinstance(view.figure.xaxis[0].ticker, CustomJSTicker)
    assert view.figure.xgrid[0].ticker is view.figure.xaxis[0].ticker
    x = sources(view)[0]["x"]
    assert np.isnan(x[0])
    np.testing.assert_array_equal(x[1:], traces[0].iteration[1:])
    view.x_scale = "linear"
    assert isinstance(view.figure.x_scale, LinearScale)
    assert sources(view)[0]["x"][0] == 0


def test_both_scales_are_chosen_in_one_menu(traces):
    view = Convergence(traces)
    scales = view.scale_menu()
    seen = []
    for name in scales.options:
        scales.value = name
        seen.append((view.scale, view.x_scale))
    assert seen == [("log", "linear"), ("linear", "linear"), ("linear", "log"), ("log", "log")]
    view.scale = "linear"
    assert scales.value == "log x"


def test_a_plot_beside_another_has_the_scale_of_its_horizontal_axis(traces):
    left = Convergence(traces)
    right = Sparsity(traces, left.cursor, beside=left)
    left.x_scale = "log"
    assert isinstance(right.figure.x_scale, LogScale)
    right.x_scale = "linear"
    assert isinstance(left.figure.x_scale, LinearScale)


def test_a_click_on_logarithmic_axes_finds_the_nearest_iterate_as_it_is_seen(traces):
    cursor = Cursor()
    view = Convergence(traces[:1], cursor, x="iteration", x_scale="log", measure="objective")
    click(view.figure, 2.4, float(traces[0].objective[2]))
    assert cursor.iteration == 2
    click(view.figure, 2.46, float(traces[0].objective[2]))
    assert cursor.iteration == 3, "log 2.46 is nearer to log 3"


def test_epochs_are_shaded_only_along_an_axis_that_grows(traces):
    view = Sparsity(traces, Cursor(run=traces[0], iteration=20, follow=False), x="iteration")
    assert len(drawn(view.figure, "x0").data["x0"])
    view.x = "objective"
    assert len(drawn(view.figure, "x0").data["x0"]) == 0


@pytest.mark.parametrize(("x", "y"), [(float("nan"), 1.0), (None, None), (1.0, float("nan"))])
def test_a_click_without_a_place_on_the_axes_moves_nothing(traces, x, y):
    """As on a logarithmic axis that has no range yet."""
    cursor = Cursor()
    plot = Convergence(traces, cursor)
    click(plot.figure, x, y)
    assert not cursor.chosen
