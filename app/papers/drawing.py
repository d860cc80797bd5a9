"""HTML of an exhibit's results: plots of the runs, the paper's numbers next to ours, and verdicts."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.papers import Drawing, Exhibit, Paper, Value
from solverscope.app.papers.bounds import Interval, together
from solverscope.app.papers.claims import NOT_JUDGED, NOT_SEEN, SEEN, Verdict
from solverscope.app.papers.measures import (
    TITLES,
    Case,
    ExhibitRun,
    Measure,
    by_data,
    cases,
    column,
    first_seeds,
)
from solverscope.app.papers.sizes import SizesOf
from solverscope.app.settings import wording
from solverscope.app.views.compare.report import Section, report
from solverscope.app.views.compare.summary import as_html
from solverscope.solvers import FIELDS

#: Maximal number of points of a curve.
MOST_POINTS = 400
#: Smallest gap, or other value, that is drawn on a logarithmic axis.
MIN_DRAWN_VALUE = 1e-12
#: The mark and the colour of a verdict.
MARKS = {SEEN: ("✓", "#009E73"), NOT_SEEN: ("✗", "#D55E00"), NOT_JUDGED: ("?", ui.GREY)}
#: Labels for whether data are the paper's.
MATCH = {True: "yes", False: "no: other data"}
CLUSTER_HEADS = (
    "iterate",
    "clusters",
    "variance inside",
    "inside later",
    "weights that crossed over by then",
)
RUN_HEADS = ("problem", "run", "ended", "f", "gap", "non-zeros", "iterations", "CPU s", "on the test part")


@dataclass(frozen=True)
class ExhibitOutcome:
    """An exhibit with the results of its runs: all its problems, and notes on what was omitted."""

    exhibit: Exhibit
    cases: Sequence[Case]
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, exhibit: Exhibit, runs: Sequence[ExhibitRun], notes: Sequence[str] = ()) -> ExhibitOutcome:
        return cls(exhibit, cases((run for run in runs if run.record), exhibit.sizes.differ), notes)

    @property
    def verdicts(self) -> list[Verdict]:
        """Return verdicts on all claims, and on all numbers of the paper that are comparable."""
        found = [claim.judge(self.cases) for claim in self.exhibit.claims]
        for value in self.exhibit.values:
            if (within := value.within) is None:
                continue
            claim = f"{value.name}: {value.paper:g}, within {100 * within:g} %"
            here, differ = self.measured(value), self.differs(value)
            if here is None or not here.known or differ:
                said = f"here {'not measured' if here is None else here}"
                found.append(Verdict(claim, NOT_JUDGED, (*filter(None, [differ]), said)))
                continue
            word = SEEN if abs(here.low - value.paper) <= within * abs(value.paper) else NOT_SEEN
            found.append(Verdict(claim, word, (f"here {here}",)))
        return found

    def measured(self, value: Value) -> Interval | None:
        """Return the value measured here for a number of the paper, or None if there is none."""
        found = (value.measure.number(case, value.run) for case in self._cases_of(value))
        numbers = [number for number in found if number is not None]
        return together(value.of, numbers) if numbers else None

    def differs(self, value: Value) -> str:
        """Describe how the data of a number differ from the paper's; return "" if they do not."""
        return next(filter(None, (case.differ for case in self._cases_of(value))), "")

    def _cases_of(self, value: Value) -> list[Case]:
        return [
            case
            for case in self.cases
            if value.data in ("", case.data) and value.lam in (None, case.problem.lam)
        ]

    def as_measured(self, value: Value) -> str:
        """Return the value measured here for a number of the paper, as a string."""
        if (here := self.measured(value)) is None:
            return "–"
        return str(here) + (" (other data)" if self.differs(value) else "")

    @property
    def sizes(self) -> list[SizesOf]:
        """Return the sizes of all data here and in the paper."""
        return self.exhibit.sizes.table(self.cases)


def page(paper: Paper, outcomes: Sequence[ExhibitOutcome]) -> str:
    """Return a standalone HTML page with all results."""
    sections = [section for outcome in outcomes for section in exhibit_sections(outcome)]
    if len(outcomes) > 1:
        said = [f"{one.name}, {one.title}: {one.why_not}" for one in paper.exhibits.values() if one.why_not]
        not_run = "".join(f"<p>{html.escape(one)}</p>" for one in [*said, *paper.missing])
        sections = [Section(paper.title), *sections, Section("Not run", not_run)]
    return report(title_of(paper, outcomes), sections)


def title_of(paper: Paper, outcomes: Sequence[ExhibitOutcome]) -> str:
    if len(outcomes) == 1:
        return f"{outcomes[0].exhibit.name} of {paper.cite}"
    return f"Figures and tables of {paper.cite}"


