"""The view of the features that a model uses: nonzero rows of W, over time and at the cursor."""

from __future__ import annotations

import html
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from bokeh.models import CustomJSHover
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.views.base.feed import Records, known
from solverscope.app.views.base.plot import Plots, RunPlot
from solverscope.app.views.base.probe_view import Seen
from solverscope.app.views.search.curvature_memory import PALETTE
from solverscope.app.views.shrinking.row_moves import RowMoves
from solverscope.solvers import ROWS, Names, Trace

#: Maximal number of runs whose matrices are drawn side by side.
MAX_MATRICES = 6
#: Space between two matrices, relative to their width.
MATRIX_SPACING = 0.12
#: Maximal number of features named in a sentence.
MAX_NAMED_FEATURES = 8
#: Shade of the smallest weight, on a scale from 0 (none) to 1 (the largest).
MIN_SHADE = 0.2


class RowShare(RunPlot):
    """Percentage of features with a nonzero weight."""

    id = "row-share"
    title = "Features in use"
    y_label = "non-zero rows  ·  of W (%)"
    default_scale = "linear"

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        size = trace.info.problem.get("n_features", np.nan)
        return {"y": self.drawable(100.0 * known(rows["nnz_rows"]) / size)}


class RowSparsity(Plots):
    """Fraction of features in use in every run, and W of every run at the cursor's iteration.

    W has features as rows, sorted by decreasing norm, and outputs as columns. If features are pixels, the
    norms are an image. Features of the run under the cursor that became nonzero or zero are listed by name.

    While the cursor follows its run, each run is shown at its newest iterate. Otherwise it is shown at the
    cursor's iteration, or at its last if it ended before.
    """

    id = "rows"
    title = "Rows"
    hint = "Run a solver to see which features it uses: the non-zero rows of W."
    every = 2
    probes = observed = (ROWS,)

    def build(self) -> None:
        [self.share] = self.plots(RowShare, height=220)
        self._said = ui.cursor_text(6)
        self._patterns = ui.source(*ui.IMAGE, "weight", "features", "outputs", "shape")
        self._pictures = ui.source(*ui.IMAGE, "norm")
        sides = ("left", "right", "bottom", "top", "color")
        self._frames = {name: ui.source(*sides) for name in ("patterns", "pictures")}
        self._moves = ui.source("x", "y", "marker")
        self.patterns, self.pictures = self._pattern_figure(), self._picture_figure()
        self._panes = [ui.pane(plot) for plot in (self.patterns, self.pictures)]
        self._matrices = ui.column(kind="plots")
        share = ui.column(self.share, self._said, kind="narrow")
        self._body.append(ui.column(share, ui.column(self._matrices, kind="broad"), kind="across"))

    def _pattern_figure(self) -> figure:
        plot = ui.plot(
            "row-patterns",
            x_label="outputs  ·  blue above zero, orange below",
            y_label="features  ·  largest ‖W_j‖ on top",
            height=320,
        )
        plot.y_range.flipped = True
        # x and y are numbers of an image; of the lists of names Bokeh would look up single letters
        named = {"feature": ("@y", "features"), "output": ("@x", "outputs")}
        scripts, source = ui.asset("pixels.js", "row_sparsity.js"), self._patterns
        code = f"{scripts}return rowName(special_vars, source, column, format)"
        formats = {
            place: CustomJSHover(args={"source": source, "column": column}, code=code)
            for place, column in named.values()
        }
        tips = [("feature", ui.hover_name("@y")), ("output", "@x{custom}"), ("weight", "@weight{0.[0000]}")]
        ui.image(plot, source, PALETTE, (-1.0, 1.0), tips, formats)
        self._frame_runs(plot, "patterns")
        return plot

    def _picture_figure(self) -> figure:
        plot = ui.plot(
            "row-pictures",
            x_label="‖W_j‖ of pixels  ·  + became non-zero, × zero",
            y_label="",
            height=320,
            match_aspect=True,
        )
        plot.axis.visible = False
        plot.xaxis.visible = True
        code = ui.asset("row_sparsity.js") + "return pixelName(special_vars, source)"
        name = CustomJSHover(args={"source": self._pictures}, code=code)
        tips = [("feature", "@x{custom}"), ("‖W_j‖", "@norm{0.[0000]}")]
        ui.image(plot, self._pictures, PALETTE[255:], (0.0, 1.0), tips, {"@x": name})
        self._frame_runs(plot, "pictures")
        sign = {"size": 10, "line_width": 2, "color": ui.COLORS[1]}
        plot.scatter("x", "y", source=self._moves, marker="marker", **sign)
        return plot

    def _frame_runs(self, plot: figure, name: str) -> None:
        """Draw frames in the runs' colours around the images, with names below."""
        frames = {"fill_alpha": 0.0, "line_color": "color", "line_width": 1.5}
        plot.quad("left", "right", "top", "bottom", source=self._frames[name], **frames)
        ui.name_ticks(plot.xaxis[0], {})

    def has_content(self) -> bool:
        return any(trace.probes.iterations(ROWS.name) for trace in self.traces)

    def draw(self) -> None:
        super().draw()
        shown = sorted(self.traces, key=lambda trace: trace is not self.cursor.run)[:MAX_MATRICES]
        at = sys.maxsize if self.cursor.follow else self.cursor.iteration
        runs = [
            ShownRows(trace, *run_styles.color_and_dash(trace, place)[:1], *found)
            for place, trace in enumerate(self.traces)
            if trace in shown and (found := trace.probes.last(ROWS.name, at)) is not None
        ]
        mark = [(run.trace, run.iteration, run.trace is self.cursor.run) for run in runs]
        if not runs or not self._drawn.changed("rows", mark):
            return
        chosen = next((run for run in runs if run.trace is self.cursor.run), runs[0])
        self.drew(chosen.iteration if chosen.trace is self.cursor.run else None)
        moves, shape = RowMoves(chosen.trace, chosen.iteration), chosen.trace.names.picture_shape
        pictured = [run for run in runs if run.trace.names.picture_shape == shape]
        self._said.object = _sentences(chosen, moves)
        self._patterns.data = ui.columns(self._patterns, _patterns(runs))
        rows = max(int(run.trace.nnz_rows.max(initial=1)) for run in runs)
        self._frame("patterns", self.patterns, runs, 1, rows)
        if shape:
            self._pictures.data = ui.columns(self._pictures, _pictures(pictured))
            self._frame("pictures", self.pictures, pictured, *shape[::-1])
            self._mark_moves(pictured.index(chosen), shape, moves)
        panes = self._panes if shape else self._panes[:1]
        if len(self._matrices) != len(panes):
            self._matrices.objects = panes

    def _frame(self, name: str, plot: figure, runs: list[ShownRows], width: float, height: float) -> None:
        """Draw a frame around the image of each run, and name it below."""
        frames = self._frames[name]
        placed = [(_left(place, width), run) for place, run in enumerate(runs)]
        frames.data = ui.columns(frames, [(x, x + width, 0.0, height, run.color) for x, run in placed])
        names = {x + 0.5 * width: run.label() for x, run in placed}
        ui.name_ticks(plot.xaxis[0], names)

    def _mark_moves(self, place: int, shape: tuple[int, int], moves: RowMoves) -> None:
        (height, width), left = shape, _left(place, shape[1])
        moved = [*((k, "cross") for k in moves.entered), *((k, "x") for k in moves.left)]
        pixels = [(*divmod(k, width), marker) for k, marker in moved if k < height * width]
        marks = [(left + column + 0.5, height - row - 0.5, marker) for row, column, marker in pixels]
        self._moves.data = ui.columns(self._moves, marks)


