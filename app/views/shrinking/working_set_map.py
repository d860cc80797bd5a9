"""The view of the working set as an image: the weights that a solver works on in each iteration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from weakref import ref

import numpy as np
from bokeh.models import CustomJS, CustomJSHover, HoverTool

from solverscope.app import ui
from solverscope.app.views.base.lam_marks import LamMarks
from solverscope.app.views.base.probe_view import ProbeView
from solverscope.app.views.base.run_events import returns
from solverscope.app.views.base.states import (
    NONZERO,
    OUTSIDE_STATES,
    PROVED,
    RETURNED,
    SHRUNK,
    STATE_COLORS,
    UNSEEN,
    ZERO,
    VariableKind,
    gives_proofs,
    kind_of,
    legend,
    picked,
    returned,
    states,
    subset,
    used,
)
from solverscope.app.views.base.view import placed
from solverscope.solvers import ACTIVE, SHRINKING, Trace
from solverscope.solvers.probes.subsets import INSIDE, contains, packed, rank, sampled

#: Lines and columns of the picture, at most: no more lines than it has pixels.
MAX_PIXEL_LINES, MAX_PIXEL_COLUMNS = 280, 512
#: Maximal number of weights that are considered individually, apart from those that returned.
MAX_MAPPED_WEIGHTS = 16_384
#: Height of the band of all other weights, and of the gap above it, relative to the image.
BAND_HEIGHT, BAND_SPACING = 0.13, 0.03
#: Maximal number of times at which a weight left or returned that the tooltip lists.
MOVES = 6
Y_LABEL = "{} used\nfirst to leave on top"
#: Number of layouts kept for clicks on an image that a browser still shows.
MAX_LAYOUTS = 3
#: Growth factors of the number of iterates at which lines are sorted again: always, and if weights have no
#: line yet.
SORT_GROWTH, EARLY_SORT_GROWTH = 2.0, 1.25


class MapLayout:
    """The image of a run, with space for twice its number of iterates.

    Lines are sorted and coloured by the observations when the layout is created. ``shown`` are its weights in
    order; a line consists of those between two ``edges``. ``counts`` is the number of weights below each
    edge. A column of the ``image``, and of the ``band`` of the ``others``, spans ``width`` iterations.
    """

    def __init__(self, trace: Trace, entries: list[int]) -> None:
        self.run, self.room = ref(trace), 64
        while self.room <= entries[-1]:
            self.room *= 2
        self.width = max(self.room // MAX_PIXEL_COLUMNS, 1)
        drawn = entries[:: max(len(entries) // MAX_PIXEL_COLUMNS, 1)]
        if drawn[-1] != entries[-1]:
            drawn.append(entries[-1])
        self._sorted_until, self._strangers = entries[-1], 0
        size = int(trace.probes.entry(ACTIVE.name, 0)[1]["size"])
        everything = used(trace)
        self._used, self.others = packed(everything, size), size - everything.size
        shown, share = sampled(everything, MAX_MAPPED_WEIGHTS)
        back = np.intersect1d(returned(trace), everything)
        sample = shown.size
        shown = np.union1d(shown, back)
        codes = np.stack([states(trace, k, shown) for k in drawn])
        order = _by_exit(codes)
        self.shown, self.edges = shown[order], edges_of(len(order))
        lines, columns = len(self.edges) - 1, self.room // self.width
        self.image = np.full((max(lines, 1), columns), UNSEEN, np.uint8)
        self.band = np.full((1, columns), UNSEEN, np.uint8)
        self.until = -1
        for k, column in zip(drawn, codes, strict=True):
            self._paint(trace, k, column[order])
        # those that came back stand for themselves, the sample for all others
        stands_for = np.full(shown.size, (everything.size - (shown.size - sample)) / max(sample, 1))
        if share < 1.0:
            stands_for[np.isin(shown, back) & (rank(shown) >= np.uint32(2**32 * share))] = 1.0
        self.counts = np.append(0.0, np.cumsum(stands_for[order]))[self.edges]

    def is_due(self, trace: Trace, entries: list[int]) -> bool:
        """Return whether the lines must be chosen and sorted again."""
        if entries[-1] >= self.room or self.run() is not trace:
            return True
        if trace.result:
            return self._sorted_until < entries[-1]
        grown = (entries[-1] + 1) / (self._sorted_until + 1)
        return grown >= (EARLY_SORT_GROWTH if self._strangers else SORT_GROWTH)

    def add(self, trace: Trace, entries: list[int]) -> slice:
        """Draw new observations into the image, and return the changed columns."""
        first = (self.until + 1) // self.width
        for k in (k for k in entries if k > self.until):
            _, seen = trace.probes.entry(ACTIVE.name, k)
            self._strangers += int((contains(self._used, picked(seen)) != INSIDE).sum())
            self._paint(trace, k, states(trace, k, self.shown))
        return slice(first, self.until // self.width + 1)

    def names(self, trace: Trace) -> list[str]:
        """Return a name for each line; groups are named after their first weight."""
        names, kind = [], kind_of(trace)
        for first, after in itertools.pairwise(self.edges):
            name = kind.name(trace, int(self.shown[first]))
            names.append(name if after - first == 1 else f"{name} and {after - first - 1} more")
        return names

    def weight_at(self, trace: Trace, line: int, iteration: int) -> int:
        """Return a weight of a line, if possible one that has the line's colour at an iteration.

        If there are several, return the one that comes first in random samples.
        """
        members = self.shown[self.edges[line] : self.edges[line + 1]]
        code = self.image[line, min(iteration // self.width, self.image.shape[1] - 1)]
        alike = members[states(trace, iteration, members) == code]
        members = alike if alike.size else members
        return int(members[np.argmin(rank(members))])

    def _paint(self, trace: Trace, k: int, codes: np.ndarray) -> None:
        """Fill the columns of pixels up to iteration ``k`` with the states of the shown weights.

        ``codes`` has one state per weight, in the order of the lines.
        """
        start = min((self.until + 1) // self.width, k // self.width)
        columns = slice(start, k // self.width + 1)
        if codes.size:
            self.image[:, columns] = _grouped(codes, self.edges)[:, None]
        _, seen = trace.probes.entry(ACTIVE.name, k)
        # of the others, at least
        inside = int(subset(seen, "inside")["count"]) - int(self._used["count"])
        remaining = int(subset(seen, "remaining").get("count", seen["size"]))
        proved = int(seen["size"]) - remaining
        if codes.size:
            proved -= round(float((codes == PROVED).mean()) * int(self._used["count"]))
        code = ZERO if 2 * inside >= self.others else PROVED if 2 * proved >= self.others else SHRUNK
        self.band[:, columns] = code
        self.until = k


class WorkingSetMap(ProbeView):
    """A map of the working set: a column per iteration, a line per weight or group, coloured by its state.

    It shows the weights that were selected after iteration 1, or are nonzero while the working set is full.
    All others form one thin band below, with their number. Lines are sorted by the first time at which their
    weights left; those that never left are at the bottom. They are sorted again as the run grows and when it
    ends. If there are more weights than lines, those at the bottom have a line each, and groups above grow in
    size.

    A group has the colour of most of its members, but that of a returned one if it has any. Weights that left
    by a proof have a separate colour, and wrong guesses are counted. The tooltip shows a weight with the
    iterations at which it left and returned. A click moves the cursor to the iteration, and passes a weight
    of the line to ``pick``. The weight is taken from the clicked image, since a newer one may exist when the
    click arrives.
    """

    id = "working-set"
    title = "Working set"
    probe, probes = ACTIVE, (SHRINKING,)
    hint = (
        "Run a solver that shrinks (prox-qn, newton-cd, dual-cd) and put the cursor on it to see its working "
        "set here."
    )

    pick: Callable[[int], None] = staticmethod(lambda weight: None)

    def build(self) -> None:
        self._source = ui.source(*ui.IMAGE, "names", "shape", "until", "layout")
        self._layouts: dict[int, MapLayout] = {}
        self._layout: MapLayout | None = None
        self._clicked = ui.source("layout")
        self._band = ui.source(*ui.IMAGE)
        self._extent = ui.source("left", "right", "bottom", "top")
        self._said, self._told = ui.html(), ("", "")
        self.figure = ui.plot(self.id, x_label="iteration", y_label=Y_LABEL.format("weights"), height=340)
        looks = (*STATE_COLORS, "#00000000"), (0, UNSEEN + 1)
        drawn, _ = (ui.image(self.figure, source, *looks) for source in (self._source, self._band))
        self._fit()
        self._hover = HoverTool(renderers=[drawn], attachment="vertical")
        self.figure.add_tools(self._hover)
        self._lam_marks = LamMarks(self.figure)
        args = {"clicked": self._clicked, "source": self._source}
        tell = CustomJS(args=args, code="clicked.data = {layout: [...source.data.layout]}")
        self.figure.js_on_event("tap", tell)  # arrives before the click itself
        self.show_cursor(self.figure, 0.5)
        self._body.extend([self._said, self.late_pane(self.figure)])

    def _fit(self) -> None:
        """Set the ranges of the axes: iterations up to the newest iterate, and lines labelled with numbers of
        weights."""
        extent = self.figure.quad(
            "left", "right", "bottom", "top", source=self._extent, fill_alpha=0.0, line_alpha=0.0
        )
        for reach in (self.figure.x_range, self.figure.y_range):
            reach.renderers, reach.range_padding = [extent], 0.0
        ui.name_ticks(self.figure.yaxis[0], {})

    def _name(self, kind: VariableKind, proofs: bool) -> None:
        """Label the axis and the tooltip with the name of the variables."""
        line, named = ui.asset("pixels.js", "working_set_map.js"), list(kind.states(proofs=proofs))
        tips = {
            "@x": ("iteration", "return Math.floor(special_vars.x)", {}),
            "@y": (kind.one, line, {"what": "names"}),
            "@image": ("state", "return states[value] ?? 'not observed'", {"states": named}),
            "@dw": (
                "moved",
                line,
                {"what": "moves", "most": MOVES, "unseen": UNSEEN, "out": list(OUTSIDE_STATES)},
            ),
        }
        said = {place: f"{place}{{custom}}" for place in tips} | {"@y": ui.hover_name("@y")}
        self._hover.tooltips = [(label, said[place]) for place, (label, _, _) in tips.items()]
        self._hover.formatters = {
            place: CustomJSHover(args={"source": self._source, **args}, code=code)
            for place, (_, code, args) in tips.items()
        }
        self.figure.yaxis[0].axis_label = Y_LABEL.format(kind.many)

    def has_content(self) -> bool:
        return len(self.iterations()) > 1

    def draw(self) -> None:
        trace, entries = self.chosen, self.iterations()
        if self._layout is None or self._layout.is_due(trace, entries):
            self._layout, number = MapLayout(trace, entries), max(self._layouts, default=0) + 1
            self._layouts = dict([*self._layouts.items()][1 - MAX_LAYOUTS :]) | {number: self._layout}
            self._send(trace)
        elif entries[-1] > self._layout.until:
            self._add(trace, entries)
        self.drew(self.cursor.iteration)
        self._lam_marks.show_run(trace)
        self._say(trace)

    def _say(self, trace: Trace) -> None:
        """Show the number of weights in the map, the number of wrong guesses up to the cursor, and the
        legend."""
        rows = trace.since(None)[0]
        until = rows["iteration"] <= self.cursor.iteration
        count = int(returns({name: rows[name][until] for name in ("returned", "events")}).sum())
        wrong = ui.counted(count, "wrong guess", "wrong guesses")
        guessed = f"; {wrong} so far" if (rows["returned"][until] >= 0).any() else ""
        used, colours = self._told
        if self._drawn.changed("said", used, guessed, colours):
            self._said.object = f"<p>{used}{guessed}.</p><p>{colours}</p>"

    def _tapped(self, event: object) -> None:
        clicked = next(iter(self._clicked.data["layout"]), max(self._layouts, default=0))
        layout = self._layouts.get(clicked)
        run = None if layout is None else layout.run()
        if not placed(event) or run not in self.traces:
            return  # a click on the picture of a run that was removed
        line, iteration = int(np.floor(event.y)), int(event.x)
        if 0 <= line < len(layout.image) and layout.shown.size:
            self.pick(layout.weight_at(run, line, iteration))
        self.cursor.place(run, iteration)

    def _send(self, trace: Trace) -> None:
        """Send the whole image."""
        layout = self._layout
        lines, others, counts = len(layout.image), layout.others, layout.counts
        band, room = (BAND_HEIGHT * lines, BAND_SPACING * lines) if others else (0.0, 0.0)
        until, bottom = layout.until, -band - room
        more = {"names": layout.names(trace), "shape": trace.names.picture_shape, "until": until}
        more["layout"] = max(self._layouts)
        self._source.data = ui.picture(layout.image, 0, 0, layout.room, lines, **more)
        self._band.data = ui.picture(layout.band, 0, bottom, layout.room, band)
        self._extent.data = ui.columns(self._extent, [(0, until + 1, bottom, lines)])
        number = ui.number
        ticks = {line: number(count) for line, count in _ticks(counts).items()}
        if others:  # next to the band: in it stands what λ was changed to
            ticks[-room - 0.5 * band] = ui.counted(others, "other", "others").replace(" ", "\n")
        ui.name_ticks(self.figure.yaxis[0], ticks)
        some, every = number(round(counts[-1])), number(others + round(counts[-1]))
        kind, proofs = kind_of(trace), gives_proofs(trace)
        if self._drawn.changed("kind", kind, proofs):
            self._name(kind, proofs)
        self._told = (
            f"{some} of {every} {kind.many} were used after iteration 1",
            legend(kind.states(proofs=proofs)),
        )

    def _add(self, trace: Trace, entries: list[int]) -> None:
        """Send the new columns."""
        layout = self._layout
        new = layout.add(trace, entries)
        for source, image in ((self._source, layout.image), (self._band, layout.band)):
            source.patch({"image": [((0, slice(0, len(image)), new), image[:, new].ravel())]})
        self._source.patch({"until": [(0, layout.until)]})
        self._extent.patch({"right": [(0, layout.until + 1)]})


def _by_exit(codes: np.ndarray) -> np.ndarray:
    """Return the order of weights from those that never left to those that left first.

    ``codes`` has a row per iterate. Ties are ordered by the time that weights stayed, then by the time that
    they were nonzero.
    """
    inside = ~np.isin(codes, OUTSIDE_STATES)
    left = np.where(inside.all(axis=0), len(codes), np.argmin(inside, axis=0))
    nonzero = (codes == NONZERO) | (codes == RETURNED)
    return np.lexsort((-nonzero.sum(axis=0), -inside.sum(axis=0), -left))


def _grouped(codes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return a code for each group of neighbouring weights: the most frequent observed one, or RETURNED if
    any has it."""
    counts = np.stack(
        [np.add.reduceat(codes == code, edges[:-1], dtype=np.int64) for code in range(len(STATE_COLORS))]
    )
    most = np.where(counts.any(axis=0), counts.argmax(axis=0), UNSEEN)
    return np.where(counts[RETURNED] > 0, RETURNED, most).astype(np.uint8)


