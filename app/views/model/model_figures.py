"""Pictures of a model: the weights of each output as a picture of its pixels, and the transitions."""

from __future__ import annotations

import math

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool
from bokeh.plotting import figure

from solverscope.app import theme
from solverscope.app.views.search.curvature_memory import PALETTE
from solverscope.datasets.names import pair
from solverscope.solvers import Names

#: Outputs whose pictures are drawn, at most, and pairs of pixels drawn for each.
OUTPUTS, PAIRS = 40, 3
#: What an axis below pictures says of them.
SIGNS = "{}  ·  blue above zero, orange below"
#: How many times as wide as high the pictures are together.
ASPECT = 1.6
#: Labels that are upright below a matrix have so many letters; beside it stand so many labels, below it so
#: many long ones, at most.
SHORT, BESIDE, BELOW = 2, 18, 12


def _mapped(plot: figure, source: ColumnDataSource, place: str, names: CustomJSHover) -> None:
    """Draw the images of a source, from -1 to 1, of which the pointer names a place and its weight."""
    tips = [(place, "@x{custom}"), ("weight", "@weight{0.[0000]}")]
    theme.image(plot, source, PALETTE, (-1.0, 1.0), tips, {"@x": names}, nan_color="#00000000")


def _shown(image: np.ndarray, x: float, y: float, *, upwards: bool) -> dict[str, list]:
    """Return an image in the columns of its source; its colours are relative to its largest entry."""
    drawn = np.flipud(image) if upwards else image
    drawn = np.where(np.isfinite(drawn), drawn, np.nan)
    largest = max(float(np.nanmax(np.abs(drawn), initial=0.0)), 1e-30)
    height, width = image.shape
    shades, weights = (drawn / largest).astype(np.float32), drawn.astype(np.float32)
    return theme.picture(shades, x, y, width, height, weight=weights)


class Pictures:
    """The weights of pixels, a picture an output, and the strongest pairs of pixels as lines on it."""

    def __init__(self, name: str) -> None:
        self._images = theme.source(*theme.IMAGE, "weight")
        self._labels = theme.source("x", "y", "right", "bottom", "text")
        self._pairs = theme.source("x0", "y0", "x1", "y1", "color", "pair", "weight")
        told = theme.asset("pixels.js") + "return told(value, format, shape)"
        self._pair_names = CustomJSHover(args={"shape": None}, code=told)
        self._names = CustomJSHover(
            args={"names": [], "width": 1, "height": 1, "gap": 1, "across": 1},
            code=theme.asset("tile_names.js"),
        )
        self.figure = plot = theme.plot(
            name,
            x_label=SIGNS.format("pixels"),
            y_label="",
            height=260,
            match_aspect=True,
        )
        _mapped(plot, self._images, "pixel", self._names)
        frames = {"left": "x", "right": "right", "top": "y", "bottom": "bottom", "source": self._labels}
        plot.quad(**frames, fill_alpha=0.0, line_color=theme.GREY, line_alpha=0.4)
        drawn = plot.segment("x0", "y0", "x1", "y1", source=self._pairs, color="color", line_width=2)
        tips = [("pair", theme.tip("@pair")), ("weight", "@weight{0.[0000]}")]
        names = {"@pair": self._pair_names}
        plot.add_tools(HoverTool(tooltips=tips, formatters=names, renderers=[drawn], attachment="above"))
        looks = {"text_font_size": "0.92em", "text_color": theme.GREY, "text_baseline": "bottom"}
        plot.text("x", "y", "text", source=self._labels, **looks)
        plot.yaxis.visible = False
        theme.name_ticks(plot.xaxis[0], {})

    def show(
        self, weights: np.ndarray, features: np.ndarray, outputs: np.ndarray, values: np.ndarray, names: Names
    ) -> None:
        """Show the columns of ``weights`` (pixels, outputs) as pictures, with the strongest products of two
        pixels of each output: entry k says that ``features[k]`` weighs ``values[k]`` for ``outputs[k]``."""
        assert names.picture_shape is not None  # else there is no picture to show
        height, width = names.picture_shape
        count, gap = min(weights.shape[1], OUTPUTS), max(2, round(0.25 * height))
        across = min(count, max(1, round(math.sqrt(ASPECT * count * (height + gap) / width))))
        corners = [(c // across * (height + gap) + gap, c % across * (width + gap)) for c in range(count)]
        tiles = np.full((-(-count // across) * (height + gap), across * (width + gap)), np.nan)
        for c, (top, left) in enumerate(corners):
            tiles[top : top + height, left : left + width] = weights[:, c].reshape(height, width)
        named = [names.output(c) for c in range(count)]
        sizes = {"width": width, "height": height, "gap": gap, "across": across}
        self._names.args = {"names": named, **sizes}
        self._pair_names.args = {"shape": names.picture_shape}
        self._images.data = _shown(tiles, 0.0, -float(tiles.shape[0]), upwards=True)
        frames = [
            (left, -top, left + width, -top - height, name)
            for (top, left), name in zip(corners, named, strict=True)
        ]
        self._labels.data = theme.columns(self._labels, frames)
        pixels = height * width
        product = (features >= pixels) & (features < pixels + pixels * (pixels - 1) // 2)
        lines = []
        for c, (top, left) in enumerate(corners):
            mine = np.flatnonzero(product & (outputs == c))
            for k in mine[np.argsort(-np.abs(values[mine]), kind="stable")[:PAIRS]]:
                ends = [divmod(j, width) for j in pair(int(features[k]) - pixels, pixels)]
                (y0, x0), (y1, x1) = ((-(top + row + 0.5), left + column + 0.5) for row, column in ends)
                told = f"{names.feature(int(features[k]))} for {named[c]}"
                lines.append((x0, y0, x1, y1, theme.COLORS[0 if values[k] > 0 else 1], told, values[k]))
        self._pairs.data = theme.columns(self._pairs, lines)
        drawn = "pixels, strongest pairs" if lines else "pixels"
        self.figure.xaxis[0].axis_label = SIGNS.format(drawn)


class Transitions:
    """The weights of one label after another, as a matrix."""

    def __init__(self, name: str) -> None:
        self._images = theme.source(*theme.IMAGE, "weight")
        self._names = CustomJSHover(args={"names": [], "columns": 0}, code=theme.asset("cell_names.js"))
        self.figure = plot = theme.plot(
            name, x_label="transitions: to this label", y_label="from this label", height=260
        )
        _mapped(plot, self._images, "transition", self._names)
        plot.y_range.flipped = True

    def show(self, weights: np.ndarray, names: list[str]) -> None:
        """Show a matrix of weights between labels, or one with two more rows: from the begin state to each,
        and from each to the end state."""
        rows = [*names, *(["begin", "end"] if len(weights) > len(names) else [])]
        if self._names.args["names"] != rows:
            upright = max(map(len, names)) <= SHORT
            for axis, most, told in (
                (self.figure.xaxis[0], len(names) if upright else BELOW, names),
                (self.figure.yaxis[0], BESIDE, rows),
            ):
                shown = range(0, len(told), -(-len(told) // most))
                theme.name_ticks(axis, {k + 0.5: told[k] for k in shown})
            self.figure.xaxis.major_label_orientation = "horizontal" if upright else "vertical"
            self._names.args = {"names": rows, "columns": len(names)}
        self._images.data = _shown(weights, 0.0, 0.0, upwards=False)
