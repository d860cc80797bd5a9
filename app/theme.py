"""How things look: the runs' colours and dashes, figures, numbers in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape as html_escape
from numbers import Integral
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.models import (
    Axis,
    BasicTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSTicker,
    CustomJSTickFormatter,
    GlyphRenderer,
    Line,
    LinearScale,
    LogScale,
    NoOverlap,
    SaveTool,
)
from bokeh.plotting import figure

from datasets.names import PIXEL
from solvers import Trace
from solvers.methods.record import Field

ASSETS = Path(__file__).resolve().parents[1] / "assets"

#: Okabe and Ito's colours without black and yellow, which a dark or a light page swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("solid", "dashed", "dotdash", "dotted")

GREY = "#888888"

#: Pixels that a rem has in ordinary type: Material UI's type is 0.875 of them, and is 13 pixels high here.
REM = 13 / 0.875

#: What Material UI's parts are to those who do not see them, where Panel does not say it: the title is the
#: page's first heading and the space below the header none, a menu's choices are options of a list, a tooltip
#: describes a control and does not name it, and the bar in the header has a name.
NAMED = {
    "MuiTypography": {"defaultProps": {"variantMapping": {"h3": "h1", "h5": "div"}}},
    "MuiMenuItem": {"defaultProps": {"role": "option"}},
    "MuiTooltip": {"defaultProps": {"describeChild": True}},
    "MuiLinearProgress": {"defaultProps": {"aria-label": "The page is at work"}},
}

#: Marks along a horizontal axis, about.
X_TICKS = 6

#: Where numbers that are no integers are written without an exponent.
LEAST_PLAIN, MOST_PLAIN = 1e-3, 1e7


@cache
def asset(*names: str) -> str:
    """Return the text of files in the assets folder, one after the other."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


def html(text: str = "", **layout: Any) -> pn.pane.HTML:
    """Make a pane of HTML in the page's style."""
    return pn.pane.HTML(text, stylesheets=[asset("html.css")], **({"margin": 0} | layout))


def column(*objects: Any, kind: str) -> pn.Column:
    """Return a part of the page's frame or of a view, laid out as ``layout.css`` says of its kind,
    the first of the classes that it names."""
    classes = kind.split()
    made = pn.Column(
        *objects, css_classes=classes, stylesheets=[asset("layout.css")], sizing_mode="stretch_both", margin=0
    )

    def show(event: Any) -> None:  # a class, since the layout of a kind is stronger than Bokeh's way to hide
        mark(made, "hidden", not event.new)

    made.param.watch(show, "visible")
    return made


def mark(part: pn.viewable.Viewable, name: str, on: bool) -> None:
    """Give a part of the page a class, or take it away."""
    others = [one for one in part.css_classes if one != name]
    wanted = [*others, name] if on else others
    if part.css_classes != wanted:
        part.css_classes = wanted


class Said(pn.pane.HTML):
    """Sentences in a place of a fixed height, which can be scrolled by keys as well."""

    def _transform_object(self, obj: Any) -> dict[str, Any]:
        text = f'<div class="text" role="group" tabindex="0" aria-label="At the cursor">{obj}</div>'
        return super()._transform_object(text if obj else obj)


def said(lines: int = 2) -> Said:
    """Return a place for sentences that change with the cursor: of so many lines, and scrolled if there are
    more, so that nothing moves when others are said."""
    looks = {"css_classes": ["said"], "styles": {"--lines": str(lines)}, "margin": 0}
    return Said(stylesheets=[asset("html.css")], sizing_mode="stretch_width", **looks)


def pane(fig: figure | None = None) -> pn.pane.Bokeh:
    """Return a place for a figure, which takes all the room that the frame gives it."""
    return pn.pane.Bokeh(fig, sizing_mode="stretch_both", margin=0)


