"""The view of shrinking: the working set, the test that removes variables from it, and the end of
an epoch."""

from __future__ import annotations

import numpy as np
from bokeh.models import Span
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.views.base.feed import CURVE_POINTS, positive, shaded
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.base.states import NONZERO, SHRUNK, ZERO, legend, subset
from solverscope.app.views.shrinking.why_it_left import WhyLeft, Words, block_states, named
from solverscope.app.views.shrinking.working_set_map import WorkingSetMap
from solverscope.solvers import ACTIVE, SHRINKING, Trace

#: Number of bars of the histogram.
BINS = 60
#: Lower end of the bars on the logarithmic axis.
BAR_BASE = 0.5
#: Groups of the histogram: code, name, colour.
HISTOGRAM_GROUPS = (
    (SHRUNK, "leave", ui.GREY),
    (ZERO, "zero, stays", ui.COLORS[5]),
    (NONZERO, "non-zero, stays", ui.COLORS[0]),
)
TEST_LABEL = "{g}  ·  {bound}, {l1} dashed"
PLAIN_LABEL = "{g}  ·  {l1} dashed"
#: Maximal number of weights named in a sentence.
MAX_NAMED_WEIGHTS = 2


class Shrinking(ProbeView):
    """The working set of the run under the cursor: its map, the test at the cursor, and its bounds over time.

    At the cursor, |g_j| of the tested weights is compared with the bound. For rows of weights, λ minus their
    slack is compared. The bound is λ - M̂/N for Zhong's rule, with λρ in place of λ for the elastic net.

    Over time, M̂, the violation at which the epoch ends, and the radius of the safe ball are drawn. The last
    plot shows the test of one weight, selected by its index or by a click on the map.
    """

    id = "shrinking"
    title = "Shrinking"
    probe, probes = SHRINKING, (ACTIVE,)
    carried = ("active", "variables")
    hint = WorkingSetMap.hint
    every = 5

    def build(self) -> None:
        self.map, self.why = WorkingSetMap(whole=self), WhyLeft(whole=self)
        self.map.pick = lambda weight: self.why.param.update(weight=weight)
        self._said = ui.cursor_text(2, 3, on_top=True)
        self._bars = ui.source("left", "right", "top", "color")
        self._course = ui.source("iteration", "largest", "target")
        self._epochs = ui.source("x0", "x1")
        self._lines = {
            "bound": Span(dimension="height", line_color=ui.COLORS[1], line_width=2),
            "l1": Span(dimension="height", line_color=ui.GREY, line_dash="dashed"),
        }
        self._figures = [self._histogram(), self._time_lines()]
        self._sphere = self._sphere_lines()
        self._tests = ui.column(kind="narrow")
        self._why = ui.column(self.why, kind="narrow")
        across = ui.column(ui.column(self.map, kind="broad"), self._tests, self._why, kind="across")
        self._body.extend([self._said, across])

    def _histogram(self) -> figure:
        plot = ui.plot(
            "shrinking-test",
            x_label=TEST_LABEL.format(g="|g|", bound="bound λ − M̂/N", l1="λ"),
            y_label="weights tested",
            log_y=True,
            height=240,
        )
        plot.x_range.start = 0
        looks = {"fill_color": "color", "fill_alpha": 0.7, "line_alpha": 0}
        plot.quad("left", "right", "top", BAR_BASE, source=self._bars, **looks)
        for line in self._lines.values():
            plot.add_layout(line)
        self._test_axis = plot.xaxis[0]
        return plot

    def _time_lines(self) -> figure:
        plot = ui.plot(
            "shrinking-epochs",
            x_label="iteration  ·  epochs shaded alternately",
            y_label="violation M̂  ·  end ε V₀: dashed",
            log_y=True,
            height=240,
        )
        plot.vstrip("x0", "x1", source=self._epochs, color=ui.GREY, fill_alpha=0.13, line_alpha=0)
        plot.line("iteration", "largest", source=self._course, color=ui.COLORS[0], line_width=2)
        dashed = {"color": ui.COLORS[1], "line_dash": "dashed", "line_width": 1.5}
        plot.step("iteration", "target", source=self._course, mode="after", **dashed)
        self.show_cursor(plot)
        return plot

    def _sphere_lines(self) -> figure:
        plot = ui.plot(
            "sphere-radius",
            x_label="iteration",
            y_label="radius r  ·  gap dashed",
            log_y=True,
            height=200,
        )
        self._radii = ui.source("iteration", "radius", "gap")
        for name, color, dash in (("radius", ui.COLORS[2], "solid"), ("gap", ui.GREY, "dashed")):
            plot.line("iteration", name, source=self._radii, color=color, line_dash=dash, line_width=1.5)
        plot.scatter("iteration", "radius", source=self._radii, size=4, color=ui.COLORS[2])
        self.show_cursor(plot)
        return plot

    def has_content(self) -> bool:
        return self.map.has_content()

    def draw(self) -> None:
        super().draw()
        tested = self.iterations()
        self._tests.visible = self._why.visible = self.why.visible = bool(tested)
        if not tested:
            return
        if self._drawn.changed("course", self.chosen, tested[-1]):
            self._show_course(self.chosen)
        if not len(self._tests):
            self._tests.extend(ui.pane(plot) for plot in self._figures)
        spheres = len(self._radii.data["iteration"]) > 0
        if spheres and len(self._why) == 1:
            self._why.append(ui.pane(self._sphere))
        for pane in list(self._why)[1:]:
            pane.visible = spheres

    def draw_nothing(self) -> None:
        self._said.object = ""

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        trace = self.chosen
        size = np.abs(seen["gradient"])
        codes = block_states(trace, iteration, seen)
        ui.fill(self._bars, *_bars(size, codes, float(seen["share"])))
        said, l1 = Words(trace, seen), float(seen["l1"])
        label = TEST_LABEL if said.guesses else PLAIN_LABEL
        self._test_axis.axis_label = label.format(g=said.size, bound=said.axis, l1=said.l1)
        for name, value in (("bound", float(seen["bound"])), ("l1", l1)):
            self._lines[name].update(visible=value >= 0.0, location=value)
        self._said.object = _sentence(trace, iteration, seen)

    def _show_course(self, trace: Trace) -> None:
        entries = trace.probes.entries(SHRINKING.name)
        at, seen = zip(*entries[:: max(len(entries) // CURVE_POINTS, 1)], strict=True)
        course = np.array([[float(s[name]) for s in seen] for name in ("largest", "target")])
        ui.fill(self._course, np.array(at), *positive(course))
        balls = [(k, s["radius"], s["gap"]) for k, s in entries if "radius" in s]
        balls = np.array(balls[:: max(len(balls) // CURVE_POINTS, 1)], dtype=float).reshape(-1, 3).T
        ui.fill(self._radii, balls[0], *map(positive, balls[1:]))
        rows, _, _ = trace.since(None)
        ui.fill(self._epochs, *shaded(rows["iteration"], rows["epoch"]))


def _bars(size: np.ndarray, codes: np.ndarray, share: float) -> tuple[np.ndarray, ...]:
    """Return a histogram of each group as bars, the first group behind the others.

    Sizes are a ``share`` of all, so counts are divided by it. Bars of height zero are omitted.
    """
    edges = np.linspace(0.0, max(float(size.max(initial=0.0)), 1e-300), BINS + 1)
    counts = np.array([np.histogram(size[codes == code], edges)[0] for code, _, _ in HISTOGRAM_GROUPS])
    group, full = np.nonzero(counts)
    colors = np.array([color for _, _, color in HISTOGRAM_GROUPS])
    return edges[full], edges[full + 1], counts[group, full] / share, colors[group]


def _sentence(trace: Trace, iteration: int, seen: Seen) -> str:
    """Describe the test at an iteration, and mistakes of earlier ones, in sentences."""
    number, bound, said = ui.number, float(seen["bound"]), Words(trace, seen)
    tested, proved = int(seen["tested"]), int(seen.get("proved", 0))
    left = tested - int(subset(trace.probes.entry(ACTIVE.name, iteration)[1], "inside")["count"])
    told = [f"{number(proved)} of {number(tested)} tested weights were proved to be zero and left for ever"]
    told = told if proved else []
    if left > proved:
        of = "others" if proved else f"of {number(tested)} tested weights"
        why = f" with {said.size} up to {said.bound} = {number(bound)}" if np.isfinite(bound) else ""
        told.append(f"{number(left - proved)} {of} were zero{why} and left{'' if why else ' by a guess'}")
    elif not told:
        unknown = bound == -np.inf and iteration == 0 and "M̂" in said.bound
        told.append("M̂ is not known yet, so nothing leaves" if unknown else "nothing leaves")
    text = f"Iteration {number(iteration)}: {'; '.join(told)}."
    if count := seen["returned"].size:
        names = ", ".join(named(trace, int(j)) for j in seen["returned"][:MAX_NAMED_WEIGHTS])
        more = f" and {number(count - MAX_NAMED_WEIGHTS)} more" if count > MAX_NAMED_WEIGHTS else ""
        back = ui.counted(count, "weight returns", "weights return")
        text += f" {back} that shrinking had missed: {names}{more}."
    return f"<p>{text} {legend({name: color for _, name, color in HISTOGRAM_GROUPS})}</p>"
