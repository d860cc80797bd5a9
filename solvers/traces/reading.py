"""Readers of files of runs, as written by :func:`.trace.save` and printed by ``--json``."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..methods.iterate import FIELDS, is_own_name
from ..methods.iterate_record import MAX_OWN_FIELDS
from .records import (
    COUNT,
    INFO_KINDS,
    NUMBER,
    PROBLEM_KINDS,
    REFERENCE_KINDS,
    REQUIRED_PROBLEM_FIELDS,
    RESULT_KINDS,
    TEXT,
    WORDS,
    FieldKind,
    InvalidRecord,
    checked,
    printable,
)
from .segments import segments
from .trace import Trace

#: Maximal size in bytes of a file of runs, and of its decompressed content.
MAX_TRACE_BYTES = 1 << 30
#: Status of a run whose file has no result.
CUT_SHORT = "interrupted"
#: Fields of a line of type "run", and of a line of type "iterate".
RUN_KINDS = {name: INFO_KINDS[name] for name in ("label", "solver", "params", "from", "lams", "code")}
ITERATE_KINDS = {
    name: {int: COUNT, float: NUMBER, str: TEXT, tuple: WORDS}[f.type] for name, f in FIELDS.items()
}
#: Errors raised for bytes that are not arrays, or were forged.
MALFORMED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError)
#: Errors raised for an invalid file of arrays.
_ARRAY_FILE_ERRORS = (*MALFORMED, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)


def read(path: str | Path) -> list[Trace]:
    """Return the runs of a file: the counterpart of :meth:`solvers.Trace.save` and :func:`solvers.save`.

    Parameters
    ----------
    path : str or Path
        A ``.jsonl`` file, which has all fields of the iterates, or an ``.npz`` file, which also has the last
        weights ``trace.w``.

    Returns
    -------
    list of Trace
        The runs, in the order of the file.

    Raises
    ------
    ValueError
        If the file cannot be read or does not contain runs.

    Examples
    --------
    >>> import tempfile
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> trace = solvers.solve(problem, "lbfgs", max_iter=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace.save(f"{folder}/run.npz")
    ...     (same,) = solvers.read(f"{folder}/run.npz")
    >>> bool((same.objective == trace.objective).all()), same.w.shape
    (True, (30,))
    """
    path = Path(path)
    if path.suffix not in _FILE_READERS:
        advice = f"the name must end in {' or '.join(_FILE_READERS)}"
        if path.suffix == ".csv":
            advice = "a .csv holds no settings, save the run as .jsonl"
        raise ValueError(f"cannot read {path.name}: {advice}")
    try:
        if not path.is_file():
            raise ValueError(f"cannot read {path}: there is no such file")
        if path.stat().st_size > MAX_TRACE_BYTES:
            raise ValueError(f"cannot read {path}: it has more than {MAX_TRACE_BYTES >> 30} GiB")
        traces = _FILE_READERS[path.suffix](path)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except _InvalidFile as error:
        raise ValueError(f"cannot read {path}: {error}") from None
    if not traces:
        raise ValueError(f"cannot read {path}: there is no run in it")
    return traces


class _InvalidFile(Exception):
    """Raised if a file has invalid content; the message continues a sentence that begins with the file's
    name."""


def _lines(path: Path) -> list[Trace]:
    traces: list[Trace] = []
    about: dict[str, Any] = {}
    for number, record in _records(path):
        try:
            match record.get("type"):
                case "problem":
                    about = {"problem": checked(record, PROBLEM_KINDS, REQUIRED_PROBLEM_FIELDS)}
                case "reference":
                    known = checked(record, REFERENCE_KINDS)
                    about |= {"reference": known, "f_star": known.get("f_star")}
                case "run":
                    said = checked(_only(record, RUN_KINDS), RUN_KINDS, ("label", "solver", "params"))
                    traces.append(Trace({"f_star": None, **about, **said}))
                    segments(traces[-1])
                case "iterate" if traces:
                    known = checked(_only(record, ITERATE_KINDS), ITERATE_KINDS, ("iteration",))
                    traces[-1].append(known | _own(record))
                case "result" if traces:
                    traces[-1].result = checked(record, RESULT_KINDS)
        except InvalidRecord as error:
            raise _InvalidFile(f"line {number} {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise _InvalidFile(
                f"line {number} is no record of a run, as `solverscope run` writes them"
            ) from None
    for trace in traces:
        _finish(trace)
    return traces


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise _InvalidFile(f"line {number} is no record")
                yield number, record
    except UnicodeDecodeError:
        raise _InvalidFile("it is not text in UTF-8") from None
    except (ValueError, RecursionError):  # also a number of thousands of digits
        raise _InvalidFile(f"line {number} is not JSON: the file may have been cut") from None


def _only(record: Mapping[str, Any], kinds: Mapping[str, FieldKind]) -> dict[str, Any]:
    """Return the fields of a record that are in ``kinds`` and not null."""
    return {name: record[name] for name in kinds if record.get(name) is not None}


def _own(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the additional numeric fields of a run in a record."""
    others = (name for name in record if name not in ITERATE_KINDS and is_own_name(name))
    return {name: float(record[name]) for name in others if type(record[name]) in (int, float)}


def _finish(trace: Trace) -> None:
    if (np.diff(trace.iteration) <= 0).any():
        raise _InvalidFile(f"the iterations of {trace.info.label} do not come one after the other")
    trace.finish(trace.result.get("status", CUT_SHORT), trace.result.get("message", ""))


def _arrays(path: Path) -> list[Trace]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_TRACE_BYTES:
                raise _InvalidFile(f"it unpacks to more than {MAX_TRACE_BYTES >> 30} GiB")
        with np.load(path, allow_pickle=False) as arrays:
            problem = json.loads(str(arrays["problem"]))
            if problem:  # a loop may have none
                problem = checked(problem, PROBLEM_KINDS, REQUIRED_PROBLEM_FIELDS)
            labels = [name.removesuffix("/info") for name in arrays.files if name.endswith("/info")]
            return [_from_arrays(label, arrays, problem) for label in labels]
    except InvalidRecord as error:
        raise _InvalidFile(f"a record of it {error}") from None
    except _ARRAY_FILE_ERRORS:
        raise _InvalidFile("it does not hold runs, as `solverscope run --out FILE.npz` writes them") from None


def _from_arrays(label: str, arrays: Mapping[str, np.ndarray], problem: dict[str, Any]) -> Trace:
    said = json.loads(str(arrays[f"{label}/info"]))
    result = checked(said.pop("result"), RESULT_KINDS)
    info = checked(said, INFO_KINDS, ("label", "solver", "params"))
    columns = {
        name: _column(name, arrays[f"{label}/{name}"]) for name in FIELDS if f"{label}/{name}" in arrays
    }
    own = [name for name in arrays if name.startswith(f"{label}/own.")]
    for name in own[:MAX_OWN_FIELDS]:
        if is_own_name(field := name.rpartition("/own.")[2]):
            columns[field] = _number_column(field, arrays[name])
    trace = Trace.from_columns(columns, {"problem": problem, **info})
    segments(trace)
    if f"{label}/w_size" in arrays:
        size = int(arrays[f"{label}/w_size"])
        if not 0 <= 8 * size <= MAX_TRACE_BYTES:
            raise _InvalidFile(f"{label} has {size} weights")
        trace.w = np.zeros(size)
        trace.w[arrays[f"{label}/w_indices"]] = arrays[f"{label}/w_values"]
    trace.result = result
    _finish(trace)
    return trace


def _number_column(name: str, column: np.ndarray) -> np.ndarray:
    if column.ndim != 1 or column.dtype.kind not in "fiu":
        raise InvalidRecord(f"has {column.dtype} for {name}")
    return column


def _column(name: str, column: np.ndarray) -> Sequence[Any] | np.ndarray:
    """Return a column in the form for a trace; raise ValueError if it is not a valid column of that field."""
    field = FIELDS[name]
    if column.ndim != 1 or column.dtype.kind not in {int: "iu", float: "fiu"}.get(field.type, "U"):
        raise InvalidRecord(f"has {column.dtype} for {name}")
    if name == "iteration" and (column < 0).any():
        raise InvalidRecord("has iterations below 0")
    if field.numeric:
        return column
    texts = [printable(text) for text in column.tolist()]
    return (
        [tuple(text.split()) for text in texts] if field.type is tuple else [text or None for text in texts]
    )


_FILE_READERS = {".jsonl": _lines, ".npz": _arrays}
