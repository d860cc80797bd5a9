"""A picture of the working set: which weights a solver works on, iteration by iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from weakref import ref

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool, LinearColorMapper, Span

from app import theme
from app.views.base import View
from solvers import Trace
from solvers.probes import sample_stride

#: What a weight may be at an iterate, in the order of the codes of the picture, and its colour.
STATES = {
    "shrunk": "#88888822",
    "in the working set and zero": "#56B4E999",
    "not zero": theme.COLORS[0],
    "back, not zero, after it had been dropped": theme.COLORS[1],
}
SHRUNK, ZERO, NONZERO, RETURNED = range(4)
#: Rows and columns of the picture, at most.
ROWS, COLUMNS = 300, 512
#: Times it left or came back, at most, that are listed of a weight below the pointer.
MOVES = 6


class WorkingSetMap(View):
    """One column an iteration, one row a weight or a group of weights, coloured by what it is.

    Weights are ordered by when they first left, those that never did below, as known when the picture was
    last laid out anew, which happens each time it has doubled in length. A group has the colour of most of
    its members, but that of a returned one if it has any. Below the pointer it says which weight that is, and
    when it left and came back, as the browser finds it in the picture. A click puts the cursor on the
    iteration and gives ``pick`` a weight of that row. Drawn from the ``active`` and the ``shrinking`` probe.
    """

    id = "working-set"
    title = "Working set"
    hint = "Run a solver that shrinks (prox-qn does) and put the cursor on it to see its working set here."

    pick: Callable[[int], None] = staticmethod(lambda weight: None)

    def build(self) -> None:
        columns = ("image", "x", "y", "dw", "dh", "names", "until")
        self._source = ColumnDataSource({name: [] for name in columns})
        self._laid_out: ref[Trace] | None = None  # of which run
        self._room = 0
        self._iterations: list[int] = []
        self.figure = theme.plot(
            self.id, x_label="iteration", y_label="weights, first to leave on top", height=300
        )
        shades = LinearColorMapper(palette=list(STATES.values()), low=0, high=len(STATES))
        drawn = self.figure.image(
            "image", "x", "y", "dw", "dh", source=self._source, color_mapper=shades, level="image"
        )
        self.figure.grid.visible = False
        row = theme.asset("working_set.js")
        tips = {
            "@x": ("iteration", "return Math.floor(special_vars.x)", {}),
            "@y": ("weight", row, {"what": "names"}),
            "@image": ("state", "return states[value]", {"states": list(STATES)}),
            "@dw": ("moved", row, {"what": "moves", "most": MOVES}),
        }
        self.figure.add_tools(
            HoverTool(
                tooltips=[(label, f"{place}{{custom}}") for place, (label, _, _) in tips.items()],
                formatters={
                    place: CustomJSHover(args={"source": self._source, **args}, code=code)
                    for place, (_, code, args) in tips.items()
                },
                renderers=[drawn],
                attachment="above",
            )
        )
        self._here = Span(location=0, dimension="height", line_color=theme.GREY, line_dash="dashed")
        self.figure.add_layout(self._here)
        self.figure.on_event("tap", self._tapped)
        self._pane = pn.pane.Bokeh(sizing_mode="stretch_width", margin=0)
        self._body.extend([theme.html(f"<p>{legend(STATES)}</p>"), self._pane])

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
        if self._laid_out != ref(trace) or entries[-1] >= self._room:
            self._lay_out(trace, entries)
        else:
            self._add(trace, [k for k in entries if k > self._iterations[-1]])
        self._here.location = self.cursor.iteration + 0.5
        if self._pane.object is None:
            self._pane.object = self.figure

    def _tapped(self, event: object) -> None:
        if self.cursor.run is None:
            return
        row = int(event.y // self._stride)
        if 0 <= row < len(self._order):
            self.pick(int(self._order[row]) * self._stride)
        self.cursor.place(self.cursor.run, int(event.x))

    def _lay_out(self, trace: Trace, entries: list[int]) -> None:
        """Order the weights anew and send the whole picture, with room for as many iterations again."""
        self._room = 64
        while self._room <= entries[-1]:
            self._room *= 2
        self._width = max(self._room // COLUMNS, 1)
        drawn = entries[:: max(len(entries) // COLUMNS, 1)]
        self._stride = states(trace, drawn[0])[1]
        self._order = _by_exit(np.stack([states(trace, k)[0] for k in drawn]))
        rows = min(ROWS, len(self._order))
        self._edges = np.linspace(0, len(self._order), rows + 1).astype(int)
        self._image = np.zeros((rows, self._room // self._width), np.uint8)
        self._laid_out = ref(trace)
        self._iterations = [-1]
        self._paint(trace, drawn)
        size = {"dw": [self._room], "dh": [len(self._order) * self._stride]}
        told = {"names": [self._names(trace)], "until": [self._iterations[-1]]}
        self._source.data = {"image": [self._image], "x": [0], "y": [0], **size, **told}

    def _names(self, trace: Trace) -> list[str]:
        """What each row is called: a group by its first weight."""
        first = [name_of(trace, int(self._order[edge]) * self._stride) for edge in self._edges[:-1]]
        others = np.diff(self._edges) * self._stride - 1
        return [f"{name} and {n} more" if n else name for name, n in zip(first, others, strict=True)]

    def _add(self, trace: Trace, new: list[int]) -> None:
        if not new:
            return
        first, last = self._paint(trace, new)
        block = slice(first, last + 1)
        rows = slice(0, len(self._image))
        image = self._image[:, block].ravel()
        self._source.patch({"image": [((0, rows, block), image)], "until": [(0, self._iterations[-1])]})

    def _paint(self, trace: Trace, iterations: list[int]) -> tuple[int, int]:
        """Fill the columns of these iterations; the first and the last column painted."""
        first = (self._iterations[-1] + 1) // self._width
        for k in iterations:
            column = _grouped(states(trace, k)[0][self._order], self._edges)
            start = min((self._iterations[-1] + 1) // self._width, k // self._width)
            self._image[:, start : k // self._width + 1] = column[:, None]
            self._iterations.append(k)
        return first, iterations[-1] // self._width


def states(trace: Trace, iteration: int) -> tuple[np.ndarray, int]:
    """What weights were, as observed last up to an iteration: codes in the order of ``STATES``, of every
    weight, or of one in so many, the second value."""
    _, seen = trace.probes.at("active", iteration)
    stride = sample_stride(int(seen["size"]))
    count = -(-int(seen["size"]) // stride)
    inside, nonzero = (np.unpackbits(seen[name], count=count) for name in ("bits", "support"))
    found = np.where(nonzero, NONZERO, np.where(inside, ZERO, SHRUNK)).astype(np.uint8)
    if (test := trace.probes.at("shrinking", iteration)) is not None:
        returned = test[1]["returned"]
        found[returned[returned % stride == 0] // stride] = RETURNED
    return found, stride


def name_of(trace: Trace, weight: int) -> str:
    """What a weight is called, as far as the run says."""
    about = trace.info.get("problem")
    if about is None:
        return f"weight {weight}"
    return trace.names.weight(weight, about["n_features"], about["n_outputs"])


def _by_exit(codes: np.ndarray) -> np.ndarray:
    """Weights, of which ``codes`` has a row an iterate, ordered from those that never left to those that left
    first, then by how long they stayed, then by how long they were not zero."""
    inside = codes != SHRUNK
    left = np.where(inside.all(axis=0), len(codes), np.argmin(inside, axis=0))
    return np.lexsort((-(codes >= NONZERO).sum(axis=0), -inside.sum(axis=0), -left))


def _grouped(codes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """One code a group of neighbours."""
    counts = np.stack(
        [np.add.reduceat(codes == code, edges[:-1], dtype=np.int64) for code in range(len(STATES))]
    )
    return np.where(counts[RETURNED] > 0, RETURNED, counts.argmax(axis=0)).astype(np.uint8)


def legend(colors: Mapping[str, str]) -> str:
    """What colours mean, as HTML."""
    chip = "display:inline-block;width:12px;height:12px;margin:0 6px -1px 12px;outline:1px solid #8886"
    chips = (f'<span style="{chip};background:{c}"></span>{name}' for name, c in colors.items())
    return "".join(chips)