@dataclass(frozen=True)
class ShownRows:
    """A displayed run: its colour, the probe's last observation, and its iteration."""

    trace: Trace
    color: str
    iteration: int
    seen: Seen

    def label(self) -> str:
        count, size = int(self.seen["count"]), int(self.seen["size"])
        name = self.trace.info.label.replace(" ", "\n")  # there is little room from one run to the next
        return f"{name}\n{ui.number(count)} of {ui.number(size)}"


def _sentences(run: ShownRows, moves: RowMoves) -> str:
    names, number = run.trace.names, ui.number
    count, size = int(run.seen["count"]), int(run.seen["size"])
    said = [
        f"<b>{html.escape(run.trace.info.label)}</b> at iteration {number(run.iteration)}: "
        f"{number(count)} of {number(size)} features in use ({number(100.0 * count / size, 3)} %)."
    ]
    if moves.before is not None:
        since = f"since iteration {number(moves.before)}"
        said.append(f"New {since}: {_named(names, moves.entered)}")
        said.append(f"Dropped {since}: {_named(names, moves.left)}")
    said.append(f"In use since the start, largest norm first: {_named(names, moves.since_start)}")
    said.append(f"Used for a while and dropped, latest first: {_named(names, moves.gone)}")
    return "".join(f"<p>{text}</p>" for text in said)


