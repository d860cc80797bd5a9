"""Trajectories of up to hundreds of weights, coloured by cluster."""

from __future__ import annotations

import html
import math
import time
from bisect import bisect_left

import numpy as np
import param

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.ui.menu import LineMenu
from solverscope.app.views.base.feed import positive
from solverscope.app.views.base.phases import spans
from solverscope.app.views.base.plot import menu
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.base.view import placed
from solverscope.app.views.trajectories.trajectory_choice import WEIGHT_SELECTIONS, Followed
from solverscope.app.views.trajectories.trajectory_clusters import COLORED, MAKERS, Grouping
from solverscope.app.views.trajectories.trajectory_figures import Figures
from solverscope.app.views.trajectories.trajectory_history import Entries, WeightHistory
from solverscope.solvers import TRAJECTORIES, Trace

#: Numbers of weights drawn and of clusters found, as menus offer them.
LINE_COUNTS = (50, 100, 200, 500)
CLUSTER_COUNTS = (2, 3, 4, 6, 8, 12, 20, 40)
#: Seconds between two clusterings while the cursor follows its run.
BETWEEN_TWO = 1.0
#: Crossovers marked, at most, the newest, and of these named, at most.
MAX_MARKED_CROSSOVERS, MAX_NAMED_CROSSOVERS = 200, 6
#: Spread within clusters, relative to that between them, up to which weights of a cluster are considered
#: equal.
EQUAL_SPREAD = 1e-6
#: Size of weights above which their squares could not be added up.
MAX_WEIGHT_SIZE = 1e100
#: Weights that are drawn, and what makes clusters, in a sentence.
SELECTION_PHRASES = {"largest": "the {} largest", "random": "{} random", "named": "{} named"}
MADE = {
    "own": "of the solver's own",
    "kmeans": "by k-means on (β, Δβ)",
    "chunks": "of neighbours in sorted order",
}
TRAJECTORY_KEY = (
    "× marks where a weight changes cluster. Click a line or a bar to isolate its cluster, click again "
    "to show all; drag to zoom."
)
#: Share of the height of the picture within which a click is meant for a line.
CLICK_SHARE = 0.03


