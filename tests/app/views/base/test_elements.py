"""HoloViews draws of a view what its Bokeh figures and its tables show, or the view says why not."""

from __future__ import annotations

import bokeh.models as bm
import holoviews as hv
import numpy as np
import pytest
from bokeh.plotting import figure

from solverscope.app import views
from solverscope.app.views.base.elements import NotDrawn, overlay

#: A sweep has outcomes, not runs: see its own test.
DRAWN = [view for view in (*views.ABOVE_TABS, *views.TABS.values()) if view is not views.Sweep]


def curves_of(drawn):
    """x and y of each curve, as HoloViews has them."""
    return [
        (element.dimension_values(0), element.dimension_values(1))
        for element in drawn.traverse(lambda found: found, [hv.Curve])
    ]


@pytest.mark.parametrize("view", [views.Convergence, views.Sparsity, views.Rate], ids=lambda view: view.id)
def test_curves_are_those_of_the_figure(view, drawable):
    shown = view(drawable(view))
    drawn = shown.to_holoviews()
    lines = [r for r in shown.figure.renderers if type(r.glyph) is bm.Line and len(r.data_source.data["x"])]
    found = curves_of(drawn)
    assert len(lines) == len(found) > 1
    for line, (x, y) in zip(lines, found, strict=True):
        np.testing.assert_array_equal(x, line.data_source.data[line.glyph.x])
        np.testing.assert_array_equal(y, line.data_source.data[line.glyph.y])


def test_looks_and_axes_are_those_of_the_figure(drawable):
    shown = views.Convergence(drawable(views.Convergence))
    rendered = hv.render(shown.to_holoviews(), backend="bokeh")
    mine, theirs = (
        {(r.glyph.line_color, str(r.glyph.line_dash)) for r in fig.renderers if type(r.glyph) is bm.Line}
        for fig in (shown.figure, rendered)
    )
    assert mine == theirs
    assert isinstance(rendered.y_scale, bm.LogScale)
    assert rendered.xaxis[0].axis_label == shown.figure.xaxis[0].axis_label
    y = np.concatenate([y for _, y in curves_of(shown.to_holoviews())])
    assert rendered.y_range.start < np.nanmin(y) < np.nanmax(y) < rendered.y_range.end


def test_curves_keep_names_and_scales_of_their_axes_when_laid_over_others(drawable):
    shown = views.Convergence(drawable(views.Convergence))
    curves = shown.to_holoviews().traverse(lambda found: found, [hv.Curve])
    rendered = hv.render(curves[0] * curves[1], backend="bokeh")
    assert isinstance(rendered.y_scale, bm.LogScale)
    for mine, theirs in ((shown.figure.xaxis, rendered.xaxis), (shown.figure.yaxis, rendered.yaxis)):
        assert theirs[0].axis_label == mine[0].axis_label
    assert [d.label for d in curves[0].dimensions()] == [
        axis[0].axis_label for axis in (rendered.xaxis, rendered.yaxis)
    ]


@pytest.mark.parametrize("view", [views.Convergence, views.Sparsity], ids=lambda view: view.id)
def test_the_cursor_is_no_part_of_it_and_the_runs_are_named(view, drawable):
    traces = drawable(view)
    shown = view(traces)
    marks = [hv.VLine, hv.VLines]
    drawn = shown.to_holoviews()
    assert any(isinstance(getattr(one, "glyph", one), bm.VSpan | bm.Span) for one in shown.figure.renderers)
    assert not drawn.traverse(lambda found: found, marks)
    rendered = hv.render(drawn, backend="bokeh")
    labels = {item.label.value for legend in rendered.legend for item in legend.items}
    assert labels == {trace.info.label for trace in traces if len(trace)}


@pytest.mark.quick("convergence", "steps", "trajectories", "race")
@pytest.mark.parametrize("view", DRAWN, ids=lambda view: view.id)
def test_every_view_is_drawn_whole(view, drawable):
    shown = view(drawable(view))
    drawn = shown.to_holoviews()
    plots, tables = (drawn.traverse(lambda found: found, [kind]) for kind in (hv.Overlay, hv.Table))
    assert len(plots) == len([*shown.shown_figures()])
    assert len(tables) == len(shown.tables())
    assert plots or tables
    assert hv.render(drawn, backend="bokeh") is not None


def test_a_view_without_runs_says_in_a_sentence_why_not():
    with pytest.raises(ValueError, match=r"^the view race has nothing to draw: Run several solvers"):
        views.Race([]).to_holoviews()


def test_tables_have_the_lines_of_the_view(traces):
    summary = views.TABS["summary"](traces).to_holoviews()
    assert [column.name for column in summary.kdims][:2] == ["run", "status"]
    assert list(summary.dimension_values("run")) == [trace.info.label for trace in traces]
    events = views.TABS["events"](traces).to_holoviews()
    assert events.label == f"Events of {traces[0].info.label}"
    assert set(events.dimension_values("iteration")) <= set(traces[0].iteration.tolist())
    algorithm = views.TABS["algorithm"](traces).to_holoviews()
    assert any(algorithm.dimension_values("here")), "the numbers of the iterate"
    runs = views.TABS["runs"](traces).to_holoviews()
    assert list(runs.dimension_values("run")) == [trace.info.label for trace in traces]


