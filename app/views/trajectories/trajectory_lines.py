"""Many trajectories in one figure: one line per colour, which joins the trajectories of all its weights."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.trajectories.trajectory_clusters import COLORED
from solverscope.app.views.trajectories.trajectory_history import WeightHistory

#: Colours of clusters, none of which is that of a run, and of all other weights.
CLUSTER_COLORS = (
    "#AA3377",
    "#CC6677",
    "#EE8866",
    "#AAAA00",
    "#44AA99",
    "#228833",
    "#6699CC",
    "#7755AA",
    ui.GREY,
)
#: Alpha of clusters, of other weights, and of what is not highlighted.
CLUSTER_ALPHA, OTHER_ALPHA, FADED_ALPHA = 0.8, 0.35, 0.07
#: Width of a line, up to this many weights; with more it is one pixel, which is drawn in a seventh of
#: the time that any other takes.
LINE_WIDTH, MAX_WIDE_LINES = 2.0, 30
#: Rows sent piece by piece, as a share of the whole, above which the whole is sent again.
PIECES = 1.0


def points(values: np.ndarray, iterations: np.ndarray, members) -> dict[str, np.ndarray]:
    """Return trajectories joined to one line, with NaN after each."""
    rows, count = len(iterations), len(members)
    x, y = (np.full((count, rows + 1), np.nan, dtype=np.float32) for _ in range(2))
    if count:
        x[:, :rows] = iterations
        y[:, :rows] = values[:, members].T
    of = np.repeat(np.asarray(members, dtype=np.uint16), rows + 1)
    return {"x": x.ravel(), "y": y.ravel(), "of": of}


#: Columns of a source without points.
NO_LINE_POINTS = points(np.empty((0, 0)), np.empty(0), [])


class Lines:
    """The trajectories of a history, by colour.

    New iterates are sent as a piece of each trajectory, since the browser then searches only these. Once
    there are many pieces, everything is sent again. A data source has the columns "x" (iteration), "y" (β)
    and "of", the column of the history; NaN ends a piece.
    """

    def __init__(self, plot: figure) -> None:
        self._whole, self._pieces = (
            [ColumnDataSource(NO_LINE_POINTS) for _ in CLUSTER_COLORS] for _ in range(2)
        )
        self._drawn: list[tuple[GlyphRenderer, GlyphRenderer]] = [()] * len(CLUSTER_COLORS)
        for slot in (COLORED, *range(COLORED)):  # what has no cluster below all others
            look = {"color": CLUSTER_COLORS[slot], "dash": "solid", "width": 1.0, "alpha": _usual(slot)}
            sources = self._whole[slot], self._pieces[slot]
            self._drawn[slot] = tuple(ui.curve(plot, source, "y", **look) for source in sources)
        self.renderers = [drawn for pair in self._drawn for drawn in pair]
        self._rows = self._sent = 0

    def send(self, history: WeightHistory, slots: np.ndarray) -> None:
        """Send all trajectories; weight k of the history has the colour ``slots[k]``."""
        width = LINE_WIDTH if slots.size <= MAX_WIDE_LINES else 1.0
        for drawn in self.renderers:
            drawn.glyph.line_width = width
        self._slots, self._rows, self._sent = slots, len(history), 0
        for slot, source in enumerate(self._whole):
            members = np.flatnonzero(slots == slot)
            ui.put(source, points(history.values, history.iterations, members))
        for source in self._pieces:
            ui.put(source, NO_LINE_POINTS)

    def add(self, history: WeightHistory) -> None:
        """Send the new rows, with the same colours."""
        new = len(history) - self._rows
        if not new:
            return
        if self._sent + new + 2 > PIECES * (len(history) + 1):
            self.send(history, self._slots)
            return
        rows = slice(max(self._rows - 1, 0), len(history))
        for slot, source in enumerate(self._pieces):
            members = np.flatnonzero(self._slots == slot)
            if members.size:
                source.stream(points(history.values[rows], history.iterations[rows], members))
        self._rows = len(history)
        self._sent += new + 2

    def isolate(self, slot: int | None) -> None:
        """Highlight the weights of one colour; None ends the highlighting."""
        for k, pair in enumerate(self._drawn):
            alpha = _usual(k) if slot is None else (1.0 if k == slot else FADED_ALPHA)
            for drawn in pair:
                drawn.glyph.line_alpha = alpha


def _usual(slot: int) -> float:
    return OTHER_ALPHA if slot == COLORED else CLUSTER_ALPHA
