"""*Watch your own loop*: the line that connects a program of the visitor's to this page, and the runs that
come by it."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any, ClassVar

import param

from solverscope.app import theme, views
from solverscope.app.component import Component
from solverscope.app.page.sidebar.optimum import Optimum
from solverscope.app.page.stage import Stage
from solverscope.app.runs import library
from solverscope.app.runs.live import ROUND, LiveRun
from solverscope.app.runs.own_loop import RATE, Feed, Loop
from solverscope.app.runs.pool import Share, Worker
from solverscope.app.serving.loops import Door, Wire
from solverscope.app.watch import PATIENCE
from solverscope.solvers import Ending, Problem, Stopping

#: Styles of loops, from the first one on: whole rounds of colours and dashes, beyond those of solvers.
FIRST_STYLE = ROUND * 500
#: Loops that a page shows, alive or not.
MOST = 12
NO_PROBLEM = "The page has no problem yet: wait until its data have loaded, and connect again."
#: Why a loop goes on alone.
GONE = "the page is closed"
LET_GO = "the page was cleared, or shows another problem"
NO_ANSWER = "the page does not answer: keep it open in a browser"


class OwnLoops(Component):
    """The folded lines below the solvers. A watcher of the session. A loop gets the problem that is chosen
    when it comes, and keeps it."""

    token = param.String(default="", doc="what is behind # in the address; empty until it is asked for")
    at = param.String(default="", doc="the address of this page for programs; empty if it is the browser's")
    size = param.Integer(default=0, doc="number of weights of the problem that is chosen; 0 without one")

    _esm = theme.asset("elements.js", "clipboard.js", "own_loops.js")
    _stylesheets: ClassVar[list[str]] = [theme.asset("component.css", "fields.css", "own_loops.css")]

    def __init__(self, page: Stage, optimum: Optimum) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10), at=page.rights.at)
        self._page, self._session, self._optimum = page, page.session, optimum
        self._door: Door | None = None
        self._there: dict[Wire, LiveRun] = {}
        self._session.others.append(self._leave)

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "open"} if self._door is None:
                self._door = Door(self)
                self.token = self._door.token

    def update(self) -> None:
        """Tell loops whose run is over, and how many weights a loop has to have."""
        problem = self._page.problem.problem
        self.size = 0 if problem is None else problem.size
        for wire, run in list(self._there.items()):
            if not run.alive:
                del self._there[wire]
                if run not in self._session.runs:
                    wire.leave(gone=LET_GO)
                elif run.state == "failed":
                    wire.leave(gone=run.message)
                else:
                    wire.leave(stop=True)

    def close(self) -> None:
        """Let nobody in any more, and leave those who are there: the page is gone."""
        if self._door is not None:
            self._door.close()
            self._door = None
        self._leave()

    def _leave(self) -> None:
        """Leave all loops, which go on alone."""
        for wire in list(self._there):
            del self._there[wire]
            wire.leave(gone=GONE)

    # who comes in

    def admit(self) -> int:
        """Return the number of weights of the problem that a loop gets now; ValueError, one sentence, where
        it gets none."""
        if self._page.problem.problem is None:
            raise ValueError(NO_PROBLEM)
        if sum(run.outside for run in self._session.runs) >= MOST:
            raise ValueError(f"The page shows {MOST} loops: remove one, and connect again.")
        return self._page.problem.problem.size

    def welcome(self, wire: Wire) -> None:
        """Start the run of a loop, in the page's next tick."""
        wire.later(PATIENCE, lambda: wire.hears or wire.leave(gone=NO_ANSWER))
        self._session.asked.append(partial(self._begin, wire))

    def _begin(self, wire: Wire) -> None:
        if not wire.open_still:
            return
        feed = Feed(wire.size, partial(wire.say, go=True))
        try:
            if self.admit() != wire.size:
                raise ValueError("The page has got another problem meanwhile: connect again.")
            self._session.join(lambda share, **how: self._made(share, wire, feed))
        except ValueError as error:  # too many runs, too
            wire.leave(wrong=str(error))
            return
        wire.hears = feed.hear
        wire.ends = lambda why: feed.end(Ending("failed", why))
        self._there[wire] = self._session.runs[-1]

    def _made(self, share: Share, wire: Wire, feed: Feed) -> LiveRun:
        base, setting, story = self._page.problem.problem, self._page.problem.setting, self._page.story

        def make_problem(worker: Worker) -> Problem:
            feed.worker = worker
            made = library.variant(base, setting, worker.pulse)
            wire.say(size=made.size, problem=made.describe())
            return made

        runs = self._session.runs
        labels, styles = {run.label for run in runs}, {run.style for run in runs}
        looks = {style % ROUND for style in (*styles, *self._page.solvers.run_styles)}
        free = [style for style in range(FIRST_STYLE, FIRST_STYLE + 10 * ROUND) if style not in styles]
        names = (wire.label if k == 1 else f"{wire.label} ({k})" for k in count(1))
        return LiveRun(
            share,
            make_problem,
            Loop.of(feed),
            label=next(name for name in names if name not in labels),
            style=next((style for style in free if style % ROUND not in looks), free[0]),
            stopping=lambda problem: Stopping(f_star=self._optimum.of(problem, story.optimum(setting))),
            probes=views.probes(base),
            pace=RATE,
            outside=True,
        )
