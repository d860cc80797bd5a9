"""The view of the tests of one weight: why it left the working set, and why it returned."""

from __future__ import annotations

import numpy as np
import panel as pn
import param

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.base.states import (
    NONZERO,
    OUTSIDE_STATES,
    RETURNED,
    SHRUNK,
    name_of,
    states,
    subset,
)
from solverscope.solvers import ACTIVE, PENALTIES, SHRINKING, Penalty, Trace
from solverscope.solvers.probes.subsets import INSIDE, OUTSIDE, UNKNOWN, contains

#: Lines of the plot: name, colour and dash.
DISTANCE_LINES = {
    "gradient": ("gradient {said.size}", ui.COLORS[0], "solid"),
    "bound": ("{said.axis}", ui.COLORS[1], "solid"),
    "l1": ("{said.l1}", ui.GREY, "dashed"),
    "farthest": ("{said.farthest}", ui.COLORS[2], "solid"),
}
#: Columns of the tests of a weight over iterations.
COURSE = ("iteration", "gradient", "bound", "l1", "centre", "reach", "farthest", "inside", "proved")
#: A field of numbers without the buttons next to it, which have no names: the arrow keys do the same.
TYPED = """.MuiInputAdornment-root { display: none !important; }
.MuiInputBase-input { padding-left: 8px !important; }"""


class Words:
    """Labels for the inequality of an observed test.

    ``size`` is the symbol for the size of a gradient, and ``l1`` that of the largest size at which zero is
    optimal. ``bound`` is the rule's bound, and ``axis`` its label on an axis. ``farthest`` is the largest
    size of a gradient in the ball around the dual optimum. ``guesses`` is true if there may be a bound.
    """

    def __init__(self, trace: Trace, seen: Seen) -> None:
        by = str(seen.get("allowance", "M̂/N"))
        bar = "|" if int(seen.get("width", 1)) == 1 else "‖"
        self.size, self.farthest = f"{bar}g{bar}", f"{bar}xⱼᵀθ{bar} + r‖xⱼ‖"
        self.l1 = PENALTIES.get(trace.info.problem.get("penalty"), Penalty).l1_symbol
        self.bound = f"{self.l1} − {by}" if by else "the rule's bound"
        self.axis = f"bound {self.bound}" if by else self.bound
        self.guesses = bool(by) or float(seen["bound"]) > -np.inf

    def label(self, *lines: str) -> str:
        """Return the label of the vertical axis for these lines."""
        return "  ·  ".join(DISTANCE_LINES[name][0].format(said=self) for name in lines)


class WhyLeft(ProbeView):
    """|g_j| of one weight at each test of shrinking that evaluated it, and the bound of the rule.

    The bound is, for example, λ - M̂/N, with λρ in place of λ for the elastic net. A zero weight below the
    bound leaves the working set; a nonzero one stays whatever its gradient. In huge working sets only a
    sample of the gradients is recorded.

    For rules with a proof, |x_jᵀθ| + r‖x_j‖ is drawn as well, the largest gradient in the ball around a dual
    point θ. If it is below λ, the weight leaves permanently. If rows of weights are tested, it is the row of
    the weight.
    """

    id = "why-left"
    title = "Why did it leave?"
    probe, probes = SHRINKING, (ACTIVE,)
    hint = "Run prox-qn or newton-cd to see the shrinking test of one weight here."

    weight: int = param.Integer(default=0, bounds=(0, None), doc="index of the weight in w")

    def build(self) -> None:
        looks = {"width": 120, "size": "small", "margin": (4, 4), "stylesheets": [TYPED]}
        field = pmui.IntInput.from_param(self.param.weight, label="Weight", start=0, **looks)
        self._head.append(
            pn.FlexBox(ui.html(f"<h2>{self.title}</h2>"), field, align_items="center", gap="16px", margin=0)
        )
        self._said = ui.cursor_text(4)
        self._source = ui.source("iteration", *DISTANCE_LINES)
        self._moves = ui.source("iteration", "gradient", "fill")
        labels = {"x_label": "iteration", "y_label": "gradient |g|  ·  bound λ − M̂/N  ·  λ"}
        self.figure = ui.plot(self.id, **labels, log_y=True, height=240)
        self.show_cursor(self.figure)
        for name, (_, color, dash) in DISTANCE_LINES.items():
            self.figure.line(
                "iteration", name, source=self._source, color=color, line_dash=dash, line_width=1.5
            )
        self.figure.scatter("iteration", "gradient", source=self._source, size=4, color=ui.COLORS[0])
        looks = {"color": ui.COLORS[1], "fill_alpha": "fill"}
        ui.diamonds(self.figure, self._moves, "iteration", "gradient", **looks)
        self._body.extend([self._said, self.late_pane(self.figure)])
        self.param.watch(self._moved, "weight")
        self._begun = 0  # the weight that is shown until somebody chooses another

    def _begin(self, trace: Trace) -> None:
        """Select a weight that returned, if there is one, unless the visitor has selected another."""
        if self.weight == self._begun:
            seen = (test.get("returned", ()) for _, test in trace.probes.entries(SHRINKING.name))
            self._begun = int(next((weights[0] for weights in seen if len(weights)), self.weight))
            self.weight = self._begun

    def draw(self) -> None:
        trace, tested = self.chosen, self.iterations()
        self._begin(trace)
        self.drew(self.cursor.iteration)
        if not self._drawn.changed("test", trace, tested[-1], self.weight):
            return
        # the last weight in place of one that does not exist
        weight = min(self.weight, int(trace.probes.entry(ACTIVE.name, 0)[1]["size"]) - 1)
        course = tests(trace, weight)
        self._source.data = {name: course[name] for name in self._source.data}
        inside = course["inside"]
        moved = np.flatnonzero(np.diff(inside.astype(int), prepend=1))
        at, g = course["iteration"][moved], course["gradient"][moved]
        ui.fill(self._moves, at, g, inside[moved].astype(float))
        said = Words(trace, trace.probes.entry(SHRINKING.name, 0)[1])
        always = ("gradient", "l1", *(["bound"] if said.guesses else []))
        drawn = [name for name in DISTANCE_LINES if name in always or np.isfinite(course[name]).any()]
        self.figure.yaxis[0].axis_label = ui.upright(said.label(*drawn))
        self._said.object = f"<p>Weight {named(trace, weight)} {_sentence(course, moved, said)}.</p>"


