"""What the page adds to the tab "λ path": a button that traces the path of the chosen solvers in the pool."""

from __future__ import annotations

import html
from dataclasses import replace
from functools import partial

import panel_material_ui as pmui

from solverscope.app import looks, theme
from solverscope.app.menu import Menu
from solverscope.app.page.stage import Stage
from solverscope.app.runs import library
from solverscope.app.runs.pool import PoolFull, Worker
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant
from solverscope.app.theme import number
from solverscope.app.views import Path
from solverscope.solvers import Problem, Run, Trace, log_spaced
from solverscope.solvers.runs.lam_path import measured, path_runs

#: Numbers of λ, and last λ, that can be chosen.
COUNTS = [5, 10, 20, 40]
RATIOS = {"0.1 λmax": 0.1, "0.01 λmax": 0.01, "0.001 λmax": 1e-3, "0.0001 λmax": 1e-4}
#: Ticks between two drawings while paths grow: each makes all plots anew.
EVERY = 25
#: Bytes of weights kept to be drawn; solutions beyond are kept without.
MOST_BYTES = 64 * 2**20


class Tracing:
    """One solver on its way along λ. ``found`` grows in the pool's thread; ``progress`` says where it is."""

    def __init__(self, base: Problem, setting: Experiment, chosen: Entrant, style: int) -> None:
        self.label, self.found = chosen.label, list[Trace]()
        self._base, self._setting, self._chosen, self._style = base, setting, chosen, style
        self._run: Run | None = None
        self._room = MOST_BYTES // len(setting.entrants)

    def follow(self, worker: Worker, count: int, ratio: float) -> None:
        """Solve at ``count`` values of λ from λ_max to ``ratio`` of it; the page's limits hold at each.
        Raises ValueError if the problem has no such path."""
        own = replace(self._chosen.recipe(self._setting.problem), lam=None)
        problem = library.variant(self._base, own, worker.pulse).with_pulse(worker.pulse)
        if not problem.lam_max:
            raise ValueError(f"penalty {own.penalty} has no λmax to start from: choose a sparse one")
        solver = self._chosen.make()
        limits = self._setting.limits.stopping()
        self.count, lams = count, log_spaced(problem, count, last=ratio)
        for run in path_runs(
            problem, solver, lams, label=self.label, stopping=lambda at: limits, gate=worker
        ):
            self._run = run
            trace = run.execute()
            if trace.status == "stopped":
                return
            trace.result |= measured(run)
            self.found.append(self._brief(trace))

    def _brief(self, trace: Trace) -> Trace:
        """Return the result without the iterates, and with the weights if there is room for them."""
        brief = Trace(trace.info)
        looks.give(brief, self._style)
        brief.result, brief.names = trace.result, trace.names
        if trace.w is not None and trace.w.nbytes <= self._room:
            self._room -= trace.w.nbytes
            brief.w = trace.w
        brief.finish(trace.status, trace.message)
        return brief

    @property
    def progress(self) -> str:
        """Say in a few words how far the path is."""
        if self._run is None:
            return f"{self.label}: waiting"
        iteration = self._run.trace.last.get("iteration", 0)
        done = min(len(self.found) + 1, self.count)
        return f"{self.label}: λ {done} of {self.count}, iteration {number(int(iteration))}"


class PathPanel:
    """A path for every chosen solver, each in a worker of its own, and the view of what they have found. A
    watcher of the session; the workers end with it."""

    def __init__(self, page: Stage) -> None:
        self._page, self._session = page, page.session
        self._tracings: list[Tracing] = []
        self.workers: list[Worker] = []  # one a solver; plots are drawn by others
        self._error = ""
        self._ticks = 0
        small = {"size": "small", "margin": (8, 4, 4, 4)}  # above: the labels on their borders
        self.button = pmui.Button(label="Trace the path", icon="timeline", variant="outlined", **small)
        self.button.on_click(lambda event: self.press())
        self.count = Menu(label="Values of λ", options=COUNTS, value=10, width=110, **small)
        self.ratio = Menu(label="From λmax to", options=RATIOS, value=0.01, width=140, **small)
        self.said = theme.html(margin=(0, 10), visible=False)
        self.view = Path()
        self.view.later = partial(page.session.later, self.view)
        self.view.controls.objects = [self.button, self.count, self.ratio, *self.view.controls]
        self.view.put_above(self.said)
        self.update()

    @property
    def alive(self) -> bool:
        """Tell whether a path is being traced."""
        return any(not worker.done.is_set() for worker in self.workers)

    def press(self) -> None:
        """Start, or stop."""
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
                task = partial(tracing.follow, count=self.count.value, ratio=self.ratio.value)
                self.workers.append(self._session.share.start(task, f"path {chosen.label}"))
                self._tracings.append(tracing)
            self._session.hurry()
        except PoolFull as error:
            self._error = str(error)

    def update(self) -> None:
        """Say how far the paths are; now and then, and at their end, draw them. Nothing while hidden."""
        if not self.view.visible:
            return
        alive = self.alive
        self.button.label = "Stop tracing" if alive else "Trace the path"
        self.button.disabled = not alive and self._page.obstacle is not None
        text = self._sentence(alive)
        self.said.param.update(object=text, visible=bool(text))
        found = [trace for tracing in self._tracings for trace in tracing.found]
        if found != self.view.traces and (not alive or self._ticks % EVERY == 0):
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
            done = f"{number(len(found))} solutions in {theme.seconds(seconds)} of CPU time"
            said.append(html.escape(f"{about['dataset']}, {about['loss']}: {done}"))
        return "  ·  ".join(said)