def _named(names: Names, features: list[int]) -> str:
    """Return the number of features and the names of the first ones, as HTML."""
    if not features:
        return "none."
    shape = names.picture_shape
    shown = " · ".join(
        f"<i>{ui.pixel_label(names.feature(j), shape)}</i>" for j in features[:MAX_NAMED_FEATURES]
    )
    return f"{ui.number(len(features))}. {shown}{' …' if len(features) > MAX_NAMED_FEATURES else ''}"


def _left(place: int, width: float) -> float:
    return place * width * (1.0 + MATRIX_SPACING)


def _patterns(runs: list[ShownRows]) -> Iterator[tuple]:
    """Yield the images of W, as rows of their data source.

    A matrix without entries, which cannot be drawn, is replaced by a single zero.
    """
    for place, run in enumerate(runs):
        W = run.seen["pattern"] if run.seen["pattern"].size else np.zeros((1, 1))
        named = _features(run), _outputs(run, W.shape[1]), run.trace.names.picture_shape
        yield _shaded(W), _left(place, 1), 0, 1, max(int(run.seen["count"]), 1), W, *named


def _shaded(W: np.ndarray) -> np.ndarray:
    size = np.abs(W)
    shade = MIN_SHADE + (1.0 - MIN_SHADE) * np.sqrt(size / max(float(size.max()), 1e-300))
    return np.where(size > 0.0, np.copysign(shade, W), 0.0).astype(np.float32)


def _features(run: ShownRows) -> list[str]:
    """Return a name for each row of an image of W."""
    rows, names = run.seen["rows"], run.trace.names
    edges = np.linspace(0, int(run.seen["count"]), len(run.seen["pattern"]) + 1).astype(int)
    said = []
    for first, after in itertools.pairwise(edges):
        name = names.feature(int(rows[first])) if first < len(rows) else "a small row"
        said.append(name if after - first == 1 else f"{name} and {after - first - 1} similar")
    return said


def _outputs(run: ShownRows, columns: int) -> list[str]:
    """Return a name for each column of an image of W."""
    m = run.trace.info.problem.get("n_outputs", columns)
    return [run.trace.names.output(int(c)) for c in np.linspace(0, m, columns + 1).astype(int)[:-1]]


def _pictures(runs: list[ShownRows]) -> Iterator[tuple]:
    """Yield the images of the norms of rows, as rows of their data source."""
    for place, norms in enumerate(map(_picture, runs)):
        height, width = norms.shape
        shades = (norms / max(float(norms.max()), 1e-300)).astype(np.float32)
        yield shades, _left(place, width), 0, width, height, norms


def _picture(run: ShownRows) -> np.ndarray:
    """Return the norms of the rows of pixels as an image, whose first row comes last as images are drawn
    upwards."""
    assert run.trace.names.picture_shape is not None
    height, width = run.trace.names.picture_shape
    rows, norms = run.seen["rows"], run.seen["norms"]
    flat = np.zeros(height * width)
    pixels = rows < flat.size
    flat[rows[pixels]] = norms[pixels]
    return np.flipud(flat.reshape(height, width))
