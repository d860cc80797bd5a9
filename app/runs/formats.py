"""The formats that runs are taken along in, and runs as bytes in each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from solverscope.app.runs import benchopt
from solverscope.solvers import Trace
from solverscope.solvers.runs.trace import save


class Format(NamedTuple):
    """The name in a menu, what it is good for, and how a file is written."""

    name: str
    about: str
    write: Callable[[Sequence[Trace], Path], None] = save


#: The formats by the ending of their files.
FORMATS = {
    "csv": Format("CSV", "a line an iterate, for a spreadsheet"),
    "jsonl": Format("JSON lines", "all that is recorded, as `solverscope run --json` prints it"),
    "npz": Format("NPZ", "NumPy arrays: a column a field, and the weights"),
    "parquet": Format("Parquet", "the table that benchopt writes", benchopt.write),
}


def offered() -> dict[str, Format]:
    """Return the formats that can be written here."""
    return {id: form for id, form in FORMATS.items() if id != "parquet" or benchopt.available()}


def as_bytes(traces: Sequence[Trace], form: str) -> bytes:
    """Return runs in one of the formats."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"runs.{form}"
        FORMATS[form].write(list(traces), path)
        return path.read_bytes()
