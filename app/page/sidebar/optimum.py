"""f* of the problems on the page: from their story, from the cache, or computed in the pool."""

from __future__ import annotations

import html
import math
from typing import NamedTuple

import panel as pn

from solverscope.app import ui
from solverscope.app.page.session import Session
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.pool import PoolFull, PoolWorker
from solverscope.app.runs.reference import cached, distrust, reference
from solverscope.app.ui import number
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.run_events import lam_in_words
from solverscope.solvers import Problem, segments, undercuts
from solverscope.solvers.traces.segments import update_f_stars


class _Sought(NamedTuple):
    """A problem whose f* may be computed: a run on it, and its λ."""

    run: LiveRun
    lam: float | None

    @property
    def problem(self) -> Problem:
        problem = self.run.problem
        assert problem is not None  # it has been loaded
        return problem if self.lam is None or self.lam == problem.lam else problem.at_lam(self.lam)

    @property
    def label(self) -> str:
        """Return a name of the problem: the label of its run, with λ if the run had several."""
        at = f" at {lam_in_words(self.lam)}" if len(segments(self.run.trace)) > 1 else ""
        return f"{self.run.label}{at}"


class Optimum:
    """The f* of the runs' problems; ``view`` shows the known ones, and a button that computes the others.

    A run has several problems if λ was changed; they are distinguished by their keys. f* is computed for one
    problem after another: automatically for the first and the last of a run, and for others on demand.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.text = ui.html(margin=(6, 4))
        self.button = pmui.Button(label="Find f*", variant="text", size="small", margin=(1, 4))
        self.button.on_click(lambda event: self._press())
        self.view = pn.Row(self.text, self.button, margin=0, css_classes=["optimum"])
        self._runs: dict[str, _Sought] = {}  # the first one on each problem
        self._known: dict[str, float] = {}
        self._gaps: dict[str, float | None] = {}
        self._refused: dict[str, str] = {}
        self._unbounded: set[str] = set()  # problems that have no f*, as a run on them has found
        self._asked: set[str] = set()
        self._worker: PoolWorker | None = None
        self._solving = ""
        self._full = ""
        self.update()

    def of(self, problem: Problem, story: float | None) -> float | None:
        """Return f* if it is known without computing it, else None; called in a run's thread."""
        if story is not None:
            return story
        known = cached(problem)
        if known is None:
            return None
        self._gaps[problem.key] = known.gap
        return known.f_star

    def update(self) -> None:
        """Pass known f* to the traces, and compute f* of a problem once the first run on it has finished."""
        self._runs, ended = {}, set[str]()
        begun = [run for run in self._session.runs if run.trace is not None]
        for run in begun:
            here = segments(run.trace)[-1]
            if here.f_star is not None and undercuts(run.trace.last.get("objective", math.inf), here.f_star):
                self._discard(run, begun)
        for run in begun:
            parts = segments(run.trace)
            for part in parts:
                if run.problem is not None:  # those of the past learn f* from the others
                    self._runs.setdefault(part.key, _Sought(run, part.lam))
                if part.f_star is not None:
                    self._known[part.key] = part.f_star
            if run.trace.status == "unbounded":
                self._unbounded.add(parts[-1].key)
                self._refused[parts[-1].key] = "f is unbounded below, so there is no f*"
            elif run.problem is not None and run.state == "finished":
                ended |= {parts[0].key, parts[-1].key}
        for run in begun:
            update_f_stars(run.trace, self._known)
        self._asked &= self._runs.keys()
        if self._worker is None:
            self._find_next(ended | self._asked)
        elif not (self._at_work or any(run.alive and run.trace is None for run in self._session.runs)):
            self._worker.stop()  # no run is left that needs it
        self._show()

    def _discard(self, below: LiveRun, runs: list[LiveRun]) -> None:
        """Discard an f* that an iterate has undercut: here, on disk, and in all runs on the problem."""
        here = segments(below.trace)[-1]
        for run in runs:
            update_f_stars(run.trace, {here.key: None})
        self._known.pop(here.key, None)
        self._refused[here.key] = (
            f"f* = {number(here.f_star, 9)} is not the minimum, {below.label} is below it"
        )
        if below.problem is not None:
            distrust(below.problem)

    @property
    def _at_work(self) -> bool:
        """Return whether an f* is being computed that a run still needs."""
        return self._worker is not None and self._solving in self._runs

    @property
    def _missing(self) -> list[str]:
        return [key for key in self._runs if key not in self._known]

    def _show(self) -> None:
        self.text.object = self._sentence()
        self.button.visible = not self._unbounded.issuperset(self._missing)
        if self.button.visible:
            self.button.label = "Give up" if self._at_work else "Find f*"

    def _sentence(self) -> str:
        missing, several = self._missing, len(self._runs) > 1
        said = []
        if several and len(missing) < len(self._runs):
            said.append(f"f* known for {len(self._runs) - len(missing)} of {len(self._runs)} problems")
        elif self._runs and not missing:
            (key,) = self._runs
            gap = self._gaps.get(key)
            proof = "" if gap is None else f" <small>(proved to within {number(gap, 2)})</small>"
            said.append(f"f* = {number(self._known[key], 9)}{proof}")
        if missing:
            key = self._solving if self._at_work else missing[0]
            of = f"{self._runs[key].label}: " if several else ""
            if self._at_work:
                what = "solving for f* …"
            elif self._full and self._asked:
                what = f"f* waits for a free slot: {self._full}"
            else:
                what = self._refused.get(key, "f* not known yet")
            said.append(html.escape(of + what))
        return " · ".join(said)

    def _press(self) -> None:
        if self._at_work:
            self._asked.clear()
            self._refused |= dict.fromkeys(self._missing, "f* not known")
            self._worker.stop()
        else:
            wanted = set(self._missing) - self._unbounded
            self._asked |= wanted
            for key in wanted:
                self._refused.pop(key, None)
        self._session.tick()

    def _find_next(self, wanted: set[str]) -> None:
        self._full = ""
        key = next((key for key in self._missing if key in wanted and key not in self._refused), None)
        if key is None:
            return
        problem = self._runs[key].problem

        def then(worker: PoolWorker) -> None:
            self._worker = None
            if worker.result is not None:
                self._known[key], self._gaps[key] = worker.result.f_star, worker.result.gap
            elif worker.error is not None:
                self._refused[key] = str(worker.error) or "f* not known"

        try:
            self._worker = self._session.task(lambda worker: reference(problem, worker), then)
            self._solving = key
        except PoolFull as error:
            self._full = str(error)