def least(height: int) -> dict[str, str]:
    """Return the styles of a figure that may grow: never lower than the frame says, or than ``height``
    pixels where there is no frame, as in a notebook; and its type of the size that the frame says."""
    return {"min-height": f"var(--least, {height}px)", "font-size": "var(--plot-type, 12px)"}


def seen(shown: bool) -> dict[str, str]:
    """Return the styles that show something, or hide it and keep its place: the page need not be laid out
    anew. Opacity because panes of HTML insist on being visible, visibility lest what is hidden takes the
    focus."""
    if shown:
        return {"opacity": "1", "visibility": "inherit", "pointer-events": "auto"}
    return {"opacity": "0", "visibility": "hidden", "pointer-events": "none"}


def dash(k: int) -> str:
    """Return the dash of the run with number ``k``, unlike that of the next run and of the next of its
    colour."""
    return DASHES[(k % len(COLORS) + k // len(COLORS)) % len(DASHES)]


def style(trace: Trace, place: int) -> tuple[str, str]:
    """Return colour and dash of a run: by the number it was given, else by its place among those shown."""
    k = trace.info.get("style", place)
    return COLORS[k % len(COLORS)], dash(k)


def plot(name: str, *, x_label: str, y_label: str, log_y: bool = False, height: int = 280, **more) -> figure:
    """Make an empty figure in the page's style; ``name`` is what a saved picture is called, ``height`` how
    high it is in pixels where no frame says so."""
    fig = figure(
        styles=least(height),
        sizing_mode="stretch_both",
        min_width=200,
        x_axis_label=x_label,
        y_axis_label=upright(y_label),
        y_axis_type="log" if log_y else "linear",
        tools="xpan,xwheel_zoom,box_zoom,reset",
        active_drag="box_zoom",
        active_scroll=None,
        toolbar_location="right",
        **more,
    )
    fig.x_range.range_padding = 0.02
    fig.xaxis.ticker.desired_num_ticks = X_TICKS
    return styled(fig, name)


def upright(label: str) -> str:
    """Write a label beside a vertical axis, where there is less room than below a horizontal one: each of its
    parts in a line of its own."""
    return label.replace("  ·  ", "\n")


def styled(fig: figure, name: str) -> figure:
    """Put a figure into the page's style and return it; ``name`` is what it and pictures of it are called."""
    fig.name = name
    fig.add_tools(SaveTool(filename=name))
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.outline_line_color = None
    fig.xgrid.grid_line_alpha = fig.ygrid.grid_line_alpha = 0.25
    fig.axis.axis_label_text_font_style = "normal"
    fig.axis.axis_label_text_font_size = fig.axis.major_label_text_font_size = "1em"
    fig.axis.minor_tick_line_color = None
    fig.axis.major_label_policy = NoOverlap()  # figures may be low, or narrow
    fig.min_border_left, fig.min_border_right = 64, 12
    fig.axis.formatter = CustomJSTickFormatter(code=asset("tick_labels.js"))
    for scale, axis, grid in ((fig.x_scale, fig.xaxis, fig.xgrid), (fig.y_scale, fig.yaxis, fig.ygrid)):
        if isinstance(scale, LogScale):
            axis.ticker = grid.ticker = CustomJSTicker(major_code=asset("log_ticks.js"))
    return fig


def curve(
    fig: figure, source: ColumnDataSource, y: str, *, color: str, dash: str, width: float, alpha: float = 1.0
) -> GlyphRenderer:
    """Draw a line of the column ``y`` over "x". Bokeh's own method makes two more glyphs, for what is
    selected and for what is muted, which nothing here ever is, and takes twice the time."""
    looks = {"line_color": color, "line_dash": dash, "line_width": width, "line_alpha": alpha}
    bare = {"nonselection_glyph": None, "muted_glyph": None}
    drawn = GlyphRenderer(data_source=source, glyph=Line(x="x", y=y, **looks), **bare)
    fig.renderers.append(drawn)
    return drawn


def whole(axis: Axis) -> None:
    """Let an axis have few ticks, and none between whole numbers: it numbers or counts something."""
    axis.ticker.min_interval, axis.ticker.desired_num_ticks = 1.0, 4


def scale(fig: figure, dimension: str, *, log: bool) -> None:
    """Make the axis "x" or "y" of a figure logarithmic, or linear, if it is not so already."""
    if isinstance(getattr(fig, f"{dimension}_scale"), LogScale) == log:
        return
    setattr(fig, f"{dimension}_scale", LogScale() if log else LinearScale())
    ticker = CustomJSTicker(major_code=asset("log_ticks.js")) if log else BasicTicker()
    axis, grid = (fig.xaxis, fig.xgrid) if dimension == "x" else (fig.yaxis, fig.ygrid)
    axis.ticker = grid.ticker = ticker
    if dimension == "x" and not log:
        ticker.desired_num_ticks = X_TICKS


def follow_axes(fig: figure) -> None:
    """Let the ranges of a figure begin anew whenever an axis gets another label or scale.

    The browser does it: it alone knows whether a visitor has zoomed, and it takes a range that was once
    logarithmic to be so for good."""
    code = asset("axis.js")
    for dimension, axis in (("x", fig.xaxis[0]), ("y", fig.yaxis[0])):
        args = {"plot": fig, "dimension": dimension}
        begin = CustomJS(args=args, code=code)
        axis.js_on_change("axis_label", begin)
        fig.js_on_change(f"{dimension}_scale", begin)


def point_out(fig: figure, *said: tuple[str, str]) -> CustomJS:
    """Let a figure say of each run near the pointer which iterate is nearest, one line a run.

    Curves are lines of a column "y" with a column "iteration", or "x", beside it; ``said``, an argument of
    what is returned, lists further values to show of a point, [name, column] each. With ``names`` as another
    one a column "of" tells the name of each point, and only the nearest of all lines is shown; with a
    ``shape`` names of pixels have a picture."""
    args = {"said": [list(pair) for pair in said], "names": None, "shape": None}
    pointer = CustomJS(args=args, code=asset("pixels.js", "pointer.js"))
    fig.js_on_event("mousemove", pointer)
    fig.js_on_event("mouseleave", pointer)
    return pointer


def tip(place: str) -> str:
    """Return what a tooltip says of a ``place`` that a formatter names by ``told`` of ``assets/pixels.js``:
    the name, and if it is one of pixels their picture."""
    look = "vertical-align: middle; margin: 2px 0 2px 8px"
    return f'{place}{{custom}}<img alt="" class="pixels" src="{place}{{picture}}" style="{look}">'


def pictured(name: str, shape: tuple[int, int] | None) -> str:
    """Return the name of a feature or a weight as HTML; pixels of a picture of this shape are shown while the
    pointer is on it."""
    text = html_escape(name)
    if shape is None or not name.startswith(PIXEL.partition("(")[0]):
        return text
    return f'<span class="pictured" data-shape="{shape[0]} {shape[1]}">{text}</span>'


def diamonds(fig: figure, source: ColumnDataSource, x: str, y: str, **looks: Any) -> GlyphRenderer:
    """Draw a diamond at each point of a source: the mark of something that happened at an iterate."""
    return fig.scatter(x, y, source=source, marker="diamond", **({"size": 11} | looks))


def number(value: float | int | None, digits: int = 4) -> str:
    """Write a number with at most ``digits`` significant digits, thin spaces in thousands, exponents only
    where needed. An integer counts or numbers something: it has all its digits."""
    return _plain(value, digits).replace("-", "−")


def aligned(values: Sequence[float | None], digits: int = 6) -> list[str]:
    """Write numbers of one column: with as many decimals each as give ``digits`` significant digits to the
    smallest, so that the points of right-aligned texts stand below each other; all with exponents if one of
    them needs it or if the largest would be long."""
    sizes = [abs(v) for v in values if v is not None and math.isfinite(v) and v != 0]
    if not sizes:
        return [number(v) for v in values]
    decimals = max(digits - 1 - math.floor(math.log10(min(sizes))), 0)
    whole = max(math.floor(math.log10(max(sizes))) + 1, 1)
    plain = min(sizes) >= LEAST_PLAIN and max(sizes) < MOST_PLAIN and whole + decimals <= digits + 4
    form = f",.{decimals}f" if plain else f".{digits - 1}e"
    return [_signed(v, form) for v in values]


def _signed(value: float | None, form: str) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 and form.endswith("e"):
        return "0"
    mantissa, e, exponent = f"{value:{form}}".partition("e")
    return (mantissa + (f"e{int(exponent)}" if e else "")).replace(",", "\u2009").replace("-", "−")


def _plain(value: float | int | None, digits: int) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if isinstance(value, Integral) or (value.is_integer() and size < MOST_PLAIN):
        return f"{int(value):,}".replace(",", "\u2009")
    if not LEAST_PLAIN <= size < MOST_PLAIN:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}"
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    text = f"{value:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", "\u2009")


