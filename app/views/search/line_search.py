"""The view of the line search that led to the iterate under the cursor, with the steps of other rules."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary, ref

import numpy as np
import param

from solverscope.app import ui
from solverscope.app.ui.batch import batch
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.base.view import at_once
from solverscope.app.views.search.label_figure import LabelFigure
from solverscope.app.views.search.line_figures import PLOT_HEIGHT, Data, LineFigures, legend
from solverscope.app.views.search.trials import Trials
from solverscope.solvers import LINE, Problem, Trace, parameters
from solverscope.solvers.probes.kept_weights import WEIGHT_PROBES, line_between, weight_entries
from solverscope.solvers.probes.study import Study
from solverscope.solvers.search.line_search import INEXACT, MODEL_ARMIJO, Armijo, Wolfe
from solverscope.solvers.search.outcome import SearchResult
from solverscope.solvers.traces.segments import problem_at

#: Seconds of computation that may be done in the thread of the page.
AT_ONCE_SECONDS = 0.03
#: Approximate number of evaluations of φ after a change of a rule.
EVALUATIONS_PER_RULE = 20
TENTHS = tuple(k / 10 for k in range(1, 10))
#: Sliders: symbols and values. A solver without such a parameter leaves them at their defaults.
KNOBS = {
    "sigma": ("σ", (1e-4, 1e-3, 0.01, 0.03, *TENTHS, 0.95, 0.99)),
    "beta": ("β", (0.05, *TENTHS, 0.95)),
    "c1": ("c₁", (1e-4, 1e-3, 0.01, 0.03, *TENTHS, 0.95)),
    "c2": ("c₂", (0.01, *TENTHS, 0.95, 0.99)),
}
#: Help texts of their parameters.
HELP = {parameter.name: parameter.help for rule in (Armijo, Wolfe) for parameter in parameters(rule)}


class LineAnalysis:
    """The analysis of a line: φ in the window, and the steps of both rules; computed in any thread."""

    def __init__(self, study: Study, armijo: Armijo, wolfe: Wolfe, *, zoomed: bool, models: bool) -> None:
        self.study, self.armijo, self.wolfe, self.models = study, armijo, wolfe, models
        self.picture = study.drawn(*(study.near if zoomed else study.window))
        self.by_armijo = study.armijo(armijo) if study.promised < 0.0 else None
        self.by_wolfe = study.wolfe(wolfe) if study.has_slopes else None
        self.random = study.random_slopes() if models and study.has_slopes else np.zeros(0)


class LineSearch(ProbeView):
    """φ(t) = f(w + t d) of the search that led to the iterate under the cursor, rebuilt from w and d.

    Trial steps are numbered in order, and the accepted one is filled. Armijo's line and the cone of Wolfe's
    slopes are drawn. So are the steps that the rules would take with other σ, β, c₁ and c₂, found by the
    solvers' own searches on φ. Below is the slope φ′, a step function if f has kinks, and next to it the
    trials of all searches.

    If the path is not a straight line, φ does not exist and only the trials are drawn. The path may be a
    projection onto an orthant (owl-qn), or a proximal step of length t (as in prox-gd). Or the solver
    searches in single rows of W; then the longest search is shown, and f is its part that depends on the row.

    If a solver does not report its searches, φ is f along the step between two of its iterates.
    """

    id = "line-search"
    title = "Line search"
    probe = LINE
    probes = WEIGHT_PROBES
    hint = "Press Run to see f along the steps of a solver, with the trials of its line searches."

    sigma: float = param.Magnitude(MODEL_ARMIJO.sigma, doc=HELP["sigma"])
    beta: float = param.Magnitude(MODEL_ARMIJO.beta, doc=HELP["beta"])
    c1: float = param.Magnitude(INEXACT.c1, doc=HELP["c1"])
    c2: float = param.Magnitude(INEXACT.c2, doc=HELP["c2"])
    zoomed: bool = param.Boolean(default=False, doc="zoom to the accepted step")
    models: bool = param.Boolean(default=False, doc="draw the solver's model of f along the line")

    def build(self) -> None:
        self._busy = False
        self._between: tuple[object, tuple[int, Seen] | None] = None, None
        self._searched: int | None = None  # the iterate that the search which is drawn led to
        self._studies: WeakKeyDictionary[Trace, tuple[int, Study]] = WeakKeyDictionary()
        self._seconds: WeakKeyDictionary[Problem, tuple[float, float]] = WeakKeyDictionary()
        self.trials = Trials(whole=self, height=PLOT_HEIGHT)
        self._said, self._rule_steps = ui.cursor_text(1, 2), ui.cursor_text(1, 2)
        self._legend = ui.html()
        self.figures = LineFigures(self.id)
        self._knobs = {name: self._knob(name) for name in KNOBS}
        self._zoom = pmui.Button(label="Zoom to the step", variant="outlined", size="small", margin=(10, 4))
        self._zoom.on_click(lambda event: self.param.update(zoomed=not self.zoomed))
        self._model = pmui.Checkbox.from_param(
            self.param.models, label="Model of f", size="small", margin=(8, 4)
        )
        self.labels = LabelFigure("label-lines")
        self.labels.slider.visible = False
        knobs = (*self._knobs.values(), self._zoom, self._model, self.labels.slider)
        controls = ui.column(*knobs, kind="controls")
        self._slope = ui.column(self.late_pane(self.figures.slope), kind="narrow")
        self._slope.visible = False
        self._labels = ui.column(self.late_pane(self.labels.figure), self.labels.said, kind="narrow")
        self._labels.visible = False
        across = ui.column(
            ui.column(self.late_pane(self.figures.phi), kind="broad"),
            self._slope,
            ui.column(self.trials, kind="narrow"),
            self._labels,
            kind="across",
        )
        self._body.extend([controls, self._said, self._rule_steps, self._legend, across])
        self.param.watch(lambda *events: self._turned(), [*KNOBS, "zoomed", "models"])

    def _knob(self, name: str) -> pmui.DiscreteSlider:
        (symbol, values), declared = KNOBS[name], self.param[name]
        knob = pmui.DiscreteSlider(
            label=symbol,
            options=list(values),
            value=declared.default,
            width=112,
            size="small",
            margin=(2, 12),
            description=declared.doc,
        )
        knob.param.watch(lambda event: self.param.update(**{name: event.new}), "value")
        return knob

    def seen(self) -> tuple[int, Seen] | None:
        """Return the search that led to the iterate under the cursor; if there is none, return the step to
        it."""
        trace = self.chosen
        if trace is None or (found := super().seen()) is not None:
            return None if trace is None else found
        newest = max((k for k, _ in weight_entries(trace.probes)), default=-1)
        if self._between[0] != (key := (ref(trace), self.cursor.iteration, newest)):
            f = dict(zip(trace["iteration"].tolist(), trace["objective"].tolist(), strict=True))
            self._between = key, line_between(trace.probes, f, self.cursor.iteration)
        return self._between[1]

    def draw(self) -> None:
        if self._drawn.changed("run", self.chosen):
            self._match_knobs(self.chosen)
        super().draw()
        self.drew(self._searched)

    def _match_knobs(self, trace: Trace) -> None:
        """Set the sliders to the run's own parameters, or to their defaults."""
        with param.parameterized.discard_events(self):
            for name, knob in self._knobs.items():
                value = trace.info.params.get(name)
                known = isinstance(value, (int, float)) and 0.0 < value < 1.0
                value = float(value) if known else self.param[name].default
                setattr(self, name, value)
                knob.param.update(options=sorted({*KNOBS[name][1], value}), value=value)

    def _turned(self) -> None:
        for name, knob in self._knobs.items():
            value = getattr(self, name)
            knob.param.update(options=sorted({*knob.options, value}), value=value)
        if self.in_sight:
            self._attempt(self._look)

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        if self._why_no_line(seen):
            self._show(iteration, seen, None)
            return
        # while it follows a run the whole picture of one search stays until that of another is complete
        if not (self.cursor.follow and self._drawn.shows("complete", self.chosen)):
            self._show(iteration, seen, None)
        self._look()

    def _why_no_line(self, seen: Seen) -> str:
        """Return why φ cannot be drawn; empty if it can."""
        if not seen["straight"]:
            if int(seen["block"]) >= 0:
                return (
                    "A search in one row sees only the part of f that depends on that row: its trials "
                    "are drawn."
                )
            return (
                "The path is not a straight line (the steps are projected or proximal): its trials are drawn."
            )
        if "d" not in seen:
            return "w and d are too large to be kept: the trials are drawn."
        if self.chosen.problem is None:
            return "This run's problem is not in memory: its trials are drawn."
        return ""

    # computation

    def _mark(self, iteration: int) -> tuple[object, ...]:
        """Return all inputs of the figure."""
        knobs = (getattr(self, name) for name in KNOBS)
        return self.chosen, iteration, self.zoomed, self.models, *knobs

    def _look(self) -> None:
        """Start to compute the figure, unless it is already drawn or a computation is running."""
        found = self.seen()
        if self._busy or found is None or self._why_no_line(found[1]):
            return
        iteration, seen = found
        if self._drawn.shows("line", *self._mark(iteration)):
            return
        trace, problem = self.chosen, problem_at(self.chosen, iteration)
        known = self._studies.get(trace, (-1, None))
        study = known[1] if known[0] == iteration else None
        whole, one = self._seconds.get(trace.problem, (math.inf, math.inf))
        self._busy = True
        decay = INEXACT.decay if trace.info.params.get("line_search") == "ils" else 0.0
        armijo, wolfe = Armijo(self.beta, self.sigma), Wolfe(self.c1, self.c2, decay)
        zoomed, models = self.zoomed, self.models

        def work(pulse: Callable[[], None]) -> LineAnalysis:
            line = study or Study(problem, seen, pulse)
            line.pulse = pulse
            try:
                return LineAnalysis(line, armijo, wolfe, zoomed=zoomed, models=models)
            finally:
                line.pulse = lambda: None

        later = (
            at_once
            if (whole if study is None else EVALUATIONS_PER_RULE * one) < AT_ONCE_SECONDS
            else self.later
        )
        later(work, partial(self._found, trace, iteration, seen, self._mark(iteration)))

    def _found(
        self, trace: Trace, iteration: int, seen: Seen, mark: tuple[object, ...], looked: LineAnalysis | None
    ) -> None:
        """Draw the analysis if it belongs to the run under the cursor, then start the next one if needed."""
        self._busy = False
        if looked is None:
            self._said.object = f"<p>{self._sentence(iteration, seen)} φ could not be computed.</p>"
            return
        if trace.problem is not None:
            self._seconds[trace.problem] = looked.study.seconds
        self._studies.clear()
        self._studies[trace] = iteration, looked.study
        wanted = self.seen() if self.chosen is trace else None
        if wanted is not None and (wanted[0] == iteration or self.cursor.follow):
            self._drawn.changed("line", *mark)
            self._drawn.changed("complete", trace)
            self._show(iteration, seen, looked)
        if self.in_sight:
            self._look()

    # drawing

    def _show(self, iteration: int, seen: Seen, looked: LineAnalysis | None) -> None:
        """Draw a search: its trials, and the analysis of its line, if there is one."""
        self._searched = iteration
        self.drew(iteration)
        with batch():
            data, steps = trials(seen), f"step t on the way to iteration {ui.number(iteration)}"
            why = self._why_no_line(seen)
            if looked is None:
                self._drawn.changed("complete")
                data |= joined(seen) if why else {}
            else:
                data |= on_line(looked)
                steps += ", near the accepted step" if self.zoomed else ""
            self.figures.say(steps)
            self.figures.show(data)
            if looked is not None or why:
                self._slope.visible = looked is not None and looked.study.has_slopes
                lines = None if looked is None else looked.study.label_lines
                self._labels.visible = self.labels.slider.visible = lines is not None
                self.labels.show(lines, 1.0 if looked is None else looked.study.window[1])
            self._enable(looked, bool(why))
            self._said.object = f"<p>{self._sentence(iteration, seen)}{' ' + why if why else ''}</p>"
            self._rule_steps.object = f"<p>{accepted_steps(looked)}</p>" if looked is not None else ""
            self._legend.object = legend({*data, "accepted"})

    def _enable(self, looked: LineAnalysis | None, no_line: bool) -> None:
        """Disable the controls that do not apply to this search."""
        for widget in (*self._knobs.values(), self._zoom):
            widget.disabled = no_line
        if looked is not None:
            kink = "kink" if looked.study.breakpoints.t.size else "step"
            self._zoom.label = "Show the whole search" if self.zoomed else f"Zoom to the {kink}"
        if looked is not None or no_line:
            unknown = no_line or not math.isfinite(looked.study.model)
            label = "Model of f: this solver has none" if unknown and not no_line else "Model of f"
            self._model.param.update(disabled=unknown, label=label)

    def _sentence(self, iteration: int, seen: Seen) -> str:
        """Describe the search in sentences."""
        trace, number, f = self.chosen, ui.number, float(seen["start"][0])
        tried, block = len(seen["t"]), int(seen["block"])
        said = f"<b>{html.escape(trace.info.label)}</b>, "
        if "since" in seen:
            since, change = number(int(seen["since"])), float(seen["phi"][0]) - f
            said += f"which tells no line search: f along its step from iterate {since} (t = 0) to iterate "
            said += f"{number(iteration)} (t = 1); f {'fell' if change <= 0.0 else 'rose'} by "
            return said + f"{number(abs(change))}."
        if block < 0:
            said += f"the step to iteration {number(iteration)}: "
        else:
            said += f"the longest search on the way to iteration {number(iteration)}, "
            said += f"in {_row(trace, block)}: "
        if not tried:
            return said + "f does not decrease along the direction, and no step was taken."
        if not accepted(seen).any():
            return said + f"{ui.counted(tried, 'trial')}, and no step was accepted."
        t, value, allowed = (float(seen[name][-1]) for name in ("t", "phi", "allowed"))
        change = value - f
        fell = f"f {'fell' if change <= 0.0 else 'rose'} by {number(abs(change))}"
        if "segment" in seen:
            landed = _landed(t, *map(float, seen["segment"]))
            searches = [s for k, s in trace.probes.entries(LINE.name) if k <= iteration and len(s["t"])]
            before = [float(s["step"]) in s["segment"] for s in searches if "segment" in s]
            on = f"{number(sum(before))} of {number(len(before))} searches so far ended on a breakpoint"
            return said + f"an exact search, t = {number(t)}, {landed}; {fell}. {on}."
        return said + (
            f"{ui.counted(tried, 'trial')}, t = {number(t)} accepted, "
            f"{fell} (needed: a fall of at least {number(f - allowed)})."
        )


