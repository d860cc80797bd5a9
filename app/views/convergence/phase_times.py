"""The view of the time per phase: a bar for each run, divided by phases or epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import param
from bokeh.models import HoverTool

from solverscope.app import ui
from solverscope.app.views.base.feed import Records
from solverscope.app.views.base.phases import spans
from solverscope.app.views.base.plot import menu
from solverscope.app.views.base.view import View
from solverscope.app.views.compare.summary import as_html

PART_ORDERS = {"in time order": "time", "totals": "sum"}
#: Maximal number of parts of a bar; if there are more, parts of the same name are added up.
MAX_BAR_PARTS = 400
#: Maximal number of columns of the table.
MAX_TABLE_COLUMNS = 8
#: Height of the figure without bars, in pixels.
FRAME_HEIGHT = 64
#: Alternating colours of epochs.
TURNS = (f"{ui.COLORS[5]}cc", f"{ui.COLORS[5]}55")
#: Names of parts that are not phases, and their colour.
NO_PHASES, NO_PHASE_COLOR = ("iterations", "other"), f"{ui.GREY}66"
BARS = ("y", "left", "right", "color", "run", "part", "seconds", "share", "iterations")


class PhaseTimes(View):
    """CPU seconds of every run by phase, or by epoch if there is a single phase.

    The time of an iterate is that since the previous one. Parts are drawn in order or added up; the table
    shows the sums.
    """

    id = "phases"
    title = "Phases"
    carried = ("active", "clustering")
    hint = "Run a solver with phases or epochs (such as prox-qn) to see where its time goes."
    every = 5

    order: str = param.Selector(
        default="time", objects=list(PART_ORDERS.values()), doc="how parts stand in a bar"
    )

    def build(self) -> None:
        self._bars = ui.source(*BARS)
        plot = self.figure = ui.plot(
            self.id, x_label="CPU time of the run (s)", y_label="", height=FRAME_HEIGHT
        )
        plot.x_range.start, plot.y_range.flipped = 0, True
        plot.ygrid.visible = False
        plot.min_border_left = 120
        ui.name_ticks(plot.yaxis[0], {})
        drawn = plot.hbar(
            "y",
            left="left",
            right="right",
            height=0.7,
            source=self._bars,
            color="color",
            line_color="color",
            line_width=0.5,
        )
        tips = [("run", "@run"), ("part", "@part"), ("CPU", "@seconds{0.[000]} s (@share{0.[0] %})")]
        tips.append(("iterations", "@iterations"))
        plot.add_tools(HoverTool(tooltips=tips, renderers=[drawn]))
        self._legend, self._table = ui.html(), ui.html(styles={"overflow-x": "auto"})
        head = ui.html("<h2>Where the time goes</h2>")
        row = [head, self._legend, menu("Parts", self.param.order, PART_ORDERS, width=150)]
        self._body.extend(
            [
                ui.column(*row, kind="line"),
                ui.pane(plot),
                self._table,
            ]
        )
        self.param.watch(lambda *events: self.update(), "order")

    def draw(self) -> None:
        read = [(trace, trace.since(None)) for trace in self.traces]
        read = [(trace, rows, until) for trace, (rows, until, _) in read if len(rows["iteration"])]
        if not self._drawn.changed("bars", self.order, *((trace, until) for trace, _, until in read)):
            return
        runs = {trace.info.label: parts(rows) for trace, rows, _ in read}
        colors = palette(name for run in runs.values() for name in run["part"])
        self._bars.data = bars(runs, colors, added_up=self.order == "sum")
        ui.name_ticks(self.figure.yaxis[0], dict(enumerate(runs)))
        self._legend.object = ui.mark_legend(("■", color[:7], name) for name, color in legend(colors).items())
        self._table.object = table(runs)


def parts(rows: Records) -> pd.DataFrame:
    """Return name, CPU seconds and iterations of each part of a run.

    A run is divided at each change of phase, or of epoch if it has a single phase.
    """
    phases, epochs = spans(rows), rows["epoch"]
    if len({span.phase for span in phases}) > 1:
        names = np.full(len(epochs), NO_PHASES[1], dtype=object)
        for span in phases:
            names[span.first : span.last + 1] = span.phase
    else:
        plain = phases[0].phase if phases else NO_PHASES[0]
        names = np.array([f"epoch {k}" if k >= 0 else plain for k in epochs.tolist()], dtype=object)
    new = np.append(False, (names[1:] != names[:-1]) | (epochs[1:] != epochs[:-1]))
    seconds = np.diff(rows["cpu_seconds"], prepend=0.0)
    iterations = np.diff(rows["iteration"], prepend=rows["iteration"][0])
    each = pd.DataFrame({"part": names, "seconds": seconds, "iterations": iterations})
    return each.groupby(np.cumsum(new)).agg({"part": "first", "seconds": "sum", "iterations": "sum"})


def sums(run: pd.DataFrame) -> pd.DataFrame:
    """Add up parts of the same name, in the order in which the names first occur."""
    return run.groupby("part", sort=False, as_index=False).sum()


def palette(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: epochs alternate between two colours, parts that are not phases are
    grey."""
    names = dict.fromkeys(names)
    phases = [name for name in names if _epoch(name) is None and name not in NO_PHASES]
    colors = {name: ui.COLORS[k % len(ui.COLORS)] for k, name in enumerate(phases)}
    epochs = {name: TURNS[k % 2] for name in names if (k := _epoch(name)) is not None}
    return colors | epochs | {name: NO_PHASE_COLOR for name in names if name in NO_PHASES}


