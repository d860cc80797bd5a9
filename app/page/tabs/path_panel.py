"""The panel of the tab *λ path*: a button that traces the path of the selected solvers in the pool."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from solverscope.app import ui
from solverscope.app.page.protocols import PanelPage
from solverscope.app.page.tabs.sweep_panel import chosen_of
from solverscope.app.runs import problem_cache
from solverscope.app.runs.pool import PoolFull, PoolWorker
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Entrant, Recipe, info_of
from solverscope.app.sweep.lam_selection import check_parts, choices, lams_of_part
from solverscope.app.ui import number, run_styles
from solverscope.app.ui.material_ui import pmui
from solverscope.app.ui.menu import Menu
from solverscope.app.views import Path
from solverscope.app.views.path.solutions import BriefSolution, RowSizes, keep_largest
from solverscope.app.views.sweep.sweep_figures import Chosen
from solverscope.solvers import Interrupted, Problem, Run, Trace, log_spaced
from solverscope.solvers.runs.lam_path import measured, path_runs

#: Offered numbers of λ, numbers of folds, and ratios of the last λ to λ_max.
LAM_COUNTS = [5, 10, 20, 40]
SELECTION_PARTS = {"the test part": 0, "3 folds": 3, "5 folds": 5, "10 folds": 10}
RATIOS = {"0.1 λmax": 0.1, "0.01 λmax": 0.01, "0.001 λmax": 1e-3, "0.0001 λmax": 1e-4}
#: Ticks between two drawings while paths are traced, as each rebuilds all plots.
PATH_REDRAW_TICKS = 25
#: Maximal size of the weights stored for plots while paths are traced; further solutions are stored without
#: weights.
MAX_DRAWN_BYTES = 64 * 2**20
#: Features whose weights are kept at each λ of a traced path: those with the largest.
MOST_KEPT = 200


class Tracing:
    """The path of one solver, which is traced in a thread of the pool.

    ``found`` collects the solutions, and ``progress`` describes the progress. At the end, ``chosen`` contains
    the λ that does best on held-out data, if there are any.
    """

    def __init__(self, base: Problem, setting: Experiment, chosen: Entrant, style: int) -> None:
        self.label, self.found = chosen.label, list[BriefSolution]()
        self.chosen: list[Chosen] = []
        self._part = ""
        self._base, self._setting, self._chosen, self._style = base, setting, chosen, style
        self._run: Run | None = None
        self._done = 0
        self._room = MAX_DRAWN_BYTES // len(setting.entrants)

    def follow(self, worker: PoolWorker, count: int, ratio: float, folds: int = 0) -> None:
        """Solve at ``count`` values of λ from λ_max down to ``ratio`` times λ_max, each within the page's
        limits.

        With ``folds`` repeat this without each fold. Raises ValueError if the problem has no such path, or
        the data cannot be split into folds.
        """
        own = replace(self._chosen.recipe(self._setting.problem), lam=None)
        if folds:
            check_parts(named(own.data), info_of(own.data).parse(own.options))
        problem = problem_cache.variant(self._base, own, worker.pulse).with_pulse(worker.pulse)
        if not problem.lam_max:
            raise ValueError(f"penalty {own.penalty} has no λmax to start from: choose a sparse one")
        self.count, lams = count, log_spaced(problem, count, last=ratio)
        measures = []
        try:
            for trace in self._solved(problem, lams, worker):
                measures.append(self._measure(trace, own, trace.info.problem["lam"]))
                self.found.append(self._brief(trace))
        finally:
            keep_largest(self.found, MOST_KEPT)
        for k in range(1, folds + 1):
            self._part, self._done = f", part {k} of {folds} held out", 0
            part = replace(own, options={**own.options, "cv": f"{k}/{folds}"})
            data = problem_cache.load(part, lambda *said: worker.pulse())
            inner = problem_cache.problem(data, part, worker.pulse).with_pulse(worker.pulse)
            at = lams_of_part(lams, problem, inner)
            measures = measures if k > 1 else []
            for lam, trace in zip(lams, self._solved(inner, at, worker), strict=False):
                measures.append(self._measure(trace, part, lam))
        self.chosen = [chosen_of(choice) for choice in choices(measures)]

    def _solved(self, problem: Problem, lams: Sequence[float], worker: PoolWorker) -> Iterator[Trace]:
        """Yield the run at each λ. Raises Interrupted if the worker is stopped."""
        limits = self._setting.limits.stopping()
        runs = path_runs(
            problem,
            self._chosen.make(),
            lams,
            label=self.label,
            stopping=lambda at: limits,
            gate=worker,
        )
        for self._done, run in enumerate(runs):
            self._run = run
            trace = run.execute()
            if trace.status == "stopped":
                raise Interrupted
            trace.result |= measured(run)
            yield trace

    def _measure(self, trace: Trace, recipe: Recipe, lam: float) -> dict[str, Any]:
        about = {"dataset": recipe.data, "options": recipe.options, "solver": trace.info.solver}
        return trace.result | about | {"lam": lam, "lam_ratio": None}

    def _brief(self, trace: Trace) -> BriefSolution:
        """Return the result without the iterates, and with norms of rows of W if there is memory for them."""
        brief, rows = BriefSolution(trace), RowSizes.of(trace)
        run_styles.set_style(brief, self._style)
        if rows is not None and rows.nbytes <= self._room:
            self._room -= rows.nbytes
            brief.rows = rows
        return brief

    @property
    def progress(self) -> str:
        """Return the progress of the path in a few words."""
        if self._run is None:
            return f"{self.label}: waiting"
        iteration = self._run.trace.last.get("iteration", 0)
        at = f"λ {self._done + 1} of {self.count}, iteration {number(int(iteration))}"
        return f"{self.label}{self._part}: {at}"


class PathPanel:
    """The button that traces a path for every selected solver, each in its own worker, and the view of the
    results.

    It is updated at each tick of the session, and the workers end with the session.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session = page, page.session
        self._tracings: list[Tracing] = []
        self.workers: list[PoolWorker] = []  # one a solver; plots are drawn by others
        self._error = ""
        self._ticks = 0
        small = {"size": "small", "margin": (8, 4, 4, 4)}  # above: the labels on their borders
        self.button = pmui.Button(label="Trace the path", icon="timeline", variant="outlined", **small)
        self.button.on_click(lambda event: self.press())
        self.count = Menu(label="Values of λ", options=LAM_COUNTS, value=10, width=110, **small)
        self.ratio = Menu(label="From λmax to", options=RATIOS, value=0.01, width=140, **small)
        self.folds = Menu(label="Choose λ by", options=SELECTION_PARTS, value=0, width=150, **small)
        self.said = ui.html(margin=(0, 10), visible=False)
        self.view = Path()
        self.view.later = partial(page.session.later, self.view)
        chosen = [self.count, self.ratio, self.folds]
        self.view.controls.objects = [self.button, *chosen, *self.view.controls]
        self.view.put_above(self.said)
        self.update()

    @property
    def alive(self) -> bool:
        """Return whether a path is being traced."""
        return any(not worker.done.is_set() for worker in self.workers)

    def press(self) -> None:
        """Start or stop the paths."""
        if self.alive:
            for worker in self.workers:
                worker.stop()
        elif self._page.obstacle is None:
            self._start()
        self.update()

    def _start(self) -> None:
        problem, setting = self._page.problem.problem, self._page.setting
        self._tracings, self.workers, self._error, self._ticks = [], [], "", 0
        try:
            for chosen, style in zip(setting.entrants, self._page.solvers.run_styles, strict=True):
                tracing = Tracing(problem, setting, chosen, style)
                given = {"count": self.count.value, "ratio": self.ratio.value, "folds": self.folds.value}
                task = partial(tracing.follow, **given)
                self.workers.append(self._session.share.start(task, f"path {chosen.label}"))
                self._tracings.append(tracing)
            self._session.hurry()
        except PoolFull as error:
            self._error = str(error)

    def update(self) -> None:
        """Show the progress of the paths, and draw them from time to time and at their end; do nothing while
        hidden."""
        if not self.view.visible:
            return
        alive = self.alive
        self.button.label = "Stop tracing" if alive else "Trace the path"
        self.button.disabled = not alive and self._page.obstacle is not None
        text = self._sentence(alive)
        self.said.param.update(object=text, visible=bool(text))
        found = [trace for tracing in self._tracings for trace in tracing.found]
        chosen = [one for tracing in self._tracings for one in tracing.chosen]
        new = found != self.view.traces or chosen != self.view.choices
        if new and (not alive or self._ticks % PATH_REDRAW_TICKS == 0):
            self.view.choices = chosen
            self.view.show(found)
        self._ticks += 1

    def _sentence(self, alive: bool) -> str:
        errors = [str(worker.error) for worker in self.workers if worker.error is not None]
        said = [
            f'<span class="error" role="alert">{html.escape(e)}</span>' for e in [self._error, *errors] if e
        ]
        found = [trace for tracing in self._tracings for trace in tracing.found]
        if alive:
            said += [html.escape(tracing.progress) for tracing in self._tracings]
        elif found:
            about, seconds = found[0].info.problem, sum(trace.result["cpu_seconds"] for trace in found)
            done = f"{number(len(found))} solutions in {ui.seconds(seconds)} of CPU time"
            said.append(html.escape(f"{about['dataset']}, {about['loss']}: {done}"))
        lines = [html.escape(one.text) for one in self.view.choices if not alive]
        return "<br>".join(["  ·  ".join(said), *lines])
