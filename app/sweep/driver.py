"""The driver of a sweep: it submits cells to Dask, appends their messages to traces, and stores results at
once."""

from __future__ import annotations

import math
import queue
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from solverscope.app import plugins
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.cluster import ClusterSpec, connected, started
from solverscope.app.sweep.lam_selection import choices, settings_of
from solverscope.app.sweep.spec import Spec

if TYPE_CHECKING:
    from distributed import Client, Future

    from solverscope.app.sweep.cell_reporter import Command

#: Seconds to wait for a message.
INBOX_POLL_SECONDS = 0.1
#: Seconds that active cells have to end after Stop, before they are abandoned.
STOP_SECONDS = 5.0
#: Fraction of a sweep's time that solvers may use; the rest is for loading and compiling.
FOR_SOLVERS = 0.8
#: Seconds between two requests for the number of workers.
ROLL_CALL = 2.0
#: Seconds without an answer after which a scheduler is considered silent.
SILENCE = 2.0


class SchedulerGone(OSError):
    """An error: the scheduler no longer answers. The message describes the state of the sweep."""


class SweepDriver:
    """A sweep in progress. ``run`` blocks the calling thread; all else may be used from other threads.

    ``cells`` maps keys to all cells. ``workers`` is the number of Dask workers, None if not yet known, and
    ``silent`` is true if the scheduler has not answered for a while. ``state`` is one of waiting, running,
    paused, stopping, over. ``store`` receives the results; with ``resume``, finished cells are not run again.
    Each worker loads the plug-ins of this process.
    """

    def __init__(self, spec: Spec, place: ClusterSpec, store: Store, *, resume: bool = False) -> None:
        self.spec, self.place, self.store = spec, place, store
        self.cells = {cell.key: CellProgress(cell) for cell in spec.cells}
        self.workers: int | None = None
        self.silent = False
        self.over, self.message = False, ""
        self._command: Command = "go"
        self._begun = False
        self._files = plugins.loaded()
        self._futures: dict[str, Future] = {}
        #: what the driver has yet to do about what came in
        self._inbox: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._ended: Callable[[CellProgress], None] = lambda watched: None
        kept = store.open(resume)
        for key in self.cells.keys() & kept.keys():
            self.cells[key].recall(kept[key])

    def choices(self) -> list[dict[str, Any]]:
        """Return the selected λ if the sweep selects λ, see :func:`.lam_selection.choices`.

        The list is empty until all cells have ended.
        """
        if not self.spec.choose or self._open:
            return []
        return choices([one.record | {"settings": settings_of(one.cell)} for one in self.cells.values()])

    @property
    def state(self) -> str:
        if self.over:
            return "over"
        if not self._begun:
            return "waiting"
        return {"go": "running", "pause": "paused", "stop": "stopping"}[self._command]

    def pause(self) -> None:
        """Pause all active cells, within half a second, and new ones when they start."""
        if self._command == "go":
            self._tell("pause")

    def resume(self) -> None:
        """Resume the paused cells."""
        if self._command == "pause":
            self._tell("go")

    def stop(self, reason: str = "stopped by the user") -> None:
        """Stop all active cells, and start no others."""
        if self._command != "stop":
            self.message = reason
            self._tell("stop")

    def _tell(self, command: Command) -> None:
        self._command = command
        self._inbox.put(lambda: None)  # the driver passes it on at once

    def run(self, ended: Callable[[CellProgress], None] = lambda watched: None) -> None:
        """Run all cells without stored results, and call ``ended`` with each cell that ends.

        Raises ValueError if there is no cluster, and NotWritten if results cannot be written. Raises
        SchedulerGone if the scheduler is lost; results received so far are kept.
        """
        self._ended = ended
        try:
            if self._open:
                with connected(self.place) as client:
                    self._begun = True
                    self._follow(client)
            self.store.keep_choices(self.choices())
        finally:
            for watched in self._open:
                watched.fail(self.message or "it was not run to its end", "stopped")
            self.store.close()
            self.over = True

    @property
    def _open(self) -> list[CellProgress]:
        return [watched for watched in self.cells.values() if watched.alive]

    def _follow(self, client: Client) -> None:
        from distributed import Variable

        name = f"solverscope-{secrets.token_hex(6)}"
        told, roll_call, give_up, roll = self._command, 0.0, math.inf, None
        wanted = Variable(name, client=client)
        wanted.set(told)
        client.subscribe_topic(name, lambda event: self._inbox.put(partial(self._said, event[1])))
        total = self.spec.total_seconds
        self.submit(client, name, total)
        due = math.inf if total is None else time.monotonic() + total
        try:
            while self._open:
                now = time.monotonic()
                if now > due:
                    self.stop(f"the {total:g} s of the whole sweep are used up")
                if self.silent and self._command == "stop":
                    raise self._gone()
                if told != self._command and not self.silent:
                    told = self._command
                    wanted.set(told)
                    if told == "stop":
                        give_up = now + STOP_SECONDS
                        self._drop(client, [w for w in self._open if w.state == "waiting"])
                if now > give_up:
                    self._drop(client, self._open)
                if roll is None and now > roll_call:
                    roll_call, roll = now + ROLL_CALL, started(client.nthreads)
                if roll is not None and roll.done():
                    self.workers, roll = len(roll.result()), None
                self.silent = roll is not None and now > roll_call - ROLL_CALL + SILENCE
                self._receive(client)
        except (OSError, TimeoutError) as error:
            if client.status == "running" or isinstance(error, SchedulerGone):
                raise
            raise self._gone() from error
        finally:
            if client.status == "running" and not self.silent:
                client.cancel(list(self._futures.values()), force=True)
                client.unsubscribe_topic(name)
                wanted.delete()
            self._futures.clear()

    def submit(self, client: Client, name: str, seconds: float | None) -> None:
        """Submit all open cells to Dask; those with a limit on the gap depend on the task that computes f*.

        If the sweep is limited to ``seconds``, each cell gets a fraction of the time that remains when it
        starts.
        """
        from solverscope.app.sweep import cells

        references = dict[Any, Any]()
        slots, turn = sum(client.nthreads().values()) or 1, None
        for left, watched in zip(range(len(self._open), 0, -1), self._open, strict=True):
            key, cell, f_star = watched.cell.key, watched.cell, None
            if cell.limits.f_star is not None:
                f_star = references.get(cell.problem.key)
                if f_star is None:
                    f_star = references[cell.problem.key] = client.submit(
                        cells.find_reference, key, cell, name, self._files, key=f"{name}-f*-{key}"
                    )
            if seconds is not None:
                turn = cells.TimeSlice(time.time() + seconds, FOR_SOLVERS * min(slots / left, 1.0))
            given = key, cell, name, f_star, self._files, turn
            self._futures[key] = client.submit(cells.run, *given, key=f"{name}-{key}", pure=False)
            self._futures[key].add_done_callback(partial(self._done, watched))

    def _done(self, watched: CellProgress, future: Future) -> None:
        """Put the result of a cell into the inbox; called in a thread of Dask."""
        outcome: Any = None
        if future.status != "cancelled":
            try:
                outcome = future.result()
            except Exception as error:  # of Dask, or of a worker that lacks something
                outcome = error
        self._inbox.put(partial(self._take, watched, outcome))

    def _receive(self, client: Client) -> None:
        """Handle the messages that have arrived; wait a moment if there are none yet."""
        try:
            self._inbox.get(timeout=INBOX_POLL_SECONDS)()
            while True:
                self._inbox.get_nowait()()
        except queue.Empty:
            if client.status != "running":
                raise self._gone() from None

    def _said(self, message: Mapping[str, Any]) -> None:
        if message["cell"] in self.cells:  # else it is of an f*
            self.cells[message["cell"]].take(message)

    def _take(self, watched: CellProgress, outcome: Mapping[str, Any] | Exception | None) -> None:
        """Store the result of a cell; ``outcome`` is None if Dask has cancelled it."""
        self._futures.pop(watched.cell.key, None)  # its worker may forget the result
        if not watched.alive:
            return
        if outcome is None:
            raise self._gone()
        if isinstance(outcome, Exception):
            watched.fail(_in_words(outcome))
        else:
            watched.end(outcome)
        self._keep(watched)

    def _keep(self, watched: CellProgress) -> None:
        self.store.put(watched.cell, watched.trace, watched.record)
        self._ended(watched)

    def _drop(self, client: Client, given_up: Sequence[CellProgress]) -> None:
        """Cancel cells; the rows received from them are kept."""
        keys = [watched.cell.key for watched in given_up]
        gone = [self._futures.pop(key) for key in keys if key in self._futures]
        self._give_up(given_up, self.message)
        client.cancel(gone, force=True)

    def _give_up(self, cells: Sequence[CellProgress], why: str) -> None:
        for watched in cells:
            begun = watched.state != "waiting"
            watched.fail(why, "stopped")
            if begun:
                self._keep(watched)

    def _gone(self) -> SchedulerGone:
        ended = len(self.cells) - len(self._open)
        self._give_up([w for w in self._open if w.state != "waiting"], "the scheduler went away")
        many = f"{ended} of {len(self.cells)} runs have ended and are kept"
        self.message = f"{self.place.name} went away: {many}; start one again to go on from there"
        return SchedulerGone(self.message)


def _in_words(error: Exception) -> str:
    """Explain why Dask abandoned a cell."""
    if type(error).__name__ == "KilledWorker":
        return (
            "the workers that ran it died, again and again: it takes more memory than they may have, or its "
            "solver ends the process (os._exit, a crash of compiled code)"
        )
    if isinstance(error, ImportError):
        return f"a worker cannot run it ({error}): start `dask worker` where this version is installed"
    return f"{type(error).__name__}: {error}"


def counts(cells: Mapping[str, CellProgress]) -> dict[str, int]:
    """Count the cells in each state, in the order of the states."""
    order = ("waiting", "loading", "compiling", "running", "paused", "finished", "stopped", "failed")
    found = [watched.state for watched in cells.values()]
    return {state: found.count(state) for state in order if state in found}
