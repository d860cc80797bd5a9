"""One visitor's runs: started and steered from the page, watched by one timer."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import panel as pn

from app.runs import pool
from app.runs.live import LiveRun
from app.serving import rhythm
from app.serving.batch import batch
from app.serving.pulse import Pulse
from app.serving.rhythm import EAGER, PERIOD, SLOWEST, Rhythm
from app.views import View
from app.views.cursor import Cursor
from solvers import Trace

log = logging.getLogger(__name__)

#: Hint in place of a plot while runs are under way.
WAITING = "No run that is shown has an iterate yet."
#: Seconds without a connection after which what a session computes ends.
GRACE = 0.5


class Watcher(Protocol):
    """Something on the page that follows the runs."""

    def update(self) -> None:
        """Bring what it shows up to date."""


class Session:
    """The runs, the cursor and the views of one visitor. All methods belong to the page's thread."""

    def __init__(self, run_pool: pool.RunPool | None = None, pages: Rhythm = rhythm.shared) -> None:
        self.share = (run_pool or pool.shared()).share()
        self._rhythm = pages
        self.runs: list[LiveRun] = []
        self.cursor = Cursor()
        self.views: list[View] = []
        self.watchers: list[Watcher] = []
        self.pace = 0.0
        self.drawing = 1
        self._ticks = 0
        self._hidden: set[int] = set()
        self._shown: list[Trace] = []
        self._tasks: list[tuple[pool.Worker, Callable[[pool.Worker], None]]] = []
        self._awaited: set[pool.Worker] = set()
        self._timer: pn.io.PeriodicCallback | None = None
        self._connected: Callable[[], int] | None = None
        self._seen_connected = time.monotonic()
        self._ever_connected = False
        #: Called when a browser comes back and finds that what was at work without it has been stopped.
        self.on_return: Callable[[], None] = lambda: None
        self._cut_off = False
        self.pulse = Pulse()
        #: What has to come before anything can be run; empty if nothing has to.
        self.awaits = ""
        self._failures: set[tuple[type, type, str]] = set()

    # runs

    def launch(self, makers: Sequence[Callable[..., LiveRun]], *, step: bool = False) -> None:
        """Start new runs in place of those there were. A maker gets share, pace and step."""
        self.clear()
        self.cursor.reset()
        for make in makers:
            self.runs.append(make(self.share, pace=self.pace, step=step))
        self._ticks = 0  # views that take long wait until the first points are there
        self._set_period(EAGER)

    @property
    def alive(self) -> list[LiveRun]:
        return [run for run in self.runs if run.alive]

    @property
    def state(self) -> str:
        """Return ``idle`` (no run alive), ``paused`` (all that are alive are) or ``running``."""
        if not self.alive:
            return "idle"
        return "paused" if all(run.state == "paused" for run in self.alive) else "running"

    def pause(self) -> None:
        for run in self.alive:
            run.worker.pause()

    def resume(self) -> None:
        for run in self.alive:
            run.worker.resume()

    def step(self) -> None:
        for run in self.alive:
            run.worker.step_once()

    def stop(self) -> None:
        for run in self.alive:
            run.worker.stop()

    def clear(self) -> None:
        """Stop and forget all runs."""
        for run in list(self.runs):
            self.remove(run)
        self._hidden.clear()

    def remove(self, run: LiveRun) -> None:
        """Stop and forget one run."""
        run.forget()
        self.runs.remove(run)

    def set_pace(self, per_second: float) -> None:
        """Allow at most so many iterates a second in every run; 0 means full speed."""
        self.pace = per_second
        for run in self.alive:
            run.worker.set_pace(per_second)

    def set_drawing(self, ticks: int) -> None:
        """Bring the plots up to date at every so many ticks while runs go on; 0 means not before they end.
        Nothing that is computed is lost."""
        self.drawing = ticks

    # which of them are drawn

    def hidden(self, run: LiveRun) -> bool:
        return id(run) in self._hidden

    def toggle(self, run: LiveRun) -> None:
        """Hide a run in all plots, or show it again."""
        self._hidden ^= {id(run)}

    def isolate(self, run: LiveRun) -> None:
        """Show this run alone, or all if it is alone already."""
        others = {id(r) for r in self.runs if r is not run}
        self._hidden = set() if self._hidden == others else others

    @property
    def traces(self) -> list[Trace]:
        """Return the traces of the runs that are drawn."""
        return [run.trace for run in self.runs if run.trace is not None and not self.hidden(run)]

    # other work off the page's thread

    def task(
        self,
        work: Callable[[pool.Worker], None],
        then: Callable[[pool.Worker], None],
        *,
        awaited: bool = False,
    ) -> pool.Worker:
        """Do ``work(worker)`` in the pool; the tick after its end calls ``then(worker)``. Ticks come often
        while work goes on that the visitor cannot do anything without."""
        worker = self.share.start(work, "page task")
        self._tasks.append((worker, then))
        if awaited:
            self._awaited.add(worker)
            self._set_period(EAGER)
        return worker

    def later(
        self, who: object, work: Callable[[Callable[[], None]], Any], then: Callable[[Any], None]
    ) -> None:
        """Do ``work(pulse)`` of ``who`` in the pool; a tick after its end calls ``then`` with what it
        returned, or with None where it failed, which is logged, or where no thread is left for it."""
        found: list[Any] = []

        def done(worker: pool.Worker) -> None:
            if worker.error is not None:
                self._failed(who, worker.error)
            then(found[0] if found else None)

        try:
            self.task(lambda worker: found.append(work(worker.pulse)), done)
        except pool.PoolFull:
            then(None)

    # what shows them

    def show_in(self, view: View) -> None:
        """Draw the runs in this view too from now on."""
        view.on_failure, view.later = self._failed, partial(self.later, view)
        self.views.append(view)
        view.show(self.traces)

    def _attempt(self, work: Callable[[], None], who: object) -> None:
        """Call ``work``; an error is logged, and keeps nothing else from being done."""
        try:
            work()
        except Exception as error:
            self._failed(who, error)

    def _failed(self, who: object, error: BaseException) -> None:
        """Log an error with the place it comes from, once: at every tick there may be one."""
        place = str(traceback.extract_tb(error.__traceback__)[-1:])
        if (failure := (type(who), type(error), place)) not in self._failures:
            self._failures.add(failure)
            log.error("%s failed while the page was brought up to date", type(who).__name__, exc_info=error)

    # the timer

    def start_timer(self, connections: Callable[[], int]) -> None:
        """Tick some five times a second in the current document; ``connections()`` counts its pages."""
        self._connected = connections
        self._seen_connected = time.monotonic()
        # in the background: else every tick would tell the browser that the server is busy, and free again
        self._timer = pn.io.PeriodicCallback(callback=self._on_time, period=PERIOD, background=True)
        self._timer.start()

    @property
    def ticking(self) -> bool:
        """Tell whether a browser shows the page."""
        return self._timer is not None

    def _on_time(self) -> None:
        away = self._seconds_away()
        if away > GRACE:
            # the browser may come back to what was computed, until the server forgets the session
            self._cut_off |= bool(self.share.workers)
            self.share.stop()
            self._set_period(SLOWEST)
        if away:  # what is sent now would be lost
            self._rhythm.leave(self)
            return
        if self._cut_off:
            self._cut_off = False
            self.on_return()
        if self.pulse.behind:
            return
        began = time.perf_counter()
        with batch():
            self.tick()
            if self.alive:
                self.pulse.beat()
        self._rhythm.note(self, 1000.0 * (time.perf_counter() - began))
        self._awaited = {worker for worker in self._awaited if not worker.done.is_set()}
        starting = any(run.alive and not (run.trace and len(run.trace)) for run in self.runs)
        self._set_period(self._rhythm.period(self._timer.period, eager=starting or bool(self._awaited)))

    def _set_period(self, period: int) -> None:
        if self._timer is not None and self._timer.period != period:
            self._timer.period = period

    def _seconds_away(self) -> float:
        """Return the seconds since the last browser left; 0 while one is connected, or before the first."""
        now = time.monotonic()
        if self._connected() > 0:
            self._ever_connected, self._seen_connected = True, now
        return now - self._seen_connected if self._ever_connected else 0.0

    def tick(self) -> None:
        """Send what is new as one change of the page."""
        self._ticks += 1
        with self.share.pool.page_first(), batch():
            finished = [(worker, then) for worker, then in self._tasks if worker.done.is_set()]
            self._tasks = [(worker, then) for worker, then in self._tasks if not worker.done.is_set()]
            for worker, then in finished:
                self._attempt(partial(then, worker), worker)
            traces = self.traces
            changed = len(traces) != len(self._shown) or any(
                a is not b for a, b in zip(traces, self._shown, strict=True)
            )
            self._shown = traces
            self.cursor.keep_up(traces)
            live = bool(self.alive)
            for view in self.views:
                view.awaits = WAITING if live else self.awaits
                if changed:
                    view.traces = list(traces)
                if not live or (self.drawing and self._ticks % (self.drawing * view.every) == 0):
                    view.update()
            for watcher in self.watchers:
                self._attempt(watcher.update, watcher)

    def close(self) -> None:
        """End everything; the session is over."""
        self._rhythm.leave(self)
        self.share.stop()
        self.clear()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
