"""Why one weight left the working set, and came back."""

from __future__ import annotations

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import ColumnDataSource, Span

from app import theme
from app.views.base.probe_view import ProbeView, Seen
from app.views.base.states import name_of, subset
from solvers import ACTIVE, PENALTIES, SHRINKING, Penalty, Trace
from solvers.probes.subsets import INSIDE, UNKNOWN, contains

#: Lines of the plot: what is drawn, its colour, its dash.
LINES = {
    "gradient": ("gradient |g|", theme.COLORS[0], "solid"),
    "bound": ("bound {l1} − M̂/N", theme.COLORS[1], "solid"),
    "l1": ("{l1}", theme.GREY, "dashed"),
}
LABEL = "  ·  ".join(name for name, _, _ in LINES.values())
#: A field of numbers without the buttons beside it, which have no names: the arrow keys do the same.
TYPED = """.MuiInputAdornment-root { display: none !important; }
.MuiInputBase-input { padding-left: 8px !important; }"""


class WhyLeft(ProbeView):
    """|g_j| of one weight wherever the shrinking test looked at it (of huge working sets only a sample of
    the gradients is kept), against the bound λ - M̂/N (the elastic
    net has λρ in place of λ): a zero weight below the bound leaves, one that is not zero stays whatever its
    gradient."""

    id = "why-left"
    title = "Why did it leave?"
    probe, probes = SHRINKING, (ACTIVE,)
    hint = "Run prox-qn to see the shrinking test of one weight here."

    weight: int = param.Integer(default=0, bounds=(0, None), doc="index of the weight in w")

    def build(self) -> None:
        looks = {"width": 120, "size": "small", "margin": (4, 4), "stylesheets": [TYPED]}
        field = pmui.IntInput.from_param(self.param.weight, label="Weight", start=0, **looks)
        self._head.append(
            pn.FlexBox(
                theme.html(f"<h2>{self.title}</h2>"), field, align_items="center", gap="16px", margin=0
            )
        )
        self._said = theme.html()
        self._source = ColumnDataSource({name: [] for name in ("iteration", *LINES)})
        self._moves = ColumnDataSource({"iteration": [], "gradient": [], "fill": []})
        labels = {"x_label": "iteration", "y_label": LABEL.format(l1="λ")}
        self.figure = theme.plot(self.id, **labels, log_y=True, height=240)
        self.figure.on_event("tap", self._tapped)
        for name, (_, color, dash) in LINES.items():
            self.figure.line(
                "iteration", name, source=self._source, color=color, line_dash=dash, line_width=1.5
            )
        self.figure.scatter("iteration", "gradient", source=self._source, size=4, color=theme.COLORS[0])
        looks = {"color": theme.COLORS[1], "fill_alpha": "fill"}
        theme.diamonds(self.figure, self._moves, "iteration", "gradient", **looks)
        self._here = Span(dimension="height", line_color=theme.GREY, line_dash="dashed")
        self.figure.add_layout(self._here)
        self._pane = theme.pane()
        self._body.extend([self._said, self._pane])
        self.param.watch(self._moved, "weight")
        self._asked, self._beginning = False, False  # whether somebody has chosen a weight; whether this does
        self.param.watch(self._note_who_asked, "weight")

    def _note_who_asked(self, event: param.parameterized.Event) -> None:
        self._asked = self._asked or not self._beginning

    def _begin(self, trace: Trace) -> None:
        """Show a weight that came back, if there is one, until somebody has chosen another."""
        if self._asked:
            return
        seen = (test.get("returned", ()) for _, test in trace.probes.entries(SHRINKING.name))
        back = next((weights for weights in seen if len(weights)), None)
        if back is not None:
            self._beginning = True
            try:
                self.weight = int(back[0])
            finally:
                self._beginning = False

    def draw(self) -> None:
        trace, tested = self.chosen, self.iterations()
        if tested:
            self._begin(trace)
        self._here.location = self.cursor.iteration
        self.drew(self.cursor.iteration)
        if not tested or not self._drawn.changed("test", trace, tested[-1], self.weight):
            return
        weight = self._watched(trace)
        course = tests(trace, weight)
        self._source.data = {name: course[name] for name in self._source.data}
        inside = course["inside"]
        moved = np.flatnonzero(np.diff(inside.astype(int), prepend=1))
        self._moves.data = {
            "iteration": course["iteration"][moved],
            "gradient": course["gradient"][moved],
            "fill": inside[moved].astype(float),
        }
        symbol, _ = strength(trace, trace.probes.last(SHRINKING.name, 0)[1])
        self.figure.yaxis[0].axis_label = theme.upright(LABEL.format(l1=symbol))
        self._said.object = f"<p>Weight {named(trace, weight)} {_sentence(course, moved, symbol)}.</p>"
        if self._pane.object is None:
            self._pane.object = self.figure

    def _watched(self, trace: Trace) -> int:
        """Return the weight asked for, or the last one there is."""
        return min(self.weight, int(trace.probes.last(ACTIVE.name, 0)[1]["size"]) - 1)


