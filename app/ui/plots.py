"""Helpers for Bokeh figures in the page's style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import bokeh.models as bm
import numpy as np
from bokeh.models.dom import HTML
from bokeh.plotting import figure

from .assets import asset

#: Columns of a source of images.
IMAGE = ("image", "x", "y", "dw", "dh")
#: Label of an axis of λ, which is flipped.
LAM_AXIS = "λ, decreasing to the right"


def least(height: int) -> dict[str, str]:
    """Return the styles of a figure that may grow: its minimal height and its font size.

    The page's frame defines both. Without it, as in a notebook, the minimal height is ``height`` pixels.
    """
    return {"min-height": f"var(--least, {height}px)", "font-size": "var(--plot-type, 12px)"}


def plot(name: str, *, x_label: str, y_label: str, log_y: bool = False, height: int = 280, **more) -> figure:
    """Return an empty figure in the page's style.

    ``name`` is the file name of a saved image. ``height`` is the minimal height in pixels outside of the
    page's frame. ``more`` are options of Bokeh's figure, which take precedence.
    """
    usual = {
        **shape(height),
        "x_range": bm.DataRange1d(range_padding=0.02),
        "y_axis_type": "log" if log_y else "linear",
        "tools": "xpan,xwheel_zoom,box_zoom,reset",
        "active_drag": "box_zoom",
        "active_scroll": None,
    }
    fig = styled(figure(x_axis_label=x_label, y_axis_label=upright(y_label), **(usual | more)), name)
    step_ticks(fig.xaxis[0], whole=x_label.startswith("iteration"))
    return fig


def shape(height: int) -> dict[str, Any]:
    """Return properties that make a figure fill the available space, with at least ``height`` pixels."""
    room = {"styles": least(height), "sizing_mode": "stretch_both", "min_width": 200}
    return room | {"toolbar_location": "right"}


def show_all(fig: figure) -> None:
    """Reset the zoom of a figure whose content has been replaced."""
    fig.tags = [fig.tags[0] + 1 if fig.tags else 1]


def upright(label: str) -> str:
    """Return the label of a vertical axis with line breaks between its parts, as there is little space."""
    return label.replace("  ·  ", "\n")


def styled(fig: figure, name: str) -> figure:
    """Apply the page's style to a figure and return it; ``name`` is its name, and the file name of saved
    images."""
    fig.name = name
    fig.js_on_change("tags", bm.CustomJS(args={"plot": fig}, code=asset("ranges.js") + "showAllOf(plot)"))
    # what the page adds to each plot that is drawn, plots.js; nothing in a notebook
    extras = f'<plot-extras data-figure="{fig.id}"></plot-extras>'
    fig.elements = [HTML(html=extras, style={"display": "contents"})]
    fig.add_tools(bm.SaveTool(filename=name))
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.outline_line_color = None
    fig.xgrid.grid_line_alpha = fig.ygrid.grid_line_alpha = 0.25
    fig.axis.axis_label_text_font_style = "normal"
    fig.axis.axis_label_text_font_size = fig.axis.major_label_text_font_size = "1em"
    fig.axis.minor_tick_line_color = None
    fig.axis.major_label_policy = bm.NoOverlap()  # figures may be low, or narrow
    fig.min_border_left, fig.min_border_right = 64, 12
    fig.axis.formatter = bm.CustomJSTickFormatter(code=asset("tick_labels.js"))
    for scale, axis, grid in ((fig.x_scale, fig.xaxis, fig.xgrid), (fig.y_scale, fig.yaxis, fig.ygrid)):
        if isinstance(scale, bm.LogScale):
            axis.ticker = grid.ticker = bm.CustomJSTicker(major_code=asset("log_ticks.js"))
    return fig


def draw(fig: figure, glyph: bm.Glyph, source: bm.ColumnDataSource, **more: Any) -> bm.GlyphRenderer:
    """Draw a glyph without separate glyphs for selected and muted data.

    Those are not used here, and Bokeh's own methods create them, which takes twice the time.
    """
    bare = {"nonselection_glyph": None, "muted_glyph": None}
    drawn = bm.GlyphRenderer(data_source=source, glyph=glyph, **bare, **more)
    fig.renderers.append(drawn)
    return drawn


def source(*columns: str) -> bm.ColumnDataSource:
    """Return an empty data source with these columns."""
    return bm.ColumnDataSource({name: [] for name in columns})


def columns(source: bm.ColumnDataSource, rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows as the columns of a data source; each row has a value for each column, in order."""
    rows = list(rows)
    return {name: [row[k] for row in rows] for k, name in enumerate(source.data)}


def picture(
    image: np.ndarray, x: float, y: float, width: float, height: float, **more: Any
) -> dict[str, list[Any]]:
    """Return the columns of a data source with a single image, given its corner and size; ``more`` adds
    columns."""
    values = dict(zip(IMAGE, (image, x, y, width, height), strict=True)) | more
    return {name: [value] for name, value in values.items()}


