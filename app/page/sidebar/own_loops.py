"""*Watch your own loop*: the code that connects a visitor's program to this page, and the runs of such
programs."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import param

from solverscope.app import ui, views
from solverscope.app.loops.client import PAGE_TIMEOUT
from solverscope.app.loops.run import MAX_RATE, IterateChannel, RemoteLoop
from solverscope.app.loops.server import Endpoint, LoopConnection
from solverscope.app.page.protocols import PanelPage
from solverscope.app.page.sidebar.optimum import Optimum
from solverscope.app.runs import problem_cache
from solverscope.app.runs.live import STYLE_PERIOD, LiveRun
from solverscope.app.runs.pool import PoolShare, PoolWorker
from solverscope.app.ui.component import Component
from solverscope.solvers import Problem, Stopping

#: First style of loops: a multiple of the period of colours and dashes, beyond the styles of solvers.
FIRST_LOOP_STYLE = STYLE_PERIOD * 500
#: Maximal number of loops on a page, alive or not.
MAX_LOOPS = 12
NO_PROBLEM = "The page has no problem yet: wait until its data have loaded, and connect again."
#: Reason why a loop is no longer watched.
PAGE_CLOSED = "the page is closed"
RUN_REMOVED = "the page was cleared, or shows another problem"
NO_ANSWER = "the page does not answer: keep it open in a browser"


class OwnLoops(Component):
    """The panel below the solvers with the code that connects a loop; it admits loops and starts
    their runs."""

    token = param.String(default="", doc="what follows # in the address; empty until it is asked for")
    at = param.String(default="", doc="the address of this page for programs; empty if it is the browser's")
    size = param.Integer(default=0, doc="number of weights of the problem that is chosen; 0 without one")

    _esm = ui.page_script("copy.js", "own_loops.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "fields.css")]

    def __init__(self, page: PanelPage, optimum: Optimum) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(0, 10), at=page.rights.at)
        self._page, self._session, self._optimum = page, page.session, optimum
        self._endpoint: Endpoint | None = None
        self._connected: dict[LoopConnection, LiveRun] = {}
        self._session.others.append(self._disconnect_all)

    def receive(self, data: Any) -> None:
        match data:
            case {"action": "open"} if self._endpoint is None:
                self._endpoint = Endpoint(self)
                self.token = self._endpoint.token

    def update(self) -> None:
        """Disconnect loops whose run has ended, and show the number of weights that a loop must have."""
        problem = self._page.problem.problem
        self.size = 0 if problem is None else problem.size
        for connection, run in list(self._connected.items()):
            if not run.alive:
                del self._connected[connection]
                if run not in self._session.runs:
                    connection.close(gone=RUN_REMOVED)
                elif run.state == "failed":
                    connection.close(gone=run.message)
                else:
                    connection.close(stop=True)

    def close(self) -> None:
        """Stop admitting loops, and disconnect all of them, after the page was closed."""
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None
        self._disconnect_all()

    def _disconnect_all(self) -> None:
        """Disconnect all loops, which continue unwatched."""
        for connection in list(self._connected):
            del self._connected[connection]
            connection.close(gone=PAGE_CLOSED)

    # the host of loops

    def admit(self) -> int:
        """Return the number of weights for a new loop. Raises ValueError if no loop is admitted now."""
        if self._page.problem.problem is None:
            raise ValueError(NO_PROBLEM)
        if sum(run.outside for run in self._session.runs) >= MAX_LOOPS:
            raise ValueError(f"The page shows {MAX_LOOPS} loops: remove one, and connect again.")
        return self._page.problem.problem.size

    def start_run(self, connection: LoopConnection) -> None:
        """Start the run of a loop at the page's next tick."""
        connection.call_later(PAGE_TIMEOUT, lambda: connection.receiver or connection.close(gone=NO_ANSWER))
        self._session.asked.append(partial(self._start_run, connection))

    def _start_run(self, connection: LoopConnection) -> None:
        if not connection.is_open:
            return
        channel = IterateChannel(connection.size, connection.ask_next)
        try:
            if self.admit() != connection.size:
                raise ValueError("The page has got another problem meanwhile: connect again.")
            self._session.join(lambda share, **how: self._make_run(share, connection, channel))
        except ValueError as error:  # too many runs, too
            connection.close(wrong=str(error))
            return
        connection.receiver = channel
        self._connected[connection] = self._session.runs[-1]

    def _make_run(self, share: PoolShare, connection: LoopConnection, channel: IterateChannel) -> LiveRun:
        base, setting, story = self._page.problem.problem, self._page.problem.setting, self._page.story

        def make_problem(worker: PoolWorker) -> Problem:
            channel.worker = worker
            made = problem_cache.variant(base, setting, worker.pulse)
            connection.say(size=made.size, problem=made.describe())
            return made

        styles = {run.style for run in self._session.runs}
        looks = {style % STYLE_PERIOD for style in (*styles, *self._page.solvers.run_styles)}
        free = [
            style
            for style in range(FIRST_LOOP_STYLE, FIRST_LOOP_STYLE + 10 * STYLE_PERIOD)
            if style not in styles
        ]
        return LiveRun(
            share,
            make_problem,
            RemoteLoop.of(channel),
            label=self._session.free_label(connection.label),
            style=next((style for style in free if style % STYLE_PERIOD not in looks), free[0]),
            stopping=lambda problem: Stopping(f_star=self._optimum.of(problem, story.optimum(setting))),
            probes=views.probes(base),
            pace=MAX_RATE,
            outside=True,
        )