def _epoch(name: str) -> int | None:
    head, _, number = name.partition(" ")
    return int(number) if head == "epoch" and number.isdigit() else None


def legend(colors: Mapping[str, str]) -> dict[str, str]:
    """Return the colour of each entry of the legend, which has a single entry for all epochs."""
    found = {name: color for name, color in colors.items() if _epoch(name) is None}
    return ({"epochs, alternating": TURNS[0]} if len(colors) > len(found) else {}) | found


def bars(
    runs: Mapping[str, pd.DataFrame], colors: Mapping[str, str], *, added_up: bool
) -> dict[str, np.ndarray]:
    """Return the columns of the bars, with one row of bars per run from the top."""
    lines = []
    for line, (label, run) in enumerate(runs.items()):
        shown = sums(run) if added_up or len(run) > MAX_BAR_PARTS else run
        right = shown["seconds"].cumsum()
        share = shown["seconds"] / (right.iloc[-1] or 1.0)
        more = {"y": line, "run": label, "right": right, "left": right - shown["seconds"], "share": share}
        lines.append(shown.assign(**more, color=shown["part"].map(colors)))
    found = pd.concat(lines)
    return {name: found[name].to_numpy() for name in BARS}


def table(runs: Mapping[str, pd.DataFrame]) -> str:
    """Return the sums as an HTML table: seconds and fraction of each part, with a row per run."""
    added = [sums(run).set_index("part")["seconds"].rename(label) for label, run in runs.items()]
    seconds = pd.concat(added, axis=1, sort=False).T
    kept = seconds.shape[1] if seconds.shape[1] <= MAX_TABLE_COLUMNS + 1 else MAX_TABLE_COLUMNS
    shown = seconds.iloc[:, :kept]
    if more := seconds.shape[1] - kept:
        shown = shown.assign(**{f"{more} more": seconds.iloc[:, kept:].sum(axis=1, min_count=1)})
    lines = []
    for (label, cells), total in zip(shown.iterrows(), seconds.sum(axis=1), strict=True):
        lines.append([label, *(_cell(one, total) for one in cells), ui.seconds(total)])
    return as_html(["run", *shown.columns, "all"], lines)


def _cell(seconds: float, total: float) -> str:
    if np.isnan(seconds):
        return "–"
    share = f" · {ui.number(100.0 * seconds / total, 2)} %" if total > 0.0 else ""
    return f"{ui.number(seconds, 2)} s{share}"