def test_names_on_an_axis_stand_where_bokeh_puts_them():
    fig = figure(x_range=["low", "high"], y_range=["a", "b", "c"])
    source = {"x": ["high", "low"], "y": ["c", "a"], "said": ["first", "second"]}
    fig.rect("x", "y", 1.0, 0.5, source=source)
    fig.text("x", "y", "said", source=source)
    box, said = overlay(fig)
    assert box.array().tolist() == [[1.0, 2.25, 2.0, 2.75], [0.0, 0.25, 1.0, 0.75]]
    assert list(zip(*(said.dimension_values(k) for k in range(3)), strict=True)) == [
        (1.5, 2.5, "first"),
        (0.5, 0.5, "second"),
    ]
    rendered = hv.render(overlay(fig), backend="bokeh")
    assert (rendered.y_range.start, rendered.y_range.end) == (0.0, 3.0)
    assert rendered.yaxis[0].major_label_overrides == {0.5: "a", 1.5: "b", 2.5: "c"}


def test_a_label_at_a_place_of_the_screen_comes_along():
    fig = figure()
    fig.line([0, 1], [0, 1])
    fig.add_layout(bm.Label(x=8, y=0.5, x_units="screen", text="the others"))
    rendered = hv.render(overlay(fig), backend="bokeh")
    (label,) = (one for one in rendered.center if isinstance(one, bm.Label))
    assert (label.x, label.x_units, label.text) == (8, "screen", "the others")


def test_each_glyph_is_drawn_by_the_same_one():
    fig = figure()
    fig.step("x", "y", source={"x": [0, 1], "y": [0, 1]}, mode="after")
    fig.multi_line("xs", "ys", source={"xs": [[0, 1], [1, 2]], "ys": [[0, 1], [1, 0]]})
    fig.segment("x", "y", "u", "v", source={"x": [0], "y": [0], "u": [1], "v": [1]})
    fig.vbar("x", 0.5, "y", source={"x": [1, 2], "y": [3, 4]})
    fig.hbar("y", right="x", height=0.5, source={"x": [1, 2], "y": [3, 4]})
    fig.rect("x", "y", 1, 2, source={"x": [1], "y": [3]})
    fig.text("x", "y", "said", source={"x": [1], "y": [3], "said": ["here"]})
    step, path, segment, bars, rows, box, label = overlay(fig)
    assert hv.Store.lookup_options("bokeh", step, "plot").kwargs["interpolation"] == "steps-post"
    assert len(path.split()) == 2
    assert segment.array().tolist() == [[0, 0, 1, 1]]
    assert bars.array().tolist() == [[0.75, 0, 1.25, 3], [1.75, 0, 2.25, 4]]
    assert rows.array().tolist() == [[0, 2.75, 1, 3.25], [0, 3.75, 2, 4.25]]
    assert box.array().tolist() == [[0.5, 2, 1.5, 4]]
    assert label.dimension_values(2).tolist() == ["here"]
    assert hv.render(overlay(fig), backend="bokeh") is not None


def test_a_picture_is_the_same_one_in_the_same_colours():
    fig = figure()
    shades = bm.LinearColorMapper(palette=["red", "blue", "black"], low=0.0, high=3.0, nan_color="white")
    pixels = np.array([[0.0, 1.0], [2.0, np.nan]])
    source = {
        "image": [pixels, pixels + 1.0, pixels],
        "x": [1.0, 4.0, 7.0],
        "y": [5.0] * 3,
        "dw": [2.0] * 3,
        "dh": [4.0, 4.0, 0.0],  # of the last nothing is seen
    }
    fig.image("image", "x", "y", "dw", "dh", source=source, color_mapper=shades)
    first, second = overlay(fig)
    assert first.bounds.lbrt() == (1.0, 5.0, 3.0, 9.0)
    assert second.bounds.lbrt() == (4.0, 5.0, 6.0, 9.0)
    rendered = hv.render(overlay(fig), backend="bokeh")
    drawn, _ = (r for r in rendered.renderers if isinstance(r.glyph, bm.Image))
    np.testing.assert_array_equal(drawn.data_source.data["image"][0], pixels)
    mapper = drawn.glyph.color_mapper
    assert (mapper.low, mapper.high, list(mapper.palette)) == (0.0, 3.0, ["red", "blue", "black"])
    fig.renderers[0].glyph.color_mapper = bm.LogColorMapper(palette=["red"], low=1.0, high=2.0)
    with pytest.raises(NotDrawn, match="LogColorMapper"):
        overlay(fig)


def test_rows_of_several_looks_are_an_element_each():
    fig = figure()
    source = {"x": [0, 1, 2], "y": [0, 1, 2], "color": ["red", "blue", "red"]}
    fig.scatter("x", "y", source=source, color="color")
    red, blue = overlay(fig)
    assert red.dimension_values(0).tolist() == [0, 2]
    assert blue.dimension_values(0).tolist() == [1]
    assert hv.Store.lookup_options("bokeh", blue, "style").kwargs["fill_color"] == "blue"


def test_what_has_no_element_is_refused_and_what_is_empty_is_not():
    fig = figure()
    drawn = fig.wedge("x", "y", 1, 0, 1, source={"x": [], "y": []})
    assert len(overlay(fig).traverse(lambda found: found, [hv.Curve])[0]) == 0
    drawn.data_source.data = {"x": [1], "y": [1]}
    with pytest.raises(NotDrawn, match="Wedge"):
        overlay(fig)
    drawn.visible = False
    assert overlay(fig) is not None
    grouped = figure(x_range=bm.FactorRange(("a", "1"), ("a", "2")))
    with pytest.raises(NotDrawn, match="axis of grouped names"):
        overlay(grouped)