def seconds(value: float | None) -> str:
    """Write a time with its unit."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s".replace(",", "\u2009")


def cell(field: Field, value: Any, digits: int = 4) -> str:
    """Write a value of the record for a table: with its unit, and a dash where it is not known."""
    if not field.is_known(value):
        return "–"
    if field.unit == "s":
        return seconds(float(value))
    return number(int(value)) if field.type is int else number(float(value), digits)


def marks(meanings: Iterable[tuple[str, str, str]]) -> str:
    """Return what the marks in a picture mean as a line of HTML: a glyph, its colour and words each."""
    entries = (
        f'<span style="white-space:nowrap"><b style="color:{color}">{glyph}</b> {words}</span>'
        for glyph, color, words in meanings
    )
    return (
        '<p class="note" style="display:flex;flex-wrap:wrap;gap:0 14px;margin:0">' + "".join(entries) + "</p>"
    )


#: How dashes of Bokeh are written for a line in SVG, in pixels.
STROKES = {"solid": "none", "dashed": "6", "dotdash": "2 4 6 4", "dotted": "2 4"}


def runs_legend(runs: Iterable[tuple[str, str, str]]) -> str:
    """Return which line is which run as HTML: a label, colour and dash each."""
    entries = "".join(
        '<li><svg viewBox="0 0 32 10" aria-hidden="true">'
        f'<path d="M0 5h32" stroke="{color}" stroke-width="2" stroke-dasharray="{STROKES[dash]}"/>'
        f"</svg>{html_escape(label)}</li>"
        for label, color, dash in runs
    )
    return f'<ul class="legend">{entries}</ul>'


def capital(text: str) -> str:
    """Make a text begin with a capital letter."""
    return text[:1].upper() + text[1:]


def mui(mode: str) -> dict:
    """Return Material UI's theme: one accent colour, calm surfaces, plain axes."""
    dark = mode == "dark"
    return {
        "chart_style": "standard",
        "palette": {
            "primary": {"main": "#7DB8E8" if dark else "#0B5C94"},
            "background": {
                "default": "#121416" if dark else "#FFFFFF",
                "paper": "#121416" if dark else "#FFFFFF",
            },
        },
        "typography": {"fontSize": 13, "button": {"textTransform": "none"}},
        "shape": {"borderRadius": 6},
        "components": {
            "MuiAppBar": {
                "styleOverrides": {
                    "root": {
                        "backgroundColor": "#1D2429",
                        "backgroundImage": "none",
                        "color": "#FFFFFF",
                        "boxShadow": "none",
                    }
                }
            },
            "MuiToolbar": {"styleOverrides": {"root": {"minHeight": "48px !important"}}},
            **NAMED,
        },
    }