def tests(trace: Trace, weight: int) -> dict[str, np.ndarray]:
    """Return the shrinking test of one weight over iterations: |g| (nan where it was not tested), bound,
    strength of ‖w‖₁, and whether it was in the working set afterwards."""
    course: list[tuple[float, ...]] = []
    # read while the run goes on: an entry of the first may be missing in the second, which was read later
    tested, active = trace.probes.entries(SHRINKING.name), dict(trace.probes.entries(ACTIVE.name))
    for k, seen in tested:
        known = contains(subset(active[k], "inside"), np.array([weight]))[0] if k in active else UNKNOWN
        if known != UNKNOWN:
            bound = float(seen["bound"]) if np.isfinite(seen["bound"]) else np.nan
            g, l1 = _gradient(seen, weight), strength(trace, seen)[1]
            course.append((k, g, bound, l1, known == INSIDE))
    columns = np.array(course, dtype=float).reshape(-1, 5).T
    return dict(zip(("iteration", "gradient", "bound", "l1", "inside"), columns, strict=True))


def _gradient(seen: Seen, weight: int) -> float:
    """Return |g| of a weight in a test, nan where it was not tested or not kept."""
    for members, gradient in (("members", "gradient"), ("stayed", "stayed_gradient")):
        place = np.searchsorted(seen[members], weight)
        if place < seen[members].size and seen[members][place] == weight:
            return abs(float(seen[gradient][place]))
    return np.nan


def strength(trace: Trace, seen: Seen) -> tuple[str, float]:
    """Return the symbol of the strength of ‖w‖₁ in a shrinking test, by the penalty's own word, and its
    value."""
    penalty = PENALTIES.get(trace.info.problem.get("penalty"), Penalty)
    return penalty.l1_symbol, float(seen["l1"])


def named(trace: Trace, weight: int) -> str:
    """Return a weight by its number and its name, as HTML."""
    name = theme.pictured(name_of(trace, weight), trace.names.picture_shape)
    return theme.number(weight) + (f" ({name})" if trace.info.problem else "")


def _sentence(course: dict[str, np.ndarray], moved: np.ndarray, symbol: str) -> str:
    number = theme.number
    parts = []
    for k in moved[:6]:
        at, g, bound = (course[name][k] for name in ("iteration", "gradient", "bound"))
        if np.isnan(g):
            parts.append(f"{'returned' if course['inside'][k] else 'left'} at iteration {number(int(at))}")
        elif course["inside"][k]:
            parts.append(f"returned at iteration {number(int(at))} (|g| = {number(float(g))})")
        else:
            parts.append(
                f"left at iteration {number(int(at))}: it was zero, and |g| = {number(float(g))} "
                f"did not exceed {symbol} − M̂/N = {number(float(bound))}"
            )
    more = f" … and {len(moved) - 6} more moves" if len(moved) > 6 else ""
    return "; ".join(parts) + more if parts else "never left"
