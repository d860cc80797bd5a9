"""Results of a sweep in a folder: a line for each cell that has ended, and its trace as JSON lines."""

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
    """The folder of one sweep. A cell has ended once its line is on the disk, after its trace. From ``open``
    to ``close``, or to the end of its process, nobody else can open it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger = folder, folder / LEDGER
        self._lock: IO[bytes] | None = None

    def open(self, resume: bool) -> dict[str, dict[str, Any]]:
        """Make the folder ready; return the records of the cells that need not run again, by key.

        Raises ValueError if another sweep is at work there, if there are results but no
        ``resume``, or if they cannot be read. Raises NotWritten if the folder cannot be used.
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
        """Release the folder, so that others may write to it."""
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
        """Store the result of a cell. Raises NotWritten."""
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
        """Store the chosen λ, replacing earlier ones. Raises NotWritten."""
        path = self.folder / CHOICES_FILE
        if chosen or path.is_file():
            with replacing(path, encoding="utf-8") as file:
                file.writelines(f"{json.dumps(one)}\n" for one in chosen)

    def trace_path(self, cell: Experiment) -> Path:
        """Return the path of the stored trace of a cell."""
        return self.folder / f"{cell.key}.jsonl"

    def trace(self, cell: Experiment) -> Trace | None:
        """Return the trace of a cell that has ended; return None if it had no iterate. Raises ValueError."""
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
        """Return the path of the test metrics that were measured during the run."""
        return self.folder / f"{cell.key}.metrics.json"

    def _unwritten(self, error: OSError) -> NotWritten:
        reason, advice = why_not_written(error)
        return NotWritten(f"results cannot be kept in {self.folder}, for {reason}: {advice}")