def exhibit_sections(outcome: ExhibitOutcome) -> list[Section]:
    """Return the sections on an exhibit: text, verdicts, plots, numbers."""
    exhibit = outcome.exhibit
    body = exhibit_as_html(exhibit, [*outcome.notes, *_about(outcome.cases)])
    body += sizes_as_html(outcome.sizes) + verdicts_as_html(outcome.verdicts)
    sections = [Section(f"{exhibit.name}: {exhibit.title}", body)]
    for drawing in exhibit.drawings:
        sections += pictures(drawing, outcome.cases)
    sections += groups_of_weights(outcome.cases)
    if exhibit.values:
        rows = [[value.name, f"{value.paper:g}", outcome.as_measured(value)] for value in exhibit.values]
        sections.append(Section("The paper's numbers, and ours", as_html(("", "paper", "here"), rows)))
    sections.append(
        Section("Runs", as_html(RUN_HEADS, [_row(c, r) for c in outcome.cases for r in c.runs.values()]))
    )
    return sections


def exhibit_as_html(exhibit: Exhibit, more: Sequence[str]) -> str:
    """Return paragraphs that describe the paper's exhibit and how the runs here differ, followed
    by ``more``."""
    said = [f"In the paper: {exhibit.shows}", exhibit.here, *more]
    return "".join(f"<p>{html.escape(one)}</p>" for one in said if one)


def sizes_as_html(sizes: Sequence[SizesOf]) -> str:
    """Return a table of the sizes of the data here and in the paper."""
    rows = [
        [one.data, str(one.here), "not the paper's" if one.paper is None else str(one.paper), MATCH[one.same]]
        for one in sizes
    ]
    return as_html(("data", "here", "in the paper", "judged"), rows) if rows else ""


def verdicts_as_html(verdicts: Sequence[Verdict]) -> str:
    """Return a list of claims, each with its verdict and the numbers that support it."""
    items = []
    for verdict in verdicts:
        mark, color = MARKS[verdict.word]
        numbers = f"{verdict.of}: " * bool(verdict.of) + "; ".join(verdict.numbers)
        items.append(
            f'<li><b style="border-left:4px solid {color};padding-left:5px">{mark} {verdict.word}</b>: '
            f"{html.escape(verdict.claim)}"
            f"<br><small>{html.escape(numbers)}</small></li>"
        )
    return f'<ul class="verdicts">{"".join(items)}</ul>' if items else ""


def _about(found: Sequence[Case]) -> list[str]:
    """Return sentences on how accurately f* is known."""
    unsure = [case.unsure for case in found]
    if not unsure:
        return ["Nothing has been run."]
    known = [value for value in unsure if value is not None]
    told = "f* is at most the least f that any run on the problem found"
    if open_ := sum(not np.isfinite(case.f_low) for case in found):
        told += f" (on {open_} of {len(found)} no run came to the optimum, which may lie lower)"
    if known:
        least, most = (f"{value:.1e}" for value in (min(known), max(known)))
        proved = least if least == most else f"{least} to {most}"
        told += f"; it is proved to be within {proved} of the minimum"
        told += "" if len(known) == len(unsure) else f", on {len(known)} of {len(unsure)} problems"
    return [f"{told}."]


def _row(case: Case, run: ExhibitRun) -> list[str]:
    record = run.record
    gap = Measure("gap").number(case, run.label)
    metric = record.get("test_metric")
    return [
        case.name,
        run.label,
        wording.of_ending(record["status"], record)
        + (f" ({record['message']})" if record["status"] == "failed" else ""),
        ui.number(record.get("objective"), 8),
        _gap(gap),
        ui.number(record.get("nnz")),
        ui.number(record.get("iterations")),
        ui.number(record.get("cpu_seconds"), 3),
        ui.number(metric) + (f" ({record['metric_name']})" if metric is not None else ""),
    ]


def _gap(gap: Interval | None) -> str:
    """Format a gap; write its lower bound and "or more" if the upper bound is infinite."""
    if gap is None or not np.isfinite(gap.high):
        return ui.number(None if gap is None else gap.low, 3) + ("" if gap is None else " or more")
    return ui.number(gap.low, 3)


# pictures


def pictures(drawing: Drawing, found: Sequence[Case]) -> list[Section]:
    """Return a section with a plot for each problem, or each data set, that has something to draw."""
    labels = list(dict.fromkeys(label for case in found for label in case.runs))
    first = first_seeds(found)
    groups = by_data(first).items() if drawing.points else [(case.name, [case]) for case in first]
    draw, sections = _points if drawing.points else _curve, []
    for name, group in groups:
        drawn = ((label, draw(drawing, group, label)) for label in labels)
        curves = {label: curve for label, curve in drawn if len(curve[0])}
        if curves:
            legend = ui.runs_legend((label, *_look(labels.index(label)), "", False) for label in curves)
            sections.append(Section(name, legend, _figure(drawing, curves, labels)))
    return sections


