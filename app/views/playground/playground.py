"""The playground: a view of solvers on a function of two variables."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from weakref import ref

import numpy as np
import panel as pn
import param
from bokeh.events import RangesUpdate, Tap

from solverscope.app import ui
from solverscope.app.settings import wording
from solverscope.app.ui import run_styles
from solverscope.app.views.base.plot import AXIS_SCALES, menu
from solverscope.app.views.base.probe_view import Seen
from solverscope.app.views.base.problem_view import ProblemView
from solverscope.app.views.base.view import placed
from solverscope.app.views.bundle.cut_section import drawn_ends
from solverscope.app.views.convergence.convergence import Convergence
from solverscope.app.views.playground.playground_landscape import Landscape, Window
from solverscope.app.views.playground.playground_marks import PlaneMarks, vector
from solverscope.app.views.playground.playground_plane import Plane
from solverscope.solvers import CUTS, PLANE, Problem, Trace

#: Pixels.
PLANE_HEIGHT, OBJECTIVE_HEIGHT = 440, 190
#: Height of the text at the cursor in lines, also in narrow windows, where it can be scrolled.
TEXT_LINES, NARROW = 7, 12
#: Maximal number of points of a trajectory.
MAX_TRAJECTORY_POINTS = 1500
#: Iterates up to this distance from the origin, relative to that of the start, are in the initial window.
FIRST_WINDOW_REACH = 4.0
#: Factor by which the drawn landscape is wider and higher than the window, so that it covers small moves.
AROUND = 1.7
#: Relative size of a new window below which the landscape is drawn with a finer resolution.
CLOSER = 0.5
#: Least and greatest aspect ratio (width to height) of the figure on a page.
NARROWEST, BROADEST = 0.75, 2.4
#: Relative difference up to which two windows are considered equal.
WINDOW_TOLERANCE = 0.01

#: Observations of the PLANE probe, with their iterations.
Entries = list[tuple[int, Seen]]

FITS = {"Near the start": "near", "All iterates": "all"}
PLANE_KEY = "The next Run starts at the ringed dot. Heavy lines: kinks. Grey arrows: subgradients"
DIRECTION_KEY = (
    f"{PLANE_KEY}, the heavier one their combination ḡ. In the run's colour: its direction p, and the "
    "ellipse of all steps with the same pᵀB⁻¹p, B its estimate of the inverse Hessian. Lengths of arrows "
    "are relative."
)
#: Of a bundle method, which has no direction of its own.
CUT_KEY = f"{PLANE_KEY}. Dashed: the line on which the tab Bundle draws f and its cuts."


class Heights(Convergence):
    """f of every run over its iterations."""

    id = "playground-objective"
    title = "Objective"
    default_scale = "linear"

    def controls(self) -> list[pn.viewable.Viewable]:
        return [menu("Scale", self.param.scale, {scale: scale for scale in AXIS_SCALES}, width=70)]


class Playground(ProblemView):
    """Contours and kinks of a function of two variables, and the trajectories of all runs.

    Trajectories are drawn up to the cursor, or in full while it follows or is at the end of its run. At the
    cursor's iterate, the view shows the subgradients, the solver's convex combination of them, its direction,
    and its matrix B as an ellipse. For a bundle method it shows the line on which its cuts are drawn.

    A click sets the starting point, which is the option ``start`` of the data.
    """

    id = "playground"
    title = "Playground"
    hint = "Choose a toy function to watch solvers move on it."
    probes = (PLANE, CUTS)

    fit: str = param.Selector(default="near", objects=list(FITS.values()), doc="what the window shows")

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        return problem.size == 2 and "function" in problem.loss.declared.kinds

    def build(self) -> None:
        self.plane = Plane(self.id, PLANE_HEIGHT)
        self.window = Window(-1.0, 1.0, -1.0, 1.0)
        self._zoomed: Window | None = None
        self._looked: tuple[Window, Window] | None = None  # the part seen, and all that was drawn
        self._how = ui.html()
        self._said = ui.cursor_text(TEXT_LINES, NARROW)
        objective = Heights(whole=self, x="iteration", measure="objective", height=OBJECTIVE_HEIGHT)
        fit = menu("Window", self.param.fit, FITS, width=150)
        row = ui.column(self._how, fit, kind="line")
        picture = ui.column(row, ui.pane(self.plane.figure), kind="broad plane")
        beside = ui.column(objective, self._said, kind="narrow")
        self._body.append(ui.column(picture, beside, kind="across"))
        self.plane.figure.on_event(Tap, self._picked)
        self.plane.figure.on_event(RangesUpdate, self._ranged)
        self.param.watch(lambda *events: self.update(), ["fit", "problem"])

    def draw(self) -> None:
        problem = self.drawn_problem()
        self._draw_runs(problem)
        self._draw_ground(problem)
        self._draw_marks(problem)
        super().draw()
        line = None if self.chosen is None else drawn_ends(self.chosen, "start", self.cursor.iteration)
        self.plane.show("line", *(() if line is None else line.T))

    # the runs

    def _draw_runs(self, problem: Problem) -> None:
        seen = [trace.probes.entries(PLANE.name) for trace in self.traces]
        self._fit(problem, seen)
        self.plane.show("start", *(() if problem.start is None else problem.start[:, None]))
        until = self._until
        ends, mark = [], []
        matched = self.plane.curves.match(self.traces, {trace: trace.info.label for trace in self.traces})
        for place, ((feed, trace), entries) in enumerate(zip(matched, seen, strict=True)):
            drawn = entries if until is None else [entry for entry in entries if entry[0] <= until]
            last = (len(drawn), drawn[-1][0]) if drawn else (0, -1)
            feed.replace(lambda drawn=drawn: trajectory(drawn), (ref(trace), *last))
            unbounded = len(drawn) == len(entries) and trace.status == "unbounded"
            mark.append((trace, *last, unbounded))
            if drawn:
                color = run_styles.color_and_dash(trace, place)[0]
                ends.append((drawn[-1][1], color, trace is self.chosen, unbounded))
        if self._drawn.changed("ends", self.chosen, self.window, *mark):
            far = 4.0 * (self.window.width + self.window.height)
            heads = [(*seen["w"], color, 13 if chosen else 8) for seen, color, chosen, _ in ends]
            rays = [
                (*seen["w"], *(seen["w"] + far / np.linalg.norm(seen["p"]) * seen["p"]), color)
                for seen, color, _, unbounded in ends
                if unbounded and "p" in seen
            ]
            self.plane.show("here", *zip(*heads, strict=True))
            self.plane.show("rays", *zip(*rays, strict=True))

    @property
    def _until(self) -> int | None:
        """Return the last iteration to draw of every run, or None to draw all."""
        at_end = self.chosen is None or self.cursor.iteration >= self.chosen.last.get("iteration", 0)
        return None if self.cursor.follow or at_end else self.cursor.iteration

    def _fit(self, problem: Problem, seen: Sequence[Entries]) -> None:
        """Choose the initial window, which does not depend on the cursor.

        It covers start, origin, kinks and iterates; distant iterates are included only on request.
        """
        newest = [entries[-1][0] if entries else -1 for entries in seen]
        if not self._drawn.changed("window", problem.key, self.fit, *zip(self.traces, newest, strict=True)):
            return
        start = problem.start
        home = np.zeros((1, 2)) if start is None else np.stack([-0.5 * start, start])
        points = np.concatenate([home, *(places(entries) for entries in seen)])
        points = points[np.isfinite(points).all(axis=1)]
        if self.fit == "near":
            reach = FIRST_WINDOW_REACH * (np.abs(home).max() or 1.0)
            points = points[(np.abs(points) <= reach).all(axis=1)]
        self.window = Window.around(points)
        box = self.window
        self.plane.show("extent", [box.x0, box.x1], [box.y0, box.y1])

    # the function

    def _draw_ground(self, problem: Problem) -> None:
        """Draw the function in the visible window, unless it is already drawn at this resolution."""
        seen = self._zoomed or self.window
        if self._drawn.shows("ground", problem.key) and self._looked is not None:
            before, drawn = self._looked
            closer = seen.width < CLOSER * before.width or seen.height < CLOSER * before.height
            if drawn.holds(self._around(seen, 1.0)) and not closer:
                return
        self._drawn.changed("ground", problem.key)
        self._looked = seen, self._around(seen, AROUND)
        land = Landscape(problem, *self._looked)
        self.plane.show_ground(land)
        apart = f"contours {ui.number(land.apart)} apart" if land.contours.size else "no contours"
        click = "<b>Click to choose the start</b>" if self.on_option else "Seen from above"
        self._how.object = f"<p>{click} · {apart}</p>"

    def _around(self, seen: Window, times: float) -> Window:
        """Return the region that a figure of a window shows, enlarged by a factor.

        As both axes have the same scale, it is wider or higher than the window unless zoomed.
        """
        if self._zoomed is not None:
            return seen.grown(times, times)
        across = max(1.0, BROADEST * seen.height / seen.width)
        up = max(1.0, seen.width / (NARROWEST * seen.height))
        return seen.grown(across, up) if times == 1.0 else seen.grown(1.1 * across, 1.1 * up)

    def _ranged(self, event: RangesUpdate) -> None:
        """Redraw for a new visible part of the plane."""
        ends = [end for end in (event.x0, event.x1, event.y0, event.y1) if end is not None]
        if len(ends) < 4 or not all(map(math.isfinite, ends)):
            return
        if not (ends[0] < ends[1] and ends[2] < ends[3]):
            return
        window = Window(*map(float, ends))
        self._zoomed = None if self._is_home(window) else window
        if (problem := self.drawn_problem()) is not None and self.in_sight:
            self._attempt(lambda: (self._draw_ground(problem), self._draw_marks(problem)))

    def _is_home(self, window: Window) -> bool:
        """Return whether a window is the initial one.

        As both axes have the same scale, it may be extended horizontally or vertically.
        """
        box = self.window
        off = (window.x0 + window.x1 - box.x0 - box.x1) / window.width
        off = max(abs(off), abs(window.y0 + window.y1 - box.y0 - box.y1) / window.height)
        least = min(window.width / box.width, window.height / box.height)
        return off <= WINDOW_TOLERANCE and abs(least - 1.0) <= WINDOW_TOLERANCE

    # the cursor's iterate

    def _draw_marks(self, problem: Problem) -> None:
        trace, size = self.chosen, (self._zoomed or self.window).size
        found = None if trace is None else trace.probes.last(PLANE.name, self.cursor.iteration)
        mark = () if found is None else (trace, found[0], size, trace.status)
        if not self._drawn.changed("marks", *mark) and self._said.object:
            return
        self.drew(None if found is None else found[0])
        if found is None:
            self.plane.show_marks(None, size, ui.GREY)
            self._said.object = f'<p class="note">{DIRECTION_KEY}</p>'
            return
        marks = PlaneMarks(found[1], problem)
        self.plane.show_marks(marks, size, run_styles.color_and_dash(trace, self.traces.index(trace))[0])
        self._said.object = describe(trace, found[0], marks)

    def _picked(self, event: Tap) -> None:
        """Set the start to the clicked point, rounded to the digits that pixels can distinguish."""
        if self.on_option is None or not placed(event):
            return
        decimals = -math.floor(math.log10((self._zoomed or self.window).size / 100.0))
        x, y = (round(float(value), decimals) + 0.0 for value in (event.x, event.y))
        self.on_option("start", f"{x:.12g},{y:.12g}")


def places(entries: Entries) -> np.ndarray:
    """Return the coordinates of iterates, (n, 2)."""
    return np.array([seen["w"] for _, seen in entries]).reshape(-1, 2)


def trajectory(entries: Entries) -> dict[str, np.ndarray]:
    """Return the columns of a trajectory, thinned but including its last iterate."""
    stride = -(-len(entries) // MAX_TRAJECTORY_POINTS) or 1
    entries = entries[: len(entries) - 1 : stride] + entries[-1:]
    x, y = places(entries).T
    return {
        "iteration": np.array([k for k, _ in entries]),
        "x": x,
        "y": y,
        "f": np.array([float(seen["f"]) for _, seen in entries]),
    }


def describe(trace: Trace, iteration: int, marks: PlaneMarks) -> str:
    """Describe the solver's numbers at an iterate and, at the last one, how the run ended."""
    label, k = html.escape(trace.info.label), ui.number(iteration)
    head = f"<b>{label}</b>, iterate {k} at {vector(marks.w)}: f = {ui.number(marks.f, 6)}."
    lines = [head, *marks.sentences]
    if trace.message and iteration == trace.probes.iterations(PLANE.name)[-1]:
        how, why = (
            html.escape(said) for said in (wording.of_ending(trace.status, trace.result), trace.message)
        )
        lines.append(f"The run ended here, {how}: {why}.")
    key = CUT_KEY if trace.probes.iterations(CUTS.name) else DIRECTION_KEY
    return "".join(f"<p>{line}</p>" for line in lines) + f'<p class="note">{key}</p>'