def tests(trace: Trace, weight: int) -> dict[str, np.ndarray]:
    """Return the tests of one weight over iterations, by the names in ``COURSE``.

    They are |g| (NaN if untested), bound, strength of ‖w‖₁, and |x_jᵀθ|, r‖x_j‖ and their sum (NaN without a
    ball). Two flags follow: whether it was in the working set afterwards, and whether it was proved to be
    zero by then.
    """
    course: list[tuple[float, ...]] = []
    # read while the run goes on: an entry of the first may be missing in the second, which was read later
    tested, active = trace.probes.entries(SHRINKING.name), dict(trace.probes.entries(ACTIVE.name))
    for k, seen in tested:
        inside, remaining = (_has(active.get(k, {}), name, weight) for name in ("inside", "remaining"))
        if inside != UNKNOWN:
            bound = float(seen["bound"]) if np.isfinite(seen["bound"]) else np.nan
            g, centre, reach = (_of(seen, name, weight) for name in ("gradient", "centre", "reach"))
            row = (k, abs(g), bound, float(seen["l1"]), centre, reach, centre + reach)
            course.append((*row, inside == INSIDE, remaining == OUTSIDE))
    columns = np.array(course, dtype=float).reshape(-1, len(COURSE)).T
    return dict(zip(COURSE, columns, strict=True))


def _has(seen: Seen, name: str, weight: int) -> int:
    """Return whether a set of the ``active`` probe contains a weight, or ``UNKNOWN``."""
    found = subset(seen, name)
    return contains(found, np.array([weight]))[0] if found else UNKNOWN


def _of(seen: Seen, name: str, weight: int) -> float:
    """Return a quantity of a weight, or of its row, in a test; NaN if it was not tested or not recorded."""
    block = weight // int(seen.get("width", 1))
    for members, kept in (("members", name), ("stayed", f"stayed_{name}")):
        place = np.searchsorted(seen[members], block)
        if kept in seen and place < seen[members].size and seen[members][place] == block:
            return float(seen[kept][place])
    return np.nan


def block_states(trace: Trace, iteration: int, seen: Seen) -> np.ndarray:
    """Return the state of each block with a recorded gradient: SHRUNK (it leaves), ZERO or NONZERO."""
    width = int(seen.get("width", 1))
    weights = width * seen["members"][:, None].astype(np.int64) + np.arange(width)
    codes = states(trace, iteration, weights.ravel()).reshape(-1, width)
    free = np.isin(codes, (NONZERO, RETURNED)).any(axis=1)
    return np.where(free, NONZERO, np.where(np.isin(codes[:, 0], OUTSIDE_STATES), SHRUNK, codes[:, 0]))


def named(trace: Trace, weight: int) -> str:
    """Return a weight as HTML: its index and its name."""
    name = ui.pixel_label(name_of(trace, weight), trace.names.picture_shape)
    return ui.number(weight) + (f" ({name})" if trace.info.problem else "")


def _sentence(course: dict[str, np.ndarray], moved: np.ndarray, said: Words) -> str:
    number = ui.number
    parts = []
    for k in moved[:6]:
        at, g, bound, l1, centre, reach, farthest, inside, proved = (course[name][k] for name in COURSE)
        text = f"{'returned' if inside else 'left'} at iteration {number(int(at))}"
        if inside:
            text += "" if np.isnan(g) else f" ({said.size} = {number(g)})"
        elif proved and np.isfinite(farthest):
            text += (
                f" for ever: {said.farthest} = {number(centre)} + {number(reach)} = {number(farthest)} &lt; "
                f"{said.l1} = {number(l1)} proves that it is zero at the optimum"
            )
        elif proved:
            text += " for ever, proved to be zero at the optimum"
        elif np.isfinite(bound) and np.isfinite(g):
            text += (
                f": it was zero, and {said.size} = {number(g)} did not exceed {said.bound} = {number(bound)}"
            )
        elif np.isfinite(g):
            text += f" by a guess: it was zero, with {said.size} = {number(g)}"
        parts.append(text)
    more = f" … and {len(moved) - 6} more moves" if len(moved) > 6 else ""
    return "; ".join(parts) + more if parts else "never left"