def groups_of_weights(found: Sequence[Case]) -> list[Section]:
    """Return a section for each run with recorded weights: a plot of their values, and a table of their
    clusters."""
    sections = []
    for case in found:
        for label, run in case.runs.items():
            if run.groups is None:
                continue
            fig = ui.plot("weights", x_label="iteration", y_label="β")
            fig.background_fill_color = fig.border_fill_color = "#ffffff"
            steps = list(range(len(run.groups.W)))
            for k, members in enumerate(run.groups.lines()):
                ys = [run.groups.W[:, j] for j in members]
                fig.multi_line([steps] * len(ys), ys, color=ui.COLORS[k % len(ui.COLORS)])
            rows = [
                [
                    str(row.t),
                    str(row.clusters),
                    *(ui.number(x, 3) for x in (row.inside, row.later, row.crossed)),
                ]
                for row in run.groups.rows
            ]
            shown = sum(map(len, run.groups.lines()))
            body = f"<p>The {shown} largest weights, coloured by their last value.</p>"
            sections.append(
                Section(f"{case.name}, {label}: weights", body + as_html(CLUSTER_HEADS, rows), fig)
            )
    return sections


def _look(k: int) -> tuple[str, str]:
    return ui.COLORS[k % len(ui.COLORS)], ui.dash(k)


def _figure(
    drawing: Drawing, curves: Mapping[str, tuple[np.ndarray, np.ndarray]], labels: Sequence[str]
) -> figure:
    x_title = "λ" if drawing.x == "lam" else _title(drawing.x, drawing.to)
    axes = {"x_label": x_title, "y_label": _title(drawing.y, drawing.to), "log_y": drawing.log_y}
    log_x = drawing.log_x or drawing.x == "lam"
    fig = ui.plot(f"{drawing.y}-{drawing.x}", x_axis_type="log" if log_x else "linear", **axes)
    fig.background_fill_color = fig.border_fill_color = "#ffffff"
    for label, (x, y) in curves.items():
        color, dash = _look(labels.index(label))
        source = ColumnDataSource({"x": x, "y": y})
        ui.curve(fig, source, "y", color=color, dash=dash, width=2)
        if drawing.points:
            fig.scatter("x", "y", source=source, color=color, size=6)
    return fig


def _title(name: str, to: float | None) -> str:
    if name == "seconds":
        return f"CPU seconds to a gap of {to:g}"
    if name in FIELDS and name not in TITLES:
        return FIELDS[name].title
    return Measure(name).title


def _curve(drawing: Drawing, group: Sequence[Case], label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the iterates of a run on the only problem of ``group``, thinned."""
    (case,) = group
    run, none = case.runs.get(label), (np.empty(0), np.empty(0))
    if run is None or run.trace is None or not len(run.trace):
        return none
    if drawing.y == "test_metric":
        if not run.trace.test_metric:
            return none
        iteration, seconds, y = map(np.array, zip(*run.trace.test_metric, strict=True))
        x = iteration if drawing.x == "iteration" else seconds
    else:
        x, y = (column(case, run, name) for name in (drawing.x, drawing.y))
    if drawing.y == "gap" and drawing.log_y:
        y = np.maximum(y, MIN_DRAWN_VALUE)
    return _thinned(*_drawable(drawing, x, y))


def _points(drawing: Drawing, group: Sequence[Case], label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of a point for each problem, sorted by λ."""
    found = []
    for case in group:
        values = [_point(case, label, name, drawing.to) for name in (drawing.x, drawing.y)]
        if None not in values:
            found.append((case.problem.lam or 0.0, *values))
    found.sort()
    x, y = (np.array([one[k] for one in found], dtype=float) for k in (1, 2))
    return _drawable(drawing, x, y)


def _point(case: Case, label: str, name: str, to: float | None) -> float | None:
    if name == "lam":
        lam = case.problem.lam
        return lam if lam is not None else case.problem.lam_ratio
    number = (Measure("cpu_seconds", to) if name == "seconds" else Measure(name)).number(case, label)
    return number.low if number is not None and number.known and np.isfinite(number.low) else None


def _drawable(drawing: Drawing, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = np.isfinite(x) & np.isfinite(y)
    if drawing.log_x or drawing.x == "lam":
        kept &= x > 0.0
    if drawing.log_y:
        kept &= y > 0.0
    return x[kept], y[kept]


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(x) <= MOST_POINTS:
        return x, y
    first = x[x > 0.0][0] if (x > 0.0).any() else 1.0
    wanted = np.unique(
        np.append(np.linspace(x[0], x[-1], MOST_POINTS // 2), np.geomspace(first, x[-1], MOST_POINTS // 2))
    )
    kept = np.unique(np.clip(np.searchsorted(x, wanted), 0, len(x) - 1))
    return x[kept], y[kept]
