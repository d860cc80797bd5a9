"""A function and its cutting-plane model on a line through the space of weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
import param
from bokeh.models import Span

from solverscope.app import ui
from solverscope.app.ui.batch import batch
from solverscope.app.views.base.help import FIGURES
from solverscope.app.views.base.plot import menu
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.base.view import at_once
from solverscope.app.views.bundle.cut_weights import MIN_WEIGHT
from solverscope.solvers import CUTS, Problem, Trace
from solverscope.solvers.probes.cut_models import Slices, lowest, sliced
from solverscope.solvers.traces.segments import problem_at

FUNCTION_COLOR, CUTS_COLOR, NEWEST_COLOR, LOWEST_COLOR = (ui.COLORS[k] for k in (0, 1, 2, 3))
#: The part of a line w + t d that is drawn, and its points, of f and of each cut.
WINDOWS = {"start": (-0.05, 2.0), "next": (-0.3, 1.3)}
LINE_POINTS, CUT_POINTS = 161, 33
#: Maximal number of weights for which the curve is computed in the page's thread.
MAX_INLINE_WEIGHTS = 10
#: Share of the ends of a line by which they must differ, and of its length by which a point may miss it.
MIN_SEPARATION, ON_LINE = 1e-6, 1e-6

#: Names of the data sources, in the order of their marks.
SOURCES = ("curve", "model", "carrying", "idle", "newest", "here", "low")
SECTION_MARKS = dict(zip(SOURCES, FIGURES["cut-section"].marks, strict=False))
SECTION_LINES = {"Start to best": "start", "To the model's minimum": "next"}
PLACE_LABELS = {
    "start": "place on the line  ·  0: start, 1: best point of the run",
    "next": "place on the line  ·  0: best point, 1: minimum of the model",
}
SECTION_PARTS = {"f and its model": "f", "L and its cuts": "L"}


class SectionCurve:
    """f and its loss part L on a line w + t d, at points ``t`` of a window; computed in any thread."""

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        d: np.ndarray,
        window: tuple[float, float],
        pulse: Callable[[], None],
    ) -> None:
        here = problem.with_pulse(pulse)
        line = here.line(here.at(w.copy()), d)
        self.w, self.d, self.t, self.f = w, d, np.linspace(*window, LINE_POINTS), np.empty(LINE_POINTS)
        for k, x in enumerate(self.t.tolist()):
            pulse()
            self.f[k] = line(x)
        self.loss = self.f - np.array([here.penalty.value(w + x * d) for x in self.t])

    def place(self, point: np.ndarray) -> float:
        """Return the parameter t of a point, or NaN if it is not on the line."""
        t = float((point - self.w) @ self.d / (self.d @ self.d))
        away = np.linalg.norm(point - self.w - t * self.d)
        return t if away <= ON_LINE * np.linalg.norm(self.d) else np.nan


def line_of(
    trace: Trace, along: str, iteration: int, seen: Seen
) -> tuple[object, np.ndarray, np.ndarray] | None:
    """Return a line w + t d, preceded by the data on which it depends; return None if its ends are equal."""
    first, start = trace.probes.entry(CUTS.name, 0)
    last, newest = next((k, s) for k, s in reversed(trace.probes.entries(CUTS.name)) if "w" in s)
    if along == "start":
        ends = [(first, start["w"], last, newest["w"]), (first, start["w"], first, lowest(start))]
    else:
        ends = [(iteration, seen["w"], iteration, lowest(seen)), (first, start["w"], last, newest["w"])]
    for one, w, other, end in ends:
        d = end - w
        if np.linalg.norm(d) > MIN_SEPARATION * (np.linalg.norm(w) + np.linalg.norm(end)):
            return (ref(trace), along, one, other), w, d
    return None


def drawn_ends(trace: Trace, along: str, iteration: int) -> np.ndarray | None:
    """Return the ends of the drawn part of a line, (2, n), or None if the run does not have the line."""
    found = trace.probes.last(CUTS.name, iteration)
    line = line_of(trace, along, *found) if found is not None and "A" in found[1] else None
    if line is None:
        return None
    _, w, d = line
    return np.stack([w + t * d for t in WINDOWS[along]])


class CutSection(ProbeView):
    """f on a line, the cuts of a bundle method up to the cursor, and their maximum, the model.

    By default the line connects the start and the best point of the run, and does not depend on the cursor.
    Alternatively it connects the best point at the cursor and the minimum of the model.
    """

    id = "cut-section"
    title = "Cuts on a line"
    probe = CUTS

    along: str = param.Selector(default="start", objects=list(SECTION_LINES.values()), doc="the line")
    shown: str = param.Selector(
        default="f", objects=list(SECTION_PARTS.values()), doc="f, or its loss part alone"
    )

    def build(self) -> None:
        self._busy = False
        self._curve: tuple[object, SectionCurve] | None = None
        self.sources = {name: ui.source("t", "f") for name in SOURCES}
        self._legend = ui.html()
        self.figure = self._make_figure()
        menus = [
            menu("Line", self.param.along, SECTION_LINES, 150),
            menu("Draw", self.param.shown, SECTION_PARTS, 140),
        ]
        self._head.append(ui.column(ui.html(f"<h2>{self.title}</h2>"), *menus, kind="line"))
        pane = ui.pane(self.figure)
        self._body.extend([pane, self._legend])
        self.param.watch(lambda *events: self.update(), ["along", "shown"])

    def _make_figure(self) -> Any:
        plot = ui.plot(self.id, x_label=PLACE_LABELS[self.along], y_label=self.shown, height=280)
        plot.x_range.range_padding = 0.0
        plot.y_range.range_padding = 0.12
        grey = {"line_color": ui.GREY}
        looks = {
            "idle": {**grey, "line_dash": "dotted", "line_alpha": 0.7},
            "carrying": {**grey, "line_width": 1.2, "line_alpha": 0.8},
            "model": {"line_color": CUTS_COLOR, "line_width": 3.5, "line_alpha": 0.75},
            "newest": {"line_color": NEWEST_COLOR, "line_dash": "dashed", "line_width": 2},
            "curve": {"line_color": FUNCTION_COLOR, "line_width": 2.5},
        }
        drawn = {name: plot.line("t", "f", source=self.sources[name], **look) for name, look in looks.items()}
        self._bound = Span(dimension="width", line_color=LOWEST_COLOR, line_dash="dotted", visible=False)
        plot.add_layout(self._bound)
        sign = {"line_color": ui.GREY, "level": "overlay"}
        plot.scatter("t", "f", source=self.sources["here"], size=10, fill_color=FUNCTION_COLOR, **sign)
        plot.scatter(
            "t", "f", source=self.sources["low"], marker="diamond", size=14, fill_color=LOWEST_COLOR, **sign
        )
        plot.x_range.renderers = plot.y_range.renderers = [drawn["curve"]]
        ui.follow_axes(plot)
        return plot

    @property
    def hint(self) -> str:
        """Return a hint on what to run, or why these runs cannot be drawn; empty if they can."""
        found = self.seen()
        if found is None:
            return "Run a bundle method (bmrm, ls-bmrm or ocas) to see its cutting planes here."
        if "A" not in found[1]:
            return "The problem has too many weights to keep its cuts: only their weights α are drawn."
        if self.chosen.problem is None:
            return "This run's problem is not in memory: only the weights α of its cuts are drawn."
        if line_of(self.chosen, self.along, *found) is None:
            return "The run has not moved yet, so there is no line to draw along."
        return ""

    def has_content(self) -> bool:
        return not self.hint

    def draw(self) -> None:
        found = self.seen()
        line = None if found is None else line_of(self.chosen, self.along, *found)
        if found is None or line is None:  # then there is a hint, and nothing to draw
            return
        (iteration, seen), (mark, w, d) = found, line
        if self._curve is not None and self._curve[0] == mark:
            self._show(iteration, seen, self._curve[1], mark)
        elif not self._busy:
            self._busy = True
            work = partial(SectionCurve, problem_at(self.chosen, iteration), w, d, WINDOWS[self.along])
            later = at_once if w.size <= MAX_INLINE_WEIGHTS else self.top.later
            later(work, partial(self._found, mark))

    def _found(self, mark: object, curve: SectionCurve | None) -> None:
        """Draw the computed curve if it is still needed, otherwise start the next computation."""
        self._busy = False
        if curve is None:
            self._legend.object = "<p>f could not be computed on this line.</p>"
            return
        self._curve = mark, curve
        self.update()

    def _show(self, iteration: int, seen: Seen, curve: SectionCurve, mark: object) -> None:
        if not self._drawn.changed("picture", self.chosen, iteration, mark, self.shown):
            return
        self.drew(iteration)
        line = sliced(seen, curve.w, curve.d)
        data = drawn(seen, line, curve, whole=self.shown == "f")
        with batch():
            for name, source in self.sources.items():
                ui.fill(source, *data.get(name, ()))
            self._bound.visible = self.shown == "f"
            self._bound.location = float(seen["bound"])
            self.figure.xaxis[0].axis_label = PLACE_LABELS[self.along]
            self.figure.yaxis[0].axis_label = self.shown
            self._legend.object = ui.mark_legend(
                (mark.glyph, mark.color, self.shown if name == "curve" else mark.words)
                for name, mark in SECTION_MARKS.items()
                if len(self.sources[name].data["t"])
            )


def drawn(
    seen: Seen, line: Slices, curve: SectionCurve, *, whole: bool
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the columns of each data source: for f and its model if ``whole``, else for the loss and its
    cuts."""
    t = curve.t
    few = np.linspace(t[0], t[-1], CUT_POINTS if whole else 2)
    ridge, few_ridge = (line.ridge_at(x) if whole else np.zeros(x.size) for x in (t, few))
    cuts, newest = line.cuts_at(few) + few_ridge, int(np.argmax(seen["numbers"]))
    other, carries = np.arange(len(cuts)) != newest, seen["alpha"] > MIN_WEIGHT
    places = {"here": (curve.place(seen["w"]), float(seen["best"]))}
    places["low"] = curve.place(lowest(seen)), float(seen["bound"])
    data = {
        "curve": (t, curve.f if whole else curve.loss),
        "model": (t, line.cuts_at(t).max(axis=0) + ridge),
        "carrying": _joined(few, cuts[other & carries]),
        "idle": _joined(few, cuts[other & ~carries]),
        "newest": (few, cuts[newest]),
    }
    for name, (x, height) in places.items():
        if t[0] <= x <= t[-1]:
            less = 0.0 if whole else float(line.ridge_at(np.array([x]))[0])
            data[name] = np.array([x]), np.array([height - less])
    return data


def _joined(t: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join curves over the same points to one curve with gaps."""
    gap = np.full((len(rows), 1), np.nan)
    return np.tile(np.append(t, np.nan), len(rows)), np.hstack([rows, gap]).ravel()
