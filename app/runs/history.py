"""The history of runs. A thread writes new rows of runs twice a second, and answers requests of pages."""

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
    INTERRUPTED_STATE,
    PERSISTENT_LIMITS,
    SESSION_LIMITS,
    Archive,
    ArchiveLimits,
    NewerVersionError,
    default_path,
    explain,
    is_busy,
)
from solverscope.app.runs.live import LiveRun

log = logging.getLogger(__name__)

#: Seconds between two commits while runs are at work: a killed process loses so much of a run at most.
COMMIT_PERIOD = 0.5
#: Seconds that a server waits at its end until everything is written.
CLOSE_TIMEOUT = 3.0
T = TypeVar("T")


class HistoryUnavailable(Exception):
    """An error: the history cannot be used. The message is the reason."""


@dataclass(frozen=True)
class _Followed:
    """A run that is being recorded; ``cursor`` is the position in its trace up to which it has
    been written."""

    run: LiveRun
    started: float
    id: int | None = None
    cursor: tuple[int, int] | None = None
    over: bool = False

    def written(self, archive: Archive, closing: bool) -> _Followed:
        """Write new rows within a transaction; return the state to use once it is committed."""
        alive = self.run.alive and not closing  # before the trace, which is whole only then
        trace = self.run.trace
        if trace is None:
            return replace(self, over=not alive)
        id = self.id if self.id is not None else archive.begin(trace, self.started, self.run.setting)
        if not alive:
            archive.end(id, trace, INTERRUPTED_STATE if self.run.alive else None)
            archive.prune()
            return replace(self, id=id, over=True)
        rows, cursor, replaced = trace.since(self.cursor)
        if n := len(rows["iteration"]):
            archive.add(id, rows, 0 if replaced else cursor[1] - n)
        archive.note(id, trace)
        return replace(self, id=id, cursor=cursor)


class History:
    """Past and present runs, in a file, or in memory if ``path`` is None.

    No method blocks, except ``close`` unless ``wait`` is false. If the database cannot be used, ``trouble``
    is the reason. Nothing is recorded then, and requests fail with :class:`HistoryUnavailable`. ``version``
    increases when this process begins, ends or edits a run.
    """

    def __init__(self, path: Path | None = None, limits: ArchiveLimits = SESSION_LIMITS) -> None:
        self.path, self.limits = path, limits
        self.trouble = ""
        self.version = 0
        self._followed: list[_Followed] = []
        self._queue: queue.SimpleQueue[Callable[[Archive | None], object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def record(self, run: LiveRun) -> None:
        """Record a run from now on."""
        followed = _Followed(run, time.time())
        self._put(lambda archive: self.trouble or self._followed.append(followed))

    def ask(self, work: Callable[[Archive], T], *, changes: bool = False) -> Future[T]:
        """Call ``work(archive)`` in the thread of the history, and return a future of its result.

        Set ``changes`` if the work modifies the archive, so that ``version`` is increased afterwards.
        """
        answer = Future[T]()
        if not self._put(lambda archive: self._answer(archive, work, answer, changes)):
            answer.set_exception(HistoryUnavailable("The history of runs is closed."))
        return answer

    #: Run work that changes something.
    change = partialmethod(ask, changes=True)

    def close(self, *, wait: bool = True) -> None:
        """Write all outstanding rows and end the thread; runs that are still alive are recorded as
        interrupted."""
        with self._lock:
            self._closed, thread = True, self._thread
            self._queue.put(None)
        if thread is not None and wait:
            thread.join(CLOSE_TIMEOUT)

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
                due = time.monotonic() + COMMIT_PERIOD
        if archive is not None:
            archive.close()

    def _opened(self) -> Archive | None:
        try:
            return Archive(self.path, self.limits)
        except (sqlite3.Error, OSError, NewerVersionError) as error:
            self._give_up(error)
            return None

    def _answer(
        self, archive: Archive | None, work: Callable[[Archive], T], answer: Future[T], changes: bool
    ) -> None:
        if archive is None:
            answer.set_exception(HistoryUnavailable(self.trouble))
            return
        if self._followed:  # an answer knows the runs as they were when it was asked for
            self._write(archive, closing=False)
        try:
            found = work(archive)
        except sqlite3.Error as error:
            if not is_busy(error):
                self._give_up(error)
            answer.set_exception(HistoryUnavailable(self._sentence(error)))
        except Exception as error:  # of the caller's work
            answer.set_exception(error)
        else:
            self.version += changes
            answer.set_result(found)

    def _write(self, archive: Archive, closing: bool) -> None:
        """Commit the new rows of all runs."""
        try:
            with archive.transaction():
                now = [followed.written(archive, closing) for followed in self._followed]
        except sqlite3.Error as error:
            if not is_busy(error):  # what is not written now is next time
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

    def _give_up(self, error: sqlite3.Error | OSError | NewerVersionError) -> None:
        """Stop recording, and log the reason once."""
        self._followed = []
        if not self.trouble:
            self.trouble = self._sentence(error)
            log.warning("%s", self.trouble)

    def _sentence(self, error: sqlite3.Error | OSError | NewerVersionError) -> str:
        """Describe an error, what it means for runs, and the remedy."""
        what, advice = explain(error, self.path)
        what = what[:1].upper() + what[1:]
        if isinstance(error, sqlite3.Error) and is_busy(error):
            return f"{what}: {advice}."
        return f"{what}: runs go on without it; {advice}, and start the server again."


_shared: dict[Path, History] = {}
_shared_lock = threading.Lock()


def shared() -> History:
    """Return the history in ``SOLVERSCOPE_HOME``, which all sessions of this process share."""
    path = default_path()
    with _shared_lock:
        if path not in _shared:
            _shared[path] = History(path, PERSISTENT_LIMITS)
            atexit.register(_shared[path].close)
        return _shared[path]