def trials(seen: Seen) -> Data:
    """Return the columns of the trial steps, in order, with the accepted one marked."""
    numbers = [str(k + 1) for k in range(len(seen["t"]))]
    filled = np.where(accepted(seen), 1.0, 0.0)
    return {"trials": (seen["t"], seen["phi"] - float(seen["start"][0]), numbers, filled)}


def accepted(seen: Seen) -> np.ndarray:
    """Return a mask of the trials that is true for the accepted one.

    In a search within a block of weights, that is the last trial. Otherwise it is the last one if its step
    was taken; no trial is accepted if the search failed.
    """
    last = np.arange(len(seen["t"])) == len(seen["t"]) - 1
    return last & (np.isnan(seen["step"]) | (seen["t"] == seen["step"]))


def joined(seen: Seen) -> Data:
    """Return the trials as a line, and the largest permitted value at each trial as another."""
    f, reference = map(float, seen["start"])
    order = np.argsort(seen["t"])
    t = np.append(0.0, seen["t"][order])
    return {
        "joined": (t, np.append(0.0, seen["phi"][order] - f)),
        "rule": (t, np.append(reference - f, seen["allowed"][order] - f)),
    }


def on_line(looked: LineAnalysis) -> Data:
    """Return the columns that draw a line, by data source."""
    study, wolfe, picture, f = looked.study, looked.wolfe, looked.picture, looked.study.start
    ends = np.array([0.0, float(picture.t[-1])])
    data = {
        "curve": (picture.t, picture.phi - f),
        "rule": (ends, looked.armijo.sigma * study.promised * ends),
    }
    if kinks := study.marked(float(picture.t[0]), float(picture.t[-1])).tolist():
        data["kinks"] = np.array(kinks), np.interp(kinks, picture.t, picture.phi) - f
    if study.segment is not None:
        data["segment"] = [study.segment[0]], [min(study.segment[1], 2.0 * study.window[1])]
    if looked.by_armijo is not None and looked.by_armijo.t > 0.0:
        data["by_armijo"] = [looked.by_armijo.t], [study.phi(looked.by_armijo.t) - f]
    if looked.by_wolfe is None:
        return data
    start = study.slope(0.0)
    data["slopes"] = picture.slope_t, picture.slope
    data["asked"] = ends, np.full(2, wolfe.c2 * start)
    cone = np.append(wolfe.c1 * start * ends, wolfe.c2 * start * ends[1])
    data["cone"] = np.append(ends, ends[1]), cone
    if (allowed := study.allowed_by_wolfe(wolfe, picture)) is not None:
        t = np.unique(np.clip(np.append(picture.t, allowed), *allowed))
        data["wolfe"] = t, np.interp(t, picture.t, picture.phi) - f
    if 0.0 < looked.by_wolfe.t < math.inf:
        data["by_wolfe"] = [looked.by_wolfe.t], [study.phi(looked.by_wolfe.t) - f]
    if looked.models and math.isfinite(study.model):
        data |= along(picture.t, study, looked.random)
    return data


