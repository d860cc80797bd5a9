"""Results of a benchmark of benchopt."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from solverscope.app import looks, theme
from solverscope.app.menu import Menu
from solverscope.app.views.base.bands import families
from solverscope.app.views.convergence.convergence import MEASURES, OF_WEIGHTS, Convergence
from solverscope.solvers import Trace

#: Each dash in a line of text.
LINES = {"solid": "━━", "dashed": "╍╍", "dotdash": "━·", "dotted": "┉┉"}


class BenchoptCurves(Convergence):
    """The curves that :func:`solverscope.app.runs.benchopt.read` returns of a file, of one of its problems at
    a time: a data set and an objective. All repetitions of a solver are a median with a band."""

    id = "benchopt"
    title = "Curves of benchopt"
    hint = "Open the results of a benchmark, a file that ends in .parquet."
    # of what a file tells
    measures = tuple(name for name in MEASURES if name not in OF_WEIGHTS)
    against = ("wall_seconds", "iteration")

    def __init__(self, traces: Sequence[Trace] = (), **params: object) -> None:
        self._problems: dict[str, list[Trace]] = {}
        super().__init__((), **({"x": "wall_seconds"} | params))
        self.open(traces)

    def build(self) -> None:
        super().build()
        self.problem = Menu(label="Data set and objective", size="small", sizing_mode="stretch_width")
        self.problem.param.watch(lambda event: self._choose(event.new), "value")
        self.legend = theme.html(sizing_mode="stretch_width")
        self._head.insert(1, self.problem)
        self._body.append(self.legend)

    def open(self, traces: Sequence[Trace]) -> None:
        """Draw these curves in place of others, those of the first problem first."""
        self._problems = {}
        for trace in traces:
            about = trace.info.problem
            self._problems.setdefault(f"{about['dataset']} · {about['loss']}", []).append(trace)
        for alike in self._problems.values():
            styles: dict[str, int] = {}
            for trace in alike:
                looks.give(trace, styles.setdefault(trace.info.solver, len(styles)))
        names = list(self._problems)
        self.problem.param.update(options=names, value=names[0] if names else None)
        self._choose(self.problem.value)

    def _choose(self, problem: str | None) -> None:
        alike = self._problems.get(problem, [])
        if alike != self.traces:
            self.show(alike)
        times = {runs[0]: len(runs) for _, runs in families(alike)}
        first = {trace.info.solver: trace for trace in reversed(alike)}
        said = []
        for trace in reversed(first.values()):
            color, dash = looks.style(trace)
            n = times.get(trace)
            words = f"{escape(trace.info.solver)}{f', median of {n}' if n else ''}"
            said.append((LINES[dash], color, words))
        self.legend.object = theme.marks(said)
