"""Solutions as functions of λ: sparsity, metric on held-out data, weights, and CPU time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import panel as pn
from bokeh.plotting import figure

from solverscope.app import ui
from solverscope.app.settings import wording
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.sorted_table import SortedTable
from solverscope.app.views.base.view import View
from solverscope.app.views.path.path_plots import MEASURE_FIELDS, PATH_PLOTS, metrics
from solverscope.app.views.path.solutions import MEMBERS, Solutions, lam_of
from solverscope.app.views.sweep.sweep_figures import Chosen
from solverscope.solvers import Trace

if TYPE_CHECKING:
    from holoviews.plotting import Plot

#: Columns of the table: heading, field of the result, significant digits.
PATH_COLUMNS = (
    ("objective", "objective", 7),
    ("gap at most", "gap", 2),
    ("non-zeros", "nnz", 7),
    ("rows", "nnz_rows", 7),
    ("train {metric_name}", "train_metric", 4),
    ("test {metric_name}", "test_metric", 4),
    *((title, field, 4) for title, field in MEASURE_FIELDS.items()),
)


#: Plots drawn by HoloViews.
HOLOVIEWS_PLOTS = ("path-choice", "path-weights")
#: All plots, in their order.
ALL_PLOTS = ("path-accuracy", *HOLOVIEWS_PLOTS, "path-nnz", "path-seconds", "path-members")


class Path(View):
    """Results of solvers over a range of λ, as plots and a table.

    They show the metric over sparsity, the selection of λ, the weights of one solver, nonzeros and CPU time.
    If a rule excludes weights, working sets are shown, too. Ended runs of one solver on one objective form a
    path:

    >>> views.Path(list(solvers.solve_path(problem, solver)))

    Plots take a moment to create, so each is created by ``later``.
    """

    id = "path"
    title = "λ path"
    hint = "Trace the path to see how sparsity, the test metric and weights change with λ here."
    followed = False

    def build(self) -> None:
        #: Which λ was chosen for each path, if any: drawn with the next runs that are shown.
        self.choices: list[Chosen] = []
        #: Plots that are still to come from ``later``.
        self.drawing: set[str] = set()
        small = {"size": "small", "margin": (8, 4, 4, 4), "visible": False}
        self._which = Menu(label="Weights of", width=150, **small)
        self._when = Menu(label="Working set", options=MEMBERS, value="members_half", width=200, **small)
        self._metric = Menu(label="Measure", width=130, **small)
        for menu in (self._which, self._metric, self._when):
            menu.param.watch(lambda event: self.update(), "value")
        self.panes = {
            name: ui.holoviews_pane() if name in HOLOVIEWS_PLOTS else ui.pane() for name in ALL_PLOTS
        }
        self.table = SortedTable()
        self.controls = pn.FlexBox(self._which, self._metric, self._when, align_items="center", margin=0)
        self._head.append(self.controls)
        self._plots = ui.column(*self.panes.values(), kind="plots tall")
        self._body.extend([self._plots, self.table])

    def ended(self) -> list[Trace]:
        """Return the runs that have ended and have a λ."""
        return [trace for trace in self.traces if trace.result and lam_of(trace) is not None]

    def has_content(self) -> bool:
        return bool(self.ended())

    def draw(self) -> None:
        paths = grouped(self.ended())
        self.table.show(*table(paths))
        labels = [path.label for path in paths]
        if labels != self._which.options:
            value = self._which.value if self._which.value in labels else labels[0]
            self._which.param.update(options=labels, value=value, visible=len(labels) > 1)
        traced = paths[labels.index(self._which.value)]
        chooses = any(path.chooses for path in paths)
        known = metrics(paths)
        if known != self._metric.options:
            value = self._metric.value if self._metric.value in known.values() else next(iter(known.values()))
            self._metric.param.update(options=known, value=value, visible=len(known) > 1)
        chosen = [one for one in self.choices if one.label in labels]
        self._when.visible = self.panes["path-members"].visible = chooses
        self.panes["path-choice"].visible = bool(chosen)
        ui.set_class(self._plots, "five", chooses or bool(chosen))
        when, metric = self._when.value, self._metric.value
        mark = traced.label, when, metric, [trace for path in paths for trace in path.traces], chosen
        for name, pane in self.panes.items():
            if pane.visible and name not in self.drawing and not self._drawn.shows(name, *mark):
                self.drawing.add(name)
                work = partial(_plot, name, paths, traced, when, metric, chosen)
                self.later(work, partial(self._show, name, mark))

    def _show(self, name: str, mark: tuple[object, ...], plot: figure | Plot | None) -> None:
        """Show a plot, and draw what has changed in the meantime; a plot that failed is not drawn again."""
        self.drawing.discard(name)
        self._drawn.changed(name, *mark)
        if plot is not None:
            self.panes[name].object = plot
        self.update()


def grouped(traces: Sequence[Trace]) -> list[Solutions]:
    """Group runs into paths; equal labels on several losses or penalties are extended by these."""
    found: dict[tuple[str, str, str], list[Trace]] = {}
    for trace in traces:
        about = trace.info.problem
        found.setdefault((trace.info.label, about["loss"], about["penalty"]), []).append(trace)

    def name(key: tuple[str, str, str]) -> str:
        alike = [other for other in found if other[0] == key[0]]
        return ", ".join([key[0], *(key[k] for k in (1, 2) if len({other[k] for other in alike}) > 1)])

    return [
        Solutions(name(key), *run_styles.color_and_dash(members[0], place), tuple(members))
        for place, (key, members) in enumerate(found.items())
    ]


def table(paths: Sequence[Solutions]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of all results, without columns of which nothing is known."""
    results = [trace.result for path in paths for trace in path.traces]
    shown = [c for c in PATH_COLUMNS if any(result.get(c[1]) is not None for result in results)]
    heads = ["path", "status", "λ", *(head.format(**results[0]) for head, _, _ in shown), "CPU"]
    return heads, [_cells(path.label, trace, shown) for path in paths for trace in path.traces]


def _cells(label: str, trace: Trace, shown: Sequence[tuple[str, str, int]]) -> list[str]:
    values = [ui.number(trace.result.get(field), digits) for _, field, digits in shown]
    return [
        label,
        wording.of_ending(trace.status, trace.result),
        ui.number(lam_of(trace)),
        *values,
        ui.seconds(trace.result["cpu_seconds"]),
    ]


def _plot(
    name: str,
    paths: Sequence[Solutions],
    traced: Solutions,
    members: str,
    metric: str,
    chosen: Sequence[Chosen],
    pulse: Callable[[], None],
) -> figure | Plot:
    if name in PATH_PLOTS:
        return PATH_PLOTS[name](name, paths, traced, members, metric)
    from solverscope.app.views.path import path_elements  # HoloViews takes long to import

    return path_elements.drawn(name, paths, traced, chosen)
