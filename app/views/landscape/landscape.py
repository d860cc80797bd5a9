"""The landscape: a view of the objective on a plane through the space of weights, with the paths
of all runs."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.models import ColumnDataSource

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.view import View, placed
from solverscope.app.views.landscape.landscape_data import (
    GROUNDS,
    PLANES,
    LandscapeScene,
    LandscapeSetting,
    PlacedRun,
    observed,
    scene,
)
from solverscope.solvers import SUPPORT, Problem, Solver, Trace
from solverscope.solvers.probes.kept_weights import WEIGHT_PROBES, weight_entries

if TYPE_CHECKING:
    from holoviews.plotting import Plot

#: Maximal number of weights offered for the axes: those that are largest in the last iterates.
MAX_AXIS_WEIGHTS = 40
#: Distance from an iterate, relative to the window, within which a click selects it.
CLICK_REACH = 0.03
#: Labels of the axes, by the kind of plane.
AXIS_LABELS = {
    "main": ("from the best point towards the start", "main direction  ·  of what remains"),
    "step": ("along the step at the cursor", "steepest descent there, or towards the best point"),
}


class Made(NamedTuple):
    """A plot, its kind of plane and ground, its scene, and the data source of the marks at the cursor."""

    kind: str
    ground: str
    scene: LandscapeScene
    plot: Plot
    marks: ColumnDataSource


class LandscapeView(View):
    """The objective, the loss or the penalty on a plane, seen from above, with the paths of the runs.

    The plane contains the first iterate and the best one, and the main direction of all others. Alternatively
    it contains a step and the steepest descent at the cursor, or two coordinate axes. Iterates are projected
    onto the plane, and drawn faintly if they are far from it.
    """

    id = "landscape"
    title = "Landscape"
    hint = "Press Run to see the objective from above, with the path of each solver."
    probes = WEIGHT_PROBES
    observed = (SUPPORT,)
    every = 15

    @classmethod
    def fits(cls, problem: Problem | None, chosen: Sequence[type[Solver]]) -> bool:
        """Return whether there are at least two weights, and no function of two variables, which has a
        playground."""
        return problem is None or (problem.size >= 2 and "function" not in problem.loss.declared.kinds)

    def build(self) -> None:
        small = {"size": "small", "margin": (8, 4, 4, 4)}
        self._kind = Menu(label="Plane", options=PLANES, value="main", width=230, **small)
        self._ground = Menu(label="Height", options=GROUNDS, value="objective", width=120, **small)
        self._weights = [Menu(label=name, width=190, visible=False, **small) for name in ("across", "up")]
        for menu in (self._kind, self._ground, *self._weights):
            menu.param.watch(lambda event: None if self._offering else self.update(), "value")
        menus = (self._kind, self._ground, *self._weights)
        self._head.append(pn.FlexBox(*menus, align_items="center", margin=0))
        self.plot = ui.holoviews_pane()
        self._said = ui.cursor_text(3, 6)
        self._body.extend([ui.column(self.plot, kind="plots tall"), self._said])
        self._made: Made | None = None
        self._wrong = ""
        self._drawing = self._offering = False

    def _shown(self) -> LandscapeSetting | None:
        """Return what to draw: the runs on the problem of the run under the cursor.

        Return None until one of them has two iterates.
        """
        first = self.chosen or next((trace for trace in self.traces if len(trace)), None)
        if first is None or first.problem is None:
            return None
        key, kind = first.info.problem.get("key"), self._kind.value
        alike = (trace for trace in self.traces if trace.info.problem.get("key") == key)
        numbers = {trace: [k for k, _ in weight_entries(trace.probes)] for trace in alike}
        traces = [trace for trace, found in numbers.items() if found]
        if max(map(len, numbers.values()), default=0) < 2:
            return None
        self._offer_weights(first.problem, traces)
        own = (self.chosen, self.cursor.iteration) if kind == "step" else (None, 0)
        pair = tuple(menu.value for menu in self._weights) if kind == "weights" else (0, 1)
        newest = [numbers[trace][-1] for trace in traces]
        return LandscapeSetting(first.problem, traces, newest, kind, self._ground.value, *own, pair)

    def unobserved(self) -> str:
        """Return why nothing can be drawn for the run under the cursor."""
        if (run := self.chosen) is not None and len(run) and run.problem is None:
            return "This run's problem is not in memory: run it again."
        return super().unobserved()

    def has_content(self) -> bool:
        if self._made is not None and not self._placed:
            self._made = self.plot.object = None
        return self._shown() is not None

    def draw(self) -> None:
        shown = self._shown()
        if shown is not None and not self._drawing:
            mark = (shown.problem.key, *shown[1:])
            if not self._drawn.shows("plot", *mark):
                self._drawing = True
                looks = [run_styles.color_and_dash(run, self.traces.index(run)) for run in shown.traces]
                self.later(partial(_drawn_plot, shown, looks), partial(self._show, mark))
        self._draw_marks(shown)

    def _show(self, mark: tuple[object, ...], made: Made | str | None) -> None:
        """Show a plot, or why there is none, and draw what has changed in the meantime."""
        self._drawing = False
        self._drawn.changed("plot", *mark)
        self._drawn.changed("marks")
        self._wrong = made if isinstance(made, str) else ""
        if isinstance(made, Made):
            self._made, self.plot.object = made, made.plot
            made.plot.state.on_event(Tap, self._clicked)
        self.update()

    def _offer_weights(self, problem: Problem, traces: Sequence[Trace]) -> None:
        """List the largest weights of the runs in the menus of the axes."""
        chosen = self._kind.value == "weights"
        for menu in self._weights:
            menu.visible = chosen
        if not chosen or not self._drawn.changed("weights", problem.key, list(traces)):
            return
        names = _largest_weights(problem, traces)
        self._offering = True
        for menu, first in zip(self._weights, list(names.values())[:2], strict=True):
            value = menu.value if menu.value in names.values() else first
            menu.param.update(options=names, value=value)
        self._offering = False

    @property
    def _placed(self) -> list[PlacedRun]:
        """Return the runs on the plot that are still shown."""
        return [] if self._made is None else [r for r in self._made.scene.runs if r.trace in self.traces]

    def _draw_marks(self, shown: LandscapeSetting | None) -> None:
        """Mark the cursor's iterate, and describe it in sentences."""
        own = next((run for run in self._placed if run.trace is self.chosen), None)
        made = self._made
        waits = self._drawing and made is not None and shown is not None
        waits = waits and (shown.kind, shown.ground) != (made.kind, made.ground)
        note = self._wrong or ("Drawing it …" if waits else "")
        k = None if own is None else own.at(self.cursor.iteration)
        self.drew(None if own is None else int(own.iteration[k]))
        if not self._drawn.changed("marks", self.chosen, k, id(made), note):
            return
        lines = [html.escape(note)] if note else []
        if self._made is not None and own is not None:
            color, _ = run_styles.color_and_dash(own.trace, self.traces.index(own.trace))
            ui.fill(self._made.marks, [own.a[k]], [own.b[k]], [color])
            lines += _sentences(self._made.scene, own, k)
        self._said.object = "".join(f"<p>{line}</p>" for line in lines)

    def _clicked(self, event: Tap) -> None:
        """Move the cursor to the iterate that was clicked."""
        if self._made is None or not placed(event):
            return
        window, nearest = self._made.scene.window, []
        for run in self._placed:
            off = np.hypot((run.a - event.x) / window.width, (run.b - event.y) / window.height)
            k = int(off.argmin())
            nearest.append((float(off[k]), run.trace, int(run.iteration[k])))
        off, trace, iteration = min(nearest, key=lambda found: found[0], default=(np.inf, None, 0))
        if trace is not None and off <= CLICK_REACH:
            self.cursor.place(trace, iteration)