def edges_of(count: int) -> np.ndarray:
    """Return the edges of the lines that ``count`` weights share: one line each, if there are few enough.

    Otherwise the first m have a line each. From there on, the number of weights up to a line grows by the
    factor 1 + 1/m per line.
    """
    if count <= MAX_PIXEL_LINES:
        return np.arange(count + 1)
    low, high = 1.0, float(MAX_PIXEL_LINES)
    for _ in range(40):  # m + ln(count/m)/ln(1 + 1/m) grows with m
        m = 0.5 * (low + high)
        low, high = (low, m) if m + np.log(count / m) / np.log1p(1.0 / m) > MAX_PIXEL_LINES else (m, high)
    singles = min(int(low), MAX_PIXEL_LINES - 1)
    groups = np.geomspace(singles + 1, count + 1, MAX_PIXEL_LINES - singles + 1).round().astype(int) - 1
    return np.unique(np.append(np.arange(singles), groups))


def _ticks(counts: np.ndarray) -> dict[float, int]:
    """Return round numbers of weights by the position of their line, the largest first, with a minimal
    distance.

    ``counts`` are the numbers of weights below each edge of a line.
    """
    if not counts[-1]:
        return {}
    powers = 10 ** np.arange(int(np.log10(counts[-1])) + 1)
    rounds = np.append(np.outer(powers, (1, 2, 5)).ravel(), 0)
    ticks: dict[float, int] = {}
    for count in sorted((int(c) for c in rounds if c <= counts[-1]), reverse=True):
        line = float(np.interp(count, counts, np.arange(counts.size)))
        if not ticks or min(ticks) - line >= (counts.size - 1) / 9:
            ticks[line] = count
    return ticks
