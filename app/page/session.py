"""The session of a visitor: runs that the page starts and controls, and the timer that updates the page."""

from __future__ import annotations

import logging
import secrets
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakSet, WeakValueDictionary

import panel as pn

from solverscope.app.page.presence import Presence
from solverscope.app.runs import pool
from solverscope.app.runs.displayed_run import DisplayedRun
from solverscope.app.runs.history import History
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.start_barrier import StartBarrier
from solverscope.app.serving import tick_scheduler
from solverscope.app.serving.drawn_updates import DrawnUpdates
from solverscope.app.serving.tick_scheduler import EAGER_TICK_MS, MAX_TICK_MS, TICK_MS, TickScheduler
from solverscope.app.ui.batch import batch
from solverscope.app.ui.component import Watcher
from solverscope.app.views import TABS, View
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import Condition, Trace

log = logging.getLogger(__name__)

#: Hint in place of a plot while runs are active.
NO_ITERATE_YET = "No shown run has an iterate yet."

#: Sessions by token, while their pages are open.
by_token: WeakValueDictionary[str, Session] = WeakValueDictionary()


class Session:
    """The runs, the cursor and the views of one visitor. All methods must be called in the page's thread."""

    #: Whether the visitor may change the runs, and whether somebody else moves the cursor.
    steers, led = True, False

    def __init__(
        self,
        run_pool: pool.RunPool | None = None,
        scheduler: TickScheduler = tick_scheduler.shared,
        history: History | None = None,
    ) -> None:
        self.share = (run_pool or pool.shared()).share()
        self.scheduler = scheduler
        #: The history in which runs are recorded, by default one in memory.
        self.history = history or History()
        self._passing = history is None
        self.runs: list[DisplayedRun] = []
        self.cursor = Cursor()
        self.views: list[View] = []
        self.watchers: list[Watcher] = []
        #: Whether runs stay as ghosts for one more race.
        self.keeps_last = False
        self.pace = 0.0
        self.drawing = 1
        #: A press of Run, or of Step (True), that waits for the data; None while none does.
        self.pressed: bool | None = None
        self.breaks: tuple[Condition, ...] = ()
        self._ticks = 0
        #: When each view was last brought up to date while runs go on, by the clock.
        self._updated: dict[View, float] = {}
        self._hidden: set[int] = set()  # the same set for all who follow
        self._shown: list[Trace] = []
        self._begun: list[tuple[int, bool]] = []  # ids of runs, and whether each had records, last tick
        self._stood: dict[DisplayedRun, str] = {}
        self._tasks: list[tuple[pool.PoolWorker, Callable[[pool.PoolWorker], None]]] = []
        self._awaited: set[pool.PoolWorker] = set()
        self._timer: pn.io.PeriodicCallback | None = None
        self.presence = Presence()
        #: Says something to the visitor, above everything else.
        self.notify: Callable[[str], None] = lambda text: None
        self._told = False  # that runs are not kept
        self._cut_off = False
        self.drawn_updates = DrawnUpdates()
        #: Hint on what must be done before anything can be run; empty if nothing.
        self.awaits = ""
        #: What the next tick does: work that no thread was left for, and what another window of this page
        #: wants done here, since a page is changed by nobody but itself.
        self.asked: list[Callable[[], object]] = []
        #: Secret by which a second window identifies this session.
        self.token = secrets.token_urlsafe(24)
        by_token[self.token] = self
        #: Other windows of this page, each with a session of its own.
        self.steered_by: WeakSet[Session] = WeakSet()
        self.closed = False
        self._failures: set[tuple[type, type, str]] = set()
        #: Called where all that is computed for this visitor has to end, the pool's work aside.
        self.others: list[Callable[[], None]] = []

    # runs

    def launch(
        self, makers: Sequence[Callable[..., LiveRun]], *, styles: Collection[int] = (), step: bool = False
    ) -> None:
        """Start new runs together, and remove current ones.

        Past and pinned runs stay as ghosts, and loops of other programs continue. With ``keeps_last``,
        current runs stay as well, until the next launch. A maker receives share, pace, step, breaks and the
        common start barrier. ``styles`` are those of the new runs, which ghosts do not get.
        """
        old = [run for run in self.runs if not (run.outside and run.alive)]
        for run in [run for run in old if run.passing or not (run.stays or run.pinned)]:
            if self.keeps_last and not run.passing and run.trace is not None and len(run.trace):
                run.passing = True
            else:
                self.remove(run)
        taken = {run.style for run in self.runs} | set(styles)
        for run in [run for run in self.runs if run in old and not run.ghost]:
            run.stop()
            run.fade(taken)
            taken.add(run.style)
        self.cursor.reset()
        line = StartBarrier()
        try:
            for place, make in enumerate(makers):
                run = make(self.share, pace=self.pace, step=step, breaks=self.breaks, line=line)
                self.add(run, place)
        finally:
            line.close()
        self._ticks = 0  # views that take long wait until the first points are there
        self._updated.clear()
        self._set_period(EAGER_TICK_MS)

    def join(self, make: Callable[..., LiveRun]) -> None:
        """Start another run in addition to the present ones; ``make`` receives the same arguments as a maker
        of ``launch``, except the barrier."""
        self.add(make(self.share, pace=self.pace, step=False, breaks=self.breaks))
        self._set_period(EAGER_TICK_MS)

    def add(self, run: DisplayedRun, place: int | None = None) -> None:
        """Add a run to the others, and record it in the history."""
        self.runs.insert(len(self.runs) if place is None else place, run)
        if not run.stays:
            self.history.record(run)

    def adopt(self, other: Session) -> None:
        """Take over the runs, in any state, and the cursor of a session that its visitor has left."""
        self.runs, other.runs = other.runs, []
        self.share.take([run.worker for run in self.runs if isinstance(run, LiveRun)])
        if self._passing and other._passing:
            self.history, other.history = other.history, self.history
        self._hidden = {id(run) for run in self.runs if other.hidden(run)}
        lead = other.cursor
        self.cursor.chosen = lead.chosen
        self.cursor.keep(run=lead.run, iteration=lead.iteration, follow=lead.follow)
        self._set_period(EAGER_TICK_MS)

    @property
    def alive(self) -> list[LiveRun]:
        return [run for run in self.runs if isinstance(run, LiveRun) and run.alive]

    @property
    def racing(self) -> list[LiveRun]:
        """Return the runs that are alive and were started on this page."""
        return [run for run in self.alive if not run.outside]

    @property
    def state(self) -> str:
        """Return "idle" (no run is racing), "paused" (all racing runs are paused) or "running"."""
        racing = self.racing
        if not racing:
            return "idle"
        return "paused" if all(run.worker.paused for run in racing) else "running"

    def run_of(self, trace: Trace) -> DisplayedRun | None:
        """Return the run with this trace, or None."""
        return next((run for run in self.runs if run.trace is trace), None)

    def free_label(self, label: str) -> str:
        """Return a label, followed by a number if a run already has it."""
        taken = {run.label for run in self.runs}
        return next(name for k in count(1) if (name := f"{label} ({k})" if k > 1 else label) not in taken)

    def stands(self, run: DisplayedRun) -> str:
        """Return the state of a run at the start of the newest tick, or its present state if it was added
        later."""
        return self._stood.get(run) or run.state

    def pause(self) -> None:
        for run in self.racing:
            run.worker.pause()

    def resume(self) -> None:
        for run in self.racing:
            run.worker.resume()
        self.hurry()

    def step(self) -> None:
        for run in self.racing:
            run.worker.step_once()
        self.hurry()

    def stop(self) -> None:
        self.pressed = None
        for run in self.alive:
            run.stop()
        self.hurry()

    def clear(self) -> None:
        """Stop and remove all runs, including those that wait for the data."""
        self.pressed = None
        for run in list(self.runs):
            self.remove(run)

    def remove(self, run: DisplayedRun) -> None:
        """Stop and remove a run."""
        run.forget()
        self.runs.remove(run)
        self._stood.pop(run, None)
        self._hidden.discard(id(run))

    def set_pace(self, per_second: float) -> None:
        """Limit every run to this many iterates per second; 0 is no limit."""
        self.pace = per_second
        for run in self.racing:
            run.worker.set_pace(per_second)

    def set_lam(self, lam: float) -> None:
        """Change λ of all racing runs, and notify the visitor if a run cannot change it."""
        for run in self.racing:
            try:
                run.set_lam(lam)
            except ValueError as error:
                self.notify(str(error))

    def set_breaks(self, conditions: Sequence[Condition]) -> None:
        """Pause runs at iterates at which one of these conditions becomes true."""
        self.breaks = tuple(conditions)
        for run in self.racing:
            run.set_breaks(self.breaks)

    def set_drawing(self, ticks: int) -> None:
        """Update the plots every ``ticks`` ticks while runs are alive; 0 updates them only at the end.

        No computed iterate is lost.
        """
        self.drawing = ticks

    # which of them stay

    def pin(self, run: DisplayedRun, wanted: bool) -> None:
        """Pin a run that has ended, or unpin it.

        A pinned run is kept when others start, and is never removed from the history.
        """
        if wanted and run.alive:
            return
        run.pinned = wanted
        if run.id is not None:
            self.history.change(lambda archive: archive.pin(run.id, wanted))

    # which of them are drawn

    def hidden(self, run: DisplayedRun) -> bool:
        return id(run) in self._hidden

    def toggle(self, run: DisplayedRun) -> None:
        """Hide a run in all plots, or show it again."""
        self._hidden ^= {id(run)}

    def isolate(self, run: DisplayedRun) -> None:
        """Hide all other runs, or show them if they are already hidden."""
        others = {id(r) for r in self.runs if r is not run}
        alone = self._hidden == others
        self._hidden.clear()
        self._hidden.update(() if alone else others)

    @property
    def traces(self) -> list[Trace]:
        """Return the traces of all drawn runs."""
        return [run.trace for run in self.runs if run.trace is not None and not self.hidden(run)]

    # other work off the page's thread

    def task(
        self,
        work: Callable[[pool.PoolWorker], Any],
        then: Callable[[pool.PoolWorker], None],
        *,
        awaited: bool = False,
    ) -> pool.PoolWorker:
        """Call ``work(worker)`` in the pool, and ``then(worker)`` at the tick after it has ended.

        Set ``awaited`` if the visitor can do nothing without the result; ticks are then more frequent.
        """
        worker = self.share.start(work, "page task")
        self._tasks.append((worker, then))
        self.hurry()
        if awaited:
            self._awaited.add(worker)
            self._set_period(EAGER_TICK_MS)
        return worker

    def later(
        self, who: object, work: Callable[[Callable[[], None]], Any], then: Callable[[Any], None]
    ) -> None:
        """Call ``work(pulse)`` in the pool on behalf of ``who``.

        A tick after its end calls ``then`` with its result, or with None if it failed, which is logged. Work
        that was stopped while no browser was connected is repeated. If no thread is free, the work starts as
        soon as one is.
        """

        def done(worker: pool.PoolWorker) -> None:
            if worker.error is not None:
                self._failed(who, worker.error)
            elif worker.result is None:
                self.later(who, work, then)
                return
            then(worker.result)

        try:
            self.task(lambda worker: work(worker.pulse), done)
        except pool.PoolFull:
            self.asked.append(partial(self.later, who, work, then))

    @property
    def computing(self) -> bool:
        """Return whether other threads work for the page, not including runs."""
        return bool(self._tasks)

    # what shows them

    def show_in(self, view: View) -> None:
        """Draw the runs in this view from now on."""
        view.on_failure, view.later = self._failed, partial(self.later, view)
        self.views.append(view)
        view.show(self.traces)

    def _attempt(self, work: Callable[[], None], who: object) -> None:
        """Call ``work``, and log an exception, so that other work continues."""
        try:
            work()
        except Exception as error:
            self._failed(who, error)

    def _failed(self, who: object, error: BaseException) -> None:
        """Log an exception with its traceback, but only once, as it may recur at every tick."""
        place = str(traceback.extract_tb(error.__traceback__)[-1:])
        if (failure := (type(who), type(error), place)) not in self._failures:
            self._failures.add(failure)
            log.error("%s failed while the page was brought up to date", type(who).__name__, exc_info=error)

    # the timer

    def start_timer(
        self,
        connections: Callable[[], int],
        keep: Callable[[bool], None] | None = None,
        *,
        timer: Callable[..., pn.io.PeriodicCallback] = pn.io.PeriodicCallback,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Call ``tick`` about five times per second in the current document.

        ``connections()`` returns the number of its pages, and ``clock()`` the time in seconds. ``keep(True)``
        asks the server to keep the session, so that the page may return.
        """
        self.presence.connections, self.presence.keep, self.presence.clock = connections, keep, clock
        # in the background: else every tick would tell the browser that the server is busy, and free again
        self._timer = timer(callback=self._on_time, period=TICK_MS, background=True)
        self._timer.start()

    @property
    def ticking(self) -> bool:
        """Return whether a browser shows the page."""
        return self._timer is not None

    def _on_time(self) -> None:
        presence = self.presence
        presence.look(page.presence for page in by_token.values())
        if presence.given_up:
            # the browser may come back to what was computed, until the server forgets the session
            self._cut_off |= bool(self.share.workers)
            self._halt()
            self._set_period(MAX_TICK_MS)
        if presence.away:  # what is sent now would be lost
            self.scheduler.remove(self)
            return
        if self._cut_off:
            self._cut_off = False
            self.notify("The connection was lost for a while, and the runs were stopped.")
        if self.drawn_updates.is_behind:
            return
        began, at_rest = time.perf_counter(), self.at_rest  # what has just ended is drawn by this tick
        with batch():
            self.tick()
            if self.alive:
                self.drawn_updates.count()
        self.scheduler.record(self, 1000.0 * (time.perf_counter() - began))
        self._awaited = {worker for worker in self._awaited if not worker.done.is_set()}
        starting = any(run.alive and not (run.trace and len(run.trace)) for run in self.runs)
        eager = starting or bool(self._awaited)
        self._set_period(self.scheduler.period(self._timer.period, eager=eager, at_rest=at_rest))

    @property
    def at_rest(self) -> bool:
        """Return whether a tick would change nothing: no thread computes, and no other window is open."""
        still = all(worker.at_rest for worker in list(self.share.workers))
        return still and not (self.asked or any(not window.closed for window in self.steered_by))

    def hurry(self) -> None:
        """Schedule a tick soon, after work was started."""
        if self._timer is not None:
            self._set_period(min(self._timer.period, TICK_MS))

    def _halt(self) -> None:
        for stop in self.others:
            stop()
        self.share.stop()

    def _set_period(self, period: int) -> None:
        if self._timer is not None:
            self._timer.period = period

    def tick(self) -> None:
        """Update the page, and send all changes at once."""
        self._ticks += 1
        self._stood = {run: run.state for run in self.runs}
        begun = [(id(trace), len(trace) > 0) for trace in self.traces]
        with self.share.pool.page_first(), batch(models=begun != self._begun):
            self._begun = begun
            tasks, self._tasks = self._tasks, []
            for worker, then in tasks:  # each asked once: it may end at any moment
                if worker.done.is_set():
                    self._attempt(partial(then, worker), worker)
                else:
                    self._tasks.append((worker, then))
            asked, self.asked = self.asked, []
            for act in asked:
                self._attempt(act, self)
            traces = self.traces
            changed, self._shown = traces != self._shown, traces  # each equals itself alone
            self.cursor.keep_up(traces)
            self._go_to_hits()
            live, paused = bool(self.alive), self.state == "paused" and self.drawing > 0
            waiting = live and not any(len(trace) for trace in traces)
            for view in sorted(self.views, key=lambda view: view.id not in TABS):  # the open tab first
                view.awaits = NO_ITERATE_YET if waiting else self.awaits
                if changed:
                    view.traces = list(traces)
                if not live or paused or (changed and self.drawing > 0) or self._is_due(view):
                    view.update()
                else:
                    view.tell()
            for watcher in self.watchers:
                self._attempt(watcher.update, watcher)
            if self.history.trouble and not self._told:
                self._told = True
                self.notify(self.history.trouble)

    def _is_due(self, view: View) -> bool:
        """Return whether a view is due: after its number of ticks, or after their nominal duration.

        The duration matters on a busy machine, where ticks are slow, so that the view does not lag further
        behind.
        """
        ticks, now = self.drawing * view.every, self.presence.clock()
        late = now - self._updated.setdefault(view, now) >= 0.001 * TICK_MS * ticks
        due = ticks > 0 and (late or self._ticks % ticks == 0)
        if due:
            self._updated[view] = now
        return due

    def _go_to_hits(self) -> None:
        """Move the cursor to the iterate at which a condition has just paused a run."""
        for run in self.alive:
            if (hit := run.new_hit()) is not None:
                self.cursor.place(run.trace, hit.iteration)

    def close(self) -> None:
        """Stop all runs and end the session."""
        self.closed = True
        by_token.pop(self.token, None)
        self.scheduler.remove(self)
        self._halt()
        self.clear()
        if self._passing:
            self.history.close(wait=False)
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
