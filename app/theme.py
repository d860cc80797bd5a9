"""How things look: the runs' colours and dashes, figures, numbers in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSTicker,
    CustomJSTickFormatter,
    GlyphRenderer,
    Line,
    LinearScale,
    LogScale,
    SaveTool,
)
from bokeh.plotting import figure

from solvers import Trace
from solvers.methods.record import Field

ASSETS = Path(__file__).resolve().parents[1] / "assets"

#: Okabe and Ito's colours without black and yellow, which a dark or a light page swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("solid", "dashed", "dotdash", "dotted")

GREY = "#888888"

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
    """Return a part of the page's frame, laid out as ``layout.css`` says."""
    made = pn.Column(
        *objects, css_classes=[kind], stylesheets=[asset("layout.css")], sizing_mode="stretch_width", margin=0
    )

    def show(event: Any) -> None:  # a class, since the layout of a kind is stronger than Bokeh's way to hide
        made.css_classes = [kind] if event.new else [kind, "hidden"]

    made.param.watch(show, "visible")
    return made


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
    """Make an empty figure in the page's style; ``name`` is what a saved picture is called."""
    fig = figure(
        height=height,
        sizing_mode="stretch_width",
        min_width=280,
        x_axis_label=x_label,
        y_axis_label=y_label,
        y_axis_type="log" if log_y else "linear",
        tools="xpan,xwheel_zoom,box_zoom,reset",
        active_drag="box_zoom",
        active_scroll=None,
        toolbar_location="right",
        **more,
    )
    fig.x_range.range_padding = 0.02
    fig.xaxis.ticker.desired_num_ticks = 6
    return styled(fig, name)


def styled(fig: figure, name: str) -> figure:
    """Put a figure into the page's style and return it; ``name`` is what a saved picture is called."""
    fig.add_tools(SaveTool(filename=name))
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.outline_line_color = None
    fig.xgrid.grid_line_alpha = fig.ygrid.grid_line_alpha = 0.25
    fig.axis.axis_label_text_font_style = "normal"
    fig.axis.axis_label_text_font_size = fig.axis.major_label_text_font_size = "12px"
    fig.axis.minor_tick_line_color = None
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


def scale_y(fig: figure, *, log: bool) -> None:
    """Make the vertical axis of a figure logarithmic, or linear, if it is not so already."""
    if isinstance(fig.y_scale, LogScale) == log:
        return
    fig.y_scale = LogScale() if log else LinearScale()
    ticker = CustomJSTicker(major_code=asset("log_ticks.js")) if log else BasicTicker()
    fig.yaxis.ticker = fig.ygrid.ticker = ticker


def follow_axes(fig: figure) -> None:
    """Let the ranges of a figure begin anew whenever an axis gets another label or scale.

    The browser does it: it alone knows whether a visitor has zoomed, and it takes a range that was once
    logarithmic to be so for good."""
    code = asset("axis.js")
    fig.xaxis[0].js_on_change("axis_label", CustomJS(args={"range": fig.x_range, "scaled": None}, code=code))
    both = CustomJS(args={"range": fig.y_range, "scaled": fig}, code=code)
    fig.yaxis[0].js_on_change("axis_label", both)
    fig.js_on_change("y_scale", both)


def point_out(fig: figure) -> CustomJS:
    """Let a figure say of each run near the pointer which iterate is nearest, one line a run.

    Curves are lines of a column "y" with a column "iteration" beside it; the argument ``said`` of what is
    returned lists further values to show of a point, [name, column] each."""
    pointer = CustomJS(args={"said": []}, code=asset("pointer.js"))
    fig.js_on_event("mousemove", pointer)
    fig.js_on_event("mouseleave", pointer)
    return pointer


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
        },
    }