def image(
    fig: figure,
    source: bm.ColumnDataSource,
    palette: Sequence[str],
    ends: tuple[float, float],
    tips: Sequence[tuple[str, str]] = (),
    formats: Mapping[str, bm.CustomJSHover] | None = None,
    **colors: str,
) -> bm.GlyphRenderer:
    """Draw the images of a data source with the columns ``IMAGE``, without a grid.

    The palette covers values between the two ``ends``; ``colors`` are those of values beyond. ``tips`` are
    shown at the pointer.
    """
    fig.grid.visible = False
    shades = bm.LinearColorMapper(palette=palette, low=ends[0], high=ends[1], **colors)
    drawn = fig.image(*IMAGE, source=source, color_mapper=shades, level="image")
    if tips:
        fig.add_tools(bm.HoverTool(tooltips=tips, formatters=dict(formats or {}), renderers=[drawn]))
    return drawn


def put(source: bm.ColumnDataSource, columns: Mapping[str, Any]) -> None:
    """Set the columns of a data source unless they are unchanged, since Bokeh would send them again."""
    if not all(np.array_equal(column, source.data[name]) for name, column in columns.items()):
        source.data = dict(columns)


def fill(source: bm.ColumnDataSource, *columns: Sequence[Any]) -> None:
    """Set the columns of a data source, in its order; without arguments, empty it."""
    put(source, dict(zip(source.data, columns or [()] * len(source.data), strict=True)))


def curve(fig: figure, source: bm.ColumnDataSource, y: str, **looks: Any) -> bm.GlyphRenderer:
    """Draw a line of the column ``y`` over "x"; ``looks`` are its color, dash, width and alpha."""
    line = bm.Line(x="x", y=y, **{f"line_{name}": look for name, look in looks.items()})
    return draw(fig, line, source)


def step_ticks(axis: bm.Axis, *, whole: bool) -> None:
    """Restrict a linear axis to integer ticks if its values are ``whole`` numbers."""
    if isinstance(axis.ticker, bm.BasicTicker):
        axis.ticker.min_interval = 1.0 if whole else 0.0


def integer_ticks(axis: bm.Axis) -> None:
    """Restrict an axis to a few integer ticks."""
    axis.ticker.min_interval, axis.ticker.desired_num_ticks = 1.0, 4


def name_ticks(axis: bm.Axis, names: Mapping[float, str]) -> None:
    """Restrict an axis to ticks at these positions, with these labels."""
    if not isinstance(axis.ticker, bm.FixedTicker):
        axis.ticker = bm.FixedTicker()
    axis.ticker.ticks = sorted(names)  # in which order Bokeh looks for labels that overlap
    axis.major_label_overrides = dict(names)


def scale(fig: figure, dimension: str, *, log: bool) -> None:
    """Make the axis "x" or "y" of a figure logarithmic or linear, if it is not already."""
    if isinstance(getattr(fig, f"{dimension}_scale"), bm.LogScale) == log:
        return
    setattr(fig, f"{dimension}_scale", bm.LogScale() if log else bm.LinearScale())
    ticker = bm.CustomJSTicker(major_code=asset("log_ticks.js")) if log else bm.BasicTicker()
    axis, grid = (fig.xaxis, fig.xgrid) if dimension == "x" else (fig.yaxis, fig.ygrid)
    axis.ticker = grid.ticker = ticker


def follow_axes(fig: figure) -> None:
    """Reset the ranges of a figure whenever the label or scale of an axis changes.

    This is done in the browser, which knows whether the visitor has zoomed. Without a reset, it would treat a
    range that was once logarithmic as logarithmic forever.
    """
    code = asset("ranges.js") + "showAxis(plot, dimension)"
    for dimension, axis in (("x", fig.xaxis[0]), ("y", fig.yaxis[0])):
        args = {"plot": fig, "dimension": dimension}
        begin = bm.CustomJS(args=args, code=code)
        axis.js_on_change("axis_label", begin)
        fig.js_on_change(f"{dimension}_scale", begin)


def point_out(fig: figure, *said: tuple[str, str]) -> bm.CustomJS:
    """Show a hover box for the iterate nearest to the pointer, with a line for each run near it.

    Curves are lines of a column "y" over "x", with a column "iteration" if "x" is another quantity. The
    returned callback has arguments that may be changed. ``said`` lists further values, [name, column] each.
    If ``names`` is set, the column "of" contains the name of each point, and only the nearest line is shown.
    If ``shape`` is set, names of pixels are shown with an image.
    """
    args = {"said": [list(pair) for pair in said], "names": None, "shape": None}
    pointer = bm.CustomJS(args=args, code=asset("pixels.js", "pointer.js"))
    fig.js_on_event("mousemove", pointer)
    fig.js_on_event("mouseleave", pointer)
    return pointer


def hover_name(place: str) -> str:
    """Return the HTML of a name in a hover box, with an image if it is the name of pixels.

    ``place`` is the column. Its formatter must return both, by ``nameOrPicture`` in ``assets/pixels.js``.
    """
    look = "vertical-align: middle; margin: 2px 0 2px 8px; max-height: 2.5em"
    return f'{place}{{custom}}<img alt="" class="pixels" src="{place}{{picture}}" style="{look}">'


def diamonds(fig: figure, source: bm.ColumnDataSource, x: str, y: str, **looks: Any) -> bm.GlyphRenderer:
    """Draw a diamond, which marks an event at an iterate, at each point of a data source."""
    return fig.scatter(x, y, source=source, marker="diamond", **({"size": 11} | looks))
