"""The plot of results of benchopt."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from solverscope.app import ui
from solverscope.app.ui import run_styles
from solverscope.app.ui.menu import Menu
from solverscope.app.views.base.bands import families
from solverscope.app.views.convergence.convergence import OBJECTIVE_MEASURES, OF_WEIGHTS, Convergence
from solverscope.solvers import Trace

#: Each dash drawn by characters.
DASH_TEXTS = {"solid": "━━", "dashed": "╍╍", "dotdash": "━·", "dotted": "┉┉"}


class BenchoptCurves(Convergence):
    """Curves that :func:`solverscope.app.benchopt.results.read` returned, of one problem at a time.

    A problem is a data set and an objective. All repetitions of a solver are a median with a band.
    """

    id = "benchopt"
    title = "Curves of benchopt"
    hint = "Open the results of a benchmark, a file that ends in .parquet."
    # those that a file of benchopt has
    measures = tuple(name for name in OBJECTIVE_MEASURES if name not in OF_WEIGHTS)
    against = ("wall_seconds", "iteration")

    def __init__(self, traces: Sequence[Trace] = (), **params: object) -> None:
        self._problems: dict[str, list[Trace]] = {}
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
        """Replace the curves by these, and draw those of the first problem."""
        self._problems = {}
        for trace in traces:
            about = trace.info.problem
            self._problems.setdefault(f"{about['dataset']} · {about['loss']}", []).append(trace)
        for alike in self._problems.values():
            styles: dict[str, int] = {}
            for trace in alike:
                run_styles.set_style(trace, styles.setdefault(trace.info.solver, len(styles)))
        names = list(self._problems)
        self.problem.param.update(options=names, value=names[0] if names else None)
        self._choose(self.problem.value)

    def _choose(self, problem: str | None) -> None:
        alike = self._problems.get(problem, [])
        if alike != self.traces:
            self.show(alike)
        times = {runs[0]: len(runs) for _, runs in families(alike)}
        first = {trace.info.solver: trace for trace in reversed(alike)}
        legend = []
        for trace in reversed(first.values()):
            color, dash = run_styles.color_and_dash(trace)
            n = times.get(trace)
            words = f"{escape(trace.info.solver)}{f', median of {n}' if n else ''}"
            legend.append((DASH_TEXTS[dash], color, words))
        self.legend.object = ui.mark_legend(legend)
