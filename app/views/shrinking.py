"""Which weights a solver works on, iteration by iteration."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import ColorBar, ColumnDataSource, LinearColorMapper, Span

from app import theme
from app.views.base import View
from solvers import Trace

#: No colour for none of a group, full colour for all of it: on a light and on a dark page.
PALETTE = [f"{theme.COLORS[0]}{alpha:02x}" for alpha in range(256)]
#: Rows and columns of the picture, at most.
ROWS, COLUMNS = 200, 512


class Shrinking(View):
    """A picture of the working set of the run under the cursor: one column an iteration, one row a group of
    weights, shaded by the share of the group that is in the working set.

    Weights are ordered by how long they stayed, as known when the picture was last laid out anew, which
    happens each time it has doubled in length. Drawn from the ``active`` probe.
    """

    id = "shrinking"
    title = "Shrinking"
    hint = "Run a solver that shrinks (prox-qn does) and put the cursor on it to see its working set here."

    def build(self) -> None:
        self._source = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self._laid_out: tuple[int, int] = (0, 0)  # which run, for how many columns
        self._room = 0
        self._iterations: list[int] = []
        self._order = np.empty(0, int)
        self.figure = theme.plot(
            self.id, x_label="iteration", y_label="weights, longest kept below", height=280
        )
        shades = LinearColorMapper(palette=PALETTE, low=0, high=255)
        self.figure.image(
            "image", "x", "y", "dw", "dh", source=self._source, color_mapper=shades, level="image"
        )
        self.figure.grid.visible = False
        scale = LinearColorMapper(palette=PALETTE, low=0, high=100)
        self.figure.add_layout(
            ColorBar(color_mapper=scale, width=10, title="% kept", title_text_font_size="11px"),
            "right",
        )
        self._here = Span(location=0, dimension="height", line_color=theme.COLORS[1], line_dash="dashed")
        self.figure.add_layout(self._here)
        self.figure.on_event("tap", lambda event: self.cursor.place(self.cursor.run, round(event.x)))
        self._pane = pn.pane.Bokeh(sizing_mode="stretch_width", margin=0)
        self._body.append(self._pane)

    def _entries(self) -> list[int]:
        trace = self.cursor.run
        if trace is None or trace.probes is None or not any(t is trace for t in self.traces):
            return []
        return trace.probes.iterations("active")

    def has_content(self) -> bool:
        return len(self._entries()) > 1

    def draw(self) -> None:
        entries = self._entries()
        if len(entries) < 2:
            return
        trace = self.cursor.run
        if self._laid_out[0] != id(trace) or entries[-1] >= self._room:
            self._lay_out(trace, entries)
        else:
            self._add(trace, [k for k in entries if k > self._iterations[-1]])
        self._here.location = self.cursor.iteration
        if self._pane.object is None:
            self._pane.object = self.figure

    def _lay_out(self, trace: Trace, entries: list[int]) -> None:
        """Order the weights anew and send the whole picture, with room for as many iterations again."""
        self._room = 64
        while self._room <= entries[-1]:
            self._room *= 2
        self._width = max(self._room // COLUMNS, 1)
        stride = max(len(entries) // COLUMNS, 1)
        masks = [_mask(trace, k) for k in entries[::stride]]
        stay = np.sum(masks, axis=0, dtype=np.int32)
        self._order = np.argsort(-stay, kind="stable")
        rows = min(ROWS, len(stay))
        self._edges = np.linspace(0, len(stay), rows + 1).astype(int)
        self._image = np.zeros((rows, self._room // self._width), np.uint8)
        self._laid_out = (id(trace), self._room)
        self._iterations = [-1]
        self._paint(trace, entries[::stride])
        self._source.data = {
            "image": [self._image],
            "x": [0],
            "y": [0],
            "dw": [self._room],
            "dh": [len(stay)],
        }

    def _add(self, trace: Trace, new: list[int]) -> None:
        if not new:
            return
        first, last = self._paint(trace, new)
        block = slice(first, last + 1)
        rows = slice(0, len(self._image))
        self._source.patch({"image": [((0, rows, block), self._image[:, block].ravel())]})

    def _paint(self, trace: Trace, iterations: list[int]) -> tuple[int, int]:
        """Fill the columns of these iterations; the first and the last column painted."""
        first = (self._iterations[-1] + 1) // self._width
        for k in iterations:
            shares = np.add.reduceat(_mask(trace, k)[self._order], self._edges[:-1], dtype=float)
            column = (255 * shares / np.diff(self._edges)).astype(np.uint8)
            start = min((self._iterations[-1] + 1) // self._width, k // self._width)
            self._image[:, start : k // self._width + 1] = column[:, None]
            self._iterations.append(k)
        return first, iterations[-1] // self._width


def _mask(trace: Trace, iteration: int) -> np.ndarray:
    """Whether each weight was in the working set, as observed last up to an iteration."""
    _, seen = trace.probes.at("active", iteration)
    return np.unpackbits(seen["bits"], count=int(seen["size"])).astype(bool)
