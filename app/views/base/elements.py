"""Plots and tables of a view as HoloViews elements, built from the glyphs and data sources of Bokeh figures.

Most kinds of glyphs have an equivalent HoloViews element, which draws the same columns in the same style.
Others are refused, so that no part of a plot is lost silently. Names on an axis are replaced by the numeric
positions of Bokeh's factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import bokeh.models as bm
import holoviews as hv
import holoviews.plotting.bokeh  # registers its renderer
import numpy as np
from bokeh.core.property.vectorization import Field, Value
from bokeh.plotting import figure

from solverscope.app.views.base.cursor import CURSOR_TAG
from solverscope.app.views.base.exports import ShownTable

#: The order in which Bokeh draws its levels.
BOKEH_LEVELS = ("image", "underlay", "glyph", "guide", "annotation", "overlay")
#: HoloViews' names of Bokeh's step modes.
STEPS = {"before": "steps-pre", "center": "steps-mid", "after": "steps-post"}
#: Prefixes of visual properties; all other properties of a glyph are coordinates.
LOOKS = ("line_", "fill_", "text_", "marker", "size", "angle")
#: Axes that carry numbers.
NUMERIC_RANGES = (bm.DataRange1d, bm.Range1d)
#: Places that may be names, and the axis that these are on.
NAMED_PLACES = {
    **dict.fromkeys(("x", "x0", "x1", "left", "right"), 0),
    **dict.fromkeys(("y", "y0", "y1", "top", "bottom"), 1),
}

#: Elements that have no end on an axis.
UNBOUNDED = (hv.VLines, hv.HLines, hv.VSpans, hv.HSpans, hv.VLine, hv.HLine)
#: Properties of which each row has a whole array.
WHOLE = ("xs", "ys", "image")

#: The values of a property of a glyph in each row.
Get = Callable[[str], np.ndarray]
#: From where to where something goes on an axis, in each row.
Ends = tuple[np.ndarray, np.ndarray]


class NotDrawn(ValueError):
    """An error: HoloViews has no element for a part of a figure. The message names the part."""


def _box(x: Ends, y: Ends) -> hv.Rectangles:
    return hv.Rectangles((x[0], y[0], x[1], y[1]))


def _around(get: Get, at: str, size: str) -> Ends:
    half = get(size) / 2
    return get(at) - half, get(at) + half


def _image(get: Get) -> hv.Image:
    """Return the image in the only row; HoloViews expects its top row first."""
    x, y, dw, dh = (float(get(name)[0]) for name in ("x", "y", "dw", "dh"))
    return hv.Image(np.flipud(get("image")[0]), bounds=(x, y, x + dw, y + dh))


#: The element of each glyph.
ELEMENTS: Mapping[type[bm.Glyph], Callable[[Get], hv.Element]] = {
    bm.Line: lambda get: hv.Curve((get("x"), get("y"))),
    bm.Step: lambda get: hv.Curve((get("x"), get("y"))),
    bm.VArea: lambda get: hv.Area((get("x"), get("y1"), get("y2")), vdims=["y", "y2"]),
    bm.MultiLine: lambda get: hv.Path(list(zip(get("xs"), get("ys"), strict=True))),
    bm.Scatter: lambda get: hv.Points((get("x"), get("y"))),
    bm.Segment: lambda get: hv.Segments((get("x0"), get("y0"), get("x1"), get("y1"))),
    bm.VSpan: lambda get: hv.VLines(get("x")),
    bm.HSpan: lambda get: hv.HLines(get("y")),
    bm.VStrip: lambda get: hv.VSpans((get("x0"), get("x1"))),
    bm.HStrip: lambda get: hv.HSpans((get("y0"), get("y1"))),
    bm.Quad: lambda get: _box((get("left"), get("right")), (get("bottom"), get("top"))),
    bm.VBar: lambda get: _box(_around(get, "x", "width"), (get("bottom"), get("top"))),
    bm.HBar: lambda get: _box((get("left"), get("right")), _around(get, "y", "height")),
    bm.Rect: lambda get: _box(_around(get, "x", "width"), _around(get, "y", "height")),
    bm.Image: _image,
    bm.Patch: lambda get: hv.Polygons([(get("x"), get("y"))]),
    bm.Text: lambda get: hv.Labels((get("x"), get("y"), get("text"))),
}


def drawing(
    name: str, shown: Sequence[figure | hv.Overlay], tables: Sequence[ShownTable] = ()
) -> hv.Overlay | hv.Table | hv.Layout:
    """Return figures and tables as a HoloViews object: one element, or a layout of several.

    ``name`` is the id of the view, and ``shown`` its figures; overlays among them are used as they are.
    Raises ValueError if there are none, or if HoloViews cannot draw one.
    """
    try:
        parts = [overlay(one) if isinstance(one, figure) else one for one in shown]
    except NotDrawn as error:
        raise ValueError(f"the view {name} stays with Bokeh: HoloViews draws no {error} as it does") from None
    parts += [hv.Table([*map(tuple, one.rows)], list(one.heads), [], label=one.title) for one in tables]
    if not parts:
        raise ValueError(f"the view {name} has neither plots nor tables: HoloViews has nothing to draw of it")
    return parts[0] if len(parts) == 1 else hv.Layout(parts).cols(1)


def overlay(fig: figure) -> hv.Overlay:
    """Return the current content of a figure as an overlay, with its axes but without the cursor.

    Raises NotDrawn if a part has no element.
    """
    names = [_names(ends) for ends in (fig.x_range, fig.y_range)]
    drawn = [one for one in (*fig.renderers, *fig.center) if one.visible and not isinstance(one, bm.Grid)]
    drawn = [one for one in drawn if CURSOR_TAG not in one.tags]
    labels = [one for one in drawn if isinstance(one, bm.Label)]
    drawn = sorted((one for one in drawn if one not in labels), key=lambda one: BOKEH_LEVELS.index(one.level))
    made = {one: list(_elements(one, names)) for one in drawn}
    elements = [element for found in made.values() for element in found]
    axes = [one for one in fig.right if isinstance(one, bm.Axis) and one not in fig.yaxis[:1]]
    named = any(element.label for element in elements if isinstance(element, hv.Curve))
    options = _axes(fig, made) | {"show_legend": named}
    # each element keeps names and scales of its axes, when it is laid over others
    own = {name: options[name] for name in ("xlabel", "ylabel", "logx", "logy")}
    elements = [_labelled(element, own).opts(**own, backend="bokeh") for element in elements]
    options |= {"hooks": [partial(_annotate, labels, axes)]} if labels or axes else {}
    return hv.Overlay(elements or [hv.Curve([])]).opts(**options, backend="bokeh")


def _labelled(element: hv.Element, options: Mapping[str, Any]) -> hv.Element:
    """Return the element with the labels of its axes as labels of its dimensions."""
    labels = {name: options[f"{name}label"] for name in "xy" if options[f"{name}label"]}
    known = {dimension.name for dimension in element.dimensions()}
    labels = {name: label for name, label in labels.items() if name in known}
    return element.redim.label(**labels) if labels else element


def _names(ends: bm.Range) -> dict[str, float]:
    """Return the numeric positions of the names on an axis; a numeric axis has none."""
    if isinstance(ends, NUMERIC_RANGES):
        return {}
    if not all(isinstance(name, str) for name in ends.factors):
        raise NotDrawn("axis of grouped names")
    return {name: k + 0.5 for k, name in enumerate(ends.factors)}


def _annotate(labels: Sequence[bm.Label], axes: Sequence[bm.Axis], plot: Any, element: hv.Element) -> None:
    """Add labels, and further axes on the right, to a HoloViews figure, which has no elements for them."""
    for kind, place, added in ((bm.Label, "center", labels), (bm.Axis, "right", axes)):
        if not any(isinstance(one, kind) for one in getattr(plot.state, place)):
            for annotation in added:
                plot.state.add_layout(annotation.clone(), place)


def _axes(fig: figure, made: Mapping[bm.Renderer, Sequence[hv.Element]]) -> dict[str, Any]:
    """Return labels, scales and limits of the axes, as options."""
    found: dict[str, Any] = {"shared_axes": False, "title": ""}
    sides = (("x", fig.xaxis, fig.x_scale, fig.x_range), ("y", fig.yaxis, fig.y_scale, fig.y_range))
    for k, (name, axis, scale, ends) in enumerate(sides):
        log = isinstance(scale, bm.LogScale)
        found[f"{name}label"] = (axis[0].axis_label or "") if axis else ""
        found[f"log{name}"] = log
        if axis and isinstance(axis[0].ticker, bm.FixedTicker):
            ticks = [(at, axis[0].major_label_overrides.get(at, "")) for at in axis[0].ticker.ticks]
            found[f"{name}ticks"] = ticks or bm.FixedTicker(ticks=[])  # HoloViews fails on an empty list
        if isinstance(ends, bm.FactorRange):
            named = [(at, text) for text, at in _names(ends).items()]
            found[f"{name}ticks"] = named or bm.FixedTicker(ticks=[])
            found[f"{name}lim"] = (0.0, float(max(len(named), 1)))
        elif isinstance(ends, bm.Range1d):
            span = cast(Any, ends)  # of numbers, or of times
            found[f"{name}lim"] = tuple(sorted((span.start, span.end)))
            found[f"invert_{name}axis"] = bool(span.start > span.end)
        elif isinstance(ends, bm.DataRange1d):
            found[f"invert_{name}axis"] = bool(ends.flipped)
            if (limits := _covered(ends, made, k, log=log)) is not None:
                found[f"{name}lim"] = limits
    return found


def _covered(
    ends: bm.DataRange1d, made: Mapping[bm.Renderer, Sequence[hv.Element]], k: int, *, log: bool
) -> tuple[float, float] | None:
    """Return the limits of a range on axis ``k``, or None if HoloViews determines them."""
    asked = [one for one in made if not isinstance(ends.renderers, list) or one in (ends.renderers or made)]
    elements = [element for one in asked for element in made[one] if not isinstance(element, UNBOUNDED)]
    if not elements or not all(type(element) in (hv.Curve, hv.Points) for element in elements):
        return None
    places = np.concatenate([element.dimension_values(k).astype(float) for element in elements])
    places = places[np.isfinite(places) & ((places > 0.0) | (not log))]
    if not places.size:
        return None
    low, high = (np.log10(places) if log else places)[[places.argmin(), places.argmax()]]
    room = 0.5 * float(ends.range_padding) * (high - low) or 0.5
    low, high = (float(10.0**end if log else end) for end in (low - room, high + room))
    return low, high


def _elements(drawn: bm.Renderer, names: Sequence[Mapping[str, float]]) -> Iterator[hv.Element]:
    """Yield the elements of a renderer, one for each combination of visual properties; none if it
    is empty."""
    if isinstance(drawn, bm.Span):
        if drawn.location is not None:
            line = hv.VLine if drawn.dimension == "height" else hv.HLine
            yield _styled(line(float(drawn.location)), drawn, _Rows(drawn, {}, range(1), names))
        return
    glyph = getattr(drawn, "glyph", drawn)
    source = getattr(drawn, "data_source", getattr(drawn, "source", None))
    columns = {} if source is None else source.data
    n = max(map(len, columns.values()), default=0)
    if source is not None and not n:
        return
    if type(glyph) not in ELEMENTS:
        raise NotDrawn(type(glyph).__name__)
    whole = _Rows(glyph, columns, range(n), names)
    alike: dict[object, list[int]] = {}
    for k, look in enumerate(zip(*map(whole, whole.varying), strict=True) if whole.varying else [()] * n):
        alike.setdefault(k if isinstance(glyph, bm.Image) else look, []).append(k)
    for members in alike.values():
        rows = _Rows(glyph, columns, members, names)
        if isinstance(glyph, bm.Image) and not (rows("dw")[0] and rows("dh")[0]):
            continue  # nothing is seen of it, and HoloViews divides by its size
        yield _styled(ELEMENTS[type(glyph)](rows), drawn, rows)


class _Rows:
    """Some rows of a glyph; a call with the name of a property returns its values.

    ``names`` are the names on each axis, with their positions.
    """

    def __init__(
        self,
        glyph: bm.Model,
        columns: Mapping[str, Any],
        rows: Sequence[int],
        names: Sequence[Mapping[str, float]],
    ) -> None:
        self._values = glyph.properties_with_values(include_defaults=True)
        self._columns, self._rows, self._names = columns, rows, names

    def __call__(self, name: str) -> np.ndarray:
        value = self._values[name]
        if not isinstance(value, Field):
            return np.full(len(self._rows), value.value if isinstance(value, Value) else value)
        column = self._columns[value.field]
        found = np.empty(len(self._rows), dtype=object)  # entries may be arrays themselves
        places = self._names[NAMED_PLACES[name]] if name in NAMED_PLACES else {}
        found[:] = [places[column[k]] if places else column[k] for k in self._rows]
        return found if name in WHOLE else np.array(found.tolist())

    @property
    def looks(self) -> list[str]:
        return [name for name in self._values if name.startswith(LOOKS) and name != "text_font"]

    @property
    def varying(self) -> list[str]:
        """Return the names of the visual properties that may differ from row to row."""
        return [name for name in self.looks if isinstance(self._values[name], Field)]

    def look(self, name: str) -> Any:
        """Return the value of a visual property, such as a colour, which all rows share."""
        value = self._values[name]
        if isinstance(value, Field):
            return self(name).tolist()[0]
        return value.value if isinstance(value, Value) else value


def _shades(mapper: bm.ColorMapper) -> dict[str, Any]:
    """Return options for the mapping of numbers to colours. Raises NotDrawn if HoloViews does not have it."""
    if not isinstance(mapper, bm.LinearColorMapper) or None in (mapper.low, mapper.high):
        raise NotDrawn(type(mapper).__name__)
    beyond = {"NaN": mapper.nan_color, "min": mapper.low_color, "max": mapper.high_color}
    colors = {name: color for name, color in beyond.items() if color is not None}
    return {"cmap": list(mapper.palette), "clim": (mapper.low, mapper.high), "clipping_colors": colors}


def _styled(element: hv.Element, drawn: bm.Renderer, rows: _Rows) -> hv.Element:
    """Return an element with the style and the name of the renderer from which it was built."""
    known = hv.Store.registry["bokeh"][type(element)].style_opts
    looks = {name: rows.look(name) for name in rows.looks if name in known}
    if isinstance(dash := looks.get("line_dash"), list):  # as a list it would be one for each row
        looks["line_dash"] = " ".join(map(str, dash)) or "solid"
    glyph = getattr(drawn, "glyph", drawn)
    if isinstance(glyph, bm.Step):
        looks["interpolation"] = STEPS[glyph.mode]
    if isinstance(glyph, bm.Image):
        looks |= _shades(glyph.color_mapper)
    return element.relabel(drawn.name or "").opts(**looks, backend="bokeh")
