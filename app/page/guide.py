"""A guided story: steps that set controls, start runs, place the cursor and highlight a view."""

from __future__ import annotations

import numpy as np

from solverscope.app.page.protocols import PanelPage
from solverscope.app.runs.displayed_run import DisplayedRun
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import LAST_ITERATE, StoryStep
from solverscope.app.views import View
from solverscope.solvers import Trace
from solverscope.solvers.runs.breakpoints import known


class Guide:
    """The guide through the steps of the page's story, forwards and backwards; updated at each tick of the
    session.

    It never blocks: a visitor may do anything at any time, and a step that is no longer possible says so.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page = page
        self.at: int | None = None
        self.note = ""
        self._placed = True
        self._looked: tuple[Trace | None, int] = (None, -1)  # a run, and up to which of its iterations
        self._pointed: View | None = None

    @property
    def step(self) -> StoryStep | None:
        """Return the current step, or None outside of a guided story."""
        return None if self.at is None else self._page.story.steps[self.at]

    @property
    def setting(self) -> Experiment:
        """Return the settings of the story after the steps up to the current one."""
        setting = self._page.story.setting
        gone = () if self.at is None else self._page.story.steps[: self.at + 1]
        given = {name: value for step in gone for name, value in step.set.items()}
        if not given.keys() & setting.address().keys():
            return setting
        return Experiment.from_address(given, setting)[0]

    def go(self, k: int | None) -> None:
        """Go to the step with index ``k``, or leave the guided story if it is None."""
        steps, own = self._page.story.steps, self._page.setting == self.setting
        self.at = None if k is None else min(max(k, 0), len(steps) - 1)
        self.note, self._placed, self._looked = "", True, (None, -1)
        if self.step is not None:
            view = {n: value for n, value in self.step.set.items() if n not in self.setting.address()}
            self._page.take(self.setting if own else self._page.setting, view)
            if own and self.step.start and self._page.running != self.setting:
                self._page.start(False)
            self._placed = not self.step.run
        self.update()

    def update(self) -> None:
        """Move the cursor to the step's iterate once it exists; until then show why it does not."""
        self._point(None if self.step is None else self.step.view)
        if self.step is None:
            return
        if self._page.setting != self.setting:
            self.note = "The settings have left the story: this step may not hold for them."
        elif not self._placed:
            self.note = self._place(self.step)
        elif self.note:
            self.note = ""

    def _place(self, step: StoryStep) -> str:
        """Try to move the cursor to the iterate of a step; return the obstacle, or ""."""
        session = self._page.session
        run = next((run for run in session.runs if run.label == step.run), None)
        if run is None:
            if self._page.problem.loading:
                return "The guide continues when the data have loaded."
            return f"Press Run to start {step.run}."
        found = self._iterate(run, step)
        if found is not None:
            self._placed = True
            if step.until:
                session.cursor.place(run.trace, found)
            else:
                session.cursor.choose(run.trace, follow=run.alive)
            return ""
        if session.state == "paused":
            return "The runs are paused: press Resume to continue."
        if run.alive:
            return f"{step.run} has not got there yet …"
        return f"{step.run} ended before that: the step does not fit these runs."

    def _iterate(self, run: DisplayedRun, step: StoryStep) -> int | None:
        """Return the iteration to which a step moves the cursor, or None if it does not exist yet."""
        if run.trace is None or not len(run.trace):
            return None
        rows, _, _ = run.trace.since(None)
        iterations = rows["iteration"]
        if step.until in ("", LAST_ITERATE):
            return None if step.until and run.alive else int(iterations[-1])
        trace, until = self._looked
        first = int(np.searchsorted(iterations, until, side="right")) if trace is run.trace else 0
        self._looked = run.trace, int(iterations[-1])
        condition = step.condition

        def values(row: int) -> dict[str, object]:
            return {name: known(name, rows[name][row]) for name in condition.fields} if row >= 0 else {}

        met = (k for k in range(first, len(iterations)) if condition.holds(values(k), values(k - 1)))
        found = next(met, None)
        return None if found is None else int(iterations[found])

    def _point(self, id: str | None) -> None:
        """Draw a ring around the view with an id, and remove all others."""
        view = next((view for view in self._page.shown() if view.id == id), None) if id else None
        if view is not self._pointed:
            for one, on in ((self._pointed, False), (view, True)):
                if one is not None:
                    one.highlight(on)
            self._pointed = view
