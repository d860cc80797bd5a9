"""The plot of benchopt's results."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from solverscope.app import ui
from solverscope.app.benchopt.lasso import groups, in_our_units
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.bands import families
from solverscope.app.views.convergence.convergence import OBJECTIVE_MEASURES, OF_WEIGHTS, Convergence
from solverscope.solvers import Trace

#: Characters that look like each dash.
DASH_TEXTS = {"solid": "━━", "dashed": "╍╍", "dotdash": "━·", "dotted": "┉┉"}


class BenchoptCurves(Convergence):
    """Curves read by :func:`solverscope.app.benchopt.results.read`, of one problem at a time.

    A problem is a data set and an objective. Repetitions of a solver are drawn as a median with a band. Our
    own runs on the same problem are drawn with them, see :func:`.lasso.in_our_units`.
    """

    id = "benchopt"
    title = "Curves of benchopt"
    hint = "Open the results of a benchmark, a file that ends in .parquet."
    # those that a file of benchopt has
    measures = tuple(name for name in OBJECTIVE_MEASURES if name not in OF_WEIGHTS)
    against = ("wall_seconds", "iteration")

    def __init__(self, traces: Sequence[Trace] = (), **params: object) -> None:
        self._problems: dict[str, list[Trace]] = {}
        self._own: list[Trace] = []
        super().__init__((), **({"x": "wall_seconds"} | params))
        self.open(traces)

    def build(self) -> None:
        super().build()
        self.problem = Menu(label="Data set and objective", size="small", sizing_mode="stretch_width")
        self.problem.param.watch(lambda event: self._choose(event.new), "value")
        self.legend = ui.html(sizing_mode="stretch_width")
        self._head.insert(1, self.problem)
        self._body.append(self.legend)

    def open(self, traces: Sequence[Trace]) -> None:
        """Replace the curves by these traces, and draw those of the first problem."""
        self._problems = groups(traces)
        for alike in self._problems.values():
            styles: dict[str, int] = {}
            for trace in alike:
                run_styles.set_style(trace, styles.setdefault(trace.info.solver, len(styles)))
        names = list(self._problems)
        self.problem.param.update(options=names, value=names[0] if names else None)
        self._choose(self.problem.value)

    def put_beside(self, runs: Sequence[Trace]) -> None:
        """Draw our own runs with the curves of their problem, and update those that have grown."""
        begun = [run for run in runs if len(run)]
        if begun != self._own:
            self._own = begun
            self._choose(self.problem.value)
        else:
            self.update()

    def _choose(self, problem: str | None) -> None:
        alike = self._problems.get(problem, [])
        place = 1 + max((run_styles.style_of(run).number for run in self._own), default=-1)
        if own := {run: made for run in self._own if (made := in_our_units(alike, run, place))}:
            alike = [*own, *next(iter(own.values()))]
        if alike != self.traces:
            self.show(alike)
        times = {runs[0]: len(runs) for _, runs in families(alike)}
        first = {trace.info.label if trace in own else trace.info.solver: trace for trace in reversed(alike)}
        legend = []
        for name, trace in reversed(first.items()):
            color, dash = run_styles.color_and_dash(trace)
            n = times.get(trace)
            words = f"{escape(name)}{f', median of {n}' if n else ''}"
            legend.append((DASH_TEXTS[dash], color, words))
        self.legend.object = ui.mark_legend(legend)
