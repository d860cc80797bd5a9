"""The database of runs: a SQLite file that survives restarts of the server, or a database in memory."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from solverscope.app.files.process_lock import ProcessIdentity, current_process
from solverscope.app.runs import packing
from solverscope.datasets.store import home
from solverscope.solvers import Trace
from solverscope.solvers.compute.atomic_files import why_not_written
from solverscope.solvers.traces.reading import MALFORMED
from solverscope.solvers.traces.records import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    INFO_KINDS,
    MOMENT,
    NUMBER_OR_NULL,
    RESULT_KINDS,
    TEXT,
    FieldKind,
    InvalidRecord,
    checked,
)
from solverscope.solvers.traces.trace import plain

#: Statements that migrate a database from version k, their index, to the next one.
MIGRATIONS = tuple(
    tuple(path.read_text(encoding="utf-8").strip().removesuffix(";").split(";\n"))
    for path in sorted(Path(__file__).with_name("migrations").glob("*.sql"))
)
INTERRUPTED_STATE = "interrupted"
#: State of an entry that this program cannot have written.
DAMAGED_STATE = "damaged"
#: Bytes of a run's weights that are kept, at most; larger ones are left out.
MAX_WEIGHT_BYTES = 4 << 20
#: Seconds for which a deleted run can be restored.
RESTORE_SECONDS = 3600.0
#: Seconds to wait while another process has locked the database.
LOCK_TIMEOUT = 5.0
#: Pages of the file that are released at a time.
VACUUM_PAGES = 2000
#: Characters of a name.
MAX_ENTRY_NAME_LENGTH = 80


def _json(kinds: Mapping[str, FieldKind]) -> FieldKind:
    # numbers that are not finite are not known
    return FieldKind("a record", lambda text: checked(json.loads(text, parse_constant=lambda _: None), kinds))


#: Columns that the list of runs is read from, and what each holds.
ENTRY_KINDS = {
    **{"id": COUNT, "name": TEXT, "label": TEXT, "solver": TEXT, "setting": TEXT, "about": _json(INFO_KINDS)},
    **{"started": MOMENT, "state": TEXT, "message": TEXT, "iterations": COUNT_OR_NULL},
    **{"objective": NUMBER_OR_NULL, "result": _json(RESULT_KINDS), "alive": FLAG, "pinned": FLAG},
}


class NewerVersionError(Exception):
    """An error: the database was written by a later version of this program."""


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits on the number of finished runs, and on their total size in bytes.

    Pinned runs contribute to both, but are never deleted.
    """

    runs: int
    nbytes: int


#: Limits of the file, and of one session of a public server, which is kept in memory.
PERSISTENT_LIMITS = ArchiveLimits(runs=1000, nbytes=512 << 20)
SESSION_LIMITS = ArchiveLimits(runs=50, nbytes=16 << 20)


@dataclass(frozen=True)
class ArchivedRun:
    """The entry of a run in the list of runs: everything but its iterates and weights."""

    id: int
    name: str = ""
    label: str = ""
    solver: str = ""
    setting: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    started: float = 0.0
    state: str = DAMAGED_STATE
    message: str = ""
    iterations: int | None = None
    objective: float | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    alive: bool = False
    pinned: bool = False
    #: Why the entry cannot be read, in a sentence; empty if it can.
    damage: str = ""

    @property
    def title(self) -> str:
        """Return the title of the run in the list."""
        return f"{self.name or self.label or 'run'} #{self.id}"