class Trajectories(ProbeView):
    """β of up to hundreds of weights of the run under the cursor, over its iterations, coloured by cluster.

    Clusters at the cursor are the solver's own, or computed here for any solver. Eight clusters have a
    colour, and others are grey. A cross marks a weight that changes clusters. Each output is clustered and
    drawn separately.

    Further plots show the sizes of the clusters and, over time, the distances within and between clusters. A
    click on a line or a bar isolates its cluster, and a second one shows all again. A click away from the
    lines moves the cursor.
    """

    id = "trajectories"
    title = "Trajectories"
    probe = TRAJECTORIES
    hint = "Run a solver to see its weights move, and the clusters they form."

    which: str = param.Selector(
        default="largest", objects=list(WEIGHT_SELECTIONS.values()), doc="which weights are drawn"
    )
    count: int = param.Selector(default=100, objects=list(LINE_COUNTS), doc="lines drawn, at most")
    named: str = param.String(default="", doc="names or numbers of features, separated by commas")
    output: int = param.Integer(
        default=0, bounds=(0, None), doc="output (column of W) whose weights are drawn"
    )
    maker: str = param.Selector(default="own", objects=list(MAKERS.values()), doc="what makes the clusters")
    clusters: int = param.Selector(default=6, objects=list(CLUSTER_COUNTS), doc="number of clusters")
    isolated: int | None = param.Integer(
        default=None, allow_None=True, doc="cluster that is isolated, by its colour"
    )

    def build(self) -> None:
        self.figures = Figures(self.id)
        self.history: WeightHistory | None = None
        self.grouping: Grouping | None = None
        self._grouped_at = -math.inf
        self._spreads: list[tuple[float, float]] = []
        self._missing = ""
        self._said = ui.cursor_text(3, 5)
        main, sizes, spread = (
            self.late_pane(plot) for plot in (self.figures.main, self.figures.sizes, self.figures.spread)
        )
        beside = ui.column(sizes, spread, kind="narrow")
        self._controls()
        self._body.extend([ui.column(ui.column(main, kind="broad"), beside, kind="across"), self._said])
        taps = "tap", "doubletap"  # the second of two quick clicks is no tap for Bokeh
        self.show_cursor(self.figures.main, taps=taps)
        self.show_cursor(self.figures.spread, taps=())
        for event in taps:
            self.figures.sizes.on_event(event, self._tapped_bar)
        changes = ["which", "count", "named", "output", "maker", "clusters"]
        self.param.watch(lambda *events: self.update(), changes)
        self.param.watch(lambda event: self.figures.isolate(self.isolated), "isolated")

    def _controls(self) -> None:
        self._outputs = LineMenu(label="Output", options={}, width=120, visible=False)
        self._outputs.param.watch(
            lambda event: isinstance(event.new, int) and self.param.update(output=event.new), "value"
        )
        field = pmui.TextInput.from_param(
            self.param.named, label="Features", width=180, size="small", margin=(4, 4), visible=False
        )
        self.param.watch(lambda event: field.param.update(visible=event.new == "named"), "which")
        counts, clusters = ({ui.number(k): k for k in some} for some in (LINE_COUNTS, CLUSTER_COUNTS))
        row = (
            ui.html(f"<h2>{self.title}</h2>"),
            menu("Weights", self.param.which, WEIGHT_SELECTIONS, width=150),
            field,
            menu("Lines", self.param.count, counts, width=64),
            self._outputs,
            menu("Clusters by", self.param.maker, MAKERS, width=160),
            menu("Number", self.param.clusters, clusters, width=64),
        )
        self._head.append(ui.column(*row, kind="line"))

    def has_content(self) -> bool:
        return len(self.iterations()) > 1

    def draw(self) -> None:
        trace = self.chosen
        probes, name = trace.probes, TRAJECTORIES.name
        if self._drawn.changed("run", trace):
            self._begin(trace, probes.entry(name, 0)[1])
        found = self.seen()
        if found is not None and self._is_due(trace, found[0]):
            entries = probes.entries(name)
            place = max(bisect_left(entries, self.cursor.iteration + 1, key=lambda entry: entry[0]) - 1, 0)
            self._group(trace, entries, place)
        elif self.history.update(probes.entries(name, after=self.history.last)):
            self.figures.lines.add(self.history)
        else:
            self._read(probes.entries(name))
        self._show_course()
        self._show_phases(trace)
        self.figures.lam_marks.show_run(trace)

    def _begin(self, trace: Trace, seen: Seen) -> None:
        """List the outputs of another run in the menu, and drop the previous run."""
        self.history, self.grouping = None, None
        options = Followed(trace, seen).outputs()
        output = self.output if self.output in options.values() else 0
        self._outputs.param.update(options=options, value=output, visible=len(options) > 1)
        self.param.update(output=output, isolated=None)

    def _is_due(self, trace: Trace, at: int) -> bool:
        """Return whether weights must be selected and clustered again at an iterate."""
        setting = self.which, self.count, self.named, self.output, self.maker, self.clusters
        if self._drawn.changed("setting", trace, *setting) or self.history is None:
            return True
        waits = self.cursor.follow and time.monotonic() - self._grouped_at < BETWEEN_TWO
        return not waits and not self._drawn.shows("clusters", trace, at)

    # the weights and their clusters

    def _group(self, trace: Trace, entries: Entries, place: int) -> None:
        """Select the weights to draw, and cluster them by their values in an observation."""
        at, seen = entries[place]
        self._drawn.changed("clusters", trace, at)
        self.drew(at)
        self._grouped_at = time.monotonic()
        before, grouping = self.history, self.grouping
        followed = Followed(trace, seen)
        places, self._missing = followed.choose(self.which, self.count, self.output, self.named)
        if before is None or not np.array_equal(before.places, places) or not before.update(entries):
            self.history = WeightHistory(entries, places)
            said = {"names": followed.names(places), "shape": trace.names.picture_shape}
            self.figures.pointer.args = {**self.figures.pointer.args, **said}
        beta, none = _values(seen, places), np.full(places.size, -1, dtype=np.int32)
        own = seen["labels"][places] if "labels" in seen else none
        self.grouping = Grouping.of(
            beta,
            beta - _values(entries[max(place - 1, 0)][1], places),
            own,
            self.maker,
            self.clusters,
        )
        same = self.history is before and np.array_equal(self.grouping.slots, grouping.slots)
        if same:
            self.figures.lines.add(self.history)
        else:
            self.figures.lines.send(self.history, self.grouping.slots)
        self._spreads = []
        moved = self.grouping.crossovers(self.history)
        self._mark(moved, at)
        self._show_sizes(beta)
        self._said.object = self._sentences(followed, at, seen, beta, moved)

    def _read(self, entries: Entries) -> None:
        """Read all observations again after there were too many, with a larger stride."""
        self.history = WeightHistory(entries, self.history.places)
        self._spreads = []
        self.figures.lines.send(self.history, self.grouping.slots)

    def _mark(self, moved: np.ndarray, until: int) -> None:
        """Mark the newest crossovers up to an iteration."""
        history, slots = self.history, self.grouping.slots
        rows, weights = np.nonzero(moved[: history.row(until) + 1])
        rows, weights = rows[-MAX_MARKED_CROSSOVERS:], weights[-MAX_MARKED_CROSSOVERS:]
        self.figures.show_marks(history.iterations[rows], history.values[rows, weights], slots[weights])

    def _show_sizes(self, beta: np.ndarray) -> None:
        slots, sizes = np.unique(self.grouping.slots, return_counts=True)
        means = [float(beta[self.grouping.slots == slot].mean()) for slot in slots]
        order = sorted(range(slots.size), key=lambda k: (slots[k] == COLORED, -means[k]))
        texts = ["others" if slots[k] == COLORED else ui.number(means[k], 3) for k in order]
        self.figures.show_sizes(slots[order].tolist(), sizes[order].tolist(), texts)
        self.figures.isolate(self.isolated)

    # over time

    def _show_course(self) -> None:
        history, known = self.history, len(self._spreads)
        if known < len(history):
            self._spreads += [self.grouping.spread(row) for row in history.values[known:]]
            inside, between = positive(np.array(self._spreads).T)
            self.figures.course.data = {"x": history.iterations, "inside": inside, "between": between}

    def _show_phases(self, trace: Trace) -> None:
        rows, _, _ = trace.since(None)
        found = spans(rows)
        if not self._drawn.changed("phases", trace, len(found), rows["iteration"][-1] if found else -1):
            return
        at = rows["iteration"].tolist()
        self.figures.show_phases([(at[max(s.first - 1, 0)], at[s.last], s.phase) for s in found])

    # what is said

    def _sentences(self, followed: Followed, at: int, seen: Seen, beta: np.ndarray, moved: np.ndarray) -> str:
        number, grouping = ui.number, self.grouping
        phase = f", {seen['phase']}" if seen["phase"] else ""
        if phase and int(seen["epoch"]) >= 0:
            phase = f", epoch {number(int(seen['epoch']))}{phase}"
        sizes = np.unique(grouping.labels[grouping.labels >= 0], return_counts=True)[1]
        lines = [
            f"<b>{html.escape(followed.trace.info.label)}</b> at iteration {number(at)}{phase}: "
            f"{SELECTION_PHRASES[self.which].format(number(beta.size))} of {number(followed.size)} weights, "
            f"in {ui.counted(sizes.size, 'cluster')} {MADE[grouping.maker]}."
        ]
        inside, between = grouping.spread(beta)
        alone = sizes.max(initial=0) < 2
        if not alone and beta.any() and inside <= EQUAL_SPREAD * between:
            lines.append("The lines of a cluster coincide: its weights are equal.")
        elif not alone and between > 0.0:
            share = number(100.0 * inside / between, 2)
            lines.append(f"The spread inside clusters is {share} % of the spread of their means.")
        if self.maker == "own" and grouping.maker != "own":
            lines.append("The solver has no clusters of its own here.")
        row = self.history.row(at)
        if crossed := np.flatnonzero(moved[row]).tolist():
            names = followed.names(self.history.places[crossed[:MAX_NAMED_CROSSOVERS]])
            shape, more = (
                followed.trace.names.picture_shape,
                " …" if len(crossed) > MAX_NAMED_CROSSOVERS else "",
            )
            named = ", ".join(ui.pixel_label(name, shape) for name in names)
            lines.append(f"{number(len(crossed))} changed cluster: {named}{more}.")
        said = f"<p>{' '.join(lines)}</p>"
        if self._missing:
            said += f'<p class="error" role="alert">{html.escape(self._missing)}</p>'
        return said + f'<p class="note">{TRAJECTORY_KEY}</p>'

    # clicks

    def _toggle(self, slot: int) -> None:
        self.isolated = None if self.isolated == slot else slot

    def _tapped_bar(self, event: object) -> None:
        slots = self.figures.bars.data["slot"]
        if placed(event) and self.grouping is not None and 0 <= round(-event.y) < len(slots):
            self._toggle(slots[round(-event.y)])

    def _tapped(self, event: object) -> None:
        if not placed(event) or self.history is None or not self._drawn.shows("run", self.chosen):
            return  # a click on the picture of a run that was removed
        weight = self.history.nearest(event.x, event.y, CLICK_SHARE)
        if weight is None:
            super()._tapped(event)
        else:
            self._toggle(int(self.grouping.slots[weight]))


def _values(seen: Seen, places: np.ndarray) -> np.ndarray:
    """Return observed values of weights, zero before they were recorded; they are clipped if a
    run diverges."""
    found = np.zeros(places.size)
    there = places < seen["values"].size
    found[there] = seen["values"][places[there]]
    return np.clip(np.nan_to_num(found), -MAX_WEIGHT_SIZE, MAX_WEIGHT_SIZE)
