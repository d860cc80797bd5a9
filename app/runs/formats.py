"""The file formats to which runs can be exported."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from solverscope.app.benchopt import results
from solverscope.solvers import Trace
from solverscope.solvers.traces.trace import save


class Format(NamedTuple):
    """A file format: its name in a menu, its description, and the function that writes a file."""

    name: str
    about: str
    write: Callable[[Sequence[Trace], Path], None] = save


#: The formats by file extension.
FORMATS = {
    "csv": Format("CSV", "a line an iterate, for a spreadsheet"),
    "jsonl": Format("JSON lines", "all that is recorded, as `solverscope run --json` prints it"),
    "npz": Format("NPZ", "NumPy arrays: a column a field, and the weights"),
    "parquet": Format("Parquet", "the table that benchopt writes", results.write),
}


def offered() -> dict[str, Format]:
    """Return the formats that can be written on this machine, by file extension."""
    return {id: form for id, form in FORMATS.items() if id != "parquet" or results.available()}


def as_bytes(traces: Sequence[Trace], form: str) -> bytes:
    """Return the content of a file of these runs; ``form`` is the file extension of the format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"runs.{form}"
        FORMATS[form].write(list(traces), path)
        return path.read_bytes()