def along(t: np.ndarray, study: Study, random: np.ndarray) -> Data:
    """Return the models of f along the line, minus f(w).

    ``subgradients`` contains Q_t = t gᵀd + ½t²dᵀBd for each random subgradient g; NaN separates the curves.
    ``model`` is the pseudo-quadratic M_t of eq. (10) of Yu et al. 2010, which has the sup of gᵀd instead.
    """
    square = 0.5 * study.model * t * t
    steepest = np.where(t >= 0.0, study.slope(0.0), study.slope(0.0, -1)) * t
    each = np.append(random[:, None] * t + square, np.full((len(random), 1), np.nan), axis=1)
    return {
        "subgradients": (np.tile(np.append(t, np.nan), len(random)), each.ravel()),
        "model": (t, steepest + square),
    }


def accepted_steps(looked: LineAnalysis) -> str:
    """Describe the steps that the rules accept, with the number of trials."""
    number, armijo, wolfe = ui.number, looked.armijo, looked.wolfe
    if looked.by_armijo is None:
        slope = f": its slope is {number(looked.study.slope(0.0))}" if looked.study.has_slopes else ""
        return f"No rule accepts a step: f does not decrease along the direction{slope}."

    def ending(found: SearchResult[float]) -> str:
        count = ui.counted(found.trials, "trial")
        if found.t == math.inf:
            return f"every step, however long ({count})"
        return f"t = {number(found.t)} after {count}" if found.t else f"no step in {count}"

    said = (
        f"<b>Armijo</b> with σ = {number(armijo.sigma)}, β = {number(armijo.beta)} accepts "
        f"{ending(looked.by_armijo)}"
    )
    if looked.by_wolfe is not None:
        said += (
            f"; <b>Wolfe</b> with c₁ = {number(wolfe.c1)}, c₂ = {number(wolfe.c2)} accepts "
            f"{ending(looked.by_wolfe)}"
        )
    return said + "."


def _landed(t: float, lo: float, hi: float) -> str:
    """Describe where in its target segment an exact search ended."""
    if t in (lo, hi) and t > 0.0:
        return "on a breakpoint"
    if math.isinf(hi):
        return f"beyond the last breakpoint, {ui.number(lo)}"
    if lo == 0.0:
        return f"before the first breakpoint, {ui.number(hi)}"
    return f"between the breakpoints {ui.number(lo)} and {ui.number(hi)}"


def _row(trace: Trace, row: int) -> str:
    """Return the name of a row of W, or "the transitions" for the weights after the last row."""
    if row >= trace.info.problem.get("n_features", row + 1):
        return "the transitions"
    return f"the row of {ui.pixel_label(trace.names.feature(row), trace.names.picture_shape)}"
