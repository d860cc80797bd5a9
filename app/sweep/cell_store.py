"""Storage of a sweep's results in a folder: a JSON line for each finished cell, and a file for each trace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from solverscope.app.files.process_lock import try_lock
from solverscope.app.settings.experiment import Experiment
from solverscope.app.sweep.cell_progress import RECORD, REQUIRED_CELL_FIELDS, RERUN_STATES
from solverscope.solvers import Trace
from solverscope.solvers.compute.atomic_files import NotWritten, replacing, why_not_written
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.records import InvalidRecord, checked
from solverscope.solvers.traces.trace import save

#: The file with a line for each cell that has ended; traces are in the same folder, named after their cells.
LEDGER = "cells.jsonl"
#: The file with a line for each λ that was chosen.
CHOICES_FILE = "choices.jsonl"
#: The file that the sweep which writes to a folder holds locked.
LOCK = "lock"


class Store:
    """The folder with the results of one sweep.

    The record of a cell is written after its trace, so a cell has ended once its record is on disk. Between
    ``open`` and ``close`` the folder is locked against other processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger = folder, folder / LEDGER
        self._lock: IO[bytes] | None = None

    def open(self, resume: bool) -> dict[str, dict[str, Any]]:
        """Create or reopen the folder; return the records of the cells that need not run again, by key.

        Raises ValueError if another sweep is using the folder, if it contains results and ``resume`` is
        false, or if they cannot be read. Raises NotWritten if the folder cannot be written to.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / LOCK).open("ab")
            if not try_lock(self._lock):
                raise ValueError(
                    f"another sweep is at work in {self.folder}: wait until it has ended, or give --out to "
                    "name another folder"
                )
            known = self.records()
            if known and not resume:
                raise ValueError(
                    f"{self.folder} has {len(known)} results already: give --resume to go on from them, or "
                    "--out to name another folder"
                )
            with self.ledger.open("ab+") as file:  # a partial last line goes
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        except ValueError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise self._unwritten(error) from error
        return {key: record for key, record in known.items() if record["status"] not in RERUN_STATES}

    def close(self) -> None:
        """Release the lock on the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the last record of each cell that has ended, by its key."""
        if not self.ledger.is_file():
            return {}
        found = {}
        for number, line in enumerate(self.ledger.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):  # cut off by the end of its process: that cell runs again
                break
            try:
                record = checked(json.loads(line), RECORD, REQUIRED_CELL_FIELDS)
            except (ValueError, RecursionError) as error:
                what = str(error) if isinstance(error, InvalidRecord) else "is not JSON"
                raise ValueError(
                    f"line {number} of {self.ledger} is no result of a sweep, it {what}: delete that line, "
                    "and its run is done again"
                ) from None
            found[record["cell"]] = record
        return found

    def put(self, cell: Experiment, trace: Trace | None, record: Mapping[str, Any]) -> None:
        """Store the result of a cell. Raises NotWritten if a file cannot be written."""
        if trace is not None and len(trace):
            save([trace], self.trace_path(cell))
            with replacing(self._metrics_path(cell), encoding="utf-8") as file:
                json.dump(trace.test_metric, file)
        try:
            with self.ledger.open("ab") as file:
                file.write((json.dumps(record) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritten(error) from error

    def keep_choices(self, chosen: Sequence[Mapping[str, Any]]) -> None:
        """Store the selected λ, replacing earlier ones. Raises NotWritten if the file cannot be written."""
        path = self.folder / CHOICES_FILE
        if chosen or path.is_file():
            with replacing(path, encoding="utf-8") as file:
                file.writelines(f"{json.dumps(one)}\n" for one in chosen)

    def trace_path(self, cell: Experiment) -> Path:
        """Return the path of the stored trace of a cell."""
        return self.folder / f"{cell.key}.jsonl"

    def trace(self, cell: Experiment) -> Trace | None:
        """Return the trace of a cell that has ended, or None if it has no iterates.

        Raises ValueError if the file cannot be read.
        """
        path, measured = self.trace_path(cell), self._metrics_path(cell)
        if not path.is_file():
            return None
        (trace,) = read(path)
        if measured.is_file():  # older results have none
            try:
                found = [
                    (int(k), float(cpu), float(value)) for k, cpu, value in json.loads(measured.read_text())
                ]
            except (TypeError, ValueError, RecursionError):
                raise ValueError(f"{measured} is no list of test metrics: delete it") from None
            trace.test_metric = found
        return trace

    def _metrics_path(self, cell: Experiment) -> Path:
        """Return the path of the file of test metrics that were measured during the run."""
        return self.folder / f"{cell.key}.metrics.json"

    def _unwritten(self, error: OSError) -> NotWritten:
        reason, advice = why_not_written(error)
        return NotWritten(f"results cannot be kept in {self.folder}, for {reason}: {advice}")