class Archive:
    """A connection to the database, for use by one thread.

    Raises sqlite3.Error, OSError or :class:`NewerVersionError` if the file cannot be used.
    """

    def __init__(self, path: Path | None, limits: ArchiveLimits) -> None:
        self.limits = limits
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path or ":memory:", timeout=LOCK_TIMEOUT, isolation_level=None)
        try:
            self._open()
        except BaseException:
            self.db.close()
            raise

    def _open(self) -> None:
        self.db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file: deleted pages are released
        self._patiently("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = NORMAL", "foreign_keys = ON", f"journal_size_limit = {8 << 20}"):
            self.db.execute(f"PRAGMA {setting}")
        with self.transaction():
            (version,) = self.db.execute("PRAGMA user_version").fetchone()
            if version > len(MIGRATIONS):
                raise NewerVersionError
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            self.db.execute("DELETE FROM runs WHERE deleted < ?", (time.time() - RESTORE_SECONDS,))
        self.find_interrupted()

    def _patiently(self, statement: str) -> None:
        """Execute a statement, and retry while another process has locked the new database."""
        until = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                self.db.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Execute the block as a transaction: all of its changes are committed, or none."""
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            yield

    # written while a run is at work

    def begin(self, trace: Trace, started: float, setting: str = "") -> int:
        """Insert a run of this process, and return its number.

        ``setting`` is the query string of the URL that leads back to its settings.
        """
        owner, info, now = current_process(), trace.info, time.time()
        columns = {"label": info.label, "solver": info.solver, "setting": setting, "about": info_json(trace)}
        columns |= {"started": started, "state": trace.status, "alive": 1, "heartbeat": now}
        columns |= {"pid": owner.pid, "place": owner.place, "began": owner.began}
        places = ", ".join("?" * len(columns))
        entered = self.db.execute(
            f"INSERT INTO runs ({', '.join(columns)}) VALUES ({places})", tuple(columns.values())
        )
        assert entered.lastrowid is not None  # a row was inserted
        return entered.lastrowid

    def add(self, id: int, rows: Mapping[str, np.ndarray], first: int) -> None:
        """Write rows of a trace, replacing those from index ``first`` on."""
        block = packing.pack_rows(rows)
        (gone,) = self.db.execute(
            "SELECT coalesce(sum(length(rows)), 0) FROM blocks WHERE run = ? AND first >= ?", (id, first)
        ).fetchone()
        self.db.execute("DELETE FROM blocks WHERE run = ? AND first >= ?", (id, first))
        self.db.execute("INSERT INTO blocks (run, first, rows) VALUES (?, ?, ?)", (id, first, block))
        self._count(id, len(block) - gone)

    def note(self, id: int, trace: Trace) -> None:
        """Write the progress of a run, and the time, as a sign that its process is alive."""
        last = plain(trace.last)
        reached = {"iterations": last.get("iteration"), "objective": last.get("objective")}
        self._set([id], alive=1, heartbeat=time.time(), state=trace.status, about=info_json(trace), **reached)

    def end(self, id: int, trace: Trace, state: str | None = None) -> None:
        """Write the end of a run: all of its rows as one block, its weights and its observations."""
        rows, _, _ = trace.since(None)
        if len(rows["iteration"]):
            self.add(id, rows, 0)
        self.note(id, trace)
        weights = None if trace.w is None else packing.pack_weights(trace.w)
        if weights is not None and len(weights) > MAX_WEIGHT_BYTES:
            weights = None
        observations = packing.pack_observations(trace.probes)
        self._set([id], alive=0, state=state or trace.status, message=trace.message)
        result, metrics = json.dumps(plain(trace.result)), json.dumps(trace.test_metric)
        self._set([id], result=result, metrics=metrics, weights=weights, observations=observations)
        self._count(id, len(weights or b"") + len(observations))

    def _set(self, ids: Iterable[int], **columns: Any) -> None:
        """Update columns of runs."""
        changes = ", ".join(f"{name} = ?" for name in columns)
        rows = [(*columns.values(), id) for id in ids]
        self.db.executemany(f"UPDATE runs SET {changes} WHERE id = ?", rows)

    def _count(self, id: int, nbytes: int) -> None:
        self.db.execute("UPDATE runs SET bytes = bytes + ? WHERE id = ?", (nbytes, id))

    def enter(self, trace: Trace, started: float | None = None, setting: str = "") -> int:
        """Insert a run that has ended, and return its number."""
        with self.transaction():
            id = self.begin(trace, time.time() if started is None else started, setting)
            self.end(id, trace)
            self.prune()
        return id

    def find_interrupted(self) -> None:
        """Mark runs as interrupted if their server process ended before they did."""
        alive = self.db.execute(
            "SELECT id, pid, place, began, CAST(heartbeat AS REAL) FROM runs WHERE alive"
        ).fetchall()
        gone = [id for id, *owner, beat in alive if ProcessIdentity(*owner).gone(time.time() - beat)]
        if gone:
            self._change(gone, alive=0, state=INTERRUPTED_STATE, message="the server ended while it ran")

    def prune(self) -> None:
        """Delete finished runs until the archive is within its limits.

        Runs that the user has deleted go first, even pinned ones; then the oldest runs in the list that are
        not pinned.
        """
        sizes = self.db.execute(
            "SELECT id, CAST(bytes AS INTEGER), alive OR (pinned AND deleted IS NULL) FROM runs "
            "ORDER BY 3 DESC, deleted IS NOT NULL, id DESC"
        )
        count = total = 0
        excess = []
        for id, size, stays in sizes.fetchall():
            count, total = count + 1, total + size
            if not stays and (count > self.limits.runs or total > self.limits.nbytes):
                excess.append((id,))
                count, total = count - 1, total - size
        self.db.executemany("DELETE FROM runs WHERE id = ?", excess)

    def give_back(self) -> None:
        """Return some disk space of deleted runs to the file system."""
        self.db.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()

    # read and changed by people

    def runs(self) -> list[ArchivedRun]:
        """Return the entries of all runs: pinned ones first, then the newest."""
        self.find_interrupted()
        return self._listed("ORDER BY pinned DESC, started DESC, id DESC")

    def run(self, id: int) -> ArchivedRun:
        """Return the entry of a run; raise ValueError if it does not exist."""
        found = self._listed("AND id = ?", id)
        if not found:
            raise ValueError(f"there is no run {id}: see `solverscope runs`")
        return found[0]

    def _listed(self, which: str, *values: int) -> list[ArchivedRun]:
        rows = self.db.execute(
            f"SELECT {', '.join(ENTRY_KINDS)} FROM runs WHERE deleted IS NULL {which}", values
        )
        return [_kept(row) for row in rows]

    def trace(self, id: int) -> Trace:
        """Return the trace of a run, up to the last row that was written.

        Raises ValueError if the run does not exist or cannot be read.
        """
        kept = self.run(id)
        if kept.damage:
            raise ValueError(kept.damage)
        try:
            return self._trace(kept)
        except (*MALFORMED, RecursionError):
            raise ValueError(_damage(id, "has rows or weights that cannot be unpacked")) from None

    def _trace(self, kept: ArchivedRun) -> Trace:
        id = kept.id
        blocks = self.db.execute("SELECT rows FROM blocks WHERE run = ? ORDER BY first", (id,)).fetchall()
        weights, metrics, observations = self.db.execute(
            "SELECT weights, metrics, observations FROM runs WHERE id = ?", (id,)
        ).fetchone()
        info = {"label": kept.label, "solver": kept.solver, **kept.about}
        trace = Trace.from_columns(packing.unpack_rows([block for (block,) in blocks]), info)
        trace.w = None if weights is None else packing.unpack_weights(weights)
        trace.result = dict(kept.result)
        trace.test_metric = [tuple(measured) for measured in json.loads(metrics)]
        if observations is not None:
            trace.probes = packing.unpack_observations(observations)
        trace.finish(kept.state, kept.message)
        return trace

    def rename(self, id: int, name: str) -> None:
        """Name a run; an empty name restores the label of the run."""
        self._change([id], name=" ".join(name.split())[:MAX_ENTRY_NAME_LENGTH])

    def pin(self, id: int, pinned: bool) -> None:
        """Pin a run, which protects it from :meth:`prune`, or unpin it."""
        self._change([id], pinned=int(pinned))

    def delete(self, ids: Sequence[int]) -> None:
        """Remove runs from the list; they can be restored for an hour unless the space is needed earlier."""
        self._change(ids, deleted=time.time())

    def restore(self, ids: Sequence[int]) -> None:
        """Restore deleted runs."""
        self._change(ids, deleted=None)

    def _change(self, ids: Iterable[int], **columns: Any) -> None:
        with self.transaction():
            self._set(ids, **columns)


def default_path() -> Path:
    """Return the path of the database that survives restarts of the server."""
    return home() / "runs.sqlite"


def info_json(trace: Trace) -> str:
    """Return a run's info as JSON, without label and solver."""
    kept = {k: v for k, v in trace.info.record().items() if k not in ("label", "solver")}
    return json.dumps(kept, default=str)


