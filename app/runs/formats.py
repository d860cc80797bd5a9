"""The formats that runs are taken along in, and runs as bytes in each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from app.runs import benchopt
from solvers import Trace
from solvers.runs.trace import save


class Format(NamedTuple):
    """The name in a menu, what it is good for, the ending of files, and how one is written."""

    name: str
    about: str
    ending: str
    write: Callable[[Sequence[Trace], Path], None] = save


FORMATS = {
    "csv": Format("CSV", "a line an iterate, for a spreadsheet", "csv"),
    "jsonl": Format("JSON lines", "all that is recorded, as `solverscope run --json` prints it", "jsonl"),
    "npz": Format("NPZ", "NumPy arrays: a column a field, and the weights", "npz"),
    "parquet": Format("Parquet", "the table that benchopt writes", "parquet", benchopt.write),
}


def offered() -> dict[str, Format]:
    """Return the formats that can be written here."""
    return {id: form for id, form in FORMATS.items() if id != "parquet" or benchopt.available()}


def as_bytes(traces: Sequence[Trace], form: str) -> bytes:
    """Return runs in one of the formats."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"runs.{FORMATS[form].ending}"
        FORMATS[form].write(list(traces), path)
        return path.read_bytes()
