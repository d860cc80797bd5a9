"""The history of runs: one thread that writes what runs do, twice a second, and answers what pages ask."""

from __future__ import annotations

import atexit
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partialmethod
from pathlib import Path
from typing import TypeVar

from solverscope.app.runs.archive import (
    INTERRUPTED,
    LASTING,
    PASSING,
    Archive,
    Limits,
    Newer,
    busy,
    place,
    trouble,
)
from solverscope.app.runs.live import LiveRun

log = logging.getLogger(__name__)

#: Seconds between two commits while runs are at work: so much of a run may be lost with its process.
PERIOD = 0.5
#: Seconds that a server waits at its end for what is still to be written.
CLOSING = 3.0
T = TypeVar("T")


class Unavailable(Exception):
    """The history cannot be used; the message is a sentence that says why."""


@dataclass(frozen=True)
class _Followed:
    """What of a run has been written; the ``cursor`` is that of its trace."""

    run: LiveRun
    started: float
    id: int | None = None
    cursor: tuple[int, int] | None = None
    over: bool = False

    def written(self, archive: Archive, closing: bool) -> _Followed:
        """Write what is new, in a transaction; returns what holds once that is committed."""
        alive = self.run.alive and not closing  # before the trace, which is whole only then
        trace = self.run.trace
        if trace is None:
            return replace(self, over=not alive)
        id = self.id if self.id is not None else archive.begin(trace, self.started, self.run.setting)
        if not alive:
            archive.end(id, trace, INTERRUPTED if self.run.alive else None)
            archive.prune()
            return replace(self, id=id, over=True)
        rows, cursor, replaced = trace.since(self.cursor)
        if n := len(rows["iteration"]):
            archive.add(id, rows, 0 if replaced else cursor[1] - n)
        archive.note(id, trace)
        return replace(self, id=id, cursor=cursor)


class History:
    """Runs of the past and the present, in a file, or in memory (``path`` None).

    All methods return at once, except ``close`` if it is to wait. Where the database cannot be used,
    ``trouble`` says so in a sentence, nothing is recorded any more, and whoever asks what cannot be had is
    answered with :class:`Unavailable`. ``version`` changes with every run that begins or ends, and with every
    change by a person, in this process.
    """

    def __init__(self, path: Path | None = None, limits: Limits = PASSING) -> None:
        self.path, self.limits = path, limits
        self.trouble = ""
        self.version = 0
        self._followed: list[_Followed] = []
        self._queue: queue.SimpleQueue[Callable[[Archive | None], object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def record(self, run: LiveRun) -> None:
        """Keep this run from here on."""
        followed = _Followed(run, time.time())
        self._put(lambda archive: self.trouble or self._followed.append(followed))

    def ask(self, work: Callable[[Archive], T], *, changes: bool = False) -> Future[T]:
        """Do ``work`` in the thread of the history. What it ``changes`` is on the disk when the answer is
        there."""
        answer = Future[T]()
        if not self._put(lambda archive: self._answer(archive, work, answer, changes)):
            answer.set_exception(Unavailable("The history of runs is closed."))
        return answer

    #: Do work that changes something.
    change = partialmethod(ask, changes=True)

    def close(self, *, wait: bool = True) -> None:
        """Write what is there, and end the thread; runs that are at work are interrupted."""
        with self._lock:
            self._closed, thread = True, self._thread
            self._queue.put(None)
        if thread is not None and wait:
            thread.join(CLOSING)

    def _put(self, item: Callable[[Archive | None], object]) -> bool:
        with self._lock:
            if self._closed:
                return False
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="run history", daemon=True)
                self._thread.start()
            self._queue.put(item)
            return True

    # in the thread

    def _work(self) -> None:
        archive, due, closing = self._opened(), time.monotonic(), False
        while not closing:
            wait = max(due - time.monotonic(), 0.0) if self._followed else None
            with contextlib.suppress(queue.Empty):
                if (item := self._queue.get(timeout=wait)) is not None:
                    item(archive)
                else:
                    closing = True
            if archive is not None and (closing or time.monotonic() >= due):
                self._write(archive, closing)
                due = time.monotonic() + PERIOD
        if archive is not None:
            archive.close()

    def _opened(self) -> Archive | None:
        try:
            return Archive(self.path, self.limits)
        except (sqlite3.Error, OSError, Newer) as error:
            self._give_up(error)
            return None

    def _answer(
        self, archive: Archive | None, work: Callable[[Archive], T], answer: Future[T], changes: bool
    ) -> None:
        if archive is None:
            answer.set_exception(Unavailable(self.trouble))
            return
        try:
            found = work(archive)
        except sqlite3.Error as error:
            if not busy(error):
                self._give_up(error)
            answer.set_exception(Unavailable(self._sentence(error)))
        except Exception as error:  # of whoever asked
            answer.set_exception(error)
        else:
            self.version += changes
            answer.set_result(found)

    def _write(self, archive: Archive, closing: bool) -> None:
        """Commit what is new of all runs."""
        try:
            with archive.transaction():
                now = [followed.written(archive, closing) for followed in self._followed]
        except sqlite3.Error as error:
            if not busy(error):  # what is not written now is next time
                self._give_up(error)
            return
        for followed in now:
            followed.run.id = followed.id
        over = any(followed.over for followed in now)
        self.version += over or [one.id for one in now] != [one.id for one in self._followed]
        self._followed = [followed for followed in now if not followed.over]
        if over:
            with contextlib.suppress(sqlite3.Error):  # room is given back another time
                archive.give_back()

    def _give_up(self, error: sqlite3.Error | OSError | Newer) -> None:
        """Record no more, and say why, once."""
        self._followed = []
        if not self.trouble:
            self.trouble = self._sentence(error)
            log.warning("%s", self.trouble)

    def _sentence(self, error: sqlite3.Error | OSError | Newer) -> str:
        """Say what is wrong, what becomes of it, and what to do."""
        what, advice = trouble(error, self.path)
        what = what[:1].upper() + what[1:]
        if isinstance(error, sqlite3.Error) and busy(error):
            return f"{what}: {advice}."
        return f"{what}: runs go on without it; {advice}, and start the server again."


_shared: dict[Path, History] = {}
_shared_lock = threading.Lock()


def shared() -> History:
    """Return the history that all sessions of this process share, in ``SOLVERSCOPE_HOME``."""
    path = place()
    with _shared_lock:
        if path not in _shared:
            _shared[path] = History(path, LASTING)
            atexit.register(_shared[path].close)
        return _shared[path]