def _kept(row: Sequence[Any]) -> ArchivedRun:
    known, wrong = {}, []
    for name, value in zip(ENTRY_KINDS, row, strict=True):
        try:
            known |= checked({name: value}, ENTRY_KINDS)
        except InvalidRecord as error:
            wrong.append(str(error))
    if wrong:
        damage = _damage(known["id"], wrong[0])
        known |= {"state": DAMAGED_STATE, "message": damage, "damage": damage}
    return ArchivedRun(**known)


def _damage(id: int, what: str) -> str:
    return f"run {id} of the history is damaged, its entry {what}: delete it in the page's tab Runs"


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error is that another process has locked the database."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain(error: sqlite3.Error | OSError | NewerVersionError, path: Path | None) -> tuple[str, str]:
    """Return why the archive at ``path`` cannot be used, and what to do about it."""
    where = f"the history of runs, {path}," if path is not None else "the history of runs"
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if isinstance(error, NewerVersionError):
        return f"{where} is from a later version of Solverscope", "update this one"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"{where} is damaged", "move that file away"
    if code == sqlite3.SQLITE_FULL:
        return f"{where} has no room on the disk", "make room"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{where} is in use by another process", "try again"
    reason = why_not_written(error)[0] if isinstance(error, OSError) else str(error)
    return f"{where} cannot be used ({reason})", "name a folder that may be written in SOLVERSCOPE_HOME"
