"""Figures of a model: an image of the weights of each output's pixels, and a matrix of the transitions."""

from __future__ import annotations

import math

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.search.curvature_memory import PALETTE
from solverscope.datasets.names import pair
from solverscope.solvers import Names

#: Outputs whose pictures are drawn, at most, and pairs of pixels drawn for each.
MAX_DRAWN_OUTPUTS, MAX_PIXEL_PAIRS = 40, 3
#: Label of the axis below images.
SIGN_LABEL = "{}  ·  blue above zero, orange below"
#: Aspect ratio (width to height) of all images together.
ASPECT = 1.6
#: Labels that are upright below a matrix have so many letters; next to it stand so many labels, below it so
#: many long ones, at most.
MAX_UPRIGHT_LETTERS, MAX_ROW_LABELS, MAX_COLUMN_LABELS = 2, 18, 12


def _mapped(plot: figure, source: ColumnDataSource, place: str, names: CustomJSHover) -> None:
    """Draw the images of a data source, with values from -1 to 1, and a tooltip of position and weight."""
    tips = [(place, "@x{custom}"), ("weight", "@weight{0.[0000]}")]
    ui.image(plot, source, PALETTE, (-1.0, 1.0), tips, {"@x": names}, nan_color="#00000000")


def _shown(image: np.ndarray, x: float, y: float, *, upwards: bool) -> dict[str, list]:
    """Return an image as the columns of its data source, with colours relative to its largest entry."""
    drawn = np.flipud(image) if upwards else image
    drawn = np.where(np.isfinite(drawn), drawn, np.nan)
    largest = max(float(np.nanmax(np.abs(drawn), initial=0.0)), 1e-30)
    height, width = image.shape
    shades, weights = (drawn / largest).astype(np.float32), drawn.astype(np.float32)
    return ui.picture(shades, x, y, width, height, weight=weights)


class Pictures:
    """Images of the weights of pixels, one per output, with lines for the strongest pairs of pixels."""

    def __init__(self, name: str) -> None:
        self._images = ui.source(*ui.IMAGE, "weight")
        self._labels = ui.source("x", "y", "right", "bottom", "text")
        self._pairs = ui.source("x0", "y0", "x1", "y1", "color", "pair", "weight")
        told = ui.asset("pixels.js") + "return nameOrPicture(value, format, shape)"
        self._pair_names = CustomJSHover(args={"shape": None}, code=told)
        self._names = CustomJSHover(
            args={"names": [], "width": 1, "height": 1, "gap": 1, "across": 1},
            code=ui.asset("model_figures.js")
            + "return pixelName(special_vars, {names, width, height, gap, across})",
        )
        self.figure = plot = ui.plot(
            name,
            x_label=SIGN_LABEL.format("pixels"),
            y_label="",
            height=260,
            match_aspect=True,
        )
        _mapped(plot, self._images, "pixel", self._names)
        frames = {"left": "x", "right": "right", "top": "y", "bottom": "bottom", "source": self._labels}
        plot.quad(**frames, fill_alpha=0.0, line_color=ui.GREY, line_alpha=0.4)
        drawn = plot.segment("x0", "y0", "x1", "y1", source=self._pairs, color="color", line_width=2)
        tips = [("pair", ui.hover_name("@pair")), ("weight", "@weight{0.[0000]}")]
        names = {"@pair": self._pair_names}
        plot.add_tools(HoverTool(tooltips=tips, formatters=names, renderers=[drawn], attachment="above"))
        looks = {"text_font_size": "0.92em", "text_color": ui.GREY, "text_baseline": "bottom"}
        plot.text("x", "y", "text", source=self._labels, **looks)
        plot.yaxis.visible = False
        ui.name_ticks(plot.xaxis[0], {})

    def show(
        self, weights: np.ndarray, features: np.ndarray, outputs: np.ndarray, values: np.ndarray, names: Names
    ) -> None:
        """Show the columns of ``weights`` (pixels, outputs) as images, with the strongest pairs of pixels of
        each.

        Feature ``features[k]``, a product of two pixels, has the weight ``values[k]`` for output
        ``outputs[k]``.
        """
        assert names.picture_shape is not None  # else there is no picture to show
        height, width = names.picture_shape
        count, gap = min(weights.shape[1], MAX_DRAWN_OUTPUTS), max(2, round(0.25 * height))
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
        self._labels.data = ui.columns(self._labels, frames)
        pixels = height * width
        product = (features >= pixels) & (features < pixels + pixels * (pixels - 1) // 2)
        lines = []
        for c, (top, left) in enumerate(corners):
            mine = np.flatnonzero(product & (outputs == c))
            for k in mine[np.argsort(-np.abs(values[mine]), kind="stable")[:MAX_PIXEL_PAIRS]]:
                ends = [divmod(j, width) for j in pair(int(features[k]) - pixels, pixels)]
                (y0, x0), (y1, x1) = ((-(top + row + 0.5), left + column + 0.5) for row, column in ends)
                told = f"{names.feature(int(features[k]))} for {named[c]}"
                lines.append((x0, y0, x1, y1, ui.COLORS[0 if values[k] > 0 else 1], told, values[k]))
        self._pairs.data = ui.columns(self._pairs, lines)
        drawn = "pixels, strongest pairs" if lines else "pixels"
        self.figure.xaxis[0].axis_label = SIGN_LABEL.format(drawn)


class TransitionFigure:
    """The weights of transitions between labels, as a matrix."""

    def __init__(self, name: str) -> None:
        self._images = ui.source(*ui.IMAGE, "weight")
        code = ui.asset("model_figures.js") + "return transitionName(special_vars, {names, columns})"
        self._names = CustomJSHover(args={"names": [], "columns": 0}, code=code)
        self.figure = plot = ui.plot(
            name, x_label="transitions: to this label", y_label="from this label", height=260
        )
        _mapped(plot, self._images, "transition", self._names)
        plot.y_range.flipped = True

    def show(self, weights: np.ndarray, names: list[str]) -> None:
        """Show a matrix of weights of transitions between labels.

        If it has two more rows, these are the transitions from the begin state and to the end state.
        """
        rows = [*names, *(["begin", "end"] if len(weights) > len(names) else [])]
        if self._names.args["names"] != rows:
            upright = max(map(len, names)) <= MAX_UPRIGHT_LETTERS
            for axis, most, told in (
                (self.figure.xaxis[0], len(names) if upright else MAX_COLUMN_LABELS, names),
                (self.figure.yaxis[0], MAX_ROW_LABELS, rows),
            ):
                shown = range(0, len(told), -(-len(told) // most))
                ui.name_ticks(axis, {k + 0.5: told[k] for k in shown})
            self.figure.xaxis.major_label_orientation = "horizontal" if upright else "vertical"
            self._names.args = {"names": rows, "columns": len(names)}
        self._images.data = _shown(weights, 0.0, 0.0, upwards=False)