def _drawn_plot(
    shown: LandscapeSetting, looks: Sequence[tuple[str, str]], pulse: Callable[[], None]
) -> Made | str:
    """Return the plot, or a sentence that explains why there is none."""
    from solverscope.app.views.base import rendering  # HoloViews takes long to import
    from solverscope.app.views.landscape import landscape_elements

    try:
        found = scene(shown, pulse)
    except ValueError as error:
        return f"This plane cannot be drawn: {error}."
    labels = AXIS_LABELS.get(shown.kind) or tuple(_weight_name(shown.problem, j) for j in shown.pair)
    marks, styles = ui.source(*landscape_elements.CURSOR_COLUMNS), dict(zip(shown.traces, looks, strict=True))
    runs = [(run, *styles[run.trace]) for run in found.runs]
    plot = rendering.drawn(landscape_elements.landscape, found, runs, labels, marks)
    return Made(shown.kind, shown.ground, found, plot, marks)


def _weight_name(problem: Problem, j: int) -> str:
    return problem.names.weight(j, problem.design.n_features, problem.design.n_outputs)


def _largest_weights(problem: Problem, traces: Sequence[Trace]) -> dict[str, int]:
    """Return the indices of the largest weights of the last iterates by name, in descending order."""
    sizes = np.zeros(problem.size)
    for trace in traces:
        found = observed(trace, problem.size)
        if found is not None:
            sizes = np.maximum(sizes, np.abs(found[1][[-1]].toarray().ravel()))
    largest = np.argsort(-sizes, kind="stable")[:MAX_AXIS_WEIGHTS]
    return {_weight_name(problem, int(j)): int(j) for j in largest}


def _sentences(scene: LandscapeScene, run: PlacedRun, k: int) -> list[str]:
    """Describe the cursor's iterate and the plane in sentences."""
    label, off = html.escape(run.label), ui.number(float(run.distance[k]), 3)
    share = f"{100.0 * scene.captured:.0f} %"
    return [
        f"<b>{label}</b>, iterate {ui.number(int(run.iteration[k]))}: {off} off the plane. Faint steps are "
        "far from it.",
        f"Of the squared distances of all iterates from the plane's origin, {share} lie in it. Shades and "
        "contours: the height above the lowest, on a log scale.",
    ]
